"""The circuit breaker of one endpoint: pure functions from a state and the result of an attempt to the next state.

While the circuit is closed, up to `max_in_flight` deliveries of the endpoint are in flight.  FAILURES_IN_A_ROW
failures, or a failure rate of SAMPLE_FAILURES within SAMPLE, open it: nothing is sent until `open_until`, for 30
seconds at first, doubled with each further failure up to 15 minutes.  Then one delivery at a time probes the endpoint;
the first success closes the circuit.

After ALERT_AFTER without a success, people are alerted; after DISABLED_AFTER the endpoint is disabled
(`services.endpoint_monitor`).
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from apps.webhooks.rules.schedule import jittered

FAILURES_IN_A_ROW: Final = 5
SAMPLE: Final = timedelta(minutes=5)
SAMPLE_ATTEMPTS: Final = 20  # fewer attempts say nothing about a rate
SAMPLE_FAILURES: Final = 0.5
OPEN_FOR: Final = timedelta(seconds=30)
OPEN_AT_MOST: Final = timedelta(minutes=15)

ALERT_AFTER: Final = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
FAILURES_TO_ALERT: Final = 3
ALERT_BEFORE_EXPIRY: Final = (timedelta(days=7), timedelta(days=1))  # before held deliveries are deleted
DISABLED_AFTER: Final = timedelta(days=5)
FAILURES_TO_DISABLE: Final = 50


class CircuitState(NamedTuple):
    """The state of one endpoint, in the columns of `models.EndpointHealth`."""

    failures: int = 0  # in a row
    failures_since_success: int = 0
    open_count: int = 0  # times the circuit opened since it was last closed
    open_until: datetime | None = None
    sample_since: datetime | None = None
    sample_attempts: int = 0
    sample_failures: int = 0
    failing_since: datetime | None = None
    alert_level: int = 0  # number of steps of ALERT_AFTER that people were alerted about
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None
    attempts_total: int = 0
    failures_total: int = 0

    def is_open(self, at: datetime) -> bool:
        return self.open_until is not None and at < self.open_until

    @property
    def is_probing(self) -> bool:
        """Whether the circuit opened and no success has closed it yet: one delivery at a time is sent."""
        return self.open_count > 0


def after(state: CircuitState, *, succeeded: bool, at: datetime, roll: float) -> CircuitState:
    """Return the state after one more attempt; `roll`, 0 to 1, is the jitter of `open_until`."""
    if state.sample_since is None or at - state.sample_since >= SAMPLE:
        state = state._replace(sample_since=at, sample_attempts=0, sample_failures=0)
    if succeeded:
        return closed(state)._replace(
            sample_since=state.sample_since,
            sample_attempts=state.sample_attempts + 1,
            sample_failures=state.sample_failures,
            last_success_at=at,
            attempts_total=state.attempts_total + 1,
        )
    state = state._replace(
        attempts_total=state.attempts_total + 1,
        failures_total=state.failures_total + 1,
        sample_attempts=state.sample_attempts + 1,
        sample_failures=state.sample_failures + 1,
        failures=state.failures + 1,
        failures_since_success=state.failures_since_success + 1,
        failing_since=state.failing_since or at,
        last_failure_at=at,
    )
    # Failures of attempts that were in flight when the circuit opened do not open it again.
    return state if state.is_open(at) or not _should_open(state) else _opened(state, at, roll)


def closed(state: CircuitState) -> CircuitState:
    """Return the state of a closed circuit without failures, with the history of `state`."""
    return CircuitState(
        last_success_at=state.last_success_at,
        last_failure_at=state.last_failure_at,
        attempts_total=state.attempts_total,
        failures_total=state.failures_total,
    )


def _should_open(state: CircuitState) -> bool:
    high_rate = (
        state.sample_attempts >= SAMPLE_ATTEMPTS and state.sample_failures >= SAMPLE_FAILURES * state.sample_attempts
    )
    return state.is_probing or state.failures >= FAILURES_IN_A_ROW or high_rate


def _opened(state: CircuitState, at: datetime, roll: float) -> CircuitState:
    pause = jittered(min(OPEN_FOR * 2 ** min(state.open_count, 10), OPEN_AT_MOST), roll)
    # A new sample: the failures that opened the circuit must not open it again after a successful probe.
    return state._replace(open_count=state.open_count + 1, open_until=at + pause, sample_since=None)


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
