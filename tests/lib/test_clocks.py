"""Time of day on a 24-hour or 12-hour clock."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lib.clocks import clock, exact_clock, twelve_hours
from lib.local_time import local_time
from tests.factories import NOW


@pytest.mark.parametrize(
    ("at", "plain", "twelve"),
    [
        (dt.time(0, 5), "00:05", "12:05 AM"),
        (dt.time(11, 59), "11:59", "11:59 AM"),
        (dt.time(12), "12:00", "12:00 PM"),
        (dt.time(23, 30), "23:30", "11:30 PM"),
    ],
)
def test_clock_is_written_as_its_reader_reads_it(at: dt.time, plain: str, twelve: str) -> None:
    assert clock(at) == plain
    with twelve_hours(True):
        assert clock(at) == twelve.replace(" ", "\N{NO-BREAK SPACE}")
    assert clock(at) == plain


@pytest.mark.parametrize(("hours", "written"), [(24, "14:03"), (12, "2:03\N{NO-BREAK SPACE}PM")])
def test_clock_is_the_organizations_for_whoever_has_none(settings: Any, hours: int, written: str) -> None:
    settings.CLOCK_HOURS = hours
    at = dt.time(14, 3)

    assert clock(at) == written
    with twelve_hours(None):
        assert clock(at) == written
    with twelve_hours(True):
        assert clock(at) == "2:03\N{NO-BREAK SPACE}PM"
    with twelve_hours(False):
        assert clock(at) == "14:03"


def test_seconds_are_shown_where_they_are_asked_for() -> None:
    at = dt.datetime(2026, 11, 20, 14, 3, 9, tzinfo=dt.UTC)

    assert clock(at, seconds=True) == "14:03:09"
    with twelve_hours(True):
        assert clock(at, seconds=True) == "2:03:09\N{NO-BREAK SPACE}PM"


def test_local_time_keeps_its_zone_and_the_instant_for_machines() -> None:
    with twelve_hours(True):
        written = local_time(NOW, "America/Chicago")

    text = "Fri, Nov 20, 9:00\N{NO-BREAK SPACE}AM CT"
    assert written == f'<time datetime="2026-11-20T15:00:00Z">{text}</time>'


def test_hour_that_comes_twice_names_its_zone() -> None:
    """Clocks go back at 07:00 UTC on Sunday 1 November 2026."""
    zone = ZoneInfo("America/Chicago")
    hours = [dt.datetime(2026, 11, 1, hour, 30, tzinfo=dt.UTC).astimezone(zone) for hour in (5, 6, 7, 8)]

    assert [exact_clock(at) for at in hours] == [
        "00:30",
        "01:30\N{NO-BREAK SPACE}CDT",
        "01:30\N{NO-BREAK SPACE}CST",
        "02:30",
    ]
