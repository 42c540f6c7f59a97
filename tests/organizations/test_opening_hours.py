"""Opening hours: local time, also on the days when the clocks change."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.rules.opening_hours import after_open_time, closing_at, in_words, local_instant, repeated_days

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


@pytest.mark.parametrize(
    ("hours", "since", "expected"),
    [
        (WEEKDAYS, "2026-11-20T15:00", "2026-11-20T15:30"),  # Friday 09:00
        (WEEKDAYS, "2026-11-20T23:10", "2026-11-21T12:10"),  # twenty minutes on Friday, ten on Saturday
        (WEEKDAYS, "2026-11-21T16:50", "2026-11-21T19:20"),  # over the break of Saturday
        (WEEKDAYS, "2026-11-22T02:00", "2026-11-23T11:30"),  # Saturday night: Monday 05:30
        (NIGHTS, "2026-11-22T08:10", "2026-11-29T02:10"),  # the end of a night that began the day before
        (NIGHTS, "2026-03-08T07:50", "2026-03-08T08:20"),  # 01:50 CST: over the change of the clocks
        ([], "2026-11-20T15:00", None),
        ([{"days": ["fri"], "opens": "09:00", "closes": "09:01"}], "2026-11-20T15:00", None),
        ([{"days": ["fri", "sat"], "opens": "00:00", "closes": "00:00"}], "2026-11-21T05:50", "2026-11-21T06:20"),
    ],
)
def test_time_is_counted_while_the_facility_is_open(
    hours: list[dict[str, Any]], since: str, expected: str | None
) -> None:
    answer = after_open_time(hours, dt.timedelta(minutes=30), zone=CHICAGO, since=utc(since))

    assert answer == (utc(expected) if expected else None)


def test_same_wall_time_is_another_instant_after_clock_change() -> None:
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


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (WEEKDAYS, "Mon to Fri, 05:00 to 17:30; Sat, 06:00 to 11:00; Sat, 13:00 to 15:00"),
        ([{"days": ["thu", "mon", "wed"], "opens": "05:00", "closes": "17:30"}], "Mon, Wed, Thu, 05:00 to 17:30"),
        ([{"days": ["sat", "sun"], "opens": "20:00", "closes": "02:30"}], "Sat, Sun, 20:00 to 02:30"),
        ([], ""),
    ],
)
def test_hours_are_written_in_words(hours: list[dict[str, Any]], words: str) -> None:
    assert in_words(hours) == words
