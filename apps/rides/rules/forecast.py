"""When a driver gets to the rides of a day, one after the other, and how late that is.

Pure: no query, no clock.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from apps.rides.rules.facts import RideSlot
from apps.rides.rules.travel import drive_minutes

_MINUTE: Final = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Leg:
    """A ride as it stands in a driver's day.

    `eta_at` is when the driver says to be at the pickup; `there` that the driver is there, or has been.
    """

    errand: RideSlot
    over: bool = False
    there: bool = False
    eta_at: dt.datetime | None = None


def arrivals(legs: Sequence[Leg], at: dt.datetime) -> dict[UUID, dt.datetime]:
    """Foresee when the driver gets to each pickup still to come, by ride; `legs` in the order of their begin.

    One ride after the other, as the driver goes: what was told counts, else the end of the ride before and the drive
    from there.  Nobody arrives before now.  Rides that share the vehicle are not chained.
    """
    found: dict[UUID, dt.datetime] = {}
    before: RideSlot | None = None
    free_at = at
    for leg in legs:
        errand = leg.errand
        if leg.over:
            continue
        arrives_at = errand.span.starts_at
        if not leg.there:
            arrives_at = leg.eta_at or _reached(before, free_at, errand, at)
            found[errand.ride_id] = arrives_at
        length = errand.span.ends_at - errand.span.starts_at
        before, free_at = errand, max(free_at, arrives_at + length, at)
    return found


def lateness(legs: Sequence[Leg], at: dt.datetime) -> dict[UUID, int]:
    """Foresee by how many minutes the driver comes after what was promised, by ride; those in time are left out."""
    found = arrivals(legs, at)
    behind = {
        leg.errand.ride_id: found[leg.errand.ride_id] - leg.errand.latest_pickup_at
        for leg in legs
        if leg.errand.ride_id in found
    }
    return {ride_id: math.ceil(late / _MINUTE) for ride_id, late in behind.items() if late > dt.timedelta(0)}


def _reached(before: RideSlot | None, free_at: dt.datetime, errand: RideSlot, at: dt.datetime) -> dt.datetime:
    """Say when the driver gets to a pickup, coming from the ride before, and not before its time."""
    planned = max(errand.span.starts_at, at)
    if before is None or before.span.overlaps(errand.span):
        return planned
    drive = drive_minutes(before.dropoff, errand.pickup)
    return planned if drive is None else max(planned, free_at + dt.timedelta(minutes=drive))
