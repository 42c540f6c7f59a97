"""Destinations over the API: created, tested, deleted, and no secret in any answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.exports.destinations.errors import UploadErrorCode
from apps.exports.models import ExportDestination
from apps.exports.services import destinations
from lib.ids import uuid7
from tests.callers import api_with, error_of
from tests.exports import places
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Listening
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LIST = "/api/exports/destinations"
SERVER = {
    "kind": "sftp",
    "name": "Drop box",
    "username": "carelane",
    "signIn": "password",
    "secret": "a-password",
    "host": "127.0.0.1",
    "port": 2222,
    "phiAgreement": True,
}


@pytest.fixture(autouse=True)
def inside(settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_DESTINATION_NETWORKS = INSIDE.networks
    settings.EXPORTS_DIR = str(tmp_path / "exports")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "root").mkdir()
    with servers.sftp(tmp_path / "root") as found:
        yield found


def _post(api: Any, path: str, body: Any = None) -> Any:
    return api.post(path, json.dumps(body or {}), content_type="application/json", HTTP_IDEMPOTENCY_KEY=str(uuid7()))


def _patch(api: Any, path: str, body: Any, **headers: str) -> Any:
    return api.patch(path, json.dumps(body), content_type="application/json", **headers)


def test_destination_is_added_read_changed_and_removed() -> None:
    api = api_with()
    made = _post(api, LIST, SERVER)
    path = made.headers["Location"]
    read = api.get(path)
    changed = _patch(api, path, {"folder": "in"}, HTTP_IF_MATCH='"1"')
    stale = _patch(api, path, {"folder": "out"}, HTTP_IF_MATCH='"1"')
    removed = api.delete(path)

    row = ExportDestination.objects.get()
    assert (made.status_code, read.status_code, changed.status_code) == (201, 200, 200)
    assert json.loads(read.content) == json.loads(made.content)
    assert json.loads(read.content) == {
        "id": str(row.pk),
        "kind": "sftp",
        "name": "Drop box",
        "description": "",
        "active": True,
        "folder": "",
        "username": "carelane",
        "signIn": "password",
        "endpointUrl": "",
        "region": "",
        "bucket": "",
        "pathStyle": False,
        "host": "127.0.0.1",
        "port": 2222,
        "hostKey": "",
        "fingerprint": "",
        "phiAgreedAt": "2026-11-20T15:00:00Z",
        "phiAgreedBy": f"token:{api.token.pk}",
        "testedAt": None,
        "testCode": "",
        "sentAt": None,
        "failedAt": None,
        "failureCode": "",
        "version": 1,
        "createdBy": f"token:{api.token.pk}",
        "createdAt": "2026-11-20T15:00:00Z",
        "updatedAt": "2026-11-20T15:00:00Z",
        "publicKey": "",
    }
    assert (json.loads(changed.content)["folder"], changed.headers["ETag"]) == ("in", '"2"')
    assert error_of(stale)["code"] == "PRECONDITION_FAILED"
    assert (removed.status_code, api.get(path).status_code, row.secret_encrypted) == (204, 404, None)
    assert list(AuditEntry.objects.filter(subject_id=row.pk).order_by("pk").values_list("action", flat=True)) == [
        "destinations.add",
        "destinations.change",
        "destinations.remove",
    ]


def test_same_key_adds_one_destination() -> None:
    api, key = api_with(), str(uuid7())

    for _ in range(2):
        answer = api.post(LIST, json.dumps(SERVER), content_type="application/json", HTTP_IDEMPOTENCY_KEY=key)
        assert answer.status_code == 201

    assert ExportDestination.objects.count() == 1


def test_public_key_is_told_and_the_private_one_is_not() -> None:
    api = api_with()
    params = {name: value for name, value in SERVER.items() if name != "secret"} | {"signIn": "private_key"}

    made = _post(api, LIST, params)

    assert json.loads(made.content)["publicKey"].startswith("ssh-ed25519 ")
    assert b"PRIVATE" not in made.content
    assert b"publicKey" not in api.get(LIST).content


@pytest.mark.parametrize(
    ("changes", "status", "code", "named"),
    [
        ({"host": "10.0.0.1"}, 422, "ENDPOINT_URL_BLOCKED", "host"),
        ({"host": "169.254.169.254"}, 422, "ENDPOINT_URL_BLOCKED", "host"),
        ({"hostKey": "x"}, 400, "VALIDATION_ERROR", "hostKey"),
        ({"kind": "ftp"}, 400, "VALIDATION_ERROR", "kind"),
        ({"bucket": "claims"}, 400, "VALIDATION_ERROR", "bucket"),
        ({"folder": 'a"\nrm *'}, 400, "VALIDATION_ERROR", "folder"),
        ({"port": 0}, 400, "VALIDATION_ERROR", "port"),
        ({"secret": "a\nb"}, 400, "VALIDATION_ERROR", "secret"),
        ({"passphrase": "x"}, 400, "VALIDATION_ERROR", "passphrase"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], status: int, code: str, named: str) -> None:
    refused = _post(api_with(), LIST, SERVER | changes)

    error = error_of(refused)
    assert (refused.status_code, error["code"], error["details"][0]["field"]) == (status, code, named)
    assert ExportDestination.objects.count() == 0
    assert b"a-password" not in refused.content


def test_who_schedules_reads_and_changes_nothing() -> None:
    api, path = api_with(TokenRole.BILLING_READONLY), f"{LIST}/{places.server().pk}"

    read = [api.get(LIST), api.get(path)]
    refused = [_post(api, LIST, SERVER), _patch(api, path, {"name": "x"}), api.delete(path)]
    refused += [_post(api, f"{path}/test"), _post(api, f"{path}/host-keys")]

    assert [one.status_code for one in read] == [200, 200]
    assert {error_of(one)["details"][0]["requiredScope"] for one in refused} == {"destinations:manage"}


def test_who_keeps_webhooks_decides_on_no_destination() -> None:
    assert _post(api_with(TokenRole.WEBHOOK_ADMIN), LIST, SERVER).status_code == 403


def test_token_that_reaches_a_part_decides_on_nothing() -> None:
    refused = _post(api_with(facility_ids=[]), LIST, SERVER)

    assert (refused.status_code, error_of(refused)["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize("rows", [1, 3])
def test_list_takes_as_many_queries_for_any_number(rows: int, django_assert_num_queries: Any) -> None:
    api = api_with(TokenRole.ANALYTICS_READONLY)
    made = [places.server(name=f"Drop box {number}") for number in range(rows)]

    with django_assert_num_queries(2):
        answer = api.get(LIST)

    assert {one["id"] for one in json.loads(answer.content)["data"]} == {str(one.pk) for one in made}


def test_list_is_narrowed_to_those_that_files_are_put_to() -> None:
    api, on = api_with(), places.server()
    places.bucket(active=False)
    places.server(name="Gone", deleted_at=NOW, active=False, secret="")

    answer = json.loads(api.get(LIST, {"active": "true"}).content)

    assert [one["id"] for one in answer["data"]] == [str(on.pk)]
    assert len(json.loads(api.get(LIST).content)["data"]) == 2


@pytest.mark.real_clock
def test_test_and_host_keys_are_told(listening: Listening) -> None:
    api = api_with()
    known = {"host": "127.0.0.1", "port": listening.port, "secret": servers.PASSWORD}
    path = f"{LIST}/{places.server(**known).pk}"

    first = _post(api, f"{path}/test")
    (key,) = json.loads(_post(api, f"{path}/host-keys").content)["data"]
    _patch(api, path, {"hostKey": key["hostKey"]})
    second = _post(api, f"{path}/test")

    assert json.loads(first.content) == {"code": "no_host_key", "testFileLeft": False}
    assert key["hostKey"] == listening.host_key
    assert key["fingerprint"] == json.loads(api.get(path).content)["fingerprint"]
    assert (json.loads(second.content), listening.there()) == ({"code": None, "testFileLeft": False}, {})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k"}])
@pytest.mark.parametrize("asks", ["test", "host-keys"])
def test_no_transaction_is_open_while_others_are_asked(
    monkeypatch: pytest.MonkeyPatch, asks: str, headers: dict[str, Any]
) -> None:
    """PostgreSQL ends transactions that idle for half a minute, and the event feed waits for them until then."""
    seen = []

    def look(*given: Any, **named: Any) -> Any:
        seen.append(connection.in_atomic_block)
        return []

    monkeypatch.setattr(destinations, "_upload_test_file", lambda destination: (None, bool(look())))
    monkeypatch.setattr("apps.exports.destinations.sftp.host_keys", look)
    path = f"{LIST}/{places.server().pk}/{asks}"

    answer = api_with().post(path, "{}", content_type="application/json", **headers)

    assert (answer.status_code, seen) == (200, [False])


def test_test_result_is_replayed_for_same_key_other_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def try_(destination: ExportDestination) -> tuple[UploadErrorCode | None, bool]:
        asked.append(destination)
        return UploadErrorCode.NO_SPACE, False

    monkeypatch.setattr(destinations, "_upload_test_file", try_)
    api, rows = api_with(), [places.server(), places.server(name="Other")]
    paths = [f"{LIST}/{row.pk}/test" for row in (rows[0], rows[0], rows[1])]
    key: dict[str, Any] = {"content_type": "application/json", "HTTP_IDEMPOTENCY_KEY": "k"}

    first, again, other = (api.post(path, "{}", **key) for path in paths)

    assert asked == rows[:1]
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert error_of(other)["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_two_tests_with_one_key_at_once_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    api, path = api_with(), f"{LIST}/{places.server().pk}/test"
    key: dict[str, Any] = {"content_type": "application/json", "HTTP_IDEMPOTENCY_KEY": "k"}
    inner: list[Any] = []

    def try_(destination: ExportDestination) -> tuple[UploadErrorCode | None, bool]:
        if inner:
            return None, False
        inner.append(None)
        inner[0] = api.post(path, "{}", **key)  # arrives while the first request still waits
        return UploadErrorCode.TIMED_OUT, False

    monkeypatch.setattr(destinations, "_upload_test_file", try_)
    outer = api.post(path, "{}", **key)

    assert json.loads(inner[0].content) == json.loads(outer.content) == {"code": None, "testFileLeft": False}
    assert outer.headers["Idempotent-Replayed"] == "true"


def test_host_keys_of_nobody_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_with()
    of_bucket = _post(api, f"{LIST}/{places.bucket().pk}/host-keys")
    silent = _post(api, f"{LIST}/{places.server(host='127.0.0.1', port=1).pk}/host-keys")

    assert [error_of(one)["code"] for one in (of_bucket, silent)] == ["RULE_VIOLATION", "RULE_VIOLATION"]
    assert error_of(silent)["message"] == "The server did not send its host keys: it does not respond."
    assert destinations.MAX_DESTINATIONS == 50
