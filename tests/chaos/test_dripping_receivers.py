"""Hundreds of receivers that drip delay no other endpoint, and no attempt exceeds its deadline."""

import asyncio
import contextlib
import threading
import time

import pytest
from aiohttp import web
from django.db import connection, transaction
from django.db.models import Max

from apps.webhooks.models import Attempt
from apps.webhooks.services import delivery
from tests.chaos import longer, sized, tell
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock, pytest.mark.untraced]

DRIPPING, GOOD = 500, 50
SECONDS = sized(short=6, full=30, nightly=600)
DEADLINE = sized(short=4, full=15, nightly=15)
SHIFT = DEADLINE * 0.8  # the same ratio of run to deadline as in production
P99 = 5.0
PATIENCE = 60


def test_dripping_receivers_hold_up_no_other(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    p99, longest = _deliver_beside_drips(receiver, monkeypatch)

    tell(f"R-14: p99 of the good {p99:.2f} s, longest attempt {longest:.2f} s at a deadline of {DEADLINE} s")
    assert p99 <= P99
    assert longest <= DEADLINE + 0.5


@longer
def test_without_room_for_idle_lanes_they_hold_up_the_others(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = delivery._DUE.replace("ORDER BY f.count > 0, random()", "ORDER BY random()")
    greedy = greedy.replace("ceil(%(limit)s::numeric / count(*) OVER ())", "%(limit)s")
    monkeypatch.setattr(delivery, "_DUE", greedy.replace("NOT %(healthy_only)s", "%(healthy_only)s IS NOT NULL"))

    p99, _ = _deliver_beside_drips(receiver, monkeypatch)

    assert p99 > DEADLINE / 2  # they waited for the deadline of the others


def _deliver_beside_drips(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Deliver to both kinds; return the 99th percentile of the waits of good receivers, and the longest attempt."""

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await asyncio.sleep(1)
                await response.write(b".")
        return response

    monkeypatch.setattr("apps.webhooks.services.sending.DEADLINE", DEADLINE)
    with transaction.atomic():
        for number in range(DRIPPING):
            receiver.answers[f"/drip/{number}"] = drip
            made.endpoint(f"{receiver.url}/drip/{number}", event_types=["ride.started"])
        for number in range(GOOD):
            made.endpoint(f"{receiver.url}/good/{number}", event_types=["ride.completed"])
        for _ in range(8):
            made.event("ride.started")
    committed: dict[str, float] = {}
    stop, arrived = threading.Event(), threading.Event()

    def produce() -> None:
        while not stop.wait(0.5):
            with transaction.atomic():
                event = made.event("ride.completed")
            committed[str(event.pk)] = time.monotonic()
        connection.close()

    def work() -> None:
        while not arrived.wait(0.1):
            delivery.deliver(rules=made.LOOPBACK, for_seconds=SHIFT)
        connection.close()

    producer, *workers = threads = [threading.Thread(target=one) for one in (produce, work, work, work)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    producer.join()
    while len(good := [one for one in receiver.got if one.path.startswith("/good")]) < len(committed) * GOOD:
        assert time.monotonic() < max(committed.values()) + PATIENCE
        time.sleep(0.1)
    arrived.set()
    for worker in workers:
        worker.join()
    waits = sorted(one.at - committed[one.headers["webhook-id"]] for one in good)
    longest = Attempt.objects.aggregate(longest=Max("duration_ms"))["longest"] / 1000
    return waits[len(waits) * 99 // 100], longest
