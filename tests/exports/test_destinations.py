"""Destinations: validation, uploads, and the recorded results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import IntegrityError, transaction

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.exports.destinations import ssh_keys
from apps.exports.destinations.errors import UploadError, UploadErrorCode
from apps.exports.destinations.sftp import Server
from apps.exports.models import ExportDestination
from apps.exports.services import destinations, uploads
from apps.exports.services.destination_validation import AddressBlocked, DestinationParams, params_of
from lib.access import Phi, Principal
from lib.errors import Code, DomainError, InvalidInput, NotFound, StaleVersion
from lib.ids import uuid7
from tests import factories
from tests.exports import places
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Buckets, Listening
from tests.factories import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.real_clock]

NAME = "carelane_completions_2026-11-19.csv"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x"
BUCKET: dict[str, Any] = {
    "kind": "s3",
    "name": "Claims",
    "username": "AKEXAMPLE",
    "sign_in": "secret_key",
    "endpoint_url": "http://127.0.0.1:9",
    "region": "us-east-1",
    "bucket": "claims",
    "path_style": True,
    "secret": "a-secret-key",
}
SERVER: dict[str, Any] = {
    "kind": "sftp",
    "name": "Drop box",
    "username": "carelane",
    "sign_in": "password",
    "host": "127.0.0.1",
    "port": 22,
    "secret": "a-password",
}


@pytest.fixture(autouse=True)
def inside(settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_DESTINATION_NETWORKS = INSIDE.networks
    settings.EXPORT_DESTINATION_PLAIN_HTTP = True
    settings.EXPORTS_DIR = str(tmp_path / "exports")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "root").mkdir()
    with servers.sftp(tmp_path / "root") as found:
        yield found


@pytest.fixture(scope="module")
def moto() -> Iterator[Buckets]:
    with servers.buckets() as found:
        yield found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"rideId\n")
    return path


def admin(**given: Any) -> Principal:
    return factories.principal(role=UserRole.ADMIN, **given)


def at_server(listening: Listening, **given: Any) -> ExportDestination:
    told = {"host": "127.0.0.1", "port": listening.port, "host_key": listening.host_key, "secret": servers.PASSWORD}
    return places.server(**(told | given))


def at_bucket(moto: Buckets, **given: Any) -> ExportDestination:
    told = {"endpoint_url": moto.url, "username": moto.key.id, "secret": moto.key.secret}
    return places.bucket(**({**told, "folder": "in", "path_style": True} | given))


def add(**given: Any) -> ExportDestination:
    return destinations.add(params=DestinationParams(**given), by=admin(), at=NOW)


def change(destination: ExportDestination, **changes: Any) -> ExportDestination:
    return destinations.change(
        destination_id=destination.pk, changes=changes, expected_version=None, by=admin(), at=factories.NOW
    )


def trail() -> list[tuple[str, UUID | None, dict[str, Any]]]:
    rows = AuditEntry.objects.filter(action__startswith="destinations.").order_by("pk")
    return [(one.action, one.subject_id, one.details) for one in rows]


def test_file_is_put_on_a_server_and_that_is_remembered(listening: Listening, file: Path) -> None:
    destination = at_server(listening)

    uploads.upload(destination, file, NAME, clock=lambda: NOW)

    destination.refresh_from_db()
    assert listening.there() == {NAME: b"rideId\n"}
    assert (destination.sent_at, destination.failed_at, destination.version) == (NOW, None, 1)
    assert trail() == [("destinations.upload", destination.pk, {"name": NAME})]


def test_file_is_put_on_a_server_that_knows_our_key(tmp_path: Path, file: Path) -> None:
    made = add(**(SERVER | {"sign_in": "private_key", "secret": None}))
    (tmp_path / "root").mkdir()
    with servers.sftp(tmp_path / "root", authorized=made.public_key) as listening:
        ExportDestination.objects.update(port=listening.port, host_key=listening.host_key)
        uploads.upload(made, file, NAME)

    assert listening.there() == {NAME: b"rideId\n"}


def test_file_is_put_into_a_bucket(moto: Buckets, file: Path) -> None:
    uploads.upload(at_bucket(moto), file, NAME)

    assert moto.there() == {f"in/{NAME}": b"rideId\n"}


def test_why_a_file_could_not_be_put_is_remembered(moto: Buckets, file: Path, caplog: Any) -> None:
    destination = at_bucket(moto, secret="wrong")

    with pytest.raises(UploadError) as refusal:
        uploads.upload(destination, file, NAME, clock=lambda: NOW)

    destination.refresh_from_db()
    assert (refusal.value.code, refusal.value.retryable) == (UploadErrorCode.NOT_AUTHORIZED, False)
    assert (destination.sent_at, destination.failed_at, destination.failure_code) == (None, NOW, "not_authorized")
    assert [one.getMessage() for one in caplog.records if "upload" in one.getMessage()] == [
        "upload failed: not_authorized"
    ]
    assert trail() == []


@pytest.mark.parametrize("gone", [{"active": False}, {"active": False, "deleted_at": NOW, "secret_encrypted": None}])
def test_nothing_is_put_where_people_switched_it_off_meanwhile(
    listening: Listening, file: Path, gone: dict[str, Any]
) -> None:
    destination = at_server(listening)
    ExportDestination.objects.update(**gone)

    with pytest.raises(UploadError) as refusal:
        uploads.upload(destination, file, NAME)

    assert (refusal.value.code, listening.there()) == (UploadErrorCode.SWITCHED_OFF, {})


def test_secret_that_no_key_opens_is_told(listening: Listening, file: Path) -> None:
    destination = at_server(listening)
    ExportDestination.objects.update(secret_encrypted=b"t0:" + bytes(40))

    with pytest.raises(UploadError) as refusal:
        uploads.upload(destination, file, NAME)

    assert refusal.value.code == UploadErrorCode.SECRET_UNREADABLE
    ExportDestination.objects.update(sign_in="private_key")
    assert destinations.get(destination.pk, admin()).public_key == ""


def test_what_is_no_name_and_no_file_is_an_error(listening: Listening, file: Path) -> None:
    with pytest.raises(ValueError, match="name of a file"):
        uploads.upload(at_server(listening), file, "-rf")
    with pytest.raises(FileNotFoundError):
        uploads.upload(at_server(listening, name="Other"), file.with_name("none"), NAME)


def test_rider_data_goes_only_where_that_was_agreed_on() -> None:
    agreed = places.server(phi_agreed_at=NOW, phi_agreed_by="user:x")
    silent = places.bucket()

    assert [agreed.accepts(phi) for phi in Phi] == [True, True, True]
    assert [silent.accepts(phi) for phi in Phi] == [True, False, False]


def test_destination_is_stored_as_given_with_encrypted_secret() -> None:
    by = admin()
    made = destinations.add(params=DestinationParams(**BUCKET, phi_agreement=True, folder="a/b"), by=by, at=NOW)

    stored = ExportDestination.objects.get()
    assert params_of(stored) == DestinationParams(**{**BUCKET, "secret": None}, phi_agreement=True, folder="a/b")
    assert (stored.secret, b"a-secret-key" in bytes(stored.secret_encrypted or b"")) == ("a-secret-key", False)
    assert (stored.phi_agreed_by, stored.phi_agreed_at, stored.created_by) == (by.actor, NOW, by.actor)
    assert stored.place == "http://127.0.0.1:9 claims/a/b"
    assert "a-secret-key" not in repr(DestinationParams(**BUCKET))
    assert trail() == [("destinations.add", made.pk, {})]
    assert str(made) == f"export destination {made.pk}"


def test_server_is_known_by_its_key_without_the_comment() -> None:
    made = add(**SERVER, host_key=f"{KEY} root@dropbox", folder="/in")

    assert (made.host_key, made.fingerprint) == (KEY, ssh_keys.host_key(KEY).fingerprint)
    assert made.place == "carelane@127.0.0.1:22 /in"


@pytest.mark.parametrize(
    ("given", "named", "code"),
    [
        (BUCKET | {"host": "a.example.org"}, "host", "other_kind"),
        (BUCKET | {"port": 22}, "port", "other_kind"),
        (SERVER | {"bucket": "claims"}, "bucket", "other_kind"),
        (SERVER | {"path_style": True}, "pathStyle", "other_kind"),
        (BUCKET | {"sign_in": "password"}, "signIn", "other_kind"),
        (SERVER | {"sign_in": "secret_key"}, "signIn", "other_kind"),
        (BUCKET | {"name": "a\x07"}, "name", "control"),
        (BUCKET | {"folder": "/in"}, "folder", "invalid"),
        (SERVER | {"folder": "a/../b"}, "folder", "invalid"),
        (SERVER | {"username": "-oProxyCommand"}, "username", "invalid"),
        (SERVER | {"username": "a b"}, "username", "invalid"),
        (BUCKET | {"bucket": "a/b"}, "bucket", "invalid"),
        (BUCKET | {"bucket": "a..b"}, "bucket", "invalid"),
        (BUCKET | {"region": "Us East"}, "region", "invalid"),
        (SERVER | {"port": 25}, "port", "invalid"),
        (SERVER | {"port": None}, "port", "invalid"),
        (SERVER | {"host_key": "ssh-rsa x"}, "hostKey", "bad_key"),
        (BUCKET | {"secret": None}, "secret", "required"),
        (SERVER | {"secret": "a\nb"}, "secret", "invalid"),
        (SERVER | {"secret": ""}, "secret", "invalid"),
        (SERVER | {"sign_in": "private_key", "secret": "x"}, "secret", "bad_key"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(given: dict[str, Any], named: str, code: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        add(**given)

    (detail,) = refusal.value.details
    assert (detail.field, detail.code, ExportDestination.objects.count()) == (named, code, 0)


def test_private_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    locked = Ed25519PrivateKey.generate().private_bytes(*form, serialization.BestAvailableEncryption(b"x"))

    with pytest.raises(InvalidInput) as refusal:
        add(**(SERVER | {"sign_in": "private_key", "secret": locked.decode()}))

    assert refusal.value.details[0].code == "has_passphrase"


@pytest.mark.parametrize(
    ("given", "named", "code"),
    [
        (BUCKET | {"endpoint_url": "ftp://s3.example.org"}, "endpointUrl", "form"),
        (BUCKET | {"endpoint_url": "http://127.0.0.1:9/claims"}, "endpointUrl", "form"),
        (BUCKET | {"endpoint_url": "http://127.0.0.1:9/?x"}, "endpointUrl", "form"),
        (BUCKET | {"endpoint_url": "http://10.0.0.1"}, "endpointUrl", "address"),
        (BUCKET | {"endpoint_url": "http://169.254.169.254"}, "endpointUrl", "address"),
        (BUCKET | {"endpoint_url": "http://nowhere.invalid", "path_style": False}, "endpointUrl", "unresolvable"),
        (SERVER | {"host": "-x"}, "host", "form"),
        (SERVER | {"host": "10.0.0.1"}, "host", "address"),
        (SERVER | {"host": "nowhere.invalid"}, "host", "unresolvable"),
    ],
)
def test_what_leads_elsewhere_is_refused(given: dict[str, Any], named: str, code: str) -> None:
    with pytest.raises(AddressBlocked) as refusal:
        add(**given)

    (detail,) = refusal.value.details
    assert (refusal.value.code, detail.field, detail.code) == (Code.ENDPOINT_URL_BLOCKED, named, code)
    assert ExportDestination.objects.count() == 0


def test_name_is_that_of_one_destination() -> None:
    first = add(**SERVER)
    with pytest.raises(InvalidInput) as refusal:
        add(**SERVER)
    destinations.remove(destination_id=first.pk, by=admin(), at=NOW)
    add(**SERVER)

    assert refusal.value.details[0].code == "taken"
    with pytest.raises(IntegrityError, match="is_of_its_kind"), transaction.atomic(), destinations._unique_name():
        places.bucket(port=1)


def test_there_are_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "MAX_DESTINATIONS", 1)
    add(**SERVER)

    with pytest.raises(destinations.TooManyDestinations):
        add(**BUCKET)


def test_change_leaves_what_it_does_not_name() -> None:
    made = add(**SERVER, host_key=KEY, phi_agreement=True)

    changed = change(made, name="Other", folder="x")
    same = change(made, name="Other")

    assert (changed.name, changed.folder, changed.host_key, changed.secret) == ("Other", "x", KEY, "a-password")
    assert (changed.phi_agreed_at, changed.version, same.version) == (NOW, 2, 2)
    assert trail()[1:] == [("destinations.change", made.pk, {"changed": ["name", "folder"]})]


def test_another_place_is_trusted_with_nothing_of_the_one_before() -> None:
    made = add(**SERVER, host_key=KEY, phi_agreement=True)

    with pytest.raises(InvalidInput) as refusal:
        change(made, port=2222)
    unchanged = ExportDestination.objects.get().port
    moved = change(made, port=2222, secret="another")

    assert (refusal.value.details[0].field, unchanged) == ("secret", 22)
    assert (moved.host_key, moved.phi_agreed_at, moved.phi_agreed_by, moved.secret) == ("", None, "", "another")


def test_another_place_is_trusted_with_what_is_said_anew() -> None:
    made = add(**BUCKET, phi_agreement=True)
    other = admin()

    moved = destinations.change(
        destination_id=made.pk,
        changes={"bucket": "other", "phi_agreement": True},
        expected_version=1,
        by=other,
        at=NOW,
    )

    assert (moved.bucket, moved.phi_agreed_by, moved.secret) == ("other", other.actor, "a-secret-key")


def test_another_way_to_sign_in_takes_another_secret() -> None:
    made = add(**SERVER)

    changed = change(made, sign_in="private_key")

    assert changed.public_key.startswith("ssh-ed25519 ")
    with pytest.raises(InvalidInput):
        change(made, sign_in="password")


def test_kind_stays() -> None:
    with pytest.raises(InvalidInput) as refusal:
        change(add(**SERVER), kind="s3")
    assert refusal.value.details[0].code == "fixed"


def test_change_of_an_older_version_is_refused() -> None:
    made = add(**SERVER)

    with pytest.raises(StaleVersion):
        destinations.change(destination_id=made.pk, changes={"name": "x"}, expected_version=2, by=admin(), at=NOW)
    with pytest.raises(StaleVersion):
        destinations.remove(destination_id=made.pk, expected_version=2, by=admin(), at=NOW)


def test_removed_destination_is_gone_with_its_secret() -> None:
    made = add(**SERVER)

    destinations.remove(destination_id=made.pk, by=admin(), at=NOW)

    row = ExportDestination.objects.get()
    assert (row.secret_encrypted, row.active, row.deleted_at) == (None, False, NOW)
    for gone in (
        lambda: destinations.get(made.pk, admin()),
        lambda: destinations.remove(destination_id=made.pk, by=admin(), at=NOW),
        lambda: change(made, name="x"),
        lambda: destinations.test(destination_id=uuid7(), by=admin(), at=NOW),
    ):
        with pytest.raises(NotFound):
            gone()


def test_test_of_a_server_leaves_nothing_there(listening: Listening) -> None:
    destination = at_server(listening, active=False)

    tried = destinations.test(destination_id=destination.pk, by=admin(), at=NOW)

    assert (tried.code, tried.test_file_left, listening.there()) == (None, False, {})
    assert (tried.destination.tested_at, tried.destination.test_code) == (NOW, "")
    assert trail() == [("destinations.test", destination.pk, {"outcome": "ok"})]


def test_test_of_a_bucket_that_lets_nothing_be_deleted_says_so(moto: Buckets) -> None:
    tried = destinations.test(destination_id=at_bucket(moto).pk, by=admin(), at=NOW)

    assert (tried.code, tried.test_file_left) == (None, True)


def test_test_of_a_bucket_that_lets_it_leaves_nothing_there(moto: Buckets) -> None:
    with moto.trusting_everybody():
        tried = destinations.test(destination_id=at_bucket(moto, folder="tidy").pk, by=admin(), at=NOW)

    assert (tried.code, tried.test_file_left) == (None, False)
    assert [name for name in moto.there() if name.startswith("tidy")] == []


def test_test_that_fails_says_why(listening: Listening) -> None:
    tried = destinations.test(destination_id=at_server(listening, host_key=KEY).pk, by=admin(), at=NOW)

    assert (tried.code, tried.destination.test_code) == (UploadErrorCode.HOST_KEY_CHANGED, "host_key_changed")


def test_host_keys_are_told_for_somebody_to_compare(listening: Listening) -> None:
    destination = at_server(listening, host_key="")

    (key,) = destinations.host_keys(destination_id=destination.pk, by=admin())

    assert str(key) == listening.host_key


def test_buckets_have_no_host_keys_and_silent_servers_tell_none() -> None:
    with pytest.raises(destinations.NotAnSftpServer):
        destinations.host_keys(destination_id=places.bucket().pk, by=admin())
    with pytest.raises(destinations.HostKeysUnavailable) as refusal:
        destinations.host_keys(destination_id=places.server(host="127.0.0.1", port=1).pk, by=admin())
    assert refusal.value.upload_error == UploadErrorCode.UNREACHABLE


def test_those_who_reach_a_part_decide_on_nothing() -> None:
    made = add(**SERVER)
    for by in (admin(facility_ids=frozenset()), admin(provider_ids=frozenset({uuid7()}))):
        for act in (
            lambda by=by: destinations.add(params=DestinationParams(**BUCKET), by=by, at=NOW),
            lambda by=by: destinations.change(
                destination_id=made.pk, changes={"name": "x"}, expected_version=None, by=by, at=NOW
            ),
            lambda by=by: destinations.remove(destination_id=made.pk, by=by, at=NOW),
            lambda by=by: destinations.test(destination_id=made.pk, by=by, at=NOW),
            lambda by=by: destinations.host_keys(destination_id=made.pk, by=by),
        ):
            with pytest.raises(destinations.ScopeTooNarrow):
                act()

    assert ExportDestination.objects.filter(name="Drop box", deleted_at__isnull=True).count() == 1


def test_secrets_of_servers_are_in_no_words() -> None:
    assert "a-password" not in repr(Server("h", 22, "u", "", password="a-password"))
    assert issubclass(destinations.ScopeTooNarrow, DomainError)
