"""When a delivery is tried again.  Pure: the dice and the clock are handed in."""

from datetime import timedelta
from typing import Final

# What is waited after the failure of attempt 1, 2, ...: 13 attempts over 70 hours 52 minutes 40 seconds.
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
TEST_ATTEMPTS: Final = 3  # somebody is looking at the page, and presses the button again
JITTER: Final = 0.2  # each delay is stretched by a factor of 0.8 to 1.2, so that receivers are not hit in step
MAX_RETRY_AFTER: Final = timedelta(hours=24)
MAX_AGE: Final = timedelta(hours=72)  # a delivery that could not be tried, because its endpoint was down, ends too
IN_ORDER_FOR: Final = timedelta(hours=1)  # a ride's event waits no longer for an earlier one that does not get through


def jittered(delay: timedelta, roll: float) -> timedelta:
    """Stretch a delay by the jitter; `roll` is from 0 to 1."""
    return delay * (1 - JITTER + 2 * JITTER * roll)


def delay_after(attempt: int, *, of: int = ATTEMPTS, roll: float, retry_after: timedelta | None) -> timedelta | None:
    """Say how long to wait after the failure of this attempt, counted from 1; None: it was the last.

    What the receiver asked for in `Retry-After` is honoured up to a day, and never shortens the wait.
    """
    if attempt >= of:
        return None
    wait = jittered(DELAYS[attempt - 1], roll)
    return wait if retry_after is None else max(wait, min(retry_after, MAX_RETRY_AFTER))
