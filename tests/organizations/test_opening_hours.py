"""Opening hours: local wall time, also on the days the clocks change."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.opening_hours import closing_at, local_instant, repeated_days

CHICAGO = "America/Chicago"
WEEKDAYS: list[dict[str, Any]] = [
    {"days": ["mon", "tue", "wed", "thu", "fri"], "opens": "05:00", "closes": "17:30"},
    {"days": ["sat"], "opens": "06:00", "closes": "11:00"},
    {"days": ["sat"], "opens": "13:00", "closes": "15:00"},
]
NIGHTS: list[dict[str, Any]] = [{"days": ["sat"], "opens": "20:00", "closes": "02:30"}]


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("hours", "on", "expected"),
    [
        (WEEKDAYS, dt.date(2026, 11, 20), utc("2026-11-20T23:30")),
        (WEEKDAYS, dt.date(2026, 11, 21), utc("2026-11-21T21:00")),  # the later of two periods
        (WEEKDAYS, dt.date(2026, 11, 22), None),  # Sunday
        ([], dt.date(2026, 11, 20), None),
        ([{"days": ["fri"], "opens": "00:00", "closes": "00:00"}], dt.date(2026, 11, 20), utc("2026-11-21T06:00")),
        (NIGHTS, dt.date(2026, 11, 21), utc("2026-11-22T08:30")),
        (NIGHTS, dt.date(2026, 3, 7), utc("2026-03-08T08:30")),  # 02:30 is skipped: 03:30 CDT
        ([{**NIGHTS[0], "closes": "01:30"}], dt.date(2026, 10, 31), utc("2026-11-01T06:30")),  # the first 01:30
    ],
)
def test_closing_time_is_an_instant_of_the_local_day(
    hours: list[dict[str, Any]], on: dt.date, expected: dt.datetime | None
) -> None:
    assert closing_at(hours, zone=CHICAGO, on=on) == expected


def test_same_wall_time_is_another_instant_after_the_clocks_change() -> None:
    before, after = dt.date(2026, 3, 7), dt.date(2026, 3, 9)

    assert local_instant(before, dt.time(5, 30), zone=CHICAGO) == utc("2026-03-07T11:30")
    assert local_instant(after, dt.time(5, 30), zone=CHICAGO) == utc("2026-03-09T10:30")


@pytest.mark.parametrize(
    ("hours", "wrong"),
    [
        (WEEKDAYS, []),
        ([], []),
        ([{"days": ["mon", "mon"], "opens": "05:00", "closes": "06:00"}], [0]),
        ([*WEEKDAYS, {"days": ["sat"], "opens": "10:59", "closes": "12:00"}], [3]),
        ([*WEEKDAYS, {"days": ["sat"], "opens": "11:00", "closes": "13:00"}], []),
        ([*NIGHTS, {"days": ["sat"], "opens": "23:00", "closes": "23:30"}], [1]),
        ([*NIGHTS, {"days": ["sat"], "opens": "22:00", "closes": "21:00"}], [1]),
    ],
)
def test_repeated_days_are_found(hours: list[dict[str, Any]], wrong: list[int]) -> None:
    assert repeated_days(hours) == wrong
