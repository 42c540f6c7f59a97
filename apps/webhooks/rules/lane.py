"""How an endpoint does: when its breaker opens, how much it may have in flight, when people are told.  Pure.

An endpoint is a lane.  What one lane suffers is its own affair: it never takes more than its share of a worker.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from apps.webhooks.rules.schedule import jittered

# The breaker.
FAILURES_IN_A_ROW: Final = 5
SAMPLE: Final = timedelta(minutes=5)
SAMPLE_ATTEMPTS: Final = 20
SAMPLE_FAILURES: Final = 0.5
OPEN_FOR: Final = timedelta(seconds=30)  # doubled with each trip
OPEN_AT_MOST: Final = timedelta(minutes=15)

SLOWED_FOR: Final = timedelta(minutes=10)  # after 429 or 503
# What was on its way when it was slowed says the same once more: an attempt takes no longer.
SLOWED_AGAIN_AFTER: Final = timedelta(seconds=15)

# No success for so long, with failures enough to be sure: people are told, again and again.
TOLD_AFTER: Final = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
FAILURES_TO_TELL: Final = 3
# Before what is held for an endpoint at rest is forgotten.
TOLD_AHEAD: Final = (timedelta(days=7), timedelta(days=1))
DISABLED_AFTER: Final = timedelta(days=5)
FAILURES_TO_DISABLE: Final = 50


class Outcome(Enum):
    """What came of one attempt, as far as the lane is concerned."""

    DELIVERED = "delivered"
    FAILED = "failed"
    THROTTLED = "throttled"  # 429 or 503: it asks for less


class Lane(NamedTuple):
    """What is known of an endpoint's doing.  `window` is how many deliveries may be in flight now, `most` at best."""

    most: int
    window: int
    failures: int = 0  # in a row
    failures_since_success: int = 0
    trips: int = 0  # of the breaker, since it last let everything pass
    open_until: datetime | None = None
    sample_since: datetime | None = None
    sample_attempts: int = 0
    sample_failures: int = 0
    ceiling: int | None = None  # of the window, while it is slowed
    ceiling_until: datetime | None = None
    failing_since: datetime | None = None
    told: int = 0  # how many steps of TOLD_AFTER
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None

    def is_open(self, at: datetime) -> bool:
        """Say whether nothing is sent now."""
        return self.open_until is not None and at < self.open_until

    @property
    def is_probing(self) -> bool:
        """Say whether the breaker has opened and no success has closed it: one delivery at a time tries."""
        return self.trips > 0


def new(most: int) -> Lane:
    return Lane(most=most, window=most)


def after(lane: Lane, outcome: Outcome, *, at: datetime, roll: float) -> Lane:
    """Say how the lane stands after one more attempt; `roll`, from 0 to 1, is the jitter of the breaker."""
    if outcome is Outcome.DELIVERED:
        return after_successes(lane, 1, at=at)
    since, attempts, failed = _sample(lane, 1, 1, at)
    lane = lane._replace(
        sample_since=since,
        sample_attempts=attempts,
        sample_failures=failed,
        failures=lane.failures + 1,
        failures_since_success=lane.failures_since_success + 1,
        failing_since=lane.failing_since or at,
        last_failure_at=at,
    )
    if outcome is Outcome.THROTTLED and _may_slow(lane, at):
        half = max(1, lane.window // 2)
        lane = lane._replace(window=half, ceiling=half, ceiling_until=at + SLOWED_FOR)
    # What was still in flight when the breaker opened tells nothing new.
    return lane if lane.is_open(at) or not _trips(lane) else _opened(lane, at, roll)


def _may_slow(lane: Lane, at: datetime) -> bool:
    """Say whether it asks for less than it is given by now."""
    return lane.ceiling_until is None or at - (lane.ceiling_until - SLOWED_FOR) >= SLOWED_AGAIN_AFTER


def _sample(lane: Lane, more: int, failed: int, at: datetime) -> tuple[datetime, int, int]:
    """Count more attempts, in the sample under way or in a new one; give its begin, attempts and failures."""
    if lane.sample_since is None or at - lane.sample_since >= SAMPLE:
        return at, more, failed
    return lane.sample_since, lane.sample_attempts + more, lane.sample_failures + failed


def after_successes(lane: Lane, count: int, *, at: datetime) -> Lane:
    """Say how the lane stands after so many successes in a row, of one instant: most batches are such."""
    slowed = lane.ceiling is not None and lane.ceiling_until is not None and at < lane.ceiling_until
    ceiling = lane.ceiling if slowed else None
    # The probe's success lets one delivery follow, the next two, four, eight: a receiver that is just back is not
    # knocked over by what has piled up.
    first, doublings = (1, count - 1) if lane.is_probing else (lane.window, count)
    window = min(first << min(doublings, 16), lane.most, ceiling or lane.most) if doublings else first
    since, attempts, failed = _sample(lane, count, 0, at)
    return Lane(
        most=lane.most,
        window=window,
        sample_since=since,
        sample_attempts=attempts,
        sample_failures=failed,
        ceiling=ceiling,
        ceiling_until=lane.ceiling_until if slowed else None,
        last_success_at=at,
        last_failure_at=lane.last_failure_at,
    )


def _trips(lane: Lane) -> bool:
    often = lane.sample_attempts >= SAMPLE_ATTEMPTS and lane.sample_failures >= SAMPLE_FAILURES * lane.sample_attempts
    return lane.is_probing or lane.failures >= FAILURES_IN_A_ROW or often


def _opened(lane: Lane, at: datetime, roll: float) -> Lane:
    pause = jittered(min(OPEN_FOR * 2 ** min(lane.trips, 10), OPEN_AT_MOST), roll)
    # The sample begins anew: what opened the breaker must not open it again after the probe's success.
    return lane._replace(trips=lane.trips + 1, open_until=at + pause, window=1, sample_since=None)


def to_tell(lane: Lane, at: datetime) -> int:
    """Say how many of the steps of TOLD_AFTER are due by now."""
    if lane.failing_since is None or lane.failures_since_success < FAILURES_TO_TELL:
        return 0
    return sum(at - lane.failing_since >= step for step in TOLD_AFTER)


def is_dead(lane: Lane, at: datetime) -> bool:
    """Say whether nobody answers there any more."""
    if lane.failing_since is None:
        return False
    return at - lane.failing_since >= DISABLED_AFTER and lane.failures_since_success >= FAILURES_TO_DISABLE


ANSWER_OF_STATUS: Final[Mapping[int, Outcome]] = {429: Outcome.THROTTLED, 503: Outcome.THROTTLED}


def outcome_of(status: int | None) -> Outcome:
    """Judge an answer by its HTTP status; None is no answer.  2xx alone is a success: redirects are not followed."""
    if status is None:
        return Outcome.FAILED
    if 200 <= status < 300:
        return Outcome.DELIVERED
    return ANSWER_OF_STATUS.get(status, Outcome.FAILED)
