"""Rides as the forecast of a day uses them."""

import datetime as dt
from uuid import uuid4

from apps.rides.rules.facts import RideSlot, Span
from lib.travel.places import Place
from tests.factories import NOW

MINUTE = dt.timedelta(minutes=1)
HERE, THERE = Place(41.88, -87.63), Place(41.98, -87.63)  # some 22 minutes apart by the estimate


def slot(
    begin: int, end: int, *, pickup: Place | None = HERE, dropoff: Place | None = HERE, window: int = 15
) -> RideSlot:
    """Return a ride from `begin` to `end`, minutes from now, whose pickup may be `window` minutes late."""
    return RideSlot(
        ride_id=uuid4(),
        span=Span(NOW + begin * MINUTE, NOW + end * MINUTE),
        latest_pickup_at=NOW + (begin + window) * MINUTE,
        pickup=pickup,
        dropoff=dropoff,
    )
