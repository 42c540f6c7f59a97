"""The circuit breaker of an endpoint: when it opens and closes, and when people are alerted."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.webhooks.rules.circuit_breaker import CircuitState, after, due_alert_level, is_dead
from tests.factories import NOW

OK, FAILED = True, False
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def _through(state: CircuitState, *successes: bool, at: datetime = NOW, roll: float = 0.5) -> CircuitState:
    for succeeded in successes:
        state = after(state, succeeded=succeeded, at=at, roll=roll)
    return state


def test_fifth_failure_in_a_row_opens_breaker_for_30_seconds() -> None:
    four = _through(CircuitState(), *[FAILED] * 4)
    five = _through(four, FAILED)

    assert not four.is_open(NOW)
    assert (five.open_until, five.open_count) == (NOW + 30 * SECOND, 1)
    assert five.is_open(NOW + 29 * SECOND)
    assert not five.is_open(NOW + 30 * SECOND)


def test_a_success_in_between_begins_the_count_anew() -> None:
    state = _through(CircuitState(), *[FAILED] * 4, OK, *[FAILED] * 4)

    assert not state.is_open(NOW)
    assert state.failures == 4


def test_half_of_twenty_attempts_in_five_minutes_open_it_too() -> None:
    nineteen = _through(CircuitState(), *[OK, FAILED] * 9, FAILED)
    twenty = _through(nineteen, FAILED)

    assert not nineteen.is_open(NOW)
    assert twenty.is_open(NOW)


def test_a_sample_is_forgotten_after_five_minutes() -> None:
    before = _through(CircuitState(), *[OK, FAILED] * 9, FAILED)

    later = _through(before, FAILED, at=NOW + 5 * MINUTE)

    assert not later.is_open(NOW + 5 * MINUTE)
    assert (later.sample_attempts, later.sample_failures) == (1, 1)


def test_failed_probes_double_the_pause_up_to_15_minutes() -> None:
    state, at, pauses = _through(CircuitState(), *[FAILED] * 5), NOW, []
    for _ in range(8):
        assert state.open_until is not None
        pauses.append((state.open_until - at).total_seconds())
        at = state.open_until
        state = _through(state, FAILED, at=at)

    assert pauses == [30, 60, 120, 240, 480, 900, 900, 900]


@pytest.mark.parametrize(("roll", "seconds"), [(0.0, 24), (1.0, 36)])
def test_the_pause_has_a_jitter_of_a_fifth(roll: float, seconds: int) -> None:
    assert _through(CircuitState(), *[FAILED] * 5, roll=roll).open_until == NOW + seconds * SECOND


def test_in_flight_failures_do_not_extend_an_open_breaker() -> None:
    state = _through(CircuitState(), *[FAILED] * 8)

    assert (state.open_count, state.open_until, state.failures) == (1, NOW + 30 * SECOND, 8)


def test_success_of_a_probe_closes_the_circuit() -> None:
    state = _through(CircuitState(), *[FAILED] * 5)

    state = _through(state, OK, at=NOW + MINUTE)

    assert (state.open_count, state.open_until, state.failing_since) == (0, None, None)
    assert state.last_success_at == NOW + MINUTE


@pytest.mark.parametrize(
    ("since", "failures", "steps"),
    [
        (14 * MINUTE, 9, 0),
        (15 * MINUTE, 2, 0),
        (15 * MINUTE, 3, 1),
        (60 * MINUTE, 3, 2),
        (6 * 60 * MINUTE, 3, 3),
        (24 * 60 * MINUTE, 3, 4),
        (9 * 24 * 60 * MINUTE, 3, 4),
    ],
)
def test_alerts_are_due_after_15_minutes_1_6_and_24_hours(since: timedelta, failures: int, steps: int) -> None:
    state = CircuitState()._replace(failing_since=NOW - since, failures_since_success=failures)

    assert due_alert_level(state, NOW) == steps


def test_a_lane_that_does_well_is_nothing_to_tell_of() -> None:
    state = _through(CircuitState(), OK)

    assert (due_alert_level(state, NOW + timedelta(days=30)), is_dead(state, NOW + timedelta(days=30))) == (0, False)


@pytest.mark.parametrize(("days", "failures", "dead"), [(5, 50, True), (5, 49, False), (4.9, 500, False)])
def test_five_days_without_success_and_fifty_failures_are_dead(days: float, failures: int, dead: bool) -> None:
    state = CircuitState()._replace(failing_since=NOW - timedelta(days=days), failures_since_success=failures)

    assert is_dead(state, NOW) is dead


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=80))
def test_state_is_consistent_after_any_history(history: list[tuple[bool, int]]) -> None:
    state, at = CircuitState(), NOW
    for succeeded, seconds in history:
        at += seconds * SECOND
        state = after(state, succeeded=succeeded, at=at, roll=0.5)

        assert (state.failing_since is None) == (state.failures == 0)
        assert state.is_probing == (state.open_until is not None)
        assert state.failures_since_success >= state.failures
