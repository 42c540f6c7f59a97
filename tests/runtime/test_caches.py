"""The cache of the settings, shared between processes: what one counts the next one sees."""

import os
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = """
import sys
import django
django.setup()
from django.core.cache import cache
cache.add(sys.argv[1], 0, timeout=60)
print(cache.incr(sys.argv[1]))
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
