"""Workers are killed at any point, and no acknowledged event is lost."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from django.db import connection, transaction

from apps.webhooks.models import Attempt, Delivery
from apps.webhooks.services import delivery
from apps.webhooks.services.delivery import DatabaseClock
from tests.chaos import dice, longer, sized, tell
from tests.chaos.forking import Options, Workers, workers
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock, pytest.mark.untraced]

WORKERS = 10
ENDPOINTS = 4
KILLS = int(sized(short=500, full=2_000, nightly=10_000))
SECONDS = sized(short=10, full=200, nightly=3_600)  # at most
# Mean seconds between kills.  The share sent twice is the delay of a result's write relative to a worker's lifetime:
# during the whole suite results wait longer.
PACE = sized(short=0.3, full=0.09, nightly=0.09)
PATIENCE = 60


@dataclass
class Load:
    """Events committed while workers are killed: all of them were acknowledged."""

    acknowledged: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def produce(self) -> None:
        while not self._stop.wait(0.05):
            with transaction.atomic():
                events = [made.event() for _ in range(4)]
            self.acknowledged += [str(event.pk) for event in events]
        connection.close()

    def sweep(self) -> None:
        clock = DatabaseClock()
        while not self._stop.wait(0.25):
            delivery.release_expired_leases(at=clock())
        connection.close()

    @contextmanager
    def running(self, *, sweeping: bool = True) -> Iterator[None]:
        work = [self.produce, *([self.sweep] if sweeping else [])]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        yield
        self._stop.set()
        for thread in threads:
            thread.join()


def test_killed_workers_lose_nothing_and_send_little_twice(receiver: Receiver) -> None:
    with workers(Options()) as running:
        load, kills, seconds = _kill(running, receiver, kills=KILLS, seconds=SECONDS)
        running.refill(2)
        _drain(load)

    missing, duplicates = _judge(load, receiver)
    sent = len(load.acknowledged) * ENDPOINTS
    claims = Counter(Delivery.objects.values_list("status", flat=True))
    tell(
        f"R-04: {kills} kills in {seconds:.0f} s, {len(load.acknowledged)} events acknowledged, {sent} deliveries,"
        f" {missing} lost, {duplicates} duplicates ({duplicates / sent:.2%}); {dict(claims)}, failed attempts"
        f" {dict(Counter(Attempt.objects.exclude(error='').values_list('error', flat=True)))}"
    )
    assert kills >= min(KILLS, 20)
    assert missing == 0
    assert claims == {"delivered": sent}
    assert duplicates <= 0.05 * sent


def test_without_the_sweep_killed_workers_lose_events(receiver: Receiver) -> None:
    async def slowly(request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        return web.Response(status=204)

    receiver.answers = dict.fromkeys((f"/{number}" for number in range(ENDPOINTS)), slowly)
    with workers(Options()) as running:
        _, kills, _ = _kill(running, receiver, kills=10, seconds=20, sweeping=False, count=2, pace=0.3)
        running.refill(2)
        time.sleep(5)  # twice a lease

    assert (kills, Delivery.objects.filter(status="in_flight").exists()) == (10, True)  # and no monitor recovers them


@longer
def test_acknowledging_before_sending_loses_events(receiver: Receiver) -> None:
    with workers(Options(settle_first=True)) as running:
        load, kills, _ = _kill(running, receiver, kills=10, seconds=20, count=2, pace=0.3)
        running.refill(2)
        _drain(load)

    missing, _ = _judge(load, receiver)
    assert (kills, missing > 0) == (10, True)


def _kill(
    running: Workers,
    receiver: Receiver,
    *,
    kills: int,
    seconds: float,
    sweeping: bool = True,
    count: int = WORKERS,
    pace: float = PACE,
) -> tuple[Load, int, float]:
    """Kill workers one by one under load; return the committed events, the number of kills, and the seconds."""
    roll, load = dice(), Load()
    for number in range(ENDPOINTS):
        made.endpoint(f"{receiver.url}/{number}", max_in_flight=32)  # deliveries of dead workers take capacity
    running.refill(count)
    time.sleep(0.5)
    done, began = 0, time.monotonic()
    with load.running(sweeping=sweeping):
        while done < kills and time.monotonic() - began < seconds:
            time.sleep(roll.uniform(0.2, 1.8) * pace)
            running.kill(roll.choice(running.alive))
            running.fork()
            done += 1
    return load, done, time.monotonic() - began


def _drain(load: Load) -> None:
    """Wait until no delivery is in flight."""
    give_up, clock = time.monotonic() + PATIENCE, DatabaseClock()
    while time.monotonic() < give_up:
        delivery.release_expired_leases(at=clock())
        ended = Delivery.objects.exclude(status__in=["pending", "in_flight"]).count()
        if ended == len(load.acknowledged) * ENDPOINTS:
            time.sleep(0.5)  # for answers in flight
            return
        time.sleep(0.1)


def _judge(load: Load, receiver: Receiver) -> tuple[int, int]:
    """Count the deliveries that did not arrive, and those that arrived more than once."""
    got = Counter((one.path, one.headers["webhook-id"]) for one in receiver.got)
    wanted = {(f"/{number}", event) for event in load.acknowledged for number in range(ENDPOINTS)}
    assert set(got) <= wanted  # nothing that was not committed
    return len(wanted - set(got)), sum(got.values()) - len(got)
