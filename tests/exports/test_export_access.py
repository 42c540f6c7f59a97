"""Access to exports: who may request, list and download them."""

import datetime as dt
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.exports import tasks
from apps.exports.models import Export, ExportLink
from apps.exports.services import downloads, export_files, exports
from apps.exports.services.export_validation import ExportRequest
from lib.access import Principal
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.exports.exported import FORMATS, ask, body_of, exported, get, link_to, make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    return tmp_path / "exports"


def test_link_works_once(api: TokenClient, nobody: TokenClient) -> None:
    link = link_to(api, make(api))
    first = nobody.get(link)

    again = nobody.get(link)

    assert first.status_code == 200
    assert error_of(again)["code"] == "GONE"
    assert AuditEntry.objects.filter(action="exports.fetch").count() == 1


def test_who_asks_for_heads_uses_nothing_up(api: TokenClient, nobody: TokenClient) -> None:
    export = make(api)
    address = link_to(api, export)

    answers = [nobody.head(address), api.head("/api/exports/rides.csv")]

    assert [(one.status_code, one.headers["Allow"]) for one in answers] == [(405, "GET"), (405, "GET")]
    assert nobody.get(address).status_code == 200
    assert Export.objects.get() == export


def test_link_works_for_fifteen_minutes(api: TokenClient, now: dt.datetime) -> None:
    export = make(api)
    asker: Any = {"request_id": "", "ip": None}
    secrets = [link_to(api, export).rpartition("/")[2] for _ in range(2)]
    end = now + downloads.LIFETIME

    kept = downloads.use(secret=secrets[0], at=end - dt.timedelta(seconds=1), **asker)
    with pytest.raises(downloads.LinkGone):
        downloads.use(secret=secrets[1], at=end, **asker)

    assert kept.export == export
    assert ExportLink.objects.filter(used_at__isnull=True).count() == 1


def test_link_of_a_file_that_was_taken_away_is_gone(api: TokenClient, nobody: TokenClient) -> None:
    export = make(api)
    link = link_to(api, export)
    api.post(f"/api/exports/{export.pk}/cancel", {}, format="json")

    answer = nobody.get(link)

    assert error_of(answer)["code"] == "GONE"
    assert not export_files.file_path(export).exists()


def test_there_is_no_link_before_the_file(api: TokenClient) -> None:
    ask(api)

    answer = api.get(f"/api/exports/{Export.objects.get().pk}/content")

    assert error_of(answer)["code"] == "INVALID_TRANSITION"
    assert not ExportLink.objects.exists()


def test_person_says_once_more_who_they_are_for_rider_data(supervisor: Principal, now: dt.datetime) -> None:
    wanted = ExportRequest("completions", "csv")
    export = exports.create(request=wanted, by=supervisor, at=now)
    tasks.make_exports()

    with pytest.raises(downloads.RecentLoginRequired):
        downloads.link(export_id=export.pk, by=supervisor, at=now, reauthenticated=False)

    assert not ExportLink.objects.exists()
    assert downloads.link(export_id=export.pk, by=supervisor, at=now, reauthenticated=True)


@pytest.mark.parametrize(
    "lost", [{"revoked_at": factories.NOW, "revoked_reason": "lost"}, {"expires_at": factories.NOW}, "client", "reach"]
)
def test_link_is_of_no_use_when_whoever_made_it_may_not_any_more(
    api: TokenClient, nobody: TokenClient, lost: Any
) -> None:
    ride = factories.RideFactory.create()
    link = link_to(api, make(api, dataset="rides"))
    token = type(api.token).objects.filter(pk=api.token.pk)
    if lost == "client":
        type(api.token.client).objects.update(active=False)
    elif lost == "reach":
        token.update(facility_ids=[ride.facility_id])
    else:
        token.update(**lost)

    answer = nobody.get(link)

    assert error_of(answer)["code"] == "GONE"
    assert not AuditEntry.objects.filter(action="exports.fetch").exists()


@pytest.mark.parametrize("change", [{"scopes": ["reports:read"]}, {"scopes": ["exports:create"]}])
def test_link_is_of_no_use_without_the_scopes_of_the_export(
    api: TokenClient, nobody: TokenClient, change: dict[str, Any]
) -> None:
    link = link_to(api, make(api))
    type(api.token).objects.filter(pk=api.token.pk).update(**change)

    assert error_of(nobody.get(link))["code"] == "GONE"


def test_link_of_a_person_counts_as_long_as_they_are_here(supervisor: Principal, now: dt.datetime) -> None:
    export = exports.create(request=ExportRequest("completions", "csv"), by=supervisor, at=now)
    tasks.make_exports()
    asked: Any = {"export_id": export.pk, "by": supervisor, "at": now, "reauthenticated": True}
    first, second = (downloads.link(**asked) for _ in range(2))

    handed = downloads.use(secret=first, at=now, request_id="r", ip=None)
    assert supervisor.id
    User.objects.filter(pk=supervisor.id).update(is_active=False)
    with pytest.raises(downloads.LinkGone):
        downloads.use(secret=second, at=now, request_id="r", ip=None)

    assert handed.export.pk == export.pk
    assert AuditEntry.objects.get(action="exports.fetch").actor == supervisor.actor


def test_job_of_an_analyst_is_made(nobody: TokenClient) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    export = make(analyst)

    assert (export.state, export.error_code) == ("ready", "")
    assert body_of(nobody.get(link_to(analyst, export))).startswith(b"rideId,")


def test_list_shows_the_exports_of_ones_own_client(api: TokenClient) -> None:
    other = api_with()
    ask(api)
    get(api, "rides.csv")
    ask(other)

    listed = api.get("/api/exports").json()["data"]
    queued = api.get("/api/exports?state=queued").json()["data"]

    assert [one["state"] for one in listed] == ["streamed", "queued"]
    assert [one["id"] for one in queued] == [listed[1]["id"]]
    foreign = Export.objects.get(client=other.token.client_id)
    assert error_of(api.get(f"/api/exports/{foreign.pk}"))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_for_any_number(api: TokenClient, count: int, django_assert_num_queries: Any) -> None:
    for _ in range(count):
        ask(api)

    with django_assert_num_queries(2):
        listed = api.get("/api/exports").json()["data"]

    assert len(listed) == count


def test_token_that_sees_less_of_people_does_not_see_the_export(api: TokenClient) -> None:
    export = make(api)
    less = api_with(TokenRole.ANALYTICS_READONLY, client=api.token.client)

    answers = [less.get(f"/api/exports/{export.pk}{rest}") for rest in ("", "/content")]

    assert [error_of(answer)["code"] for answer in answers] == ["NOT_FOUND", "NOT_FOUND"]


def test_eleventh_export_within_an_hour_is_refused(api: TokenClient, now: dt.datetime) -> None:
    for _ in range(5):
        ask(api)
        get(api, "rides.csv")

    refused, also = ask(api), get(api, "rides.csv")
    oldest = Export.objects.earliest("id")
    Export.objects.filter(pk=oldest.pk).update(created_at=now - dt.timedelta(hours=1))
    again = ask(api)

    assert [error_of(one)["code"] for one in (refused, also)] == ["RATE_LIMITED", "RATE_LIMITED"]
    assert refused.headers["Retry-After"] == "3600"
    assert again.status_code == 202
    assert ask(api_with()).status_code == 202


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"dataset": "riders"}, "dataset"),
        ({"format": "pdf"}, "format"),
        ({"status": ["flown"]}, "status"),
        ({"serviceDateFrom": "2026-11-02", "serviceDateTo": "2026-11-01"}, "serviceDateTo"),
        ({"columns": ["riderShoeSize"]}, "columns"),
        ({"dataset": "drivers", "facilityId": str(uuid4())}, "facilityId"),
        ({"facilityId": str(uuid4())}, "facilityId"),
        ({"providerId": str(uuid4())}, "providerId"),
        ({"payerId": str(uuid4())}, "payerId"),
        ({"dataset": "rides", "lock": True}, "lock"),
        ({"changedSince": "yesterday"}, "changedSince"),
        ({"rider": "Orla"}, "rider"),
    ],
)
def test_wish_that_makes_no_sense_is_refused_by_field(api: TokenClient, body: dict[str, Any], field: str) -> None:
    error = error_of(ask(api, **body))

    assert (error["code"], [one["field"] for one in error["details"]]) == ("VALIDATION_ERROR", [field])
    assert not Export.objects.exists()


@pytest.mark.parametrize("file", ["rides", "rides.pdf", "riders.csv", ".csv", "rides.csv.gz"])
def test_file_that_is_none_is_not_found(api: TokenClient, file: str) -> None:
    assert error_of(get(api, file))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("format", FORMATS)
def test_more_rows_than_are_sent_at_once_are_a_job(
    api: TokenClient, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(exports, "MAX_STREAMED_ROWS", 2)
    for _ in range(2):
        factories.RideFactory.create()
    two = exported(api, f"rides.{format}")
    factories.RideFactory.create()

    three = get(api, f"rides.{format}")

    assert len(two) == 2
    error = error_of(three)
    assert (error["code"], error["details"][0]["maxRows"]) == ("PAYLOAD_TOO_LARGE", 2)
    assert Export.objects.count() == 1


def test_datasets_say_their_columns_and_filters(api: TokenClient) -> None:
    shown = {one["name"]: one for one in api.get("/api/exports/datasets").json()["data"]}

    assert shown["drivers"]["filters"] == ["providerId", "status", "changedSince"]
    assert shown["drivers"]["columns"][0] == {"name": "driverId", "kind": "id", "phi": "none"}
    assert [one["name"] for one in shown["drivers"]["columns"] if one["phi"] == "full"] == ["phone"]


def test_same_key_makes_one_export(api: TokenClient) -> None:
    body = {"dataset": "rides", "format": "csv"}

    first, again = (
        api.post("/api/exports", body, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2)
    )

    assert first.json()["id"] == again.json()["id"]
    assert Export.objects.count() == 1
