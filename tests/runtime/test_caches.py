"""The configured cache, shared between processes: counts of one process are visible to the next."""

import os
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from django.core.cache.backends.redis import RedisCache

from lib import concurrency_limit

ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = """
import sys
import django
django.setup()
from django.core.cache import cache
cache.add(sys.argv[1], 0, timeout=60)
print(cache.incr(sys.argv[1]))
"""
TAKE = """
import sys, time
import django
django.setup()
from lib import concurrency_limit
concurrency_limit.LEASE_SECONDS = int(sys.argv[2])
print(concurrency_limit.acquire(sys.argv[1], of=1) is not None, flush=True)
time.sleep(60)
"""


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.broker
@pytest.mark.skipif(not _answers(6379), reason="Redis does not answer on 127.0.0.1:6379")
def test_redis_cache_is_shared_between_processes() -> None:
    settings = {"CACHE_URL": "redis://127.0.0.1:6379/15", "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", COUNT, f"carelane-test-{uuid.uuid4().hex}"]

    counts = [
        subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]

    assert counts == ["1\n", "2\n", "3\n"]


@pytest.mark.broker
@pytest.mark.skipif(not _answers(6379), reason="Redis does not answer on 127.0.0.1:6379")
def test_redis_slot_is_shared_and_expires_after_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, url = f"carelane-test-{uuid.uuid4().hex}", "redis://127.0.0.1:6379/15"
    settings = {"CACHE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"}
    monkeypatch.setattr(concurrency_limit, "caches", {"throttles": RedisCache(url, {})})
    command = [sys.executable, "-c", TAKE, owner, "4"]

    with subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        told = holder.stdout.readline()
        holder.kill()
    at_once = concurrency_limit.acquire(owner, of=1)
    time.sleep(4)
    after_the_lease = concurrency_limit.acquire(owner, of=1)

    assert told == "True\n"
    assert at_once is None
    assert after_the_lease is not None
    after_the_lease.release()
