"""The circuit breaker of one endpoint: pure functions from a state and the outcome of attempts to the next state.

While the circuit is closed, up to `window` deliveries are in flight, at most the endpoint's `max_in_flight`.
FAILURES_IN_A_ROW failures, or a failure rate of SAMPLE_FAILURES within SAMPLE, open it: nothing is sent until
`open_until`, for 30 seconds at first, doubled with each further failure up to 15 minutes.  Then one delivery probes the
endpoint.  Its success closes the circuit, and the window doubles with each success (1, 2, 4, 8), so that a backlog does
not overload a receiver that has just recovered.

A receiver that answers 429 or 503 halves its window for SLOWED_FOR (`rate_limit`), once per burst of answers.

After ALERT_AFTER without a success, people are alerted; after DISABLED_AFTER the endpoint is disabled
(`services.endpoint_monitor`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from apps.webhooks.rules.schedule import jittered

FAILURES_IN_A_ROW: Final = 5
SAMPLE: Final = timedelta(minutes=5)
SAMPLE_ATTEMPTS: Final = 20  # fewer attempts say nothing about a rate
SAMPLE_FAILURES: Final = 0.5
OPEN_FOR: Final = timedelta(seconds=30)
OPEN_AT_MOST: Final = timedelta(minutes=15)

SLOWED_FOR: Final = timedelta(minutes=10)
# Attempts that were in flight when the window was halved may answer 429 too: none takes longer than this.
SLOWED_AGAIN_AFTER: Final = timedelta(seconds=15)

ALERT_AFTER: Final = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
FAILURES_TO_ALERT: Final = 3
ALERT_BEFORE_EXPIRY: Final = (timedelta(days=7), timedelta(days=1))  # before held deliveries are deleted
DISABLED_AFTER: Final = timedelta(days=5)
FAILURES_TO_DISABLE: Final = 50


class Outcome(Enum):
    """The outcome of one attempt, as far as the circuit breaker is concerned."""

    DELIVERED = "delivered"
    FAILED = "failed"
    THROTTLED = "throttled"  # 429 or 503


class CircuitState(NamedTuple):
    """The state of one endpoint.  `window`: deliveries that may be in flight now; `max_in_flight`: its upper limit."""

    max_in_flight: int
    window: int
    failures: int = 0  # in a row
    failures_since_success: int = 0
    open_count: int = 0  # times the circuit opened since it was last closed
    open_until: datetime | None = None
    sample_since: datetime | None = None
    sample_attempts: int = 0
    sample_failures: int = 0
    rate_limit: int | None = None  # upper limit of the window until `rate_limit_until`
    rate_limit_until: datetime | None = None
    failing_since: datetime | None = None
    alert_level: int = 0  # number of steps of ALERT_AFTER that people were alerted about
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None

    def is_open(self, at: datetime) -> bool:
        return self.open_until is not None and at < self.open_until

    @property
    def is_probing(self) -> bool:
        """Whether the circuit opened and no success has closed it yet: one delivery at a time is sent."""
        return self.open_count > 0


def new(max_in_flight: int) -> CircuitState:
    return CircuitState(max_in_flight=max_in_flight, window=max_in_flight)


def after(state: CircuitState, outcome: Outcome, *, at: datetime, roll: float) -> CircuitState:
    """Return the state after one more attempt; `roll`, 0 to 1, is the jitter of `open_until`."""
    if outcome is Outcome.DELIVERED:
        return after_successes(state, 1, at=at)
    since, attempts, failed = _sample(state, 1, 1, at)
    state = state._replace(
        sample_since=since,
        sample_attempts=attempts,
        sample_failures=failed,
        failures=state.failures + 1,
        failures_since_success=state.failures_since_success + 1,
        failing_since=state.failing_since or at,
        last_failure_at=at,
    )
    if outcome is Outcome.THROTTLED and _may_slow(state, at):
        half = max(1, state.window // 2)
        state = state._replace(window=half, rate_limit=half, rate_limit_until=at + SLOWED_FOR)
    # Failures of attempts that were in flight when the circuit opened do not open it again.
    return state if state.is_open(at) or not _should_open(state) else _opened(state, at, roll)


def _may_slow(state: CircuitState, at: datetime) -> bool:
    return state.rate_limit_until is None or at - (state.rate_limit_until - SLOWED_FOR) >= SLOWED_AGAIN_AFTER


def _sample(state: CircuitState, more: int, failed: int, at: datetime) -> tuple[datetime, int, int]:
    """Count more attempts in the current sample or a new one; return its start, attempts and failures."""
    if state.sample_since is None or at - state.sample_since >= SAMPLE:
        return at, more, failed
    return state.sample_since, state.sample_attempts + more, state.sample_failures + failed


def after_successes(state: CircuitState, count: int, *, at: datetime) -> CircuitState:
    """Return the state after `count` successes in a row, all at `at`."""
    slowed = state.rate_limit is not None and state.rate_limit_until is not None and at < state.rate_limit_until
    rate_limit = state.rate_limit if slowed else None
    first, doublings = (1, count - 1) if state.is_probing else (state.window, count)
    limit = min(state.max_in_flight, rate_limit or state.max_in_flight)
    window = min(first << min(doublings, 16), limit) if doublings else first
    since, attempts, failed = _sample(state, count, 0, at)
    return CircuitState(
        max_in_flight=state.max_in_flight,
        window=window,
        sample_since=since,
        sample_attempts=attempts,
        sample_failures=failed,
        rate_limit=rate_limit,
        rate_limit_until=state.rate_limit_until if slowed else None,
        last_success_at=at,
        last_failure_at=state.last_failure_at,
    )


def _should_open(state: CircuitState) -> bool:
    high_rate = (
        state.sample_attempts >= SAMPLE_ATTEMPTS and state.sample_failures >= SAMPLE_FAILURES * state.sample_attempts
    )
    return state.is_probing or state.failures >= FAILURES_IN_A_ROW or high_rate


def _opened(state: CircuitState, at: datetime, roll: float) -> CircuitState:
    pause = jittered(min(OPEN_FOR * 2 ** min(state.open_count, 10), OPEN_AT_MOST), roll)
    # A new sample: the failures that opened the circuit must not open it again after a successful probe.
    return state._replace(open_count=state.open_count + 1, open_until=at + pause, window=1, sample_since=None)


def due_alert_level(state: CircuitState, at: datetime) -> int:
    """Count the steps of ALERT_AFTER that have passed."""
    if state.failing_since is None or state.failures_since_success < FAILURES_TO_ALERT:
        return 0
    return sum(at - state.failing_since >= step for step in ALERT_AFTER)


def is_dead(state: CircuitState, at: datetime) -> bool:
    """Whether the endpoint has failed for so long that it is disabled."""
    if state.failing_since is None:
        return False
    return at - state.failing_since >= DISABLED_AFTER and state.failures_since_success >= FAILURES_TO_DISABLE


OUTCOME_OF_STATUS: Final[Mapping[int, Outcome]] = {429: Outcome.THROTTLED, 503: Outcome.THROTTLED}


def outcome_of(status: int | None) -> Outcome:
    """Classify an HTTP status; None is no answer.  Only 2xx is a success: redirects are not followed."""
    if status is None:
        return Outcome.FAILED
    if 200 <= status < 300:
        return Outcome.DELIVERED
    return OUTCOME_OF_STATUS.get(status, Outcome.FAILED)
