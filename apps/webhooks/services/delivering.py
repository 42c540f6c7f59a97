"""A shift of delivering: publish, claim, send, settle, for as long as there is something due.

One thread runs the event loop, others talk to the database; none waits for another.  No transaction is open while
anything is sent.  Any number of processes may work at once: PostgreSQL alone keeps them apart.
"""

import asyncio
import gc
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar, cast
from uuid import UUID

import uvloop
from django.db import InterfaceError, OperationalError, connection

from apps.events.services import is_anything_unpublished
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.services import claiming, publishing, rendering, sending, settling
from apps.webhooks.services.claiming import Claim
from apps.webhooks.services.rendering import Ready
from apps.webhooks.services.sending import Target
from apps.webhooks.services.settling import Tried
from lib.outbound import Rules

log = logging.getLogger(__name__)

Made = TypeVar("Made")

SLOTS: Final = 1024  # on the way at once, in one process; the upper half is for endpoints that answer
AT_ONCE: Final = 384  # in one claim: while the next ones are claimed, the others are on the way
FIRST_EVENTS: Final = 4  # of a shift: nothing is on the way yet, and everything waits for them
# A claim leaves in waves: the next one begins when the last is home, or after so many seconds.  Hundreds at once have a
# connection made for each, where those of the last wave could be used again, and take half as long again (measured).
WAVE: Final = 64
BETWEEN_WAVES: Final = 0.01
CLAIMING_FOR: Final = 12.0  # seconds; then what is on the way is finished, and the task returns
SETTLE_WITHIN: Final = 20.0  # seconds more, for a database that is away: then the leases bring the rows back
# In one shift; each is tried alone, and no further one is begun after so many seconds: everything else waits.
MOST_SUSPECTS: Final = 20
SUSPECTS_FOR: Final = 5.0
_SHORTEST_WAIT, _LONGEST_WAIT = 0.005, 0.5  # seconds between two looks at the database
_AWAY: Final = (OperationalError, InterfaceError)  # of a database

# Deliveries by the thousand make Python search everything the service has loaded for cycles, over and over: a third of
# the time.  From its first shift on a process looks at what is young, and hardly ever at the rest.
_COLLECT_AFTER: Final = (20_000, 50, 100)

# One shift in a process: the next tick finds it at work, and goes home.  One that only waits for its last answers has
# let go: those may take a whole deadline, and what is new must not wait for them.
_at_work: Final = threading.Lock()
_is_ending: Final = threading.Event()


@dataclass(frozen=True, slots=True)
class Done:
    """What a shift did."""

    published: int = 0
    tried: int = 0
    delivered: int = 0


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one turn at the database brought; `is_idle`: there was room, and nothing due."""

    ready: Sequence[Ready] = ()
    moved: bool = False  # something changed that may leave more to do
    is_idle: bool = False


class DatabaseClock:
    """The database's time, without asking it each time: workers on several machines agree, and none runs backwards."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            self._base: datetime = cursor.fetchone()[0]
        self._since = time.monotonic()

    def __call__(self) -> datetime:
        return self._base + timedelta(seconds=time.monotonic() - self._since)


def work(*, rules: Rules, for_seconds: float = CLAIMING_FOR, slots: int = SLOTS) -> Done | None:
    """Deliver what is due until nothing is, or the shift is over.  None: this process is at it already, or ending.

    Runs an event loop of its own; call it outside of any.
    """
    if _is_ending.is_set() or not _at_work.acquire(blocking=False):
        return None
    shift = _Shift(rules, for_seconds, slots)
    try:
        if not _and_close(shift.begin):
            return Done()
        gc.set_threshold(*_COLLECT_AFTER)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(shift.run())
    finally:
        shift.stop_claiming()


def finish() -> None:
    """Claim nothing more in this process: it is told to end, and what is on the way comes home."""
    _is_ending.set()


class _Shift:
    def __init__(self, rules: Rules, for_seconds: float, slots: int) -> None:
        self._rules = rules
        self._slots = slots
        self._until = time.monotonic() + for_seconds
        self._claims = True
        self._worker = f"{socket.gethostname()}:{os.getpid()}"[:80]
        self._database = ThreadPoolExecutor(4, thread_name_prefix="deliveries")  # publish, claim, settle, renew
        self._waiting: deque[Ready] = deque()  # for their wave
        self._held: dict[UUID, UUID] = {}  # claims by delivery, until their results are written
        self._on_the_way: set[asyncio.Task[None]] = set()
        self._waves: asyncio.Task[None] | None = None
        self._results: list[Tried] = []
        self._arrived = asyncio.Event()
        self._publishing: asyncio.Task[int | None] | None = None
        self._portion = asyncio.Event()  # the publishing under way has looked once at least
        self._targets = rendering.Targets()
        self._has_suspects = False
        self._first: list[Ready] = []
        self._done = Done()

    def stop_claiming(self) -> None:
        """Let the next shift begin, once."""
        if self._claims:
            self._claims = False
            _at_work.release()

    def begin(self) -> bool:
        """Take what is due before a loop and a session are made, and say whether there is anything to send.

        Mostly there is nothing, or another worker has taken it: that costs a look.
        """
        self._clock = DatabaseClock()
        due = claiming.look(at=self._clock())
        if due.suspects:
            self._has_suspects = True  # nothing else may be on the way beside them
            return True
        try:
            if due.others:  # it does not wait for more to be published
                self._first = self._claim_first()
            if not self._first:  # whatever the look found: nobody hears of events that are not published
                self._done = Done(published=self._publish(FIRST_EVENTS))
                if self._done.published:
                    self._first = self._claim_first()
        except _AWAY as failure:
            _tell_not_taken(failure)
            return True  # it is tried again, each apart from the other
        return bool(self._done.published or self._first)

    def _claim_first(self) -> list[Ready]:
        return self._prepared(claiming.claim(at=self._clock(), most=min(self._slots, AT_ONCE)))

    async def run(self) -> Done:
        try:
            async with sending.session(self._rules) as self._session:
                renewing = asyncio.create_task(self._renew())
                try:
                    if self._has_suspects:
                        await self._try_suspects()
                    self._send(self._first)
                    await self._deliver()
                finally:
                    renewing.cancel()
                    with suppress(asyncio.CancelledError):
                        await renewing
        finally:
            self._database.shutdown()
        return self._done

    async def _renew(self) -> None:
        """Renew the leases of what waits here, is on the way, or has an answer that is not written yet."""
        while True:
            await asyncio.sleep(claiming.RENEWED_EVERY)
            held = list(self._held.items())
            await self._unless_away(lambda: claiming.renew(held, at=self._clock()))  # noqa: B023  # awaited at once

    async def _try_suspects(self) -> None:
        began = time.monotonic()
        for _ in range(MOST_SUSPECTS):
            if time.monotonic() - began > SUSPECTS_FOR:
                return
            ready = await self._in_database(lambda: self._prepared(claiming.claim_suspect(at=self._clock())))
            if not ready:
                return
            self._send(ready)
            while self._in_hand:
                await asyncio.wait(self._on_the_way)
            await self._turn(claiming=False)

    async def _deliver(self) -> None:
        wait = _SHORTEST_WAIT
        while True:
            if time.monotonic() >= self._until or _is_ending.is_set():
                self.stop_claiming()
            turn = await self._turn(claiming=self._claims)
            self._send(turn.ready)
            if turn.moved or self._results:
                wait = _SHORTEST_WAIT
            elif turn.is_idle and not self._in_hand:
                return
            else:
                wait = min(wait * 2, _LONGEST_WAIT)
            if len(turn.ready) < AT_ONCE:  # otherwise there is more, and it is claimed while these leave
                await self._something_arrives(wait)

    async def _something_arrives(self, wait: float) -> None:
        """Wait for the first answer, and a moment more for others to come with it."""
        try:
            async with asyncio.timeout(wait):
                await self._arrived.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_SHORTEST_WAIT)

    @property
    def _in_hand(self) -> int:
        return len(self._waiting) + len(self._on_the_way)

    def _send(self, ready: Sequence[Ready]) -> None:
        self._waiting.extend(ready)
        self._held.update((one.row.id, one.claim_id) for one in ready)
        if self._waiting and (self._waves is None or self._waves.done()):
            self._waves = asyncio.create_task(self._follow(self._wave()))

    async def _follow(self, wave: Sequence[asyncio.Task[None]]) -> None:
        """Send wave after wave until nobody waits."""
        while self._waiting:
            await asyncio.wait(wave, timeout=BETWEEN_WAVES)
            wave = self._wave()

    def _wave(self) -> Sequence[asyncio.Task[None]]:
        at = self._clock()
        those = [self._waiting.popleft() for _ in range(min(WAVE, len(self._waiting)))]
        wave = [asyncio.create_task(self._attempt(one, at)) for one in those]
        self._on_the_way.update(wave)
        return wave

    async def _attempt(self, one: Ready, at: datetime) -> None:
        row, began = one.row, time.monotonic()
        if one.target is None:
            answer = sending.Answer(error=one.error)
        else:
            answer = await self._answer(one.target, one, at)
        self._results.append(
            Tried(row=row, claim_id=one.claim_id, started_at=at, seconds=time.monotonic() - began, answer=answer)
        )
        self._on_the_way.discard(cast(asyncio.Task[None], asyncio.current_task()))
        self._arrived.set()

    async def _answer(self, target: Target, one: Ready, at: datetime) -> sending.Answer:
        row = one.row
        try:
            return await sending.post(
                self._session, target, one.body, event_id=str(row.event.id), attempt=row.attempts + 1, at=at
            )
        except Exception:  # a mistake of ours; unanswered it would be sent again and again, and nobody told
            log.exception("webhook not sent", extra={"delivery_id": str(row.id), "event_id": str(row.event.id)})
            return sending.Answer(error=ErrorClass.PROTOCOL)

    async def _turn(self, *, claiming: bool) -> _Turn:
        """Hand the results over, and take what is next meanwhile."""
        results, self._results = self._results, []
        self._arrived.clear()
        if not claiming:
            await self._settle(results)
            return _Turn(is_idle=self._publishing is None or self._publishing.done())
        if self._publishing is None:
            self._portion.clear()
            self._publishing = asyncio.create_task(self._publish_beside())
        ready, _ = await asyncio.gather(self._claim_next(), self._settle(results))
        published = None
        if self._publishing.done():
            published, self._publishing = self._publishing.result(), None
        moved = bool(published or ready or results)  # results, too: their lanes have room again
        return _Turn(ready=ready or (), moved=moved, is_idle=not moved and published == 0 and ready == [])

    async def _claim_next(self) -> list[Ready] | None:
        """Claim what is due; wait for the first that is being published only while nothing else is on the way."""
        if not self._in_hand:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_WAIT):
                    await self._portion.wait()
        return await self._claim()

    def _publish(self, most: int = publishing.MOST_EVENTS) -> int:
        """Publish, if there is anything: mostly there is not, and no transaction is begun for that."""
        return publishing.publish(at=self._clock(), most=most) if is_anything_unpublished() else 0

    async def _publish_beside(self) -> int | None:
        """Publish until nothing is left, while claims take what is there; say how many events, None: nobody knows."""
        found = 0
        while True:
            published = await self._unless_away(self._publish)
            self._portion.set()
            if not published:
                return None if published is None else found
            found += published
            self._done = replace(self._done, published=self._done.published + published)
            self._arrived.set()
            if not self._claims:
                return found

    async def _claim(self) -> list[Ready] | None:
        room = self._slots - self._in_hand
        if room <= 0:
            return None
        most, idle_only = min(room, AT_ONCE), room <= self._slots // 2
        return await self._unless_away(
            lambda: self._prepared(claiming.claim(at=self._clock(), most=most, idle_only=idle_only))
        )

    async def _unless_away(self, call: Callable[[], Made]) -> Made | None:
        """Ask the database; None while it is away."""
        try:
            return await self._in_database(call)
        except _AWAY as failure:
            _tell_not_taken(failure)
            return None

    async def _settle(self, results: Sequence[Tried]) -> None:
        """Write results; wait for a database that is away, and lose nothing."""
        while results:
            try:
                delivered = await self._in_database(
                    lambda: settling.settle(results, at=self._clock(), worker=self._worker)
                )
            except _AWAY as failure:
                if time.monotonic() > self._until + SETTLE_WITHIN:
                    raise
                log.warning("results of webhooks not written yet: %s", type(failure).__name__)
                await asyncio.sleep(_LONGEST_WAIT)
            else:
                for one in results:
                    if self._held.get(one.row.id) == one.claim_id:  # else it was claimed again meanwhile
                        del self._held[one.row.id]
                self._done = replace(
                    self._done, tried=self._done.tried + len(results), delivered=self._done.delivered + delivered
                )
                return

    def _prepared(self, claim: Claim) -> list[Ready]:
        return rendering.prepare(claim, self._targets, at=self._clock())

    async def _in_database(self, call: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._database, _and_close, call)


def _tell_not_taken(failure: Exception) -> None:
    log.warning("webhooks not taken: %s", type(failure).__name__)


def _and_close(call: Callable[[], Made]) -> Made:
    """Call, and give the thread's connection back to the pool: every thread has another one."""
    try:
        return call()
    finally:
        connection.close()
