"""A limit on how many requests of one owner run at the same time."""

import logging
import random
import time
from dataclasses import dataclass
from typing import Final

from django.core.cache import caches

from lib.token_bucket import CACHE_FAILURES

_log = logging.getLogger(__name__)
# How long a slot stays taken if its holder crashes.  Longer than a request takes: statements time out after 10 s, and
# lock waits after 5 s.
LEASE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the concurrent requests of an owner, until `release` or the end of its lease."""

    key: str  # "" if the cache did not respond
    ends: float  # seconds since the epoch

    def release(self) -> None:
        """Free the slot, unless its lease has ended: then another request may hold it."""
        if self.key and time.time() < self.ends:
            caches["throttles"].delete(self.key)


def acquire(owner: str, *, of: int) -> Slot | None:
    """Acquire one of the `of` slots of an owner; None if all are taken.

    Slots are keys of the cache `throttles`, created by `add`, which is atomic within a process and on a shared server.
    They expire, so that a crashed process leaves none behind.  One round trip to the cache, and one more for each slot
    that is taken; the search starts at a random slot, so that these are few.  While the cache does not respond, nothing
    is limited.
    """
    cache = caches["throttles"]
    ends, first = time.time() + LEASE_SECONDS, random.randrange(of)  # noqa: S311  # no secret
    for number in range(first, first + of):
        key = f"slot:{owner}:{number % of}"
        try:
            if cache.add(key, 1, timeout=LEASE_SECONDS):
                return Slot(key, ends)
        except CACHE_FAILURES:
            _log.warning("the cache of the limits does not answer: nothing is limited")
            return Slot("", ends)
    return None
