"""Whole rides are sent only to systems with a token for rider data, as long as it is valid."""

import datetime as dt
from typing import Any

import orjson
import pytest

from apps.accounts.models import Alert, ApiClient, ApiToken
from apps.accounts.services import tokens
from apps.audit.models import AuditEntry
from apps.rides.models import Ride
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import cleanup, delivery, endpoint_validation, endpoints, rendering
from apps.webhooks.services.outbox import publish
from apps.webhooks.services.rendering import PreparedDelivery, Targets
from lib.access import system
from tests.callers import api_with
from tests.factories import NOW, ApiClientFactory, RideFactory
from tests.webhooks import made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("names")]

DAY = dt.timedelta(days=1)
ENDED: list[dict[str, Any]] = [
    {"expires_at": NOW},
    {"overlap_until": NOW},
    {"revoked_at": NOW, "revoked_reason": "left"},
    {"phi_level": "limited"},
]


def _token(client: ApiClient, **columns: Any) -> ApiToken:
    token = api_with(client=client, phi_level="full").token
    ApiToken.objects.filter(pk=token.pk).update(**columns)
    return token


def _endpoint(client: ApiClient | None) -> Endpoint:
    return made.endpoint(client=client, payload_level="full-resource")


def _told() -> Ride:
    ride: Ride = RideFactory.create()
    made.event(subject_id=ride.pk, sequence=50, facility_id=ride.facility_id)
    publish(at=NOW)
    return ride


def _ready() -> list[PreparedDelivery]:
    return rendering.prepare(delivery.claim(at=NOW, limit=9), Targets(), at=NOW)


def _keys(ready: PreparedDelivery) -> set[str]:
    return set(orjson.loads(ready.body)["data"])


@pytest.mark.parametrize("ended", ENDED)
def test_token_that_has_ended_grants_nothing(ended: dict[str, Any]) -> None:
    client = ApiClientFactory.create()
    _token(client, **ended)
    wanted = endpoint_validation.EndpointParams(
        name="Engine",
        url="https://hooks.example.org/",
        event_types=["*"],
        payload_level="full-resource",
        phi_agreement=True,
    )

    with pytest.raises(endpoint_validation.PhiNotGranted):
        endpoints.register(params=wanted, client_id=client.pk, by=system(), at=NOW)

    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("ended", ENDED)
def test_whole_rides_stop_with_the_last_token_that_grants_them(ended: dict[str, Any]) -> None:
    client = ApiClientFactory.create()
    _endpoint(client)
    token = _token(client)
    _told()
    (before,) = _ready()
    ApiToken.objects.filter(pk=token.pk).update(**ended)
    Delivery.objects.update(status="pending", claim_id=None, lease_until=None)

    (after,) = _ready()  # the retry of a delivery created before the revocation

    assert "ride" in _keys(before)
    assert _keys(after) == {"rideId", "href"}
    assert AuditEntry.objects.filter(action="webhooks.send").count() == 1


def test_another_token_of_the_client_still_grants_them() -> None:
    client = ApiClientFactory.create()
    _endpoint(client)
    _endpoint(None)  # an endpoint of the operator needs none
    _token(client, expires_at=NOW)
    _token(client, overlap_until=NOW + DAY)
    _told()

    found = [_keys(one) for one in _ready()]
    cleanup.clean_up(at=NOW)

    assert ["ride" in one for one in found] == [True, True]
    assert set(Endpoint.objects.values_list("payload_level", flat=True)) == {"full-resource"}
    assert not Alert.objects.exists()


def test_people_are_told_once_and_the_endpoint_says_what_it_gets() -> None:
    client = ApiClientFactory.create()
    endpoint, removed = _endpoint(client), made.endpoint(client=client, payload_level="full-resource", deleted_at=NOW)
    token = _token(client)
    tokens.revoke(token_id=token.pk, reason="left", by=system(), at=NOW)

    cleanup.clean_up(at=NOW)
    cleanup.clean_up(at=NOW + DAY)

    endpoint.refresh_from_db()
    removed.refresh_from_db()
    assert (endpoint.payload_level, endpoint.phi_agreed_at, endpoint.phi_agreed_by) == ("id-only", None, "")
    assert (endpoint.version, endpoint.updated_at, removed.payload_level) == (2, NOW, "full-resource")
    alert = Alert.objects.get()
    assert (alert.kind, alert.severity, alert.created_at) == ("webhook.endpoint.ids_only", "critical", NOW)
    assert alert.title == (
        "Webhook endpoint “Interface engine” receives ids only: its client has no token with access to rider data"
    )
    entry = AuditEntry.objects.get(action="webhooks.change")
    assert entry.details == {"changed": ["payload_level", "phi_agreement"]}
