"""Concurrency slots: never more than the limit, and none lost when its holder dies."""

import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache

from lib import concurrency_limit
from tests import factories


@pytest.fixture
def owner() -> str:
    return str(uuid.uuid4())


def test_as_many_places_are_given_as_there_are(owner: str) -> None:
    taken = [concurrency_limit.acquire(owner, of=3) for _ in range(3)]

    assert None not in taken
    assert concurrency_limit.acquire(owner, of=3) is None
    assert concurrency_limit.acquire(str(uuid.uuid4()), of=3) is not None, "others have places of their own"


def test_place_is_free_again_when_it_is_left(owner: str) -> None:
    taken = concurrency_limit.acquire(owner, of=1)
    assert taken is not None

    taken.release()

    assert concurrency_limit.acquire(owner, of=1) is not None


def test_slot_of_a_dead_holder_is_free_after_the_lease(owner: str) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        concurrency_limit.acquire(owner, of=1)
        clock.shift(concurrency_limit.LEASE_SECONDS - 1)
        before = concurrency_limit.acquire(owner, of=1)
        clock.shift(1)
        after = concurrency_limit.acquire(owner, of=1)

    assert before is None
    assert after is not None


def test_expired_holder_does_not_release_the_slot_of_the_next(owner: str) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        slow = concurrency_limit.acquire(owner, of=1)
        assert slow is not None
        clock.shift(concurrency_limit.LEASE_SECONDS + 1)
        next_one = concurrency_limit.acquire(owner, of=1)
        slow.release()
        third = concurrency_limit.acquire(owner, of=1)

    assert next_one is not None
    assert third is None


class LookThenWrite(LocMemCache):
    """Control: a cache whose `add` reads first, and then writes."""

    def add(self, key: Any, value: Any, timeout: Any = 60, version: Any = None) -> bool:
        if self.get(key) is not None:
            return False
        time.sleep(0.002)
        self.set(key, value, timeout)
        return True


@pytest.fixture
def without_atomic_add(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cache = LookThenWrite("look-then-write", {})
    monkeypatch.setattr(concurrency_limit, "caches", {"throttles": cache})
    yield
    cache.clear()


def _most_at_once(owner: str, *, of: int) -> int:
    """Let 8 threads acquire and release slots 40 times each; return the maximum held at one time."""
    lock, held, most = threading.Lock(), 0, 0

    def run() -> None:
        nonlocal held, most
        for _ in range(40):
            slot = concurrency_limit.acquire(owner, of=of)
            if slot is None:
                continue
            with lock:
                held += 1
                most = max(most, held)
            time.sleep(0.001)
            with lock:
                held -= 1
            slot.release()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(run) for _ in range(8)]:
            done.result()
    return most


def test_many_at_once_never_hold_more_places_than_there_are(owner: str) -> None:
    assert _most_at_once(owner, of=3) == 3


@pytest.mark.usefixtures("without_atomic_add")
def test_concurrent_holders_exceed_limit_without_atomic_step(owner: str) -> None:
    assert _most_at_once(owner, of=3) > 3


def test_places_are_in_the_cache_of_the_limits(owner: str) -> None:
    concurrency_limit.acquire(owner, of=1)

    assert caches["throttles"].get(f"slot:{owner}:0") == 1
