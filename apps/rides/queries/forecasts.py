"""Predicted arrivals of drivers at their rides, computed from all their rides."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from typing import Final
from uuid import UUID

from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import SLOT_COLUMNS
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.facts import RideSlot
from apps.rides.rules.forecast import Leg, arrivals
from apps.rides.rules.lifecycle import OPEN, WITH_DRIVER, RideStatus

_AT_THE_DOOR: Final = frozenset({RideStatus.ARRIVED, RideStatus.IN_PROGRESS})
# Rides that began earlier were never closed and are ignored.
_STILL_DRIVEN: Final = dt.timedelta(hours=24)


def leg_of(ride: Ride, slot: RideSlot) -> Leg:
    """Convert a ride for the prediction."""
    return Leg(slot, ended=ride.status not in OPEN, at_pickup=ride.status in _AT_THE_DOOR, eta_at=ride.eta_pickup_at)


def predicted_arrivals_of(rides: Collection[Ride], *, at: dt.datetime) -> dict[UUID, dt.datetime]:
    """Predict the arrivals of drivers at these rides, by ride, if the driver is not there yet.

    One query, and none without drivers.  What else they drive may be out of the caller's reach: nothing but the times
    of these rides is answered.
    """
    rides_by_id = {ride.pk: ride for ride in rides if ride.status in WITH_DRIVER}
    if not rides_by_id:
        return {}
    rows = Ride.objects.filter(
        driver__in={ride.driver_id for ride in rides_by_id.values()},
        status__in=sorted(WITH_DRIVER),
        pickup_at__gt=at - _STILL_DRIVEN,
        pickup_at__lte=max(ride.pickup_at for ride in rides_by_id.values()),
    ).only(*SLOT_COLUMNS, "eta_pickup_at")
    days: dict[UUID | None, list[Leg]] = defaultdict(list)
    legs = [(leg_of(ride, slot_of(ride, at=at)), ride) for ride in rows]
    for leg, ride in sorted(legs, key=lambda pair: (pair[0].slot.span.starts_at, str(pair[1].pk))):
        days[ride.driver_id].append(leg)
    predicted: dict[UUID, dt.datetime] = {}
    for day in days.values():
        predicted |= arrivals(day, at)
    return {ride_id: when for ride_id, when in predicted.items() if ride_id in rides_by_id}
