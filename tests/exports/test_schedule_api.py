"""Schedules over the API: created, changed, paused, run and deleted; refusals and visibility."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.audit.models import AuditEntry
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.services import schedules
from lib.errors import InvalidInput
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.exports.places import bucket
from tests.exports.scheduled import Clock, exports_daily, ids, keep, person, reports_weekly, stand_in, tick
from tests.factories import NOW

pytestmark = pytest.mark.django_db
PATH = "/api/exports/schedules"
EXPORT: dict[str, Any] = {
    "kind": "export",
    "name": "Claims",
    "dataset": "completions",
    "format": "csv",
    "covers": "previous_day",
    "every": "day",
    "time": "06:00",
    "zone": "America/Chicago",
}
REPORT: dict[str, Any] = {
    "kind": "report",
    "name": "Week",
    "report": "overview",
    "covers": "previous_week",
    "every": "week",
    "weekdays": ["mon"],
    "time": "07:00",
    "zone": "America/Chicago",
}


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = str(tmp_path / "exports")


def post(api: TokenClient, body: dict[str, Any], path: str = PATH) -> Any:
    return api.post(path, body, format="json")


def test_schedule_is_kept_read_changed_and_removed(api: TokenClient) -> None:
    place, facility = bucket(), factories.FacilityFactory.create()
    made = post(api, {**EXPORT, "destinationId": str(place.pk), "status": ["completed"]})
    at = made.headers["Location"]
    changed = api.patch(
        at,
        {"every": "week", "weekdays": ["mon", "fri"], "facilityId": str(facility.pk), "status": None},
        format="json",
        HTTP_IF_MATCH=made.headers["ETag"],
    )
    listed = api.get(f"{PATH}?kind=export&active=true").json()["data"]
    stale = api.patch(at, {"name": "Other"}, format="json", HTTP_IF_MATCH=made.headers["ETag"])
    gone = api.delete(at)

    assert made.status_code == 201
    assert made.json() == {
        "id": made.json()["id"],
        "kind": "export",
        "name": "Claims",
        "dataset": "completions",
        "format": "csv",
        "columns": None,
        "phi": "none",
        "report": "",
        "filters": {"status": ["completed"]},
        "covers": "previous_day",
        "every": "day",
        "weekdays": [],
        "monthDay": 1,
        "time": "06:00",
        "zone": "America/Chicago",
        "nextAt": "2026-11-21T12:00:00Z",
        "way": "destination",
        "recipients": [],
        "destinationId": str(place.pk),
        "active": True,
        "pausedFor": "",
        "failures": 0,
        "version": 1,
        "createdAt": "2026-11-20T15:00:00Z",
        "updatedAt": "2026-11-20T15:00:00Z",
    }
    body = changed.json()
    assert (body["weekdays"], body["nextAt"], body["version"]) == (["mon", "fri"], "2026-11-23T12:00:00Z", 2)
    assert body["filters"] == {"facilityId": str(facility.pk)}
    assert [one["id"] for one in listed] == [body["id"]]
    assert error_of(stale)["code"] == "PRECONDITION_FAILED"
    assert (gone.status_code, error_of(api.get(at))["code"]) == (204, "NOT_FOUND")
    actions = [f"report_schedules.{what}" for what in ("create", "change", "remove")]
    assert list(AuditEntry.objects.order_by("at").values_list("action", flat=True)) == actions


def test_report_goes_to_people_with_an_account(api: TokenClient) -> None:
    reader = person(UserRole.ANALYST)

    made = post(api, {**REPORT, "recipients": [reader.email.upper()], "serviceType": "dialysis", "basis": "live"})

    assert (made.status_code, made.json()["recipients"]) == (201, [reader.email])
    assert made.json()["filters"] == {"serviceType": "dialysis", "basis": "live"}
    seen = api.get(made.headers["Location"])
    changed = api.patch(made.headers["Location"], {"name": "Other"}, format="json")
    assert seen.json()["recipients"] == changed.json()["recipients"] == [reader.email]
    assert changed.json()["filters"] == made.json()["filters"]


def test_schedule_is_run_paused_and_resumed(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    places = stand_in(monkeypatch)
    at = post(api, {**EXPORT, "destinationId": str(bucket().pk)}).headers["Location"]
    ran = post(api, {}, f"{at}/run")
    tick(Clock(NOW))
    busy = post(api, {}, f"{at}/run")
    paused, again = post(api, {}, f"{at}/pause"), post(api, {}, f"{at}/pause")
    resumed, twice = post(api, {}, f"{at}/resume"), post(api, {}, f"{at}/resume")
    runs = api.get(f"{at}/runs?state=done").json()["data"]
    assert runs == api.get(f"{at}/runs").json()["data"]

    assert (ran.status_code, ran.json()["state"], ran.json()["manual"]) == (202, "queued", True)
    assert (ran.json()["firstDay"], ran.json()["lastDay"]) == ("2026-11-19", "2026-11-19")
    assert error_of(busy)["code"] == "INVALID_TRANSITION"  # the clock is stopped: the same instant
    assert [(one["id"], one["state"], one["outcome"]) for one in runs] == [(ran.json()["id"], "done", "")]
    assert (paused.json()["active"], paused.json()["pausedFor"]) == (False, "by_people")
    assert (resumed.json()["active"], resumed.json()["pausedFor"]) == (True, "")
    assert error_of(again)["code"] == error_of(twice)["code"] == "INVALID_TRANSITION"
    assert len(places.files) == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({**EXPORT}, "recipients"),
    ({**{name: value for name, value in EXPORT.items() if name != "dataset"}, "destinationId": "{bucket}"}, "dataset"),
    ({**{name: value for name, value in EXPORT.items() if name != "format"}, "destinationId": "{bucket}"}, "format"),
    ({**EXPORT, "recipients": ["stranger@example.net"]}, "recipients"),
    ({**EXPORT, "recipients": ["{planner}"]}, "recipients"),  # may not make exports
    ({**EXPORT, "phi": "full", "recipients": ["{analyst}"]}, "recipients"),  # sees no riders
    ({**EXPORT, "destinationId": str(uuid4())}, "destinationId"),
    ({**EXPORT, "destinationId": "{off}"}, "destinationId"),
    ({**EXPORT, "destinationId": "{bucket}", "phi": "limited"}, "destinationId"),
    ({**EXPORT, "destinationId": "{bucket}", "recipients": ["{analyst}"]}, "recipients"),
    ({**EXPORT, "destinationId": "{bucket}", "every": "week"}, "weekdays"),
    ({**EXPORT, "destinationId": "{bucket}", "zone": "Etc/GMT+5"}, "zone"),
    ({**EXPORT, "destinationId": "{bucket}", "zone": "Chicago"}, "zone"),
    ({**EXPORT, "destinationId": "{bucket}", "time": "25:00"}, "time"),
    ({**EXPORT, "destinationId": "{bucket}", "monthDay": 32}, "monthDay"),
    ({**EXPORT, "destinationId": "{bucket}", "dataset": "drivers"}, "covers"),
    ({**EXPORT, "destinationId": "{bucket}", "dataset": "kpis", "covers": "changes"}, "covers"),
    ({**EXPORT, "destinationId": "{bucket}", "report": "overview"}, "report"),
    ({**EXPORT, "destinationId": "{bucket}", "serviceType": "dialysis"}, "serviceType"),
    ({**EXPORT, "destinationId": "{bucket}", "columns": ["flown"]}, "columns"),
    ({**EXPORT, "destinationId": "{bucket}", "status": ["flown"]}, "status"),
    ({**EXPORT, "destinationId": "{bucket}", "facilityId": str(uuid4())}, "facilityId"),
    ({**REPORT, "recipients": ["{analyst}"], "report": "guesses"}, "report"),
    ({**REPORT, "recipients": ["{analyst}"], "covers": "changes"}, "covers"),
    ({**REPORT, "recipients": ["{analyst}"], "phi": "full"}, "phi"),
    ({**REPORT, "recipients": ["{analyst}"], "dataset": "rides"}, "dataset"),
    ({**REPORT, "recipients": ["{analyst}"], "columns": ["rideId"]}, "columns"),
    ({**REPORT, "recipients": ["{analyst}"], "payerId": str(uuid4())}, "payerId"),
    ({**REPORT, "recipients": ["{analyst}"], "providerId": str(uuid4())}, "providerId"),
    ({**REPORT, "destinationId": "{bucket}"}, "destinationId"),
    ({**REPORT, "recipients": ["{outside}"], "facilityId": "{facility}"}, "recipients"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wish_that_makes_no_sense_is_refused_by_its_field(api: TokenClient, number: int) -> None:
    given, field = WRONG[number]
    outside = person(UserRole.PLANNER)
    named = {
        "{planner}": person(UserRole.PLANNER).email,
        "{analyst}": person(UserRole.ANALYST).email,
        "{outside}": outside.email,
        "{bucket}": str(bucket().pk),
        "{off}": str(bucket(name="Off", active=False).pk),
        "{facility}": str(factories.FacilityFactory.create().pk),
    }
    body = {
        key: [named.get(one, one) for one in value]
        if isinstance(value, list)
        else named.get(value, value)
        if isinstance(value, str)
        else value
        for key, value in given.items()
    }

    response = post(api, body)

    assert response.status_code == 400, response.json()
    assert [detail["field"] for detail in error_of(response)["details"]] in ([field], [f"{field}[0]"])
    assert ReportSchedule.objects.count() == 0


def test_scope_and_level_are_asked() -> None:
    place = str(bucket(phi_agreed_by="system", phi_agreed_at=NOW).pk)
    analytics = api_with(TokenRole.ANALYTICS_READONLY)
    no_reports = api_with(scopes=["exports:create"])

    above = post(analytics, {**EXPORT, "phi": "limited", "destinationId": place})
    column = post(analytics, {**EXPORT, "columns": ["riderLastName"], "destinationId": place})
    drivers = post(analytics, {**EXPORT, "dataset": "drivers", "covers": "changes", "destinationId": place})
    reports = post(no_reports, {**REPORT, "recipients": [person(UserRole.ANALYST).email]})

    assert error_of(above)["code"] == error_of(column)["code"] == "PHI_NOT_PERMITTED"
    assert error_of(drivers)["details"][0]["requiredScope"] == "drivers:read"
    assert error_of(reports)["details"][0]["requiredScope"] == "reports:read"
    assert ReportSchedule.objects.count() == 0


@pytest.mark.parametrize(("name", "field"), [("service_type", "serviceType"), ("basis", "basis")])
def test_words_of_filters_are_looked_at_below_the_doors(name: str, field: str) -> None:
    owner = person(UserRole.ANALYST)

    with pytest.raises(InvalidInput) as refused:
        keep(reports_weekly(recipients=ids(owner), filters={name: "flown"}), owner)

    assert [detail.field for detail in refused.value.details] == [field]


def test_nobody_keeps_more_than_fifty(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "MAX_SCHEDULES", 1)
    place = str(bucket().pk)
    post(api, {**EXPORT, "destinationId": place})

    refused = post(api, {**EXPORT, "destinationId": place})

    assert error_of(refused)["code"] == "RULE_VIOLATION"
    assert ReportSchedule.objects.count() == 1


def test_client_sees_only_its_own_schedules_within_reach(api: TokenClient) -> None:
    place = str(bucket().pk)
    at = post(api, {**EXPORT, "destinationId": place}).headers["Location"]
    keep(exports_daily(recipients=ids(owner := person())), owner)
    facility = factories.FacilityFactory.create()
    narrow = api_with(client=api.token.client, facility_ids=[facility.pk], provider_ids=[])

    assert [f"{PATH}/{one['id']}" for one in api.get(PATH).json()["data"]] == [at]
    assert api_with().get(at).status_code == 404
    for path in (at, f"{at}/runs"):
        assert narrow.get(path).status_code == 404
    assert api_with().delete(at).status_code == 404
    assert ReportSchedule.objects.count() == 2


def test_list_takes_as_many_queries_for_three_as_for_one(api: TokenClient, django_assert_num_queries: Any) -> None:
    place = str(bucket().pk)
    post(api, {**EXPORT, "destinationId": place})
    with django_assert_num_queries(3):
        assert len(api.get(PATH).json()["data"]) == 1
    reader = person(UserRole.ANALYST)
    post(api, {**REPORT, "recipients": [reader.email]})
    post(api, {**REPORT, "recipients": [reader.email]})

    with django_assert_num_queries(3):
        assert len(api.get(PATH).json()["data"]) == 3


def test_people_choose_among_those_who_share_a_place_with_them() -> None:
    here, there = factories.FacilityFactory.create_batch(2)
    planner, colleague, stranger = person(UserRole.PLANNER), person(UserRole.PLANNER), person(UserRole.PLANNER)
    planner.facilities.set([here])
    colleague.facilities.set([here])
    stranger.facilities.set([there])
    fleet = person(UserRole.FLEET_ADMIN)
    fleet.providers.set([factories.TransportProviderFactory.create()])

    keep(reports_weekly(recipients=ids(planner, colleague)), planner)
    keep(reports_weekly(recipients=ids(fleet)), fleet)
    for other in (stranger, person(UserRole.DISPATCHER)):
        with pytest.raises(InvalidInput):
            keep(reports_weekly(recipients=ids(planner, other)), planner)

    assert (ReportSchedule.objects.count(), ScheduleRun.objects.count()) == (2, 0)
