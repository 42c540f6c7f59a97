"""Parsing of entered times, and their meaning at clock changes."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.time_parsing import InvalidTime, instants, may_be_afternoon, parse

CHICAGO = "America/Chicago"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1430", time(14, 30)),
        ("14:30", time(14, 30)),
        ("14.30", time(14, 30)),
        ("2:30p", time(14, 30)),
        ("2:30 PM", time(14, 30)),
        ("2:30 p.m.", time(14, 30)),
        ("230p", time(14, 30)),
        ("2p", time(14)),
        ("9", time(9)),
        ("930", time(9, 30)),
        ("0930", time(9, 30)),
        ("9a", time(9)),
        ("12a", time(0)),
        ("12:15a", time(0, 15)),
        ("12p", time(12)),
        ("noon", time(12)),
        ("mediodía", time(12)),
        ("Mediodia", time(12)),
        ("ahora", timedelta(0)),
        ("2:30 p. m.", time(14, 30)),
        ("9 a.m.", time(9)),
        ("  Noon ", time(12)),
        ("0000", time(0)),
        ("23:59", time(23, 59)),
        ("now", timedelta(0)),
        ("+45", timedelta(minutes=45)),
        ("+ 45", timedelta(minutes=45)),
        ("+0", timedelta(0)),
        ("+90", timedelta(minutes=90)),
        ("+1:30", timedelta(minutes=90)),
        ("+1440", timedelta(days=1)),
    ],
)
def test_time_is_read_as_people_type_it(text: str, meant: time | timedelta) -> None:
    assert parse(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "25:00",
        "2400",
        "24:00",
        "99",
        "14:60",
        "14:5",
        "13p",
        "0p",
        "12345",
        "-5",
        "+",
        "+1:60",
        "+12345",
        "later",
        "2:30x",
        "midnight",
        "١٤٣٠",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidTime):
        parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        meant = parse(text)
    except InvalidTime:
        return

    assert isinstance(meant, time) or timedelta(0) <= meant <= timedelta(minutes=9999)


@given(st.times().map(lambda clock: clock.replace(second=0, microsecond=0)))
def test_every_clock_time_is_read_back(clock: time) -> None:
    half = "a" if clock.hour < 12 else "p"

    assert parse(f"{clock:%H%M}") == parse(f"{clock:%H:%M}") == clock
    assert parse(f"{(clock.hour + 11) % 12 + 1}:{clock.minute:02}{half}") == clock


def _utc(hour: int, minute: int = 0, *, day: int, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "clock", "meant"),
    [
        (date(2026, 11, 20), time(14, 30), (_utc(20, 30, day=20),)),
        (date(2026, 11, 1), time(1, 30), (_utc(6, 30, day=1), _utc(7, 30, day=1))),  # the repeated hour
        (date(2026, 11, 1), time(1), (_utc(6, day=1), _utc(7, day=1))),
        (date(2026, 11, 1), time(2), (_utc(8, day=1),)),
        (date(2026, 11, 1), time(0, 59), (_utc(5, 59, day=1),)),
        (date(2026, 3, 8), time(2, 30), ()),  # the hour that is skipped
        (date(2026, 3, 8), time(2), ()),
        (date(2026, 3, 8), time(3), (_utc(8, day=8, month=3),)),
        (date(2026, 3, 8), time(1, 59), (_utc(7, 59, day=8, month=3),)),
    ],
)
def test_wall_time_is_none_one_or_two_instants(day: date, clock: time, meant: tuple[datetime, ...]) -> None:
    assert instants(day, clock, CHICAGO) == meant


def test_zone_without_clock_changes_has_one_instant_per_time() -> None:
    assert instants(date(2026, 3, 8), time(2, 30), "America/Phoenix") == (_utc(9, 30, day=8, month=3),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", True),
        (" 5:30 ", True),
        ("530", True),
        ("1130", True),
        ("05", False),
        ("05:30", False),
        ("0530", False),
        ("5a", False),
        ("5p", False),
        ("12", False),
        ("17", False),
        ("noon", False),
        ("+5", False),
        ("", False),
    ],
)
def test_may_be_afternoon_needs_an_hour_without_zero_or_half(text: str, expected: bool) -> None:
    assert may_be_afternoon(text) is expected
