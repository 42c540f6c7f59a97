"""The rides of one rider, for the rider's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from apps.rides.models import Ride
from apps.rides.models.ride import RideQuerySet
from apps.rides.rules.lifecycle import OPEN, TERMINAL
from lib.access import Principal

MOST: Final = 20  # rides of each list
# An open ride whose pickup was longer ago has been forgotten: it is no next ride.
STILL_NEXT: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RiderRides:
    """Upcoming rides, the next first, and past ones, the last first; each with facility, driver and vehicle."""

    upcoming: Sequence[Ride]
    past: Sequence[Ride]
    more_upcoming: bool
    more_past: bool


def rides_of(rider_id: UUID, *, by: Principal, at: datetime) -> RiderRides:
    """Return the rides of a rider in the data scope, up to `MOST` of each kind.  Two queries."""
    rows = _with_details(Ride.objects.visible_to(by).filter(rider_id=rider_id))
    upcoming = list(_upcoming(rows, at)[: MOST + 1])
    ended = rows.filter(status__in=sorted(TERMINAL)) | rows.filter(pickup_at__lte=at - STILL_NEXT)
    past = list(ended.order_by("-pickup_at", "-pk")[: MOST + 1])
    return RiderRides(upcoming[:MOST], past[:MOST], len(upcoming) > MOST, len(past) > MOST)


def next_rides(rider_ids: Sequence[UUID], *, by: Principal, at: datetime) -> dict[UUID, Ride]:
    """Return the next ride of each rider that has one in the data scope.  One query."""
    rows = Ride.objects.visible_to(by).filter(rider_id__in=rider_ids).select_related("rider")
    soonest: dict[UUID, Ride] = {}
    for ride in _upcoming(rows, at)[: MOST * len(rider_ids)]:
        soonest.setdefault(ride.rider_id, ride)
    return soonest


def _upcoming(rows: RideQuerySet, at: datetime) -> RideQuerySet:
    return rows.filter(status__in=sorted(OPEN), pickup_at__gt=at - STILL_NEXT).order_by("pickup_at", "pk")


def _with_details(rows: RideQuerySet) -> RideQuerySet:
    return rows.select_related("facility", "driver__default_vehicle", "vehicle")
