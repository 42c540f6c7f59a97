"""A killed worker delays its endpoints for seconds only, with the production lease."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiohttp import web
from django.db import connection

from apps.webhooks.models import Delivery
from apps.webhooks.services import delivery
from apps.webhooks.services.delivery import DatabaseClock
from config.celery import TIMETABLE
from tests.chaos import tell
from tests.chaos.forking import Options, workers
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock, pytest.mark.untraced]

WINDOW = 4
BACKLOG = 12
RESUMED_WITHIN = 20  # seconds
PATIENCE = 90


@contextmanager
def _sweeping() -> Iterator[None]:
    """Sweep as often as beat does."""
    stop, every = threading.Event(), TIMETABLE["webhooks.sweep"].total_seconds()

    def sweep() -> None:
        clock = DatabaseClock()
        while not stop.wait(every):
            delivery.release_expired_leases(at=clock())
        connection.close()

    thread = threading.Thread(target=sweep)
    thread.start()
    yield
    stop.set()
    thread.join()


def _wait_for(count: int, receiver: Receiver) -> None:
    give_up = time.monotonic() + PATIENCE
    while len(receiver.got) < count:
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_full_window_of_killed_worker_resumes_soon_in_order(receiver: Receiver) -> None:
    hanging = True

    async def hang(request: web.Request) -> web.Response:
        if hanging:
            await asyncio.sleep(60)
        return web.Response(status=204)

    receiver.answers["/hook"] = hang
    made.endpoint(f"{receiver.url}/hook", max_in_flight=WINDOW)
    for _ in range(WINDOW + BACKLOG):
        made.event()
    with workers(Options(lease=delivery.LEASE.total_seconds(), deadline=15.0)) as running, _sweeping():
        running.fork()
        _wait_for(WINDOW, receiver)
        held = {one.headers["webhook-id"] for one in receiver.got}
        running.kill(running.alive[0])
        killed = time.monotonic()
        hanging = False
        running.fork()
        _wait_for(WINDOW + WINDOW, receiver)
        again = receiver.got[WINDOW].at - killed
        first = {one.headers["webhook-id"] for one in receiver.got[WINDOW : WINDOW + WINDOW]}
        _wait_for(WINDOW + WINDOW + BACKLOG, receiver)
        everything = time.monotonic() - killed
        give_up = time.monotonic() + PATIENCE
        while Delivery.objects.filter(status="delivered").count() < WINDOW + BACKLOG:
            assert time.monotonic() < give_up
            time.sleep(0.05)

    tell(f"killed worker: its endpoint is sent to again after {again:.1f} s, all has arrived after {everything:.1f} s")
    assert again <= RESUMED_WITHIN
    assert first == held  # ahead of the backlog


def test_worker_that_waits_for_a_slow_receiver_keeps_its_lease(receiver: Receiver) -> None:
    async def answer_late(request: web.Request) -> web.Response:
        await asyncio.sleep(delivery.LEASE.total_seconds() + 2)
        return web.Response(status=204)

    receiver.answers["/slow"] = answer_late
    made.endpoint(f"{receiver.url}/slow")
    made.event()
    lease = delivery.LEASE.total_seconds()
    with workers(Options(lease=lease, deadline=lease + 8)) as running, _sweeping():
        running.refill(2)
        give_up = time.monotonic() + PATIENCE
        while not Delivery.objects.filter(status="delivered").exists():
            assert time.monotonic() < give_up
            time.sleep(0.1)

    assert len(receiver.got) == 1
