"""How far and how long between two points, without a road map.  Pure."""

from dataclasses import dataclass
from typing import Final

from apps.rides.rules.distance import METERS_PER_MILE, meters_between
from apps.rides.rules.timing import AVERAGE_MPH, ROAD_FACTOR

# Minutes of a drive whose ends have no coordinates: a usual trip across town, so that it still fills the calendar.
MINUTES_WHEN_UNKNOWN: Final = 30


@dataclass(frozen=True, slots=True)
class Place:
    """A point in WGS84 degrees."""

    lat: float
    lng: float


def road_miles(start: Place, end: Place) -> float:
    """Estimate the miles by road: great circle times `ROAD_FACTOR`."""
    return meters_between(start.lat, start.lng, end.lat, end.lng) / METERS_PER_MILE * ROAD_FACTOR


def drive_minutes(start: Place | None, end: Place | None) -> float | None:
    """Estimate the minutes by road, or None where an end is not known."""
    if start is None or end is None:
        return None
    return road_miles(start, end) / AVERAGE_MPH * 60
