"""Due times of schedules, compared to dateutil, and the days that a run covers."""

import calendar
import datetime as dt
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil import rrule, tz  # type: ignore[import-untyped]  # for this test alone
from hypothesis import given
from hypothesis import strategies as st

from apps.exports.rules.cadence import Cadence, Covers, Every, days_covered

CHICAGO = "America/Chicago"
# Zones whose clocks change at midnight, by half an hour, across the date line, twice a year and never.
ZONES = (
    CHICAGO,
    "America/New_York",
    "America/Phoenix",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Pacific/Apia",
    "Africa/Cairo",
    "UTC",
)
cadences = st.builds(
    Cadence,
    every=st.sampled_from(Every),
    at=st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    zone=st.sampled_from(ZONES),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    month_day=st.integers(1, 31),
)
# 1995 to 2036
moments = st.integers(788_918_400, 2_114_380_800).map(lambda second: dt.datetime.fromtimestamp(second, dt.UTC))


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def told(cadence: Cadence, after: str, count: int) -> list[str]:
    return [f"{due:%m-%d %H:%M}" for due in islice(cadence.after(utc(after)), count)]


def by_dateutil(cadence: Cadence, after: dt.datetime, count: int) -> list[dt.datetime]:
    """Return the same by the rules of RFC 5545, with dateutil's zones."""
    zone = tz.gettz(cadence.zone)
    start = dt.datetime.combine(after.astimezone(zone).date() - dt.timedelta(days=3), cadence.at)
    by = {
        Every.DAY: {"freq": rrule.DAILY},
        Every.WEEKDAYS: {"freq": rrule.WEEKLY, "byweekday": range(5)},
        Every.WEEK: {"freq": rrule.WEEKLY, "byweekday": sorted(cadence.days)},
        # The last day of the month that is not after the wanted day.
        Every.MONTH: {
            "freq": rrule.MONTHLY,
            "bymonthday": range(min(cadence.month_day, 28), cadence.month_day + 1),
            "bysetpos": -1,
        },
    }[cadence.every]
    if cadence.every is Every.MONTH:
        start = start.replace(day=1)
    walls = islice(rrule.rrule(dtstart=start, **by), count + 45)
    found = [tz.resolve_imaginary(wall.replace(tzinfo=zone, fold=0)).astimezone(dt.UTC) for wall in walls]
    return sorted({one for one in found if one > after})[:count]


@given(cadences, moments)
def test_moments_are_those_of_dateutil(cadence: Cadence, after: dt.datetime) -> None:
    found = list(islice(cadence.after(after), 12))

    assert found == by_dateutil(cadence, after, 12)


@given(cadences, moments)
def test_moments_follow_one_another_wherever_one_begins(cadence: Cadence, after: dt.datetime) -> None:
    found = list(islice(cadence.after(after), 6))

    assert found == sorted(set(found))
    assert found[0] > after
    assert list(islice(cadence.after(found[2]), 3)) == found[3:]
    assert next(cadence.after(found[2] - dt.timedelta(microseconds=1))) == found[2]


def test_skipped_time_moves_forward_repeated_time_is_due_once() -> None:
    daily = Cadence(Every.DAY, dt.time(2, 30), CHICAGO)
    twice = Cadence(Every.DAY, dt.time(1, 30), CHICAGO)

    assert told(daily, "2026-03-07T00:00", 3) == ["03-07 08:30", "03-08 08:30", "03-09 07:30"]
    assert told(twice, "2026-10-31T00:00", 3) == ["10-31 06:30", "11-01 06:30", "11-02 07:30"]


def test_day_that_a_zone_left_out_is_due_with_the_next_one() -> None:
    found = told(Cadence(Every.DAY, dt.time(7), "Pacific/Apia"), "2011-12-29T00:00", 3)

    assert found == ["12-29 17:00", "12-30 17:00", "12-31 17:00"]  # the 29th, the 31st, 1 January


@pytest.mark.parametrize(
    ("cadence", "found"),
    [
        (Cadence(Every.WEEKDAYS, dt.time(6), "UTC"), ["11-20 06:00", "11-23 06:00", "11-24 06:00"]),
        (Cadence(Every.WEEK, dt.time(7), "UTC", frozenset({0, 3})), ["11-23 07:00", "11-26 07:00", "11-30 07:00"]),
        (Cadence(Every.MONTH, dt.time(7), "UTC", month_day=31), ["11-30 07:00", "12-31 07:00", "01-31 07:00"]),
    ],
)
def test_weekdays_weeks_and_months(cadence: Cadence, found: list[str]) -> None:
    assert told(cadence, "2026-11-20T05:00", 3) == found


@pytest.mark.parametrize(
    ("covers", "first", "last"),
    [
        (Covers.PREVIOUS_DAY, "2026-11-18", "2026-11-18"),
        (Covers.LAST_7_DAYS, "2026-11-12", "2026-11-18"),
        (Covers.PREVIOUS_WEEK, "2026-11-09", "2026-11-15"),
        (Covers.PREVIOUS_MONTH, "2026-10-01", "2026-10-31"),
    ],
)
def test_run_covers_days_before_its_local_due_day(covers: Covers, first: str, last: str) -> None:
    due_at = utc("2026-11-20T03:00")  # the evening of the 19th in Chicago

    assert days_covered(covers, due_at, CHICAGO) == (dt.date.fromisoformat(first), dt.date.fromisoformat(last))
    assert days_covered(Covers.CHANGES, due_at, CHICAGO) is None


@given(moments, st.sampled_from(ZONES))
def test_periods_leave_no_day_out(at: dt.datetime, zone: str) -> None:
    """Runs whose coverage matches the cadence cover each day once."""
    fitting = {
        Covers.PREVIOUS_DAY: Cadence(Every.DAY, dt.time(6), zone),
        Covers.LAST_7_DAYS: Cadence(Every.WEEK, dt.time(6), zone, frozenset({2})),
        Covers.PREVIOUS_WEEK: Cadence(Every.WEEK, dt.time(6), zone, frozenset({0})),
        Covers.PREVIOUS_MONTH: Cadence(Every.MONTH, dt.time(6), zone, month_day=31),
    }
    for covers, cadence in fitting.items():
        found = [days_covered(covers, due, zone) for due in islice(cadence.after(at), 4)]
        for earlier, later in pairwise(found):
            assert earlier is not None
            assert later is not None
            # No rides exist on a day that the zone skipped.
            gap = (later[0] - earlier[1]).days
            assert gap == 1 or (zone == "Pacific/Apia" and gap == 2)


def test_short_months_have_a_last_day() -> None:
    monthly = Cadence(Every.MONTH, dt.time(0), CHICAGO, month_day=30)

    days = [due.astimezone(ZoneInfo(CHICAGO)).date() for due in islice(monthly.after(utc("2027-12-31T12:00")), 36)]

    assert [day.day for day in days] == [min(30, calendar.monthrange(day.year, day.month)[1]) for day in days]
    assert len({(day.year, day.month) for day in days}) == 36
