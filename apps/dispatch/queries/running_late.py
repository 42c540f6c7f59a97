"""What it would save to move the next rides of a late driver to others."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries import assigned_rides
from apps.rides.queries.candidates import Candidate, candidates
from apps.rides.queries.driver_timelines import drivers_on_duty
from apps.rides.rules.driver_timeline import DriverNow, predict
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal

# Moving rides further ahead is planning, not help for a late driver; candidates are ranked for each of them.
MOST_RIDES: Final = 4
_WITHIN: Final = dt.timedelta(hours=12)
_PAST: Final = dt.timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class MovableRide:
    """A ride that has not departed, and the best other driver; None if each one breaks a rule.

    `late_minutes` with the present driver.  `saved_minutes`: by how many minutes the driver's other rides are less late
    without it, all together.
    """

    ride: Ride
    late_minutes: int
    saved_minutes: int
    best: Candidate | None


def movable_rides(driver: Driver, *, by: Principal, at: dt.datetime) -> list[MovableRide]:
    """Return the driver's next rides, soonest first, if the driver runs late; none if every ride is in time.

    The queries of `candidates` for each of at most `MOST_RIDES` rides, and six more.
    """
    present = drivers_on_duty([driver], at=at, until=at + _WITHIN)[driver.pk]
    late = {ride.ride_id: ride.late_minutes for ride in predict(present, at=at).rides}
    if not any(late.values()):
        return []
    rides = assigned_rides.for_driver(driver.pk, by=by).filter(
        driver=driver, status=RideStatus.ASSIGNED, pickup_at__gt=at - _PAST, pickup_at__lt=at + _WITHIN
    )
    return [
        MovableRide(
            ride=ride,
            late_minutes=late.get(ride.pk, 0),
            saved_minutes=_late_minutes(late, ride.pk) - _late_without(present, ride.pk, at),
            best=_best(ride.pk, driver.pk, by, at),
        )
        for ride in rides.select_related("rider")[:MOST_RIDES]
    ]


def _late_minutes(late: dict[UUID, int], moved_id: UUID) -> int:
    return sum(minutes for ride_id, minutes in late.items() if ride_id != moved_id)


def _late_without(present: DriverNow, moved_id: UUID, at: dt.datetime) -> int:
    rides = tuple(ride for ride in present.rides if ride.slot.ride_id != moved_id)
    return sum(ride.late_minutes for ride in predict(replace(present, rides=rides), at=at).rides)


def _best(ride_id: UUID, present_id: UUID, by: Principal, at: dt.datetime) -> Candidate | None:
    ranked: Collection[Candidate] = candidates(ride_id=ride_id, by=by, at=at)
    return next((each for each in ranked if not each.violations and each.driver_id != present_id), None)
