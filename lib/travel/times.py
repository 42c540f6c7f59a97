"""How long a drive between two places takes.

`TravelTimes` is what a source of travel times offers.  The built-in source estimates from the great-circle distance,
without a road map.  Everything that needs the length of a drive calls `drive_between`.  Pure.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from lib.travel.places import METERS_PER_MILE, Place, meters_between

ROAD_FACTOR: Final = 1.3  # road miles per straight mile in US metro areas; assumption
_KM_PER_HOUR: Final = 50.0  # on the road between the first and the last blocks; assumption
# Starting, stopping and side streets: up to five minutes, which short drives do not reach.  The curve is concave, so
# that a detour is never estimated faster than the direct way.
_STOP_AND_GO_MINUTES: Final = 5.0
_STOP_AND_GO_KM: Final = 3.0


@dataclass(frozen=True, slots=True)
class Drive:
    """The length of a drive, rounded up to full seconds and meters."""

    seconds: int
    meters: int

    @property
    def duration(self) -> timedelta:
        return timedelta(seconds=self.seconds)

    @property
    def minutes(self) -> int:
        """Whole minutes, rounded up, as people plan."""
        return math.ceil(self.seconds / 60)

    @property
    def miles(self) -> float:
        return round(self.meters / METERS_PER_MILE, 2)


class TravelTimes(Protocol):
    """A source of travel times by road."""

    def between(self, start: Place, end: Place, depart_at: datetime | None, /) -> Drive:
        """Return the drive that starts at `depart_at`; None stands for an average hour, where no day is known."""
        ...


class GreatCircleTimes:
    """Estimates from the great-circle distance.  The same at every hour."""

    def between(self, start: Place, end: Place, _depart_at: datetime | None, /) -> Drive:
        meters = meters_between(start.lat, start.lng, end.lat, end.lng) * ROAD_FACTOR
        km = meters / 1000
        minutes = km / _KM_PER_HOUR * 60 + _STOP_AND_GO_MINUTES * (1 - math.exp(-km / _STOP_AND_GO_KM))
        return Drive(seconds=math.ceil(minutes * 60), meters=math.ceil(meters))


_TIMES: Final[TravelTimes] = GreatCircleTimes()


def drive_between(start: Place | None, end: Place | None, *, depart_at: datetime | None) -> Drive | None:
    """Return the drive from place to place; None if one of them is not known."""
    return None if start is None or end is None else _TIMES.between(start, end, depart_at)
