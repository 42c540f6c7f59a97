"""Runs of the exception monitor, for tests."""

import datetime as dt
from typing import Any

from apps.rides.models import Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exception_monitor
from lib.access import system
from tests import factories
from tests.rides.rides_in import ride_in

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
SECOND = dt.timedelta(seconds=1)
NOW, PICKUP = factories.NOW, factories.PICKUP
WINDOW_END = PICKUP + 15 * MINUTE


def tick(at: dt.datetime) -> int:
    return exception_monitor.watch(by=system(), at=at)


def standing(ride: Ride) -> dict[str, str]:
    """Return the unsettled exceptions of a ride, by type with their severity."""
    return dict(RideException.objects.unsettled().filter(ride=ride).values_list("type", "severity"))


def fresh(ride: Ride) -> Ride:
    return Ride.objects.get(pk=ride.pk)


def released(ready_at: dt.datetime = NOW, *, status: RideStatus = RideStatus.SCHEDULED, **more: Any) -> Ride:
    """Return a released will-call ride with a promised hour."""
    given: dict[str, Any] = {
        "will_call": True,
        "pickup_time_kind": "estimated",
        "will_call_expires_at": dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC),
        "ready_at": ready_at,
        "ready_source": "phone",
        "promised_pickup_by": ready_at + HOUR,
        "window_starts_at": ready_at,
        "window_ends_at": ready_at + HOUR,
    }
    return ride_in(status, **(given | more))
