"""Due times of a ride, on ordinary days and on both days of a clock change."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.organizations import service_levels
from apps.organizations.rules.opening_hours import local_instant
from apps.rides.rules import timing

NEW_YORK = "America/New_York"
CHICAGO = "America/Chicago"
LEVELS = service_levels.DEFAULTS
zones = st.sampled_from(
    [NEW_YORK, CHICAGO, "America/Phoenix", "Pacific/Honolulu", "Africa/Cairo", "Australia/Lord_Howe"]
)
minutes_of_two_years = st.integers(min_value=0, max_value=2 * 365 * 24 * 60)
instants = minutes_of_two_years.map(
    lambda minutes: dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=minutes)
)
wall_times = st.times(timezones=st.none())
days = st.dates(min_value=dt.date(2026, 1, 1), max_value=dt.date(2027, 12, 31))


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[arg-type, misc]  # year to minute, spread


def test_wall_time_is_equal_before_and_after_spring_change() -> None:
    before = local_instant(dt.date(2026, 3, 2), dt.time(5, 30), zone=NEW_YORK)
    after = local_instant(dt.date(2026, 3, 9), dt.time(5, 30), zone=NEW_YORK)

    assert (before, after) == (utc(2026, 3, 2, 10, 30), utc(2026, 3, 9, 9, 30))


def test_skipped_wall_time_moves_forward_by_the_gap() -> None:
    moment = local_instant(dt.date(2026, 3, 8), dt.time(2, 30), zone=NEW_YORK)

    assert moment.astimezone(ZoneInfo(NEW_YORK)).time() == dt.time(3, 30)
    assert moment == utc(2026, 3, 8, 7, 30)


def test_repeated_wall_time_means_its_first_occurrence() -> None:
    assert local_instant(dt.date(2026, 11, 1), dt.time(1, 30), zone=NEW_YORK) == utc(2026, 11, 1, 5, 30)


def test_treatment_over_the_change_is_elapsed_time() -> None:
    chair_at = local_instant(dt.date(2026, 3, 7), dt.time(20, 0), zone=NEW_YORK)

    ready = timing.end_of_treatment(chair_at, treatment_minutes=480, post_treatment_minutes=0)

    assert ready.astimezone(ZoneInfo(NEW_YORK)).time() == dt.time(5, 0)


def test_treatment_defaults_to_four_and_a_half_hours() -> None:
    ready = timing.end_of_treatment(utc(2026, 11, 20, 12), treatment_minutes=None, post_treatment_minutes=None)

    assert ready == utc(2026, 11, 20, 16, 30)


def test_service_date_is_the_local_day() -> None:
    assert timing.local_day(utc(2026, 3, 3, 1, 30), NEW_YORK) == dt.date(2026, 3, 2)


def test_window_is_fifteen_minutes_to_either_side() -> None:
    window = timing.pickup_window(utc(2026, 11, 20, 14), LEVELS)

    assert window == timing.Window(utc(2026, 11, 20, 13, 45), utc(2026, 11, 20, 14, 15))


def test_window_closes_in_time_for_the_appointment() -> None:
    window = timing.pickup_window(
        utc(2026, 11, 20, 14),
        LEVELS,
        arrive_by=timing.latest_arrival(utc(2026, 11, 20, 14, 45), LEVELS),
        drive_minutes=25,
    )

    assert window == timing.Window(utc(2026, 11, 20, 13, 45), utc(2026, 11, 20, 14, 5))


def test_window_never_closes_before_the_pickup_time_itself() -> None:
    window = timing.pickup_window(utc(2026, 11, 20, 14), LEVELS, arrive_by=utc(2026, 11, 20, 14, 5), drive_minutes=50)

    assert window.ends_at == utc(2026, 11, 20, 14)


@pytest.mark.parametrize(
    ("requested", "starts", "ends"),
    [
        ((13, 0), (13, 45), (14, 15)),
        ((13, 50), (13, 50), (14, 15)),
        ((14, 0), (14, 0), (14, 15)),
        ((14, 10), (14, 10), (14, 25)),
    ],
)
def test_window_does_not_begin_before_the_request(
    requested: tuple[int, int], starts: tuple[int, int], ends: tuple[int, int]
) -> None:
    window = timing.pickup_window(utc(2026, 11, 20, 14), LEVELS, not_before=utc(2026, 11, 20, *requested))

    assert window == timing.Window(utc(2026, 11, 20, *starts), utc(2026, 11, 20, *ends))


def test_window_from_now_begins_with_the_next_full_minute() -> None:
    window = timing.pickup_window(utc(2026, 11, 20, 14), LEVELS, not_before=utc(2026, 11, 20, 14, 3, 20))

    assert window == timing.Window(utc(2026, 11, 20, 14, 4), utc(2026, 11, 20, 14, 19))


def test_firm_ride_is_promised_by_the_end_of_its_window() -> None:
    plan = timing.schedule(utc(2026, 11, 20, 20), zone=CHICAGO, levels=LEVELS, will_call=False)

    assert (plan.promised_pickup_by, plan.will_call_expires_at) == (utc(2026, 11, 20, 20, 15), None)


def test_will_call_has_no_promise_and_expires_before_midnight() -> None:
    plan = timing.schedule(utc(2026, 11, 21, 2), zone=CHICAGO, levels=LEVELS, will_call=True)

    assert plan.service_date == dt.date(2026, 11, 20)
    assert (plan.promised_pickup_by, plan.will_call_expires_at) == (None, utc(2026, 11, 21, 5, 59))


@pytest.mark.parametrize(
    ("zones_given", "chosen"),
    [
        ((CHICAGO, NEW_YORK, None), CHICAGO),
        ((None, NEW_YORK, CHICAGO), NEW_YORK),
        ((None, None, CHICAGO), CHICAGO),
        ((None, None, None), "America/Denver"),
    ],
)
def test_zone_comes_from_pickup_dropoff_owner_then_operator(zones_given: tuple[str | None, ...], chosen: str) -> None:
    assert timing.first_zone(*zones_given, default="America/Denver") == chosen


@pytest.mark.parametrize(
    ("service_type", "priority"),
    [("dialysis", "life_sustaining"), ("hospital_discharge", "time_critical"), ("therapy", "routine")],
)
def test_priority_follows_the_service(service_type: str, priority: str) -> None:
    assert timing.default_priority(service_type) == priority


@given(day=days, clock=wall_times, zone=zones)
def test_local_instant_keeps_the_wall_time_or_moves_it_forward(day: dt.date, clock: dt.time, zone: str) -> None:
    wall = local_instant(day, clock, zone=zone).astimezone(ZoneInfo(zone)).replace(tzinfo=None)

    asked = dt.datetime.combine(day, clock)
    assert dt.timedelta(0) <= wall - asked <= dt.timedelta(hours=1)


@given(pickup_at=instants, zone=zones)
def test_window_contains_pickup_and_will_call_expires_after_it(pickup_at: dt.datetime, zone: str) -> None:
    plan = timing.schedule(pickup_at, zone=zone, levels=LEVELS, will_call=True, arrive_by=pickup_at)

    assert plan.window.starts_at <= pickup_at <= plan.window.ends_at
    assert plan.will_call_expires_at is not None
    assert plan.will_call_expires_at >= pickup_at
    assert timing.local_day(plan.will_call_expires_at, zone) == plan.service_date


@given(chair_at=instants, minutes=st.integers(min_value=0, max_value=600))
def test_added_minutes_are_real_minutes(chair_at: dt.datetime, minutes: int) -> None:
    local = chair_at.astimezone(ZoneInfo(NEW_YORK))

    assert timing.add_minutes(local, minutes) - chair_at == dt.timedelta(minutes=minutes)
