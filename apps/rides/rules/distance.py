"""Distances on the globe."""

from math import asin, cos, radians, sin, sqrt

EARTH_RADIUS_METERS = 6_371_008.8  # mean radius (IUGG)
METERS_PER_MILE = 1_609.344


def meters_between(lat: float, lng: float, other_lat: float, other_lng: float) -> float:
    """Compute the great-circle distance in meters between two WGS84 points given in degrees (haversine)."""
    half_lat = radians(other_lat - lat) / 2
    half_lng = radians(other_lng - lng) / 2
    chord = sin(half_lat) ** 2 + cos(radians(lat)) * cos(radians(other_lat)) * sin(half_lng) ** 2
    return 2 * EARTH_RADIUS_METERS * asin(sqrt(chord))
