"""Effect of an export of 1,000,000 completions on other requests: reading rides, alone and during an export.

Only the web server's process is bound to a core: PostgreSQL serves both, and the system assigns cores as usual.
"""

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final

import psutil

from tests.bench import ROOT, exporting
from tests.bench.cast import issue_token
from tests.bench.servers import Server, fetch, serving
from tests.bench.table import Figure, say

_PATHS: Final = ("/api/rides?limit=25", "/api/rides?status=completed&limit=25", "/api/facilities?limit=25")
_ROUNDS: Final = 4
_SECONDS: Final = 15  # per turn
_PACE: Final = 0.05  # seconds between requests


def reading() -> list[Figure]:
    """Send twenty requests per second, alone and during an export, alternating."""
    exporting.prepare()
    token, _ = issue_token()
    with serving() as server, _all_cores():
        _asked(server, token)  # warm-up
        turns = []
        for _ in range(_ROUNDS):
            alone = _p95(_asked(server, token))
            with _export():
                beside = _p95(_asked(server, token))
            say(f"  p95 alone {alone:.1f} ms, beside an export {beside:.1f} ms")
            turns.append((alone, beside))
    alone, beside = (statistics.median(turn[which] for turn in turns) for which in (0, 1))
    return [Figure("export_others_p95", beside / alone, f"{beside:.1f} ms beside an export, {alone:.1f} ms alone")]


@contextlib.contextmanager
def _all_cores() -> Iterator[None]:
    """Let this process, and processes that it starts meanwhile, use all cores."""
    own = psutil.Process()
    kept = own.cpu_affinity()
    own.cpu_affinity([])
    try:
        yield
    finally:
        own.cpu_affinity(kept)


@contextlib.contextmanager
def _export() -> Iterator[None]:
    """Write completions as NDJSON as long as the block runs."""
    command = [sys.executable, "-m", "tests.bench.exporting", "ndjson"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(5)  # until it writes
            yield
            if process.poll() is not None:
                raise RuntimeError("The export ended before those beside it.")
        finally:
            process.kill()


def _asked(server: Server, token: str) -> list[float]:
    """Send requests at a steady rate; return the milliseconds of each answer."""
    took: list[float] = []
    began = time.perf_counter()
    while (due := began + len(took) * _PACE) < began + _SECONDS:
        time.sleep(max(0.0, due - time.perf_counter()))
        asked = time.perf_counter()
        fetch(f"{server.url}{_PATHS[len(took) % len(_PATHS)]}", token)
        took.append((time.perf_counter() - asked) * 1000)
    return took


def _p95(took: list[float]) -> float:
    return statistics.quantiles(took, n=20)[-1]
