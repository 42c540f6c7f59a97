"""Time axis of a service day."""

import datetime as dt

import pytest

from apps.dispatch.rules.axis import Axis, service_day
from lib.clocks import exact_clock

CHICAGO = "America/Chicago"


def test_a_plain_day_runs_from_four_to_four() -> None:
    axis = Axis(dt.date(2026, 11, 20), CHICAGO)

    assert axis.starts_at == dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)
    assert axis.ends_at == dt.datetime(2026, 11, 21, 10, tzinfo=dt.UTC)
    assert axis.minutes == 1440
    assert axis.ticks(exact_clock)[:2] == [(0, "04:00"), (60, "05:00")]
    assert axis.ticks(exact_clock)[-1] == (1380, "03:00")


@pytest.mark.parametrize(
    ("day", "hours", "around"),
    [
        # Clocks go back on Sunday 1 November 2026 and forward on Sunday 14 March 2027, both within the Saturday's
        # service day.
        (dt.date(2026, 10, 31), 25, ["00:00", "01:00\N{NO-BREAK SPACE}CDT", "01:00\N{NO-BREAK SPACE}CST", "02:00"]),
        (dt.date(2027, 3, 13), 23, ["00:00", "01:00", "03:00"]),
    ],
)
def test_b12_clock_change_days_have_their_actual_length(day: dt.date, hours: int, around: list[str]) -> None:
    axis = Axis(day, CHICAGO)

    labels = [label for _, label in axis.ticks(exact_clock)]

    assert axis.minutes == hours * 60
    assert len(labels) == hours
    assert labels[20 : 20 + len(around)] == around


@pytest.mark.parametrize(("minutes_after_four", "minute"), [(-90, 0), (0, 0), (61, 61), (1440, 1440), (2000, 1440)])
def test_instants_map_to_elapsed_minutes_within_the_axis(minutes_after_four: int, minute: int) -> None:
    axis = Axis(dt.date(2026, 11, 20), CHICAGO)

    assert axis.minute_of(axis.starts_at + dt.timedelta(minutes=minutes_after_four, seconds=59)) == minute


def test_an_axis_holds_its_day_and_not_its_end() -> None:
    axis = Axis(dt.date(2026, 11, 20), CHICAGO)

    assert axis.holds(axis.starts_at)
    assert not axis.holds(axis.ends_at)


@pytest.mark.parametrize(("hour", "minute", "day"), [(3, 59, dt.date(2026, 11, 19)), (4, 0, dt.date(2026, 11, 20))])
def test_before_four_it_is_still_yesterday(hour: int, minute: int, day: dt.date) -> None:
    at = dt.datetime(2026, 11, 20, hour + 6, minute, tzinfo=dt.UTC)  # Chicago is six hours behind

    assert service_day(at, CHICAGO) == day
