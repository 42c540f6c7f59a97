"""Directions between places of the demo's city."""

import pytest

from apps.demo.geography import Spot, bearing

HERE = Spot("", "", "", 41.88, -87.63)


@pytest.mark.parametrize(
    ("north", "east", "degrees"),
    [(0.01, 0, 0), (0, 0.01, 90), (-0.01, 0, 180), (0, -0.01, 270), (0.01, 0.013429, 45), (0.01, -0.00001, 0)],
)
def test_bearing_is_clockwise_from_north(north: float, east: float, degrees: int) -> None:
    assert bearing(HERE, Spot("", "", "", HERE.lat + north, HERE.lng + east)) == degrees
