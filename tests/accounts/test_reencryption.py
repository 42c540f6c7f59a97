"""Re-encryption of every table with the newest key, during concurrent writes."""

import base64
import io
import os
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings as configured
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from apps.accounts import totp_secrets
from apps.accounts.models import IdempotencyRecord
from apps.accounts.services import idempotency, reencryption
from apps.audit.models import AuditEntry
from apps.exports.models import ExportDestination
from apps.fleet.models import Document, Driver
from apps.fleet.services import documents
from apps.recurring.models import Terms
from apps.riders.models import Rider
from apps.rides.models import Assignment, BookingDraft, Ride, RideChange
from apps.webhooks.models import Delivery, EndpointSecret, SigningKey
from apps.webhooks.services import secrets
from apps.webhooks.services.outbox import publish
from lib.access import system
from lib.crypto import encrypt_bytes, key_of
from lib.ids import uuid7
from tests import factories
from tests.exports import places
from tests.fleet.scans import PDF
from tests.recurring import cast
from tests.rides.drafts import HOME
from tests.webhooks import made

pytestmark = pytest.mark.django_db
OLD = configured.ENCRYPTION_KEYS
NEW = [f"t2:{base64.b64encode(b'n' * 32).decode()}"]
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def _reencrypt(**options: Any) -> str:
    out = io.StringIO()
    call_command("reencrypt", stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def _keys_by_column() -> dict[str, list[str]]:
    """Return the keys under which the values of each column are encrypted."""
    keys = {}
    for model, name in reencryption.encrypted_columns():
        values = model._default_manager.exclude(**{name: None}).values_list(name, flat=True)
        keys[f"{model._meta.db_table}.{name}"] = [key_of(bytes(value)) for value in values]
    seeds = [data.get("secret") or data["seed"] for data in Authenticator.objects.values_list("data", flat=True)]
    keys["mfa_authenticator.data"] = [key_of(base64.b64decode(seed)) for seed in seeds]
    return keys


def _keys_of_riders() -> list[str]:
    return sorted(_keys_by_column()["riders_rider.medicaid_id_encrypted"])


def _seal_one_of_each() -> None:
    assignment = factories.put_driver_on(factories.RideFactory.create())
    assignment.license_number = "D400"
    assignment.save()
    driver, ride, rider = assignment.driver, assignment.ride, assignment.ride.rider
    driver.license_number = "D400"
    driver.save()
    ride.pickup_access, ride.dropoff_access, ride.payer_member_id = "4711#", "0815#", "M-1"
    ride.save()
    rider.medicaid_id, rider.member_id = "IL44719925", "M-2"
    rider.save()
    client_id = factories.ApiClientFactory.create().pk
    idempotency.save_response(
        client_id=client_id, key="k", fingerprint=b"f" * 32, status=201, headers={}, body='{"a": 1}', rider_ids=[]
    )
    endpoint = made.endpoint()
    endpoint.headers_text = '{"x-key": "k"}'
    endpoint.save()
    secrets.ensure_signing_key(at=factories.NOW)
    made.event()
    publish(at=factories.NOW)
    delivery = Delivery.objects.get()
    delivery.body_text = '{"b": 2}'
    delivery.save()
    person = factories.UserFactory.create()
    TOTP.activate(person, SEED)
    RecoveryCodes.activate(person)
    codes = {
        "pickup": {**HOME, "accessCode": "4712#"},
        "dropoff": {"accessCode": "0816#"},
        "return_dropoff": {**HOME, "accessCode": "2007#"},
    }
    cast.order(factories.FacilityFactory.create(), rider, is_draft=True, of=codes)
    credential = factories.CredentialFactory.create(driver=driver, type="tb_test")
    change = RideChange(ride=assignment.ride, version=2)
    change.values = "{}"
    change.save()
    draft = BookingDraft(user=person, key=uuid7(), created_at=factories.NOW, saved_at=factories.NOW)
    draft.form_data = '{"new_last_name": "Nguyen"}'
    draft.save()
    places.server(secret="hunter2")
    documents.add(credential_id=credential.pk, data=PDF, size=len(PDF), by=system(), at=factories.NOW)


def _read_one_of_each() -> list[Any]:
    assignment, driver, ride, rider = (
        Assignment.objects.get(),
        Driver.objects.get(),
        Ride.objects.get(),
        Rider.objects.get(),
    )
    record = IdempotencyRecord.objects.get()
    answer = idempotency.claim(client_id=record.client_id, key="k", fingerprint=b"f" * 32)
    secret, key, terms = EndpointSecret.objects.get(), SigningKey.objects.get(), Terms.objects.get()
    totp = Authenticator.objects.get(type="totp").wrap()
    codes = Authenticator.objects.get(type="recovery_codes").wrap()
    return [
        *(assignment.license_number, driver.license_number, ride.pickup_access, ride.dropoff_access),
        *(ride.payer_member_id, rider.medicaid_id, rider.member_id, answer and answer.body),
        *(secret.text, secret.endpoint.headers_text, key.private, Delivery.objects.get().body_text),
        *(terms.pickup_access, terms.dropoff_access, terms.return_dropoff_access),
        *(totp_secrets.decrypt(totp.instance.data["secret"]), codes.get_unused_codes()),
        Document.objects.get().content,
        BookingDraft.objects.get().form_data,
        RideChange.objects.get().values,
        ExportDestination.objects.get().secret,
    ]


def test_every_encrypted_column_is_known() -> None:
    assert [f"{model._meta.db_table}.{name}" for model, name in reencryption.encrypted_columns()] == [
        "accounts_idempotencyrecord.body_encrypted",
        "exports_exportdestination.secret_encrypted",
        "fleet_document.content_encrypted",
        "fleet_driver.license_number_encrypted",
        "recurring_terms.dropoff_access_encrypted",
        "recurring_terms.pickup_access_encrypted",
        "recurring_terms.return_dropoff_access_encrypted",
        "riders_rider.medicaid_id_encrypted",
        "riders_rider.member_id_encrypted",
        "rides_assignment.license_number_encrypted",
        "rides_bookingdraft.form_data_encrypted",
        "rides_ride.dropoff_access_encrypted",
        "rides_ride.payer_member_id_encrypted",
        "rides_ride.pickup_access_encrypted",
        "rides_ridechange.values_encrypted",
        "webhooks_delivery.body_encrypted",
        "webhooks_endpoint.headers_encrypted",
        "webhooks_endpointsecret.secret_encrypted",
        "webhooks_signingkey.private_encrypted",
    ]


def test_everything_opens_with_the_new_key_alone_afterwards(settings: Any) -> None:
    _seal_one_of_each()
    before, versions = _read_one_of_each(), list(Ride.objects.values_list("version", "updated_at"))
    assert set(map(tuple, _keys_by_column().values())) == {("t1",), ("t1", "t1")}
    settings.ENCRYPTION_KEYS = NEW + OLD

    told = _reencrypt()

    settings.ENCRYPTION_KEYS = NEW
    assert set(map(tuple, _keys_by_column().values())) == {("t2",), ("t2", "t2")}
    assert _read_one_of_each() == before
    assert list(Ride.objects.values_list("version", "updated_at")) == versions
    assert "riders_rider.medicaid_id: 1 rows, 1 re-encrypted" in told
    entry = AuditEntry.objects.get(action="keys.reencrypt")
    assert (entry.actor, entry.outcome, entry.details["mfa_authenticator.data"]) == ("system", "done", 2)


def test_second_run_writes_nothing(settings: Any) -> None:
    _seal_one_of_each()
    settings.ENCRYPTION_KEYS = NEW + OLD
    _reencrypt()
    before = list(Rider.objects.values_list("medicaid_id_encrypted", flat=True))

    told = _reencrypt()

    assert [line for line in told.splitlines() if not line.endswith(" 0 re-encrypted")] == []
    assert list(Rider.objects.values_list("medicaid_id_encrypted", flat=True)) == before


@pytest.mark.parametrize("batch", [1, 2, 7, 100])
def test_batches_reach_every_row_once(settings: Any, batch: int) -> None:
    for number in range(7):
        rider = factories.RiderFactory.create()
        rider.medicaid_id = f"IL{number}"
        rider.save()
    settings.ENCRYPTION_KEYS = NEW + OLD

    told = _reencrypt(batch=batch)

    assert "riders_rider.medicaid_id: 7 rows, 7 re-encrypted" in told
    assert _keys_of_riders() == ["t2"] * 7


@pytest.mark.django_db(transaction=True)
def test_stopped_run_keeps_what_it_did_and_the_next_one_goes_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        rider = factories.RiderFactory.create()
        rider.medicaid_id = f"IL{number}"
        rider.save()
    settings.ENCRYPTION_KEYS = NEW + OLD

    def stop(progress: reencryption.ReencryptionProgress) -> None:
        if progress.column == "riders_rider.medicaid_id" and progress.seen == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reencryption.reencrypt(by=factories.principal(), rows_at_once=1, report=stop)
    half = _keys_of_riders()
    told = _reencrypt()

    assert half == ["t1", "t1", "t2", "t2"]
    assert "riders_rider.medicaid_id: 4 rows, 2 re-encrypted" in told


def test_values_that_no_key_opens_are_named_and_left(settings: Any) -> None:
    lost, kept, moved = factories.RiderFactory.create_batch(3)
    for rider in (lost, kept, moved):
        rider.medicaid_id = "IL1"
        rider.save()
    Rider.objects.filter(pk=lost.pk).update(medicaid_id_encrypted=b"t0:" + os.urandom(40))
    Rider.objects.filter(pk=moved.pk).update(medicaid_id_encrypted=kept.medicaid_id_encrypted)
    settings.ENCRYPTION_KEYS = NEW + OLD
    error = io.StringIO()

    with pytest.raises(CommandError):
        call_command("reencrypt", stdout=io.StringIO(), stderr=error)

    named = [line for line in error.getvalue().splitlines() if "no key opens" in line]
    assert {line.rpartition(" of ")[2] for line in named} == {str(lost.pk), str(moved.pk)}
    assert key_of(bytes(Rider.objects.get(pk=kept.pk).medicaid_id_encrypted or b"")) == "t2"
    assert AuditEntry.objects.get(action="keys.reencrypt").outcome == "failed"


def _with_a_change_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the rider's code in another session between the read and the write."""

    def change_then_encrypt(data: bytes, *, aad: str) -> bytes:
        rider = Rider.objects.get()
        if rider.medicaid_id == "IL-BEFORE":
            rider.medicaid_id = "IL-AFTER"
            rider.save()
        return encrypt_bytes(data, aad=aad)

    monkeypatch.setattr(reencryption, "encrypt_bytes", change_then_encrypt)


@pytest.fixture
def rider_before(settings: Any) -> None:
    rider = factories.RiderFactory.create()
    rider.medicaid_id = "IL-BEFORE"
    rider.save()
    settings.ENCRYPTION_KEYS = NEW + OLD


@pytest.mark.usefixtures("rider_before")
def test_change_that_comes_between_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_a_change_in_between(monkeypatch)

    told = _reencrypt()

    assert Rider.objects.get().medicaid_id == "IL-AFTER"
    assert "riders_rider.medicaid_id: 1 rows, 0 re-encrypted" in told


@pytest.mark.usefixtures("rider_before")
def test_concurrent_change_is_lost_without_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_a_change_in_between(monkeypatch)
    narrowed: Callable[..., Any] = QuerySet.filter

    def forget_what_was_read(rows: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("medicaid_id_encrypted", None)
        return narrowed(rows, *args, **kwargs)

    monkeypatch.setattr(QuerySet, "filter", forget_what_was_read)

    _reencrypt()

    assert Rider.objects.get().medicaid_id == "IL-BEFORE"


@pytest.mark.parametrize("batch", [0, -1])
def test_batch_of_nothing_is_refused(batch: int) -> None:
    with pytest.raises(CommandError):
        call_command("reencrypt", batch=batch)
