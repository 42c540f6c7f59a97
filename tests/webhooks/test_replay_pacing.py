"""Pacing of resent deliveries: one after the other, for any caller and after any delay."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import connection, transaction

from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import recovery
from apps.webhooks.services.recovery import Period
from lib.access import system
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SECOND, MINUTE, DAY = dt.timedelta(seconds=1), dt.timedelta(minutes=1), dt.timedelta(days=1)
TENTH = SECOND / 10
BROKEN = {"open_count": 1, "open_until": NOW + 30 * SECOND}


def _missed(endpoint: Endpoint, minutes: int, **columns: Any) -> None:
    made.delivery(endpoint, made.event_at(NOW - minutes * MINUTE, **columns), status="exhausted", ended_at=NOW)


def _recover(endpoint: Endpoint, *types: str, at: dt.datetime = NOW) -> None:
    span = Period(since=NOW - DAY, until=NOW, types=types or None)
    recovery.recover(endpoint_id=endpoint.pk, period=span, dry_run=False, by=system(), at=at)


def _queued(endpoint: Endpoint, due_at: dt.datetime, **columns: Any) -> Delivery:
    known = {"priority": 2, "trigger": "replay", "due_at": due_at, "expires_at": due_at + 3 * DAY}
    return made.delivery(endpoint, made.event(), **(known | columns))


def _due(endpoint: Endpoint) -> list[dt.timedelta]:
    rows = Delivery.objects.filter(endpoint=endpoint, priority=2).order_by("due_at")
    return [due - NOW for due in rows.values_list("due_at", flat=True)]


def test_one_recovery_follows_the_other() -> None:
    endpoint, other = made.endpoint(), made.endpoint()
    for kind in ("ride.started", "ride.completed"):
        for to in (endpoint, other):
            _missed(to, 5, type=kind)
            _missed(to, 4, type=kind)

    _recover(endpoint, "ride.started")
    _recover(endpoint, "ride.completed", at=NOW + TENTH)
    _recover(other, "ride.started")

    assert _due(endpoint) == [TENTH, 2 * TENTH, 3 * TENTH, 4 * TENTH]
    assert _due(other) == [TENTH, 2 * TENTH]


def test_recovery_does_not_wait_for_a_retry_due_tomorrow() -> None:
    endpoint = made.endpoint()
    _queued(endpoint, NOW + DAY, attempts=1)
    _missed(endpoint, 5)

    _recover(endpoint)

    assert _due(endpoint) == [TENTH, DAY]


def test_deliveries_due_behind_breaker_are_spaced_on_closing() -> None:
    endpoint = made.endpoint(health=BROKEN)
    first, second = (_queued(endpoint, NOW - number * SECOND) for number in (2, 1))

    moved = recovery.postpone_overdue(at=NOW), recovery.postpone_overdue(at=NOW)

    assert moved == (2, 0)
    rows = Delivery.objects.order_by("due_at").values_list("pk", "due_at")
    assert list(rows) == [(first.pk, NOW + 30 * SECOND + TENTH), (second.pk, NOW + 30 * SECOND + 2 * TENTH)]


def test_it_goes_to_the_end_of_its_queue() -> None:
    endpoint = made.endpoint(health=BROKEN | {"open_until": NOW - SECOND})  # one delivery tries
    for due in (-SECOND, 0 * SECOND, MINUTE):
        _queued(endpoint, NOW + due)

    recovery.postpone_overdue(at=NOW)

    assert _due(endpoint) == [MINUTE, MINUTE + TENTH, MINUTE + 2 * TENTH]


def test_no_more_is_moved_at_once_than_a_moment_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MAX_POSTPONED", 1)
    endpoint = made.endpoint(health=BROKEN)
    for seconds in (2, 1):
        _queued(endpoint, NOW - seconds * SECOND)

    recovery.postpone_overdue(at=NOW)

    assert _due(endpoint) == [-SECOND, 30 * SECOND + TENTH]


@pytest.mark.parametrize(
    ("health", "columns"),
    [
        ({}, {}),  # sent as fast as the endpoint accepts it
        (BROKEN, {"priority": 0}),
        (BROKEN, {"attempts": 1}),
        (BROKEN, {"status": "held"}),
        (BROKEN, {"expires_at": NOW}),  # it has expired, and must not be retried forever
    ],
)
def test_everything_else_stays_as_it_is(health: dict[str, Any], columns: dict[str, Any]) -> None:
    delivery = _queued(made.endpoint(health=health), NOW - SECOND, **columns)

    assert recovery.postpone_overdue(at=NOW) == 0
    delivery.refresh_from_db()
    assert delivery.due_at == NOW - SECOND


def test_queue_that_somebody_adds_to_is_left_to_the_next_time() -> None:
    endpoint = made.endpoint(health=BROKEN)
    _queued(endpoint, NOW - SECOND)

    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, hashtext(%s::text))", [recovery.QUEUE_LOCK, endpoint.pk])
        meanwhile = recovery.postpone_overdue(at=NOW)
        cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s::text))", [recovery.QUEUE_LOCK, endpoint.pk])

    assert (meanwhile, recovery.postpone_overdue(at=NOW)) == (0, 1)


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
def test_two_concurrent_recoveries_are_due_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "EVENTS_PER_STEP", 2)
    endpoint = made.endpoint()
    for minutes, kind in ((9, "ride.started"), (8, "ride.completed"), (7, "ride.started"), (6, "ride.completed")):
        _missed(endpoint, minutes, type=kind)
    _recover(endpoint, "ride.started")

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            _recover(endpoint, "ride.completed")
            stepped = other.submit(_and_close, lambda: recovery.advance(at=NOW, steps=1))
            with pytest.raises(TimeoutError):
                stepped.result(0.5)  # it waits
        stepped.result(5)

    assert _due(endpoint) == [TENTH, 2 * TENTH, 3 * TENTH]


def _and_close(call: Callable[[], object]) -> None:
    try:
        call()
    finally:
        connection.close()
