"""Pages of destinations: access, content, and what their forms store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from apps.accounts.rules.roles import UserRole
from apps.console.exports import labels
from apps.exports.models import ExportDestination
from apps.exports.models.destinations import UploadErrorCode
from lib.errors import NotFound
from lib.ids import uuid7
from lib.messages import Message
from tests.console.visits import text_of, told, visitor
from tests.exports import places
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Listening
from tests.factories import NOW

pytestmark = pytest.mark.django_db

LIST = "/console/destinations/"
BUCKET = {
    "name": "Claims",
    "endpoint_url": "https://127.0.0.1:9000",
    "region": "us-east-1",
    "bucket": "claims",
    "path_style": "on",
    "username": "AKEXAMPLE",
    "key": "a-secret-key",
    "active": "on",
}
SERVER = {
    "name": "Drop box",
    "host": "127.0.0.1",
    "port": "22",
    "username": "carelane",
    "sign_in": "password",
    "password": "a-password",
    "phi_agreement": "on",
    "active": "on",
}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x"


@pytest.fixture(autouse=True)
def inside(settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_DESTINATION_NETWORKS = INSIDE.networks
    settings.EXPORTS_DIR = str(tmp_path / "exports")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "root").mkdir()
    with servers.sftp(tmp_path / "root") as found:
        yield found


def _page(one: ExportDestination, what: str = "") -> str:
    return f"{LIST}{one.pk}/{what}"


def _errors(response: Any) -> dict[str, list[str]]:
    return {name: list(map(str, errors)) for name, errors in response.context["form"].errors.items()}


@pytest.mark.parametrize("role", list(UserRole))
def test_admins_alone_open_these_pages(role: UserRole) -> None:
    client, one = visitor(role), places.server()
    pages = [LIST, f"{LIST}add/s3/", f"{LIST}add/sftp/", _page(one), _page(one, "change/")]

    assert {client.get(page).status_code for page in pages} == {200 if role == UserRole.ADMIN else 403}
    if role != UserRole.ADMIN:
        for what in ("test/", "host-keys/", "trust-host-key/", "remove/"):
            assert client.post(_page(one, what)).status_code == 403
    assert ExportDestination.objects.filter(deleted_at__isnull=True).count() == 1


def test_what_is_not_there_is_not_found() -> None:
    client, gone = visitor(), uuid7()

    assert client.get(f"{LIST}add/ftp/").status_code == 404
    assert {client.get(f"{LIST}{gone}/{what}").status_code for what in ("", "change/")} == {404}
    for what in ("test/", "host-keys/", "trust-host-key/", "remove/"):
        assert client.post(f"{LIST}{gone}/{what}", {"host_key": KEY}).status_code == 404


def test_empty_list_says_what_a_destination_is() -> None:
    assert "No destinations yet." in text_of(visitor().get(LIST))


@pytest.mark.parametrize("rows", [1, 3])
def test_list_takes_as_many_queries_for_any_number(rows: int, django_assert_num_queries: Any) -> None:
    client = visitor()
    for number in range(rows):
        places.server(name=f"Drop box {number}", phi_agreed_at=NOW, phi_agreed_by="system", sent_at=NOW)
    client.get(LIST)

    with django_assert_num_queries(4):
        page = client.get(LIST)

    assert text_of(page).count("SFTP server") == rows + 1  # and the button


@pytest.mark.parametrize(
    ("columns", "tone"),
    [
        ({}, "info"),
        ({"tested_at": NOW}, "ok"),
        ({"tested_at": NOW, "test_code": "refused"}, "bad"),
        ({"sent_at": NOW}, "ok"),
        ({"failed_at": NOW, "failure_code": "no_space"}, "bad"),
        ({"active": False}, "quiet"),
    ],
)
def test_badge_says_how_it_does(columns: dict[str, Any], tone: str) -> None:
    assert labels.destination_badge(places.server(**columns))[0] == tone


def test_every_code_says_what_to_do() -> None:
    assert set(labels.DESTINATION_ADVICE) == set(UploadErrorCode)
    assert all(map(str, labels.DESTINATION_ADVICE.values()))
    assert (labels.upload_error_label(""), str(labels.upload_error_label("no_space"))) == ("", "it has no space left")


def test_bucket_is_added_as_the_form_says() -> None:
    response = visitor().post(f"{LIST}add/s3/", BUCKET)

    made = ExportDestination.objects.get()
    assert response.headers["Location"] == _page(made)
    assert (made.kind, made.name, made.bucket, made.path_style) == ("s3", "Claims", "claims", True)
    assert (made.secret, made.sign_in, made.active, made.phi_agreed_at) == ("a-secret-key", "secret_key", True, None)


def test_server_is_added_as_the_form_says_and_a_key_is_made() -> None:
    client = visitor()
    client.post(f"{LIST}add/sftp/", SERVER)
    client.post(f"{LIST}add/sftp/", SERVER | {"name": "By key", "sign_in": "private_key"})

    by_password, by_key = ExportDestination.objects.order_by("pk")
    assert (by_password.secret, by_password.port, by_password.phi_agreed_at) == ("a-password", 22, NOW)
    assert "a-password" not in client.get(_page(by_password, "change/")).content.decode()
    assert by_key.public_key in text_of(client.get(_page(by_key)))


@pytest.mark.parametrize(
    ("kind", "given", "errors"),
    [
        ("s3", BUCKET | {"key": ""}, {"key": ["Secret key is required."]}),
        (
            "s3",
            BUCKET | {"endpoint_url": "https://10.0.0.1"},
            {"endpoint_url": ["Address leads to an address that exports may not reach."]},
        ),
        ("sftp", SERVER | {"password": ""}, {"password": ["Password is required."]}),
        ("sftp", SERVER | {"port": "23"}, {"port": ["Port must be 22, or 1024 to 65535."]}),
        (
            "sftp",
            SERVER | {"sign_in": "private_key", "key": "x"},
            {"key": ["Your own private key must be a private key in OpenSSH or PEM format."]},
        ),
    ],
)
def test_what_cannot_be_is_said_by_its_field(kind: str, given: dict[str, str], errors: dict[str, Any]) -> None:
    response = visitor().post(f"{LIST}add/{kind}/", given)

    assert (response.status_code, _errors(response), ExportDestination.objects.count()) == (422, errors, 0)
    assert "a-password" not in response.content.decode()
    assert "a-secret-key" not in response.content.decode()


def test_form_that_is_not_filled_in_comes_back() -> None:
    assert visitor().post(f"{LIST}add/s3/", {}).status_code == 422
    assert visitor().post(_page(places.server(), "change/"), {}).status_code == 422


def test_destination_is_changed_and_keeps_its_secret() -> None:
    client, one = visitor(), places.server(host="127.0.0.1", host_key=KEY)
    form = client.get(_page(one, "change/")).context["form"]

    changed = SERVER | {"name": "Other", "password": "", "version": str(form["version"].value())}
    response = client.post(_page(one, "change/"), changed)
    stale = client.post(_page(one, "change/"), changed | {"name": "Third"})

    one.refresh_from_db()
    assert response.headers["Location"] == _page(one)
    assert (one.name, one.secret, one.host_key, one.version) == ("Other", "not to be told", KEY, 2)
    assert "Someone else changed the destination." in _errors(stale)["__all__"][0]


def test_destination_removed_while_form_is_open_is_404(monkeypatch: pytest.MonkeyPatch) -> None:
    client, one = visitor(), places.server(host="127.0.0.1")

    def removed(**given: Any) -> Any:

        raise NotFound(Message("export destination"))

    monkeypatch.setattr("apps.exports.services.destinations.change", removed)

    assert client.post(_page(one, "change/"), SERVER | {"version": "1"}).status_code == 404


def test_forms_that_come_late_ask_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    client, one = visitor(), places.server()
    monkeypatch.setattr("apps.console.exports.destination_views.is_proven", lambda request: False)

    forms = [client.post(f"{LIST}add/s3/", BUCKET), client.post(_page(one, "change/"), SERVER)]
    agreeing = client.post(_page(one, "trust-host-key/"), {"host_key": KEY})

    assert [one.status_code for one in forms] == [422, 422]
    assert agreeing.headers["Location"].startswith(reverse("account_reauthenticate"))
    assert (ExportDestination.objects.count(), ExportDestination.objects.get().host_key) == (1, "")


@pytest.mark.real_clock
def test_server_is_agreed_on_and_tried(listening: Listening) -> None:
    known = {"host": "127.0.0.1", "port": listening.port, "secret": servers.PASSWORD}
    client, one = visitor(), places.server(**known)

    first = client.post(_page(one, "test/"), follow=True)
    shown = client.post(_page(one, "host-keys/"))
    (key,) = shown.context["keys"]
    agreed = client.post(_page(one, "trust-host-key/"), {"host_key": str(key)}, follow=True)
    second = client.post(_page(one, "test/"), follow=True)

    assert told(first) == ["The test failed: no host key is trusted."]
    assert "Get the server's host key below" in text_of(first)
    assert key.fingerprint in text_of(shown)
    assert told(agreed) == ["The host key is trusted. Files are uploaded only to a server with this key."]
    assert told(second) == ["The test succeeded: a file was uploaded and deleted again."]
    assert listening.there() == {}


def test_file_that_stays_behind_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    client, one = visitor(), places.bucket()
    monkeypatch.setattr("apps.exports.services.destinations._upload_test_file", lambda destination: (None, True))

    page = client.post(_page(one, "test/"), follow=True)

    assert told(page)[0].startswith("The test succeeded. carelane-test.txt was uploaded but could not be deleted")


def test_server_that_tells_no_keys_and_key_that_is_none_are_told() -> None:
    client, one = visitor(), places.server(host="127.0.0.1", port=1)

    silent = client.post(_page(one, "host-keys/"), follow=True)
    ExportDestination.objects.update(port=22)
    wrong = client.post(_page(one, "trust-host-key/"), {"host_key": "x"}, follow=True)

    assert told(silent) == ["The server did not send its host keys: it does not respond."]
    assert told(wrong) == ["Host key must be the type and base64 of a public key, as in known_hosts."]


def test_page_says_what_failed_last_until_something_arrives() -> None:
    client, one = visitor(), places.server(failed_at=NOW, failure_code="no_space")
    failing = text_of(client.get(_page(one)))
    ExportDestination.objects.update(sent_at=NOW)

    assert "The last upload failed: it has no space left. Free up space there." in failing
    assert "The last upload failed" not in text_of(client.get(_page(one)))


def test_destination_is_removed() -> None:
    client, one = visitor(), places.server()

    page = client.post(_page(one, "remove/"), follow=True)

    assert told(page) == ["The destination is removed."]
    assert ExportDestination.objects.get().deleted_at == NOW
