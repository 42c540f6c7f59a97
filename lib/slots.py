"""Places for those who may be at something at the same time, as many as there are and no more."""

import logging
import random
import time
from dataclasses import dataclass
from typing import Final

from django.core.cache import caches

from lib.token_bucket import CACHE_FAILURES

_log = logging.getLogger(__name__)
# How long a place stays taken when its holder is never heard of again, as after a crash.  Longer than a request takes:
# a statement is cut after 10 s, and a change waits 5 s at the most for its turn.
LEASE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Slot:
    """A place, held until `release` or the end of its lease."""

    key: str  # "" for one that the cache knows nothing of
    ends: float  # seconds since the epoch

    def release(self) -> None:
        """Leave the place to the next one; when the lease is over it may be another's by now, and is let be."""
        if self.key and time.time() < self.ends:
            caches["throttles"].delete(self.key)


def take(owner: str, *, of: int) -> Slot | None:
    """Take one of the `of` places of an owner; None when all are taken.

    Places are keys of the cache `throttles`, made by `add`, which lets one of several win, in a process and on a
    shared server alike; they end by themselves, so that nobody has to clear up behind a process that died.  Costs one
    round trip, and one more for each place found taken on the way; looking begins anywhere, so that those are few.
    While the cache does not answer there is a place for everybody.
    """
    cache = caches["throttles"]
    ends, first = time.time() + LEASE_SECONDS, random.randrange(of)  # noqa: S311  # any place is as good
    for number in range(first, first + of):
        key = f"slot:{owner}:{number % of}"
        try:
            if cache.add(key, 1, timeout=LEASE_SECONDS):
                return Slot(key, ends)
        except CACHE_FAILURES:
            _log.warning("the cache of the limits does not answer: nothing is limited")
            return Slot("", ends)
    return None
