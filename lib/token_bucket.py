"""Rate limits: token buckets, which hold a burst and are refilled evenly."""

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Final

from django.core.cache import caches
from redis.exceptions import RedisError

# Errors of a cache on another machine.  They suspend the limits, so that rides can still be dispatched.
CACHE_FAILURES: Final = (RedisError, OSError)

_log = logging.getLogger(__name__)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Policy:
    """A rate limit: requests per minute on average, and burst size."""

    name: str
    per_minute: int
    burst: int

    @property
    def header(self) -> str:
        return f'"{self.name}";q={self.per_minute};w=60'


@dataclass(frozen=True, slots=True)
class Balance:
    """The state of a bucket after a request; `wait` is the seconds until the next request passes, 0: it passes now."""

    policy: Policy
    allowed: bool
    remaining: int
    wait: float

    @property
    def header(self) -> str:
        """Return the RateLimit field (draft-ietf-httpapi-ratelimit-headers): requests left, seconds until full."""
        missing = self.policy.burst - self.remaining
        return f'"{self.policy.name}";r={self.remaining};t={math.ceil(missing * 60 / self.policy.per_minute)}'


def take(policy: Policy, owner: str, amount: float = 1) -> Balance:
    """Take from the bucket of `owner`; a negative amount gives back.

    Buckets are stored in the cache `throttles`.  Within a process takes are serialized; two processes that share a
    cache may occasionally read the same balance, which lets one request too many through, never one too few.  While the
    cache does not respond, every bucket counts as full.
    """
    try:
        return _take(policy, owner, amount)
    except CACHE_FAILURES:
        _log.warning("the cache of the limits does not answer: nothing is limited")
        return Balance(policy, True, policy.burst, 0.0)


def _take(policy: Policy, owner: str, amount: float) -> Balance:
    cache, key, now = caches["throttles"], f"bucket:{policy.name}:{owner}", time.time()
    rate = policy.per_minute / 60
    with _lock:
        tokens, since = cache.get(key, (float(policy.burst), now))
        tokens = min(policy.burst, tokens + max(0.0, now - since) * rate)
        allowed = tokens >= amount
        if allowed:
            tokens = min(policy.burst, tokens - amount)
        cache.set(key, (tokens, now), timeout=math.ceil(policy.burst / rate) + 60)
    return Balance(policy, allowed, int(tokens), 0.0 if allowed else (amount - tokens) / rate)
