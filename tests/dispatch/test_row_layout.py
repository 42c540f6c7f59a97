"""Layout of rides in a driver's row: stacking, and drives between rides."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from apps.dispatch.rules.row_layout import rows, segments
from apps.rides.rules.facts import Span
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


def test_the_way_to_the_next_ride_begins_as_late_as_it_may() -> None:
    found = segments([slot(0, 30, dropoff=HERE), slot(90, 120, pickup=THERE)])

    assert len(found) == 1
    assert found[0].span.ends_at == NOW + 90 * MINUTE
    assert 20 * MINUTE < found[0].span.ends_at - found[0].span.starts_at < 25 * MINUTE
    assert not found[0].tight


def test_segment_longer_than_its_gap_fills_it_and_is_tight() -> None:
    found = segments([slot(0, 30, dropoff=HERE), slot(40, 60, pickup=THERE)])

    assert [(way.span, way.tight) for way in found] == [(Span(NOW + 30 * MINUTE, NOW + 40 * MINUTE), True)]


def test_no_segment_for_unknown_place_overlap_or_same_place() -> None:
    assert segments([slot(0, 30, dropoff=None), slot(60, 90)]) == []
    assert segments([slot(0, 30, dropoff=THERE), slot(20, 50, pickup=HERE)]) == []
    assert segments([slot(0, 30, dropoff=HERE), slot(60, 90, pickup=HERE)]) == []
