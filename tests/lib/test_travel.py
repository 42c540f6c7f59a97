"""Distances and travel times."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.travel.places import Place, meters_between, place_at
from lib.travel.times import Drive, GreatCircleTimes, drive_between

LOOP, EVANSTON = Place(41.8809, -87.6338), Place(42.0451, -87.6877)
AT = dt.datetime(2026, 11, 20, 16, 0, tzinfo=dt.UTC)
places = st.builds(Place, lat=st.floats(41, 43), lng=st.floats(-89, -87))


def test_meters_between_two_points_are_the_great_circle() -> None:
    # A degree of a meridian: 2 pi x 6,371,008.8 m / 360.
    assert meters_between(41.0, -87.0, 42.0, -87.0) == pytest.approx(111_195.08, abs=0.01)


@pytest.mark.parametrize(("start", "end"), [(LOOP, None), (None, LOOP), (None, None)])
def test_drive_between_unknown_places_is_none(start: Place | None, end: Place | None) -> None:
    assert drive_between(start, end, depart_at=AT) is None


def test_drive_from_the_loop_to_evanston_is_about_half_an_hour() -> None:
    drive = drive_between(LOOP, EVANSTON, depart_at=AT)

    assert drive is not None
    # 24.43 km by road: 29.3 minutes at 50 km/h, and 5 minutes of stop and go.
    assert (drive.miles, drive.minutes) == (15.18, 35)


def test_short_drive_has_its_share_of_stop_and_go() -> None:
    drive = drive_between(Place(41.0, -87.0), Place(41.009, -87.0), depart_at=None)

    assert drive is not None
    # 1.3 km by road: 1.56 minutes at 50 km/h, and 5 x (1 - e^(-0.4337)) = 1.76 minutes.
    assert (drive.meters, drive.seconds) == (1_301, 200)


@given(places, places, places)
def test_detour_is_never_faster_than_the_direct_drive(start: Place, stop: Place, end: Place) -> None:
    times = GreatCircleTimes()

    direct = times.between(start, end, AT).seconds

    assert direct <= times.between(start, stop, AT).seconds + times.between(stop, end, AT).seconds


def test_drive_to_the_same_place_takes_no_time() -> None:
    assert drive_between(LOOP, LOOP, depart_at=AT) == Drive(seconds=0, meters=0)


def test_drive_rounds_minutes_up_and_miles_to_two_decimals() -> None:
    drive = Drive(seconds=121, meters=1_610)

    assert (drive.minutes, drive.miles, drive.duration) == (3, 1.0, dt.timedelta(seconds=121))


def test_place_needs_both_degrees() -> None:
    assert place_at(41, -87) == Place(41.0, -87.0)
    assert place_at(41, None) is None
    assert place_at(None, -87) is None
