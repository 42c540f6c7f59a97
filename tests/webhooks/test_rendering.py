"""Rendered bodies: by payload level, the same bytes each time, and without personal data by default."""

import datetime as dt
from typing import Any
from uuid import uuid4

import orjson
import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Ride
from apps.webhooks.models import Delivery, Endpoint, EndpointSecret
from apps.webhooks.rules import payloads
from apps.webhooks.rules.payloads import MAX_BYTES, EventFacts, TooLarge
from apps.webhooks.services import delivery, rendering, secrets
from apps.webhooks.services.outbox import publish
from apps.webhooks.services.rendering import PreparedDelivery, Targets
from tests.callers import api_with
from tests.factories import NOW, ApiClientFactory, RideFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def _ready(targets: Targets | None = None) -> list[PreparedDelivery]:
    publish(at=NOW)
    return rendering.prepare(delivery.claim(at=NOW, limit=100), targets or Targets(), at=NOW)


def _data(ready: PreparedDelivery) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(ready.body)["data"]
    return found


def _ride(**columns: Any) -> Ride:
    ride: Ride = RideFactory.create(end_note="canary note", **columns)
    made.event(
        "ride.cancelled",
        subject_id=ride.pk,
        sequence=50,
        facility_id=ride.facility_id,
        data={
            "rideId": str(ride.pk),
            "status": "cancelled",
            "previousStatus": "scheduled",
            "pickupTime": "2026-11-20T20:00:00Z",
            "reasonCode": "weather",
            "unlisted": "canary",
        },
    )
    return ride


def test_ids_alone_leave_by_default() -> None:
    made.endpoint()
    ride = _ride()

    (ready,) = _ready()

    assert _data(ready) == {"rideId": str(ride.pk), "href": f"/rides/{ride.pk}"}


def test_summary_has_the_status_and_only_listed_fields() -> None:
    made.endpoint(payload_level="summary")
    ride = _ride(client_reference="CANARY-REF")

    (ready,) = _ready()

    assert _data(ready) == {
        "rideId": str(ride.pk),
        "href": f"/rides/{ride.pk}",
        "status": "cancelled",
        "previousStatus": "scheduled",
        "pickupTime": "2026-11-20T20:00:00Z",
        "facilityId": str(ride.facility_id),
        "providerId": None,
        "reasonCode": "weather",
    }


def test_summary_has_client_reference_for_its_own_client_only() -> None:
    client = ApiClientFactory.create()
    own, other = made.endpoint(payload_level="summary", client=client), made.endpoint(payload_level="summary")
    _ride(client=client, client_reference="REF-1")

    found = {ready.delivery.endpoint_id: _data(ready).get("clientReference") for ready in _ready()}

    assert found == {own.pk: "REF-1", other.pk: None}


def test_full_ride_equals_api_without_notes_and_access_codes() -> None:
    made.endpoint(payload_level="full-resource")
    ride = _ride()

    (ready,) = _ready()

    shown = api_with().get(f"/api/rides/{ride.pk}").json()
    shown["notes"].pop("dispatcher")
    shown["accommodation"].pop("dispatcherNotes", None)
    for stop in ("pickup", "dropoff"):
        for key in set(shown[stop]) - set(_data(ready)["ride"][stop]):
            assert "ccess" in key or "ode" in key  # access codes
            del shown[stop][key]
    assert _data(ready)["ride"] == shown


def test_whose_data_leaves_is_recorded_before_it_does() -> None:
    endpoint = made.endpoint(payload_level="full-resource")
    ride = _ride()

    _ready()

    entry = AuditEntry.objects.get(action="webhooks.send")
    assert (entry.actor, entry.subject_id, entry.rider_ids, entry.phi) == (
        "system", endpoint.pk, [ride.rider_id], "full",
    )  # fmt: skip


def test_retry_sends_the_stored_body_after_ride_changes() -> None:
    made.endpoint(payload_level="full-resource")
    ride = _ride()
    (first,) = _ready()
    Ride.objects.filter(pk=ride.pk).update(end_note="another")
    Delivery.objects.update(status="pending", claim_id=None, lease_until=None)

    (again,) = _ready()

    assert again.body == first.body
    assert b"canary note" not in bytes(Delivery.objects.get().body_encrypted or b"")  # encrypted at rest
    assert AuditEntry.objects.filter(action="webhooks.send").count() == 1


def test_a_body_of_another_level_is_made_anew() -> None:
    endpoint = made.endpoint(payload_level="full-resource")
    _ride()
    _ready()
    Endpoint.objects.filter(pk=endpoint.pk).update(payload_level="id-only", version=2)
    Delivery.objects.update(status="pending", claim_id=None, lease_until=None)

    (again,) = _ready()

    assert set(_data(again)) == {"rideId", "href"}


def test_a_ride_that_is_gone_is_null() -> None:
    made.endpoint(payload_level="full-resource")
    made.event("ride.started")

    (ready,) = _ready()

    assert _data(ready)["ride"] is None


def test_what_is_no_ride_has_its_summary_at_every_level() -> None:
    made.endpoint(payload_level="full-resource")
    driver = uuid4()
    data = {"driverId": str(driver), "from": "active", "to": "suspended"}
    made.event("driver.activation_changed", subject_type="driver", subject_id=driver, data=data)

    (ready,) = _ready()

    assert _data(ready) == {**data, "href": f"/drivers/{driver}"}


def test_unrenderable_body_does_not_block_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made.endpoint(payload_level="full-resource")
    poison, good = _ride(), _ride()
    show = rendering.whole_ride

    def fail(ride: Ride, *, at: dt.datetime) -> Any:
        if ride.pk == poison.pk:
            raise RuntimeError("canary")
        return show(ride, at=at)

    monkeypatch.setattr(rendering, "whole_ride", fail)

    ready = {one.delivery.event.subject_id: one for one in _ready()}

    assert (ready[poison.pk].error, ready[poison.pk].target) == ("render", None)
    assert ready[good.pk].error == ""
    (told,) = [record for record in caplog.records if record.msg == "webhook body not made"]
    assert (told.delivery_id, told.event_id) == (  # type: ignore[attr-defined]
        str(ready[poison.pk].delivery.id),
        str(ready[poison.pk].delivery.event.id),
    )


def test_a_ride_that_is_too_large_keeps_no_other_from_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    made.endpoint(payload_level="full-resource")
    poison, good = _ride(), _ride()
    render = payloads.render

    def bounded(event: EventFacts, **given: Any) -> bytes:
        if event.subject_id == poison.pk:
            raise TooLarge
        return render(event, **given)

    monkeypatch.setattr(payloads, "render", bounded)

    ready = {one.delivery.event.subject_id: one for one in _ready()}

    assert {key: one.error for key, one in ready.items()} == {poison.pk: "render", good.pk: ""}
    kept = Delivery.objects.filter(body_encrypted__isnull=False)
    assert list(kept.values_list("subject_id", "body_level")) == [(good.pk, "full-resource")]


def test_undecryptable_secret_does_not_block_other_endpoints(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = made.endpoint(), made.endpoint()
    EndpointSecret.objects.filter(endpoint=broken).update(secret_encrypted=b"not sealed at all")
    _ride()

    ready = {one.delivery.endpoint_id: one for one in _ready()}

    assert {key: (one.error, one.target is None) for key, one in ready.items()} == {
        broken.pk: ("render", True),
        sound.pk: ("", False),
    }
    (told,) = [record for record in caplog.records if record.msg == "endpoint not usable"]
    assert told.subscription_id == str(broken.pk)  # type: ignore[attr-defined]  # set by extra=


def test_nothing_leaves_unsigned() -> None:
    made.endpoint()
    _ride()
    publish(at=NOW)
    claim = delivery.claim(at=NOW, limit=100)
    EndpointSecret.objects.all().delete()  # as when the endpoint is deleted meanwhile

    (ready,) = rendering.prepare(claim, Targets(), at=NOW)

    assert (ready.error, ready.target) == ("render", None)


def test_a_body_beyond_the_limit_is_not_made() -> None:
    event = Event(
        id=uuid4(), type="ride.updated", subject_type="ride", subject_id=uuid4(), sequence=1, occurred_at=NOW,
        facility_id=None, provider_id=None, data={"changed": ["x" * MAX_BYTES]},
    )  # fmt: skip

    with pytest.raises(TooLarge):
        payloads.render(event, level="summary", api_version="2026-11-20")


def test_targets_are_read_again_when_an_endpoint_has_changed(django_assert_num_queries: Any) -> None:
    endpoint = made.endpoint(url="https://one.example.org/")
    made.event()
    targets = Targets()
    (first,) = _ready(targets)
    Delivery.objects.update(status="pending", claim_id=None, lease_until=None)
    Endpoint.objects.filter(pk=endpoint.pk).update(url="https://two.example.org/", version=2)

    (again,) = _ready(targets)

    assert [str(one.target.url) for one in (first, again) if one.target] == [
        "https://one.example.org/",
        "https://two.example.org/",
    ]
    with django_assert_num_queries(1):
        targets.load([again.delivery])


def test_custom_headers_and_asymmetric_signature_are_in_target() -> None:
    endpoint = made.endpoint(asymmetric=True)
    endpoint.headers_text = '{"x-gateway-key": "k"}'
    endpoint.save(update_fields=["headers_encrypted"])
    secrets.ensure_signing_key(at=NOW)
    made.event()

    (ready,) = _ready()

    assert ready.target is not None
    assert ready.target.headers == {"x-gateway-key": "k"}
    schemes = [signer.sign("evt", NOW, "").partition(",")[0] for signer, _ in ready.target.signers]
    assert schemes == ["v1", "v1a"]


def test_what_the_api_shows_nowhere_has_no_address() -> None:
    made.endpoint()
    token = uuid4()
    made.event("token.expiring", subject_type="token", subject_id=token, data={"clientId": "c"})

    (ready,) = _ready()

    assert _data(ready) == {"tokenId": str(token)}
