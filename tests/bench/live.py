"""Measurements of live pages: memory of streams, latency of changes, and cost of notifications.

The service runs under uvicorn, as in production; browsers are plain sockets (tests/live/reading.py).
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import psutil
import psycopg
from django.conf import settings
from django.db import connections
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.events import services
from lib.access import system
from lib.ids import uuid7
from lib.live.changes import CHANNEL
from tests.accounts.signed_in import sign_in
from tests.bench import ROOT, RUN, conninfo
from tests.bench.servers import free_port, on_other_core, on_server_core, wait_until_answering
from tests.bench.table import Figure
from tests.live.reading import Reader

STREAMS: Final = 500
SHARED: Final = 200  # open streams while changes are timed, half of them in each process
CHANGES: Final = 100
AT_ONCE: Final = 8  # streams opened at a time
EVENTS: Final = 200  # per round with and without the trigger; short rounds, so that disk speed affects both alike
ROUNDS: Final = 25
WRITERS: Final = 8
SET: Final = 100
_LISTENER: Final = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as session:
    session.execute(f"LISTEN {sys.argv[2]}")
    print("listening", flush=True)
    for notice in session.notifies():
        pass
"""
_MEGABYTE: Final = 1_000_000


def listening(*, streams: int = STREAMS, shared: int = SHARED) -> list[Figure]:
    """Open streams and measure memory; time changes in two processes; record with and without the trigger."""
    signed_in = cookie()
    weight = asyncio.run(_weigh(signed_in, streams))
    late = asyncio.run(_time(signed_in, shared))
    connections.close_all()
    return [weight, late, *_cost()]


async def _weigh(cookie: str, streams: int) -> Figure:
    with _serving(on_server_core()) as (url, process):
        readers = [Reader(url, cookie) for _ in range(streams)]
        await readers[0].open()  # the first stream loads code, which is not counted
        before = process.memory_info().rss
        await open_all(readers[1:])
        after = process.memory_info().rss
        await _close(readers)
    held = f"{streams} streams: {before / _MEGABYTE:.0f} MB with one, {after / _MEGABYTE:.0f} MB with all of them"
    return Figure("live_memory", (after - before) / _MEGABYTE, held)


async def _time(cookie: str, streams: int) -> Figure:
    """Commit changes in this process; time each until the last stream has received it."""
    with ExitStack() as running:
        served = [running.enter_context(_serving(core)) for core in (on_server_core(), on_other_core())]
        readers = [Reader(served[number % 2][0], cookie) for number in range(streams)]
        await open_all(readers)
        arrivals: list[float] = []
        for _ in range(CHANGES):
            began = time.perf_counter()
            await asyncio.to_thread(_record, 1)
            arrivals += await asyncio.gather(*(_arrival(reader, began) for reader in readers))
            await asyncio.sleep(0.02)
        await _close(readers)
    ordered = sorted(one * 1000 for one in arrivals)
    p95, median = ordered[int(len(ordered) * 0.95)], statistics.median(ordered)
    return Figure(
        "live_arrival_p95",
        p95,
        f"median {median:.0f} ms, longest {ordered[-1]:.0f} ms; {CHANGES} changes, {streams} streams, two processes",
    )


async def _arrival(reader: Reader, began: float) -> float:
    while (await reader.next())[0] != "changes":
        pass
    return time.perf_counter() - began


def _cost() -> list[Figure]:
    """Record the same events with and without the trigger, alternating: by one writer, by several, and in sets."""
    with psycopg.connect(conninfo(RUN)) as session:
        (fsync,) = session.execute("SHOW fsync").fetchone() or ("",)
    figures = []
    for name, work, what in (
        ("live_telling", _record, f"{EVENTS:,} transactions of one event"),
        ("live_telling_at_once", _record_at_once, f"the same by {WRITERS} writers"),
        ("live_telling_sets", _record_sets, f"{EVENTS * 10:,} in sets of {SET}"),
    ):
        took: dict[str, list[float]] = {"ENABLE": [], "DISABLE": []}
        with _somebody_listening():
            for number in range(ROUNDS):
                for state in sorted(took, reverse=bool(number % 2)):
                    took[state].append(_timed(work, state))
        told, silent = (statistics.median(took[state]) * 1000 for state in ("ENABLE", "DISABLE"))
        made_of = f"{told:.0f} ms beside {silent:.0f} ms for {what}; fsync {fsync}"
        figures.append(Figure(name, told / silent, made_of))
    return figures


def _timed(work: Callable[[], None], state: str) -> float:
    with psycopg.connect(conninfo(RUN), autocommit=True) as session:
        session.execute(f"ALTER TABLE events_event {state} TRIGGER events_event_notify")
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _record(events: int = EVENTS) -> None:
    for _ in range(events):
        services.record(**_event(), by=system())


def _record_at_once() -> None:
    def write() -> None:
        _record(EVENTS // WRITERS)
        connections.close_all()

    with ThreadPoolExecutor(WRITERS) as writers:
        for done in [writers.submit(write) for _ in range(WRITERS)]:
            done.result()


def _record_sets() -> None:
    for _ in range(EVENTS * 10 // SET):
        services.record_all([_event() for _ in range(SET)], by=system())


def _event() -> dict[str, Any]:
    known = {"type": "ride.scheduled", "subject_type": "ride", "subject_id": uuid7(), "sequence": 1}
    return known | {"occurred_at": timezone.now(), "data": {"status": "scheduled"}}


@contextmanager
def _somebody_listening() -> Iterator[None]:
    """Run a process that listens to all notifications, as each process with streams does."""
    command = [*on_server_core(), sys.executable, "-c", _LISTENER, conninfo(RUN), CHANNEL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it listens
        try:
            yield
        finally:
            process.terminate()


def cookie() -> str:
    client = Client()
    known = {"name": "Bench", "role": UserRole.DISPATCHER}
    sign_in(client, User.objects.get_or_create(email="bench@example.org", defaults=known)[0])
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


async def open_all(readers: list[Reader]) -> None:
    """Open streams, a few at a time: each logs in and waits for a pool connection meanwhile."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(reader: Reader) -> None:
        async with room:
            await reader.open()

    await asyncio.gather(*map(one, readers))


async def _close(readers: list[Reader]) -> None:
    for reader in readers:
        await reader.close()


@contextmanager
def _serving(core: list[str]) -> Iterator[tuple[str, psutil.Process]]:
    port = free_port()
    command = [*core, sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    command += ["--lifespan", "off", "--log-level", "error", "--timeout-graceful-shutdown", "1"]
    process = psutil.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)  # a log line for each request
    try:
        wait_until_answering(f"http://127.0.0.1:{port}/api/health/live", process)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(30)
