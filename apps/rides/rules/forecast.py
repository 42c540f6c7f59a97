"""Expected arrivals of a driver at the pickups of a day, and their delays.  Pure: no query, no clock."""

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
    """A ride in a driver's day.

    `eta_at` is the reported ETA at the pickup; `at_pickup`: the driver has arrived there; `ended`: the ride has ended.
    """

    slot: RideSlot
    ended: bool = False
    at_pickup: bool = False
    eta_at: dt.datetime | None = None


def arrivals(legs: Sequence[Leg], at: dt.datetime) -> dict[UUID, dt.datetime]:
    """Return the expected arrival at each upcoming pickup, by ride id; `legs` in the order of their start.

    Uses the reported ETA, otherwise the end of the previous ride plus the drive from there, and never a time before
    `at`.  Rides that share the vehicle are not chained.
    """
    arrival_times: dict[UUID, dt.datetime] = {}
    before: RideSlot | None = None
    free_at = at
    for leg in legs:
        slot = leg.slot
        if leg.ended:
            continue
        arrives_at = slot.span.starts_at
        if not leg.at_pickup:
            arrives_at = leg.eta_at or _reached(before, free_at, slot, at)
            arrival_times[slot.ride_id] = arrives_at
        length = slot.span.ends_at - slot.span.starts_at
        before, free_at = slot, max(free_at, arrives_at + length, at)
    return arrival_times


def lateness(legs: Sequence[Leg], at: dt.datetime) -> dict[UUID, int]:
    """Return the expected delay in minutes by ride id, without rides that are on time."""
    arrival_times = arrivals(legs, at)
    behind = {
        leg.slot.ride_id: arrival_times[leg.slot.ride_id] - leg.slot.latest_pickup_at
        for leg in legs
        if leg.slot.ride_id in arrival_times
    }
    return {ride_id: math.ceil(late / _MINUTE) for ride_id, late in behind.items() if late > dt.timedelta(0)}


def _reached(before: RideSlot | None, free_at: dt.datetime, slot: RideSlot, at: dt.datetime) -> dt.datetime:
    """Say when the driver gets to a pickup, coming from the ride before, and not before its time."""
    planned = max(slot.span.starts_at, at)
    if before is None or before.span.overlaps(slot.span):
        return planned
    drive = drive_minutes(before.dropoff, slot.pickup)
    return planned if drive is None else max(planned, free_at + dt.timedelta(minutes=drive))
