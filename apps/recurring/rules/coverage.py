"""Finds rides booked by hand that are a leg of a standing order already, so that the leg is not booked twice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from apps.recurring.rules.reconciliation import Leg

COVERS_WITHIN: Final = timedelta(hours=2)  # between the pickup times of the ride and of the leg
_ADDRESS: Final = ("addressLine1", "city", "postalCode")


@dataclass(frozen=True, slots=True)
class HandBooked:
    """An open ride of the rider that belongs to no order; `pickup` and `dropoff` are stops."""

    id: UUID
    pickup_at: datetime
    pickup: Mapping[str, Any]
    dropoff: Mapping[str, Any]
    trip_id: UUID | None = None


def covering(
    leg: Leg,
    pickup_at: datetime,
    place: Mapping[str, Any],
    rides: Iterable[HandBooked],
    *,
    trip_id: UUID | None = None,
) -> HandBooked | None:
    """Return the ride that covers a leg, the nearest in time; None if there is none.

    `place` is the stop where the rider is treated: an outbound ride ends there and a return begins there.  `trip_id` is
    the trip of the ride that covers the outbound leg: the return of this trip covers the return at any time, because
    the time of a return is often an estimate.
    """
    at_place = [ride for ride in rides if _is_same(ride.dropoff if leg is Leg.OUTBOUND else ride.pickup, place)]
    near = [
        ride
        for ride in at_place
        if abs(ride.pickup_at - pickup_at) <= COVERS_WITHIN or (trip_id is not None and ride.trip_id == trip_id)
    ]
    return min(near, key=lambda ride: (abs(ride.pickup_at - pickup_at), ride.id), default=None)


def _is_same(stop: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    if place.get("facilityId") or stop.get("facilityId"):
        return stop.get("facilityId") == place.get("facilityId")
    return all((stop.get(key) or "") == (place.get(key) or "") for key in _ADDRESS)
