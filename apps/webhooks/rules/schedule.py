"""Retry schedule of deliveries."""

from datetime import timedelta
from typing import Final

# Delays after failed attempts 1, 2, ...: 13 attempts over 70 hours 52 minutes 40 seconds.
DELAYS: Final = (
    timedelta(seconds=10),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=3),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
    timedelta(hours=24),
)
ATTEMPTS: Final = len(DELAYS) + 1
TEST_ATTEMPTS: Final = 3  # a person waits for the result and can send another test
JITTER: Final = 0.2  # each delay is multiplied by 0.8 to 1.2, so that retries do not arrive at the same time
MAX_RETRY_AFTER: Final = timedelta(hours=24)
MAX_AGE: Final = timedelta(hours=72)  # a delivery that could not be attempted because its circuit was open ends too
IN_ORDER_FOR: Final = timedelta(hours=1)  # the longest wait for an earlier event of the same ride


def jittered(delay: timedelta, roll: float) -> timedelta:
    """Apply jitter to a delay; `roll` is from 0 to 1."""
    return delay * (1 - JITTER + 2 * JITTER * roll)


def delay_after(attempt: int, *, of: int = ATTEMPTS, roll: float, retry_after: timedelta | None) -> timedelta | None:
    """Return the delay after a failed attempt, counted from 1; None after the last one.

    `retry_after` of the receiver is honored up to a day and never shortens the delay.
    """
    if attempt >= of:
        return None
    wait = jittered(DELAYS[attempt - 1], roll)
    return wait if retry_after is None else max(wait, min(retry_after, MAX_RETRY_AFTER))
