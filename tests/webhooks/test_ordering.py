"""Ordered delivery of the events of a ride, at endpoints that request it: for an hour, and also after an outage."""

import datetime as dt
from uuid import UUID

import pytest

from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import delivery, endpoints, recovery
from apps.webhooks.services.delivery import record_attempts
from apps.webhooks.services.recovery import Period
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SECOND, MINUTE, HOUR, DAY = (dt.timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
RIDE = UUID(int=7)


def _two_events(endpoint: Endpoint, at: dt.datetime, **columns: object) -> list[Delivery]:
    """Create deliveries of a ride's first two events, as of that instant."""
    return [
        made.delivery(
            endpoint,
            made.event_at(at + sequence * SECOND, subject_id=RIDE, sequence=sequence),
            **({"ordered": True, "created_at": at} | columns),
        )
        for sequence in (1, 2)
    ]


def _claimed(at: dt.datetime) -> list[int]:
    """Claim the due deliveries, fail them, and return the sequence of their events."""
    claim = delivery.claim(at=at, limit=100)
    tried = [made.attempt(row, at, 0.1, ReceiverAnswer(code=500, error="http_5xx")) for row in claim]
    record_attempts(tried, at=at, worker="test")
    return [row.event.sequence for row in claim]


def test_event_waits_for_an_earlier_one_of_its_ride_for_an_hour() -> None:
    first, _ = _two_events(made.endpoint(ordering="subject"), NOW)
    Delivery.objects.filter(pk=first.pk).update(due_at=NOW + 2 * HOUR)

    assert [_claimed(NOW), _claimed(NOW + HOUR - SECOND), _claimed(NOW + HOUR)] == [[], [], [2]]


def test_what_was_held_for_days_is_sent_in_order_too() -> None:
    endpoint = made.endpoint(ordering="subject", state="paused", state_reason="paused")
    _two_events(endpoint, NOW - 2 * DAY, status="held")

    endpoints.resume(endpoint_id=endpoint.pk, by=system(), at=NOW)

    assert [_claimed(NOW + MINUTE), _claimed(NOW + 30 * MINUTE)] == [[1], [1]]
    Delivery.objects.filter(subject_sequence=1).update(due_at=NOW + DAY)
    assert [_claimed(NOW + HOUR), _claimed(NOW + HOUR + MINUTE)] == [[], [2]]


def test_recovery_due_hours_later_is_still_sent_in_order() -> None:
    endpoint = made.endpoint(ordering="subject")
    _two_events(endpoint, NOW - DAY, status="exhausted", ended_at=NOW)
    made.delivery(endpoint, made.event_at(NOW - HOUR), priority=2, due_at=NOW + 2 * HOUR, expires_at=NOW + 4 * DAY)

    span = Period(since=NOW - 2 * DAY, until=NOW, statuses=("exhausted",))
    recovery.recover(endpoint_id=endpoint.pk, period=span, dry_run=False, by=system(), at=NOW)
    Delivery.objects.filter(due_at=NOW + 2 * HOUR).delete()

    assert _claimed(NOW + 2 * HOUR + MINUTE) == [1]
