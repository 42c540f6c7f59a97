"""Two changes that need the same rows wait for each other without a deadlock.

Both are brought to the point where each holds one row and needs the other's.  Each test has a control: without the lock
that enforces the order, the database reports a deadlock.
"""

import contextlib
import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

from apps.organizations.models import Facility
from apps.riders import services as riders
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import (
    accommodation_change,
    booking,
    editing,
    status,
)
from lib.access import system
from tests import factories
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db(transaction=True)

# Seconds to wait for the other session.  In the right order it never comes, because it waits at the first lock.
IN_ORDER, OUT_OF_ORDER = 1.0, 10.0
HOUR = dt.timedelta(hours=1)


class Meeting:
    """Where two threads wait for each other, once each, or for a while."""

    def __init__(self, within: float) -> None:
        self.within = within
        self.barrier = threading.Barrier(2)
        self.was_here = threading.local()

    def attend(self) -> None:
        if not getattr(self.was_here, "yes", False):
            self.was_here.yes = True
            with contextlib.suppress(threading.BrokenBarrierError):
                self.barrier.wait(self.within)

    def after(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def met(*args: Any, **kwargs: Any) -> Any:
            answer = work(*args, **kwargs)
            self.attend()
            return answer

        return met


def outcomes_of(*works: Callable[[], Any]) -> list[str]:
    """Run each in a thread with its own connection; return which were aborted."""

    def one(work: Callable[[], Any]) -> str:
        try:
            work()
        except OperationalError as failure:
            return "deadlock" if isinstance(failure.__cause__, DeadlockDetected) else "broken"
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(works)) as threads:
        return sorted(threads.map(one, works))


@pytest.fixture
def facility() -> Facility:
    return factories.FacilityFactory.create()


def person(facility: Facility) -> Rider:
    named = {"first_name": "Orla", "last_name": "Canary", "facility_ids": [facility.pk]}
    return riders.register(draft=named, by=system(), at=factories.NOW).rider


def race_of_two_bulks(monkeypatch: pytest.MonkeyPatch, facility: Facility, *, within: float) -> list[str]:
    """Book two riders twice at once, the second time in the opposite order."""
    monkeypatch.setattr(booking, "book", Meeting(within).after(booking.book))
    people = [person(facility), person(facility)]

    def bulk(order: list[Rider], hours: int) -> list[Any]:
        drafts = [draft(facility, one, pickup_at=factories.PICKUP + hours * HOUR) for one in order]
        return booking.book_many(drafts=drafts, by=system(), at=factories.NOW)

    return outcomes_of(lambda: bulk(people, 0), lambda: bulk(people[::-1], 3))


def test_bulk_bookings_of_the_same_riders_wait(monkeypatch: pytest.MonkeyPatch, facility: Facility) -> None:
    assert race_of_two_bulks(monkeypatch, facility, within=IN_ORDER) == ["done", "done"]
    assert Ride.objects.count() == 4


def test_bulk_bookings_deadlock_without_the_lock_of_all_riders(
    monkeypatch: pytest.MonkeyPatch, facility: Facility
) -> None:
    monkeypatch.setattr(booking, "_lock_riders", lambda drafts, by: None)

    assert race_of_two_bulks(monkeypatch, facility, within=OUT_OF_ORDER) == ["deadlock", "done"]


def race_of_change_and_move(monkeypatch: pytest.MonkeyPatch, facility: Facility, *, within: float) -> list[str]:
    """Change a rider's needs while one of their rides is moved."""
    rider = person(facility)
    ride = booking.book(draft=draft(facility, rider), by=system(), at=factories.NOW).ride
    meeting = Meeting(within)
    monkeypatch.setattr(riders, "set_accommodation", meeting.after(riders.set_accommodation))
    monkeypatch.setattr(editing, "locked", meeting.after(status.locked))
    needs = {"mobility": "wheelchair"}
    later = {"pickup_at": factories.PICKUP + HOUR}

    return outcomes_of(
        lambda: accommodation_change.change_accommodation(
            rider_id=rider.pk, needs=needs, by=system(), at=factories.NOW
        ),
        lambda: editing.edit(ride_id=ride.pk, changes=later, by=system(), at=factories.NOW),
    )


def test_change_of_needs_beside_a_move_waits(monkeypatch: pytest.MonkeyPatch, facility: Facility) -> None:
    assert race_of_change_and_move(monkeypatch, facility, within=IN_ORDER) == ["done", "done"]
    moved = Ride.objects.get()
    assert (moved.pickup_at, moved.accommodation["mobility"]) == (factories.PICKUP + HOUR, "wheelchair")


def test_needs_change_beside_move_deadlocks_if_ride_locks_first(
    monkeypatch: pytest.MonkeyPatch, facility: Facility
) -> None:
    lock_rider = booking.locked_rider

    def late(ride_id: UUID, by: Any) -> Rider | None:
        vars(editing)["locked"](ride_id, by)
        return lock_rider(ride_id, by)

    monkeypatch.setattr(booking, "locked_rider", late)

    assert race_of_change_and_move(monkeypatch, facility, within=OUT_OF_ORDER) == ["deadlock", "done"]


def test_bulk_booking_locks_riders_named_by_external_id(facility: Facility) -> None:
    mrn = {"system": "urn:epic:mrn", "value": "M-1"}
    named = {"first_name": "Orla", "last_name": "Canary", "facility_ids": [facility.pk], "external_ids": [mrn]}
    known = riders.register(draft=named, by=system(), at=factories.NOW).rider
    locked, leave = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                riders.lock_named([], [mrn, {"system": "urn:epic:mrn", "value": "M-2"}], by=system())
                locked.set()
                leave.wait(20)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        holding = other.submit(hold)
        assert locked.wait(20)
        free = Rider.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=known.pk)
        with transaction.atomic():
            held = not free.exists()
        leave.set()
        holding.result(20)

    assert held
