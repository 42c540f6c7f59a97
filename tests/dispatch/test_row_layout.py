"""Layout of rides in a driver's row: stacking, and drives between rides."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dispatch.rules.row_layout import rows, segments
from apps.rides.rules.facts import RideSlot, Span
from tests.factories import NOW
from tests.rides.slots import HERE, MINUTE, THERE, slot


def _span(begin: int, end: int) -> Span:
    return slot(begin, end).span


def test_rides_that_do_not_overlap_share_a_row() -> None:
    assert rows([_span(0, 30), _span(30, 60), _span(45, 80), _span(60, 90)]) == [0, 0, 1, 0]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 90)), max_size=30))
def test_no_two_rides_of_a_row_overlap_and_no_row_is_wasted(spans: list[tuple[int, int]]) -> None:
    bars = [_span(begin, begin + length) for begin, length in sorted(spans)]

    placed = rows(bars)

    for number in set(placed):
        row = [bar for bar, at in zip(bars, placed, strict=True) if at == number]
        assert all(before.ends_at <= after.starts_at for before, after in pairwise(row))
    most_at_once = max(
        (sum(bar.starts_at <= other.starts_at < bar.ends_at for bar in bars) for other in bars), default=0
    )
    assert len(set(placed)) == most_at_once


@dataclass(frozen=True)
class Leg:
    """A ride as planned, and by how many minutes its end is predicted to be late."""

    slot: RideSlot
    late: int = 0

    @property
    def planned(self) -> Span:
        return self.slot.span

    @property
    def span(self) -> Span:
        return Span(self.slot.span.starts_at, self.slot.span.ends_at + self.late * MINUTE)


def test_the_way_to_the_next_ride_begins_as_late_as_it_may() -> None:
    found = segments([Leg(slot(0, 30, dropoff=HERE)), Leg(slot(90, 120, pickup=THERE))])

    assert len(found) == 1
    assert found[0].span.ends_at == NOW + 90 * MINUTE
    assert 20 * MINUTE < found[0].span.ends_at - found[0].span.starts_at < 25 * MINUTE
    assert not found[0].tight


@pytest.mark.parametrize(("late", "departs"), [(0, 30), (9, 39), (25, 55)])
def test_drive_that_does_not_fit_the_predicted_gap_is_tight(late: int, departs: int) -> None:
    found = segments([Leg(slot(0, 30, dropoff=HERE), late), Leg(slot(40, 60, pickup=THERE))])

    assert [(way.span.starts_at, way.tight) for way in found] == [(NOW + departs * MINUTE, True)]
    assert 20 * MINUTE < found[0].span.ends_at - found[0].span.starts_at < 25 * MINUTE


def test_wide_gap_is_tight_once_the_ride_before_is_predicted_to_end_late() -> None:
    legs = [slot(0, 30, dropoff=HERE), slot(90, 120, pickup=THERE)]

    on_time, late = (segments([Leg(legs[0], minutes), Leg(legs[1])]) for minutes in (0, 50))

    assert [way.tight for way in (*on_time, *late)] == [False, True]


def test_no_segment_for_unknown_place_shared_vehicle_or_same_place() -> None:
    assert segments([Leg(slot(0, 30, dropoff=None)), Leg(slot(60, 90))]) == []
    assert segments([Leg(slot(0, 30, dropoff=THERE)), Leg(slot(20, 50, pickup=HERE))]) == []
    assert segments([Leg(slot(0, 30, dropoff=HERE)), Leg(slot(60, 90, pickup=HERE))]) == []
