"""Secrets of endpoints, and the deployment's signing key."""

import datetime as dt

import pytest
from django.core.management import call_command

from apps.audit.models import AuditEntry
from apps.webhooks.models import Endpoint, EndpointSecret, SigningKey
from apps.webhooks.services import secrets
from lib.access import system
from lib.errors import InvalidInput
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def ends(endpoint: Endpoint) -> list[dt.datetime | None]:
    return [one.expires_at for one in endpoint.secrets.order_by("created_at", "pk")]


def test_rotation_adds_a_secret_and_expires_the_old_in_a_day() -> None:
    endpoint = made.endpoint()

    changed, text = secrets.rotate(endpoint_id=endpoint.pk, by=system(), at=NOW + HOUR)

    texts = {one.text: one.expires_at for one in endpoint.secrets.all()}
    assert texts == {made.SECRET: NOW + HOUR + dt.timedelta(days=1), text: None}
    assert text.startswith("whsec_")
    assert text != made.SECRET
    assert (changed.version, changed.updated_at) == (2, NOW + HOUR)
    assert AuditEntry.objects.get().action == "webhooks.rotate_secret"


def test_three_secrets_are_valid_at_most_and_expired_deleted() -> None:
    endpoint = made.endpoint()

    for number in range(1, 4):
        secrets.rotate(endpoint_id=endpoint.pk, by=system(), at=NOW + number * HOUR)
    three = ends(endpoint)
    secrets.rotate(endpoint_id=endpoint.pk, by=system(), at=NOW + 27 * HOUR)

    assert three == [NOW + 26 * HOUR, NOW + 27 * HOUR, None]
    assert ends(endpoint) == [NOW + 51 * HOUR, None]


def test_secret_ends_at_once_where_that_is_wanted() -> None:
    endpoint = made.endpoint()

    _, text = secrets.rotate(endpoint_id=endpoint.pk, text=OTHER, overlap=dt.timedelta(0), by=system(), at=NOW + HOUR)

    assert text == OTHER
    assert ends(endpoint) == [NOW + HOUR, None]


def test_secrets_of_earlier_rotations_end_with_it() -> None:
    endpoint = made.endpoint()
    secrets.rotate(endpoint_id=endpoint.pk, overlap=dt.timedelta(days=7), by=system(), at=NOW)

    _, text = secrets.rotate(endpoint_id=endpoint.pk, overlap=dt.timedelta(0), by=system(), at=NOW + HOUR)

    assert [one.text for one in endpoint.valid_secrets(NOW + HOUR)] == [text]


@pytest.mark.parametrize("overlap", [dt.timedelta(seconds=-1), dt.timedelta(days=7, seconds=1)])
def test_overlap_out_of_bounds_is_refused(overlap: dt.timedelta) -> None:
    endpoint = made.endpoint()

    with pytest.raises(InvalidInput) as refusal:
        secrets.rotate(endpoint_id=endpoint.pk, overlap=overlap, by=system(), at=NOW)

    assert refusal.value.details[0].field == "overlapSeconds"
    assert ends(endpoint) == [None]


def test_wrong_secret_leaves_the_present_one() -> None:
    endpoint = made.endpoint()

    with pytest.raises(InvalidInput) as refusal:
        secrets.rotate(endpoint_id=endpoint.pk, text="whsec_short", by=system(), at=NOW)

    assert refusal.value.details[0].field == "secret"
    assert EndpointSecret.objects.get().expires_at is None


def test_deployment_has_one_key_and_makes_it_once() -> None:
    assert secrets.current_signer() is None

    first, again = secrets.ensure_signing_key(at=NOW), secrets.ensure_signing_key(at=NOW + HOUR)

    signer = secrets.current_signer()
    assert first == again == SigningKey.objects.get()
    assert signer is not None
    signer.key.public_key().verify(signer.key.sign(b"content"), b"content")
    assert signer.key.public_key().public_bytes_raw() == bytes(first.public)


def test_rotated_key_is_shown_for_a_week_and_workers_read_anew() -> None:
    asymmetric, other = made.endpoint(asymmetric=True), made.endpoint()
    older = secrets.ensure_signing_key(at=NOW)

    newer = secrets.rotate_signing_key(by=system(), at=NOW + HOUR)

    versions = dict(Endpoint.objects.values_list("pk", "version"))
    assert versions == {asymmetric.pk: 2, other.pk: 1}
    ids = [
        [key["kid"] for key in secrets.jwks(at=at)["keys"]]
        for at in (NOW + HOUR, NOW + HOUR + secrets.RETIRED_KEY_LISTED_FOR)
    ]
    assert ids == [[str(newer.pk), str(older.pk)], [str(newer.pk)]]
    assert AuditEntry.objects.get().action == "webhooks.rotate_signing_key"


def test_operator_rotates_the_key_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = made.endpoint(asymmetric=True)
    first = secrets.ensure_signing_key(at=NOW - HOUR)

    call_command("rotate_webhook_key")

    second = SigningKey.objects.get(retired_at__isnull=True)
    endpoint.refresh_from_db()
    assert [one["kid"] for one in secrets.jwks(at=NOW)["keys"]] == [str(second.pk), str(first.pk)]
    assert endpoint.version == 2  # workers sign with the new secret from now on
    assert AuditEntry.objects.get().action == "webhooks.rotate_signing_key"
    assert capsys.readouterr().out == f"Key {second.pk} signs from now on; earlier ones are listed for 7 days.\n"
