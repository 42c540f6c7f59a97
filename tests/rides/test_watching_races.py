"""Many workers evaluate the same rides, one is killed, a user acts at the same time: each exception opens once."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.accounts.models import Alert
from apps.events.models import Event
from apps.rides.models import Ride, RideException
from apps.rides.queries import monitored_rides
from apps.rides.rules.exception_types import ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exception_changes, exception_monitor, exceptions
from lib.access import system
from tests import factories
from tests.rides.looks import released
from tests.rides.rides_in import ride_in
from tests.rides.traces import everything

pytestmark = pytest.mark.django_db(transaction=True)

RIDES, WORKERS = 40, 6
LATE = factories.PICKUP + dt.timedelta(minutes=16)
MINUTE = dt.timedelta(minutes=1)


def tick(at: dt.datetime = LATE) -> int:
    return exception_monitor.watch(by=system(), at=at)


def at_once(*works: Callable[[], Any]) -> list[Any]:
    def one(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(one, works))


def assert_each_once(rides: list[Ride]) -> None:
    for ride in rides:
        assert list(RideException.objects.filter(ride=ride).values_list("type", "severity")) == [
            ("late_pickup", "warning")
        ]
        assert list(Event.objects.filter(subject_id=ride.pk).values_list("sequence", "type")) == [(2, "ride.exception")]
        row = Ride.objects.get(pk=ride.pk)
        assert (row.version, row.open_exception_count, row.max_exception_severity) == (2, 1, "warning")


def test_many_workers_open_each_exception_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exception_monitor, "RIDES_AT_ONCE", 7)
    rides = [ride_in(RideStatus.ASSIGNED) for _ in range(RIDES)]

    looked = at_once(*[tick] * WORKERS)
    tick()

    assert sum(looked) >= RIDES
    assert_each_once(rides)
    assert not caplog.records


def test_without_the_lock_two_workers_take_the_same_rides(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Control: the second worker is stopped only by the constraints of the database."""
    ride_in(RideStatus.ASSIGNED)
    both_have_read = threading.Barrier(2, timeout=60)
    exceptions_of = monitored_rides.exceptions_of
    monkeypatch.setattr(monitored_rides, "_DUE", monitored_rides._DUE.replace("FOR NO KEY UPDATE OF r SKIP LOCKED", ""))
    first_reads = iter(range(2))

    def read_together(ride_ids: Sequence[UUID]) -> Any:
        rows = exceptions_of(ride_ids)
        if next(first_reads, None) is not None:  # and not when the second worker evaluates the ride again
            both_have_read.wait()
        return rows

    monkeypatch.setattr(monitored_rides, "exceptions_of", read_together)
    at_once(tick, tick)

    assert [record.message for record in caplog.records] == ["rides not watched together"]


def test_ladder_is_told_once_by_many_workers() -> None:
    released()

    at_once(*[lambda: tick(factories.NOW + 60 * MINUTE)] * WORKERS)

    assert Alert.objects.count() == 3


class Killed(BaseException):
    """Not handled: represents the kill of a worker."""


@contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    work = getattr(exception_changes, name)

    def last(*given: Any, **named: Any) -> None:
        work(*given, **named)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(exception_changes, name, last)
        yield


@pytest.mark.parametrize("name", ["_save_rides", "_save_next_checks", "_change", "_resolve"])
def test_worker_that_is_killed_in_the_middle_has_written_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rides = [ride_in(RideStatus.ASSIGNED) for _ in range(3)]
    before = everything()

    with killed_after(monkeypatch, name), pytest.raises(Killed):
        tick()

    assert everything() == before
    tick()
    assert_each_once(rides)


def test_set_that_is_not_one_transaction_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: without the transaction, a killed worker leaves a ride that counts exceptions that were never opened."""
    ride = ride_in(RideStatus.ASSIGNED)
    torn = exception_monitor._evaluate_due.__wrapped__  # type: ignore[attr-defined]  # missing in the stubs
    monkeypatch.setattr(exception_monitor, "_evaluate_due", torn)

    with killed_after(monkeypatch, "_change"), pytest.raises(Killed):
        tick()

    ride.refresh_from_db()
    assert ride.open_exception_count == 1
    assert (RideException.objects.count(), Event.objects.count()) == (0, 0)


def test_ride_that_somebody_is_changing_is_left_for_the_next_run() -> None:
    taken, free = ride_in(RideStatus.ASSIGNED), ride_in(RideStatus.ASSIGNED)

    with transaction.atomic():
        Ride.objects.select_for_update().get(pk=taken.pk)
        assert at_once(tick) == [1]

    assert RideException.objects.get().ride_id == free.pk
    assert tick() == 1
    assert_each_once([taken, free])


def test_person_who_closes_it_and_a_look_do_not_undo_each_other() -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    tick()
    exception = RideException.objects.get()

    def close() -> None:
        exceptions.resolve(
            exception_id=exception.pk, code=ResolutionCode.HANDLED_ELSEWHERE, by=system("desk"), at=LATE + MINUTE
        )

    at_once(close, *[lambda: tick(LATE + 40 * MINUTE)] * 3)
    tick(LATE + 40 * MINUTE)

    events = list(Event.objects.filter(subject_id=ride.pk).order_by("sequence").values_list("sequence", flat=True))
    row = Ride.objects.get(pk=ride.pk)
    assert events == list(range(2, row.version + 1))
    unsettled = list(RideException.objects.unsettled().values_list("severity", flat=True))
    # Resolved first: it opens again, because it has become critical.  Raised first: the resolved one is critical.
    assert unsettled in (["critical"], [])
    assert row.open_exception_count == len(unsettled)
