"""Endpoints, events and deliveries for webhook tests."""

import datetime as dt
import ipaddress
from typing import Any
from uuid import UUID, uuid4

from apps.events.models import Event
from apps.events.services import record
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth, EndpointSecret
from apps.webhooks.rules.schedule import MAX_AGE
from apps.webhooks.services.delivery import AttemptResult, RunSummary, deliver
from apps.webhooks.services.rendering import PreparedDelivery
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from lib.ids import oldest_of
from lib.outbound import Rules
from tests.factories import NOW

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = Rules(networks=(ipaddress.ip_network("127.0.0.0/8"),), plain_http=True)


def endpoint(
    url: str = "https://hooks.example.org/rides", *, health: dict[str, Any] | None = None, **columns: Any
) -> Endpoint:
    """Create an active endpoint for all events."""
    known: dict[str, Any] = {
        "name": "Interface engine",
        "url": url,
        "state": Endpoint.State.ACTIVE,
        "state_changed_at": NOW,
        "event_types": ["*"],
        "api_version": "2026-11-20",
        "created_by": "system",
        "created_at": NOW,
        "updated_at": NOW,
    }
    if columns.get("payload_level") == "full-resource":
        known |= {"phi_agreed_at": NOW, "phi_agreed_by": "system"}
    made = Endpoint(**(known | columns))
    made.save(force_insert=True)
    EndpointHealth.objects.create(endpoint=made, **(health or {}))
    secret = EndpointSecret(endpoint=made, created_at=NOW, created_by="system")
    secret.text = SECRET
    secret.save(force_insert=True)
    return made


def event(type: str = "ride.completed", **columns: Any) -> Event:
    """Record an event of a ride without other rows."""
    known: dict[str, Any] = {
        "subject_type": "ride",
        "subject_id": uuid4(),
        "sequence": 1,
        "occurred_at": NOW,
        "by": system(),
        "data": {"status": "completed", "previousStatus": "in_progress", "pickupTime": "2026-11-20T14:00:00Z"},
    }
    return record(type=type, **(known | columns))


def event_at(moment: dt.datetime, type: str = "ride.completed", **columns: Any) -> Event:
    """Record an event with an id of that instant."""
    known: dict[str, Any] = {
        "id": UUID(int=oldest_of(moment).int | uuid4().int & (1 << 60) - 1),
        "subject_type": "ride",
        "subject_id": uuid4(),
        "sequence": 1,
        "occurred_at": moment,
        "actor": "system",
        "data": {"status": "completed"},
    }
    made = Event(type=type, **(known | columns))
    made.save(force_insert=True)
    return made


def delivery(to: Endpoint, of: Event, **columns: Any) -> Delivery:
    """Create a delivery before its first attempt."""
    known: dict[str, Any] = {
        "endpoint": to,
        "event": of,
        "event_type": of.type,
        "subject_id": of.subject_id,
        "subject_sequence": of.sequence,
        "due_at": NOW,
        "expires_at": NOW + MAX_AGE,
        "created_at": NOW,
    }
    made = Delivery(**(known | columns))
    made.save(force_insert=True)
    return made


def attempt(
    delivery: Delivery, at: dt.datetime, seconds: float, answer: ReceiverAnswer, *, version: int | None = None
) -> AttemptResult:
    """Return the result of an attempt at a claimed delivery; `version` defaults to the endpoint's current one."""
    if version is None:
        version = Endpoint.objects.values_list("version", flat=True).get(pk=delivery.endpoint_id)
    return AttemptResult(PreparedDelivery(delivery, version), at, seconds, answer)


def work(**given: Any) -> RunSummary:
    """Deliver what is due to receivers on loopback."""
    done = deliver(rules=LOOPBACK, **({"for_seconds": 5.0} | given))
    assert done is not None
    return done


def health_of(one: Endpoint) -> EndpointHealth:
    return EndpointHealth.objects.get(pk=one.pk)


def due_now(*, minutes: float = 0, days: float = 0) -> dt.datetime:
    return NOW + dt.timedelta(minutes=minutes, days=days)
