"""Recurrence rule compared to a model that counts days one by one, and to known clock changes."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.recurring.rules import recurrence
from apps.recurring.rules.recurrence import (
    ChangeType,
    Hold,
    Occurrence,
    OccurrenceStatus,
    Override,
    Pattern,
    Plan,
    Shift,
    Terms,
    Times,
)
from tests.tiers import sized

NEW_YORK = ZoneInfo("America/New_York")
EVERY_DAY = frozenset(range(7))
MWF, TTS = recurrence.PRESETS["mwf"], recurrence.PRESETS["tts"]


def minutes(number: int) -> dt.timedelta:
    return dt.timedelta(minutes=number)


def times(chair: str, **others: Any) -> Times:
    usual: dict[str, Any] = {"chair_time": clock(chair), "lead": minutes(45), "stay": minutes(270)}
    return Times(**(usual | others))


def clock(text: str) -> dt.time:
    return dt.time.fromisoformat(text)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def plan(
    days: frozenset[int] = MWF,
    chair: str = "06:15",
    *,
    zone: ZoneInfo = NEW_YORK,
    start: str = "2026-01-05",
    weeks: int = 1,
    of_times: dict[str, Any] | None = None,
    **others: Any,
) -> Plan:
    pattern = Pattern(days, day(start), weeks)
    return Plan(zone, [Terms(day(start), pattern, times(chair, **(of_times or {})))], **others)


def listed(of: Plan, first: str, last: str) -> list[Occurrence]:
    return list(recurrence.occurrences(of, day(first), day(last)))


def dates(found: Sequence[Occurrence]) -> list[str]:
    return [one.pattern_date.isoformat() for one in found]


def only(found: Sequence[Occurrence]) -> Occurrence:
    (one,) = found
    return one


# Clock changes, case by case


def test_monday_pickup_retains_wall_time_into_daylight_time() -> None:
    # Adding seven days in UTC would give 06:30.
    order = plan(frozenset({0}), "06:15", of_times={"pickup_time": clock("05:30")})

    found = listed(order, "2026-03-02", "2026-03-09")

    assert [one.pickup_at for one in found] == [utc("2026-03-02T10:30"), utc("2026-03-09T09:30")]
    assert [one.pickup_at.astimezone(NEW_YORK).time() for one in found] == [clock("05:30"), clock("05:30")]


def test_monday_pickup_retains_wall_time_into_standard_time() -> None:
    order = plan(frozenset({0}), "06:15", of_times={"pickup_time": clock("05:30")})

    found = listed(order, "2026-10-26", "2026-11-02")

    assert [one.pickup_at for one in found] == [utc("2026-10-26T09:30"), utc("2026-11-02T10:30")]


def test_skipped_clock_time_moves_by_the_gap_and_is_marked() -> None:
    one = only(listed(plan(EVERY_DAY, "02:30"), "2026-03-08", "2026-03-08"))

    assert one.chair_at == utc("2026-03-08T07:30")
    assert one.chair_at.astimezone(NEW_YORK).time() == clock("03:30")
    assert one.moved_by_clock_change


def test_a_time_that_comes_twice_is_the_first_and_not_marked() -> None:
    one = only(listed(plan(EVERY_DAY, "01:30"), "2026-11-01", "2026-11-01"))

    assert one.chair_at == utc("2026-11-01T05:30")
    assert not one.moved_by_clock_change


def test_drive_and_treatment_take_real_time_on_clock_change_day() -> None:
    # From 00:30 to 03:30 local time four hours pass.
    order = plan(EVERY_DAY, "00:30", of_times={"stay": minutes(240), "lead": minutes(60)})

    one = only(listed(order, "2026-11-01", "2026-11-01"))

    assert one.return_at - one.chair_at == dt.timedelta(hours=4)
    assert one.return_at.astimezone(NEW_YORK).time() == clock("03:30")
    assert one.chair_at - one.pickup_at == dt.timedelta(hours=1)


def test_overnight_treatment_ends_an_hour_later_in_spring() -> None:
    one = only(listed(plan(EVERY_DAY, "20:00", of_times={"stay": minutes(480)}), "2026-03-07", "2026-03-07"))

    assert one.return_at == utc("2026-03-08T09:00")
    assert one.return_at.astimezone(NEW_YORK).time() == clock("05:00")


def test_days_are_facility_days_and_the_first_is_included() -> None:
    # At 01:30Z on 3 March it is still 2 March at the center.
    now = utc("2026-03-03T01:30")

    found = listed(plan(EVERY_DAY, "23:00", start="2026-03-02"), str(now.astimezone(NEW_YORK).date()), "2026-03-03")

    assert dates(found) == ["2026-03-02", "2026-03-03"]
    assert found[0].chair_at == utc("2026-03-03T04:00")


# Patterns


@pytest.mark.parametrize(
    ("days", "weeks", "first", "expected"),
    [
        (MWF, 1, "2026-01-05", ["2026-01-05", "2026-01-07", "2026-01-09", "2026-01-12", "2026-01-14", "2026-01-16"]),
        (TTS, 1, "2026-01-05", ["2026-01-06", "2026-01-08", "2026-01-10", "2026-01-13", "2026-01-15", "2026-01-17"]),
        (frozenset({6}), 1, "2026-01-05", ["2026-01-11", "2026-01-18"]),
        (frozenset({0}), 2, "2026-01-05", ["2026-01-05"]),
        (frozenset({0, 6}), 2, "2026-01-07", ["2026-01-11"]),
        (frozenset({0}), 2, "2026-01-12", ["2026-01-12"]),
    ],
)
def test_a_pattern_has_its_days(days: frozenset[int], weeks: int, first: str, expected: list[str]) -> None:
    assert dates(listed(plan(days, start=first, weeks=weeks), "2026-01-01", "2026-01-18")) == expected


def test_an_order_ends_with_its_last_date() -> None:
    assert dates(listed(plan(last=day("2026-01-09")), "2026-01-01", "2026-02-01")) == [
        "2026-01-05",
        "2026-01-07",
        "2026-01-09",
    ]


def test_new_terms_hold_from_their_date_on() -> None:
    start, turn = day("2026-01-05"), day("2026-01-14")
    order = Plan(
        NEW_YORK,
        [Terms(start, Pattern(MWF, start), times("06:15")), Terms(turn, Pattern(TTS, turn), times("11:00"))],
    )

    found = listed(order, "2026-01-09", "2026-01-17")

    assert dates(found) == ["2026-01-09", "2026-01-12", "2026-01-15", "2026-01-17"]
    assert [one.chair_at.astimezone(NEW_YORK).hour for one in found] == [6, 6, 11, 11]
    assert [order.has(day(text)) for text in ("2026-01-02", "2026-01-12", "2026-01-14", "2026-01-15")] == [
        False,
        True,
        False,
        True,
    ]


# Times of the two legs


def test_a_pickup_later_than_the_chair_is_on_the_evening_before() -> None:
    order = plan(frozenset({2}), "00:15", of_times={"pickup_time": clock("23:30"), "return_time": clock("00:15")})

    one = only(listed(order, "2026-01-07", "2026-01-07"))

    assert one.pickup_at.astimezone(NEW_YORK).date() == day("2026-01-06")
    assert one.return_at.astimezone(NEW_YORK).date() == day("2026-01-08")


@pytest.mark.parametrize(
    ("pickup", "chair", "lead", "expected", "jumps"),
    [
        ("02:45", "03:15", 45, "2026-03-08T06:45", True),  # pickup would be half an hour after the chair time
        ("02:45", "04:00", 45, "2026-03-08T07:15", True),
        ("02:30", "06:00", 45, "2026-03-08T07:30", True),  # forward, and early enough
        ("01:30", "03:15", 90, "2026-03-08T05:45", False),
        ("01:30", "03:15", 30, "2026-03-08T06:30", False),
    ],
)
def test_clock_jump_between_pickup_and_chair_leaves_drive_time(
    pickup: str, chair: str, lead: int, expected: str, jumps: bool
) -> None:
    order = plan(EVERY_DAY, chair, of_times={"pickup_time": clock(pickup), "lead": minutes(lead)})

    one = only(listed(order, "2026-03-08", "2026-03-08"))

    assert one.pickup_at == utc(expected)
    assert one.moved_by_clock_change is jumps


def test_a_marked_jump_may_be_that_of_either_way() -> None:
    there = plan(EVERY_DAY, "06:00", of_times={"pickup_time": clock("02:30")})
    back = plan(EVERY_DAY, "20:00", of_times={"return_time": clock("02:30")})

    assert only(listed(there, "2026-03-08", "2026-03-08")).moved_by_clock_change
    assert only(listed(back, "2026-03-07", "2026-03-07")).moved_by_clock_change


# Changes of single days


def test_moved_day_retains_pattern_date_and_shifts_both_legs() -> None:
    of_times = {"pickup_time": clock("05:30"), "return_time": clock("11:00")}
    moved = {day("2026-11-25"): Shift(day("2026-11-24"), chair_time=clock("05:15"))}

    one = only(listed(plan(of_times=of_times, shifts=moved), "2026-11-24", "2026-11-25"))

    assert (one.pattern_date, one.service_date) == (day("2026-11-25"), day("2026-11-24"))
    assert (one.status, one.change) == (OccurrenceStatus.DUE, ChangeType.SHIFTED)
    assert [at.astimezone(NEW_YORK).time() for at in (one.pickup_at, one.chair_at, one.return_at)] == [
        clock("04:30"),
        clock("05:15"),
        clock("10:00"),
    ]


@pytest.mark.parametrize(
    ("shift", "chair"),
    [
        (Shift(day("2026-01-06")), "06:15"),
        (Shift(day("2026-01-06"), offset_minutes=-75), "05:00"),
        (Shift(day("2026-01-06"), offset_minutes=-400), "23:35"),
    ],
)
def test_a_shift_moves_the_chair_within_its_day(shift: Shift, chair: str) -> None:
    one = only(listed(plan(shifts={day("2026-01-05"): shift}), "2026-01-05", "2026-01-05"))

    assert one.chair_at.astimezone(NEW_YORK) == dt.datetime.combine(day("2026-01-06"), clock(chair), NEW_YORK)


def test_a_closed_day_gives_no_ride() -> None:
    one = only(listed(plan(shifts={day("2026-01-05"): Shift(None)}), "2026-01-05", "2026-01-05"))

    assert (one.status, one.change, one.service_date) == (
        OccurrenceStatus.CLOSED,
        ChangeType.SHIFTED,
        day("2026-01-05"),
    )


def test_what_a_person_made_of_a_day_outranks_a_shift() -> None:
    order = plan(
        shifts={day("2026-01-05"): Shift(None)},
        overrides={day("2026-01-05"): Override(times("09:00"), day("2026-01-06"))},
    )

    one = only(listed(order, "2026-01-05", "2026-01-05"))

    assert (one.status, one.change, one.service_date) == (
        OccurrenceStatus.DUE,
        ChangeType.CUSTOMIZED,
        day("2026-01-06"),
    )


def test_holds_go_by_the_day_of_service_and_skips_by_the_pattern() -> None:
    order = plan(
        holds=[Hold(day("2026-01-06"), day("2026-01-07")), Hold(day("2026-01-19"))],
        shifts={day("2026-01-05"): Shift(day("2026-01-06")), day("2026-01-07"): Shift(day("2026-01-08"))},
        skips=frozenset({day("2026-01-12")}),
    )

    found = listed(order, "2026-01-05", "2026-01-21")

    assert [(str(one.pattern_date), one.status.value) for one in found] == [
        ("2026-01-05", "held"),
        ("2026-01-07", "due"),
        ("2026-01-09", "due"),
        ("2026-01-12", "skipped"),
        ("2026-01-14", "due"),
        ("2026-01-16", "due"),
        ("2026-01-19", "held"),
        ("2026-01-21", "held"),
    ]


def test_service_days_include_days_moved_in_sorted_by_time() -> None:
    order = plan(
        EVERY_DAY,
        shifts={
            day("2026-01-08"): Shift(day("2026-01-15"), chair_time=clock("03:00")),
            day("2026-01-14"): Shift(day("2026-01-13")),
        },
    )

    found = recurrence.on_service_dates(order, day("2026-01-14"), day("2026-01-15"))

    assert dates(found) == ["2026-01-08", "2026-01-15"]


# Comparison to a model


@given(
    days=st.sets(st.integers(0, 6), min_size=1),
    weeks=st.integers(1, 5),
    anchor=st.dates(dt.date(2025, 12, 1), dt.date(2026, 2, 1)),
    first=st.dates(dt.date(2025, 12, 1), dt.date(2026, 3, 1)),
    length=st.integers(-2, 100),
)
@settings(max_examples=300)
def test_dates_are_those_found_by_counting(
    days: set[int], weeks: int, anchor: dt.date, first: dt.date, length: int
) -> None:
    pattern = Pattern(frozenset(days), anchor, weeks)
    week_of_anchor = anchor - dt.timedelta(days=anchor.weekday())

    found = list(pattern.dates(first, first + dt.timedelta(days=length)))

    assert found == [
        one
        for one in (first + dt.timedelta(days=number) for number in range(length + 1))
        if one.weekday() in days and (one - week_of_anchor).days // 7 % weeks == 0
    ]


@pytest.mark.untraced
def test_every_zone_keeps_its_wall_clock_for_ten_years() -> None:
    """The test finds instants by trying every UTC offset of the zone around that day.

    Three times a week for ten years in every zone, and on the days about every clock change at hours that a change may
    skip or repeat.  `make test` takes every fifth zone.
    """
    step = sized(short=5, nightly=1)
    counts = Counter[str]()
    for name in sorted(available_timezones() - {"localtime", "Factory"})[::step]:
        zone = ZoneInfo(name)
        midnights = [
            dt.datetime.combine(dt.date(2025, 12, 31), dt.time()) + dt.timedelta(number) for number in range(3654)
        ]
        offsets = {at.date(): _offset_at(zone, at) for at in midnights}
        weekly = plan(MWF, "05:30", zone=zone, start="2026-01-01")
        counts += _compared(weekly, zone, dt.date(2026, 1, 1), dt.date(2035, 12, 30), offsets)
        for one, other in pairwise(offsets):
            if offsets[one] != offsets[other] and one.year in range(2026, 2036):
                for text in ("00:00", "00:30", "01:30", "02:00", "02:30", "03:00", "23:30"):
                    daily = plan(EVERY_DAY, text, zone=zone, start="2025-12-31")
                    counts += _compared(daily, zone, one - dt.timedelta(1), one + dt.timedelta(2), offsets)
    print(dict(counts))  # noqa: T201  # for people: shown by `pytest -rP`
    assert counts["gaps"] > 1000 / step
    assert counts["folds"] > 1000 / step


def _compared(
    order: Plan, zone: ZoneInfo, first: dt.date, last: dt.date, offsets: dict[dt.date, dt.timedelta]
) -> Counter[str]:
    """Compare every date of an order to the zone's offsets of the days around it; count them."""
    counts = Counter[str]()
    terms = order.terms[0]
    expected = [at for at in offsets if first <= at <= last and at.weekday() in terms.pattern.days]
    found = list(recurrence.occurrences(order, first, last))
    assert [one.pattern_date for one in found] == expected
    for one in found:
        wall = dt.datetime.combine(one.pattern_date, terms.times.chair_time)
        before, after = (offsets[one.pattern_date + dt.timedelta(days)] for days in (-1, 2))
        possible = sorted(wall - offset for offset in {before, after} if _offset_at(zone, wall - offset) == offset)
        assert one.chair_at.replace(tzinfo=None) == (possible[0] if possible else wall - before), (zone.key, one)
        assert one.moved_by_clock_change is (not possible), (zone.key, one)
        counts.update(dates=1, gaps=not possible, folds=len(possible) > 1)
    return counts


def _offset_at(zone: ZoneInfo, naive_utc: dt.datetime) -> dt.timedelta:
    """Return the zone's offset at a naive UTC instant."""
    offset = naive_utc.replace(tzinfo=dt.UTC).astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def test_marks_follow_the_state_of_the_words_in_answers() -> None:
    assert [state.value for state in ChangeType] == ["as_generated", "shifted", "customized"]
