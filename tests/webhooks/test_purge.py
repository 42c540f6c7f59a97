"""Purge of old rows, and the rows that stay."""

import datetime as dt
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from apps.events.models import Event
from apps.webhooks.models import Attempt, Delivery
from apps.webhooks.services import cleanup, secrets
from apps.webhooks.services.outbox import publish
from lib.access import system
from lib.ids import oldest_of, uuid7
from tests.factories import NOW
from tests.webhooks import made

pytestmark = [pytest.mark.django_db, pytest.mark.real_clock]

DAY = dt.timedelta(days=1)


def _old_event(type: str, subject_type: str, age: dt.timedelta) -> Event:
    """Write an event with this age."""
    at = dt.datetime.now(dt.UTC) - age
    event = Event(
        pk=_id_of(at), type=type, subject_type=subject_type, subject_id=uuid4(), sequence=1, occurred_at=at,
        recorded_at=at, actor="system",
    )  # fmt: skip
    event.save(force_insert=True)
    return event


def _id_of(at: dt.datetime) -> UUID:
    return UUID(int=oldest_of(at).int | (uuid4().int & (1 << 60) - 1))


def test_deliveries_and_attempts_are_purged_after_thirty_days() -> None:
    endpoint = made.endpoint()
    now = dt.datetime.now(dt.UTC)
    made.event()
    publish(at=now)
    kept = Delivery.objects.get()
    rows = {}
    for name, age, status in (
        ("old", 31 * DAY, "delivered"), ("held", 31 * DAY, "held"),
        ("open", 31 * DAY, "pending"), ("new", 29 * DAY, "delivered"),
    ):  # fmt: skip
        ended = None if status in ("held", "pending") else now - age
        rows[name] = Delivery.objects.create(
            pk=_id_of(now - age), endpoint=endpoint, event=_old_event("ride.started", "ride", age),
            event_type="ride.started", subject_id=uuid4(), subject_sequence=1, status=status, due_at=now,
            expires_at=now, created_at=now - age, ended_at=ended,
        )  # fmt: skip
        Attempt.objects.create(
            delivery=rows[name], endpoint_id=endpoint.pk, number=1, started_at=now, duration_ms=1, worker="w"
        )

    gone = cleanup.purge(at=now)

    assert gone == 2
    assert set(Delivery.objects.values_list("pk", flat=True)) == {kept.pk, rows["open"].pk, rows["new"].pk}
    assert Attempt.objects.count() == 2
    assert Event.objects.count() == 5  # events of rides stay


def test_secrets_that_sign_nothing_any_more_are_forgotten() -> None:
    endpoint, now = made.endpoint(), dt.datetime.now(dt.UTC)
    secrets.rotate(endpoint_id=endpoint.pk, overlap=DAY, by=system(), at=now - DAY)
    _, present = secrets.rotate(endpoint_id=endpoint.pk, overlap=DAY, by=system(), at=now - DAY / 2)

    cleanup.purge(at=now)

    assert [one.text for one in endpoint.secrets.order_by("created_at")][1:] == [present]
    assert endpoint.secrets.count() == 2  # the previous secret signs for another half day


def test_only_events_that_are_no_rides_history_are_forgotten() -> None:
    _old_event("vehicle.updated", "vehicle", 31 * DAY)
    ride, new = _old_event("ride.started", "ride", 31 * DAY), _old_event("vehicle.updated", "vehicle", 29 * DAY)

    gone = cleanup.purge(at=dt.datetime.now(dt.UTC))

    assert gone == 1
    assert set(Event.objects.values_list("pk", flat=True)) == {ride.pk, new.pk}


def test_an_event_that_still_waits_to_be_delivered_is_kept() -> None:
    made.endpoint(created_at=NOW - 99 * DAY)
    event = _old_event("vehicle.updated", "vehicle", 31 * DAY)
    publish(at=dt.datetime.now(dt.UTC))

    assert cleanup.purge(at=dt.datetime.now(dt.UTC)) == 0
    assert Event.objects.filter(pk=event.pk).exists()


def _delete(event: Event) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM events_event WHERE id = %s", [event.pk])


@pytest.mark.parametrize(("subject", "days"), [("ride", 400), ("vehicle", 0)])
def test_database_refuses_deletion_of_ride_and_recent_events(subject: str, days: int) -> None:
    event = _old_event(f"{subject}.updated", subject, days * DAY)

    with pytest.raises(DatabaseError, match="append-only"):
        _delete(event)


def test_the_database_lets_go_of_what_is_older_than_a_day() -> None:
    event = _old_event("vehicle.updated", "vehicle", 2 * DAY)

    _delete(event)

    assert Event.objects.count() == 0


def test_nobody_alters_an_event_however_old() -> None:
    event = _old_event("vehicle.updated", "vehicle", 31 * DAY)

    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(actor="somebody")


def test_a_purge_goes_on_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "BATCH_SIZE", 2)
    monkeypatch.setattr(cleanup, "MAX_PURGE_BATCHES", 2)
    for _ in range(5):
        _old_event("vehicle.updated", "vehicle", 31 * DAY)

    gone = [cleanup.purge(at=dt.datetime.now(dt.UTC)) for _ in range(2)]

    assert gone == [4, 1]


def test_ids_made_before_an_instant_sort_below_its_oldest() -> None:
    before = dt.datetime.now(dt.UTC)
    made_now = uuid7()

    assert oldest_of(before - dt.timedelta(milliseconds=1)) < made_now < oldest_of(before + dt.timedelta(seconds=5))
    assert oldest_of(NOW).version == 7
