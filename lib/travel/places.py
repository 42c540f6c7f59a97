"""Places and distances on the globe."""

from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt

EARTH_RADIUS_METERS = 6_371_008.8  # mean radius (IUGG)
METERS_PER_MILE = 1_609.344


@dataclass(frozen=True, slots=True)
class Place:
    """A point in WGS84 degrees."""

    lat: float
    lng: float


def place_at(lat: float | None, lng: float | None) -> Place | None:
    """Return the place at these degrees; None if one of them is not known."""
    return None if lat is None or lng is None else Place(float(lat), float(lng))


def meters_between(lat: float, lng: float, other_lat: float, other_lng: float) -> float:
    """Compute the great-circle distance in meters between two WGS84 points given in degrees (haversine)."""
    half_lat = radians(other_lat - lat) / 2
    half_lng = radians(other_lng - lng) / 2
    chord = sin(half_lat) ** 2 + cos(radians(lat)) * cos(radians(other_lat)) * sin(half_lng) ** 2
    return 2 * EARTH_RADIUS_METERS * asin(sqrt(chord))
