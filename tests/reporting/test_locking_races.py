"""A locked export and a correction of one of its rides at the same time, in two sessions, in both orders (T29)."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection, transaction

from apps.rides.models import Ride, RideLock
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import corrections, status_report
from apps.rides.services.corrections import LockedByExport
from lib.access import system
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 30


def correct(ride: Ride) -> str:
    wish = StatusReport(status=RideStatus.IN_PROGRESS, source="dispatcher_manual", note="Wrong rider.")
    try:
        status_report.change_status(ride_id=ride.pk, report=wish, by=system(), at=NOW)
    except LockedByExport:
        return "refused"
    return "corrected"


def lock(ride: Ride) -> str:
    return "locked" if corrections.lock_rides([(ride.pk, ride.version)], export_id=uuid4(), at=NOW) else "left free"


def race(first: Callable[[Ride], str], second: Callable[[Ride], str], meanwhile: Callable[[], None]) -> tuple[str, str]:
    """Run the first, and commit it only after the second has begun; `meanwhile` waits for that."""
    ride = ride_in(RideStatus.COMPLETED)
    done, commit = threading.Event(), threading.Event()

    def hold() -> str:
        try:
            with transaction.atomic():
                outcome = first(ride)
                done.set()
                assert commit.wait(SECONDS)
            return outcome
        finally:
            connection.close()

    def follow() -> str:
        try:
            return second(ride)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        one = pool.submit(hold)
        assert done.wait(SECONDS)
        other = pool.submit(follow)
        try:
            meanwhile()
        finally:
            commit.set()
        outcomes = one.result(SECONDS), other.result(SECONDS)
    changed = Ride.objects.get(pk=ride.pk).version != ride.version
    assert (changed, RideLock.objects.exists()) == ("corrected" in outcomes, "locked" in outcomes)
    return outcomes


def test_ride_that_is_being_corrected_is_not_locked() -> None:
    assert race(correct, lock, wait_until_somebody_waits) == ("corrected", "left free")


def test_ride_that_is_being_locked_is_not_corrected() -> None:
    assert race(lock, correct, wait_until_somebody_waits) == ("locked", "refused")
