"""From the recorded and planned times of a ride to the period in which it occupies its driver and vehicle.

Pure: no query, no clock.  `RideTimes` comes from a ride (`queries/ride_needs.py`) or, for hundreds of them, from their
columns alone (`queries/loaded_rides.py`).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from apps.rides.rules.facts import RideSlot, Span
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.timing import MINUTES_WHEN_UNKNOWN
from lib.travel.places import Place
from lib.travel.times import drive_between

# Boarding, a minimal drive and alighting; two places can have the same coordinates.
SHORTEST_MINUTES: Final = 10
_LASTS_UNTIL_NOW: Final = frozenset({RideStatus.ARRIVED, RideStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True)
class RideTimes:
    """Times and places of a ride.  The minutes of boarding and leaving are those of the place, else the rider's.

    `ready_at` and `promised_at`: of a will-call leg, None for other rides.
    """

    ride_id: UUID
    status: str
    pickup_at: datetime
    window_ends_at: datetime
    ready_at: datetime | None
    promised_at: datetime | None
    arrived_pickup_at: datetime | None
    boarded_at: datetime | None
    estimated_minutes: int | None
    pickup: Place | None
    dropoff: Place | None
    load_minutes: int
    unload_minutes: int
    driver_id: UUID | None = None
    vehicle_id: UUID | None = None
    attendant_ids: frozenset[UUID] = frozenset()
    after_the_fact: bool = False

    @property
    def drive_minutes(self) -> float:
        if self.estimated_minutes is not None:
            return self.estimated_minutes
        drive = drive_between(self.pickup, self.dropoff, depart_at=self.pickup_at)
        return MINUTES_WHEN_UNKNOWN if drive is None else drive.seconds / 60


def slot(times: RideTimes, *, at: datetime) -> RideSlot:
    """Return the period in which a ride occupies its driver and vehicle, and its places.

    A released will-call leg begins when the rider was ready, an unreleased one at its estimate.  Once the driver stands
    at the door or the rider is on board, what happened counts, and the end is never before `at`,
    unless the ride is recorded after the fact.
    """
    begins_at = times.arrived_pickup_at or times.ready_at or times.pickup_at
    if times.boarded_at is not None:
        ends_at = times.boarded_at + timedelta(minutes=times.drive_minutes + times.unload_minutes)
    else:
        ends_at = begins_at + _length(times)
    if times.status in _LASTS_UNTIL_NOW and not times.after_the_fact:
        ends_at = max(ends_at, at)
    return RideSlot(
        ride_id=times.ride_id,
        span=Span(begins_at, ends_at),
        latest_pickup_at=max(times.promised_at or times.window_ends_at, begins_at),
        pickup=times.pickup,
        dropoff=times.dropoff,
        load_minutes=times.load_minutes,
        unload_minutes=times.unload_minutes,
        driver_id=times.driver_id,
        vehicle_id=times.vehicle_id,
        attendant_ids=times.attendant_ids,
        on_board=times.status == RideStatus.IN_PROGRESS,
    )


def planned_span(times: RideTimes) -> Span:
    """Return the planned period of a ride, whatever has happened since: from its pickup time, or when it was ready."""
    starts_at = times.ready_at or times.pickup_at
    return Span(starts_at, starts_at + _length(times))


def _length(times: RideTimes) -> timedelta:
    minutes = times.load_minutes + times.drive_minutes + times.unload_minutes
    return timedelta(minutes=max(SHORTEST_MINUTES, minutes))
