"""One connection of each process listens to PostgreSQL; whatever it hears goes to the readers in whose reach it lies.

The connection is no part of Django's pool, and has to lead to PostgreSQL itself: what pools by transaction (PgBouncer)
takes LISTEN and then hears nothing.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from django.db import connections
from psycopg import sql

from lib.live.changes import CHANNEL, Change, read

MOST_WAITING: Final = 100  # messages; who falls behind further begins anew
FIRST_PAUSE: Final = 0.5  # seconds until PostgreSQL is tried again, doubled each time
LONGEST_PAUSE: Final = 30
# A server that vanished without a word is noticed within 35 seconds; libpq asks the network, not PostgreSQL.
KEEPALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "connect_timeout": 5,
}
_NOT_FOR_A_SESSION_OF_OUR_OWN: Final = ("cursor_factory", "context", "prepare_threshold")

_log = logging.getLogger(__name__)
Sees = Callable[[Change], bool]


class Signal(Enum):
    """What a reader is told besides changes."""

    RESYNC = "look at everything again"
    OVER = "nothing follows: connect anew, and look at everything again"


Message = list[Change] | Signal


class Inbox:
    """What one reader was told and has not taken yet."""

    def __init__(self, sees: Sees) -> None:
        self._sees = sees
        self._waiting: deque[Message] = deque()
        self._rung = asyncio.Event()

    def tell(self, heard: list[Change] | None) -> None:
        message: Message = Signal.RESYNC if heard is None else [one for one in heard if self._sees(one)]
        if not message:
            return
        if len(self._waiting) == MOST_WAITING:
            self.end()
            return
        self._waiting.append(message)
        self._rung.set()

    def end(self) -> None:
        """Drop what waits: whoever connects anew looks at everything again."""
        self._waiting.clear()
        self._waiting.append(Signal.OVER)
        self._rung.set()

    async def take(self, *, seconds: float) -> Message | None:
        """Wait for the next message; None when none came for so long."""
        if not self._waiting:
            self._rung.clear()
            bell = asyncio.get_running_loop().call_later(seconds, self._rung.set)
            try:
                await self._rung.wait()
            finally:
                bell.cancel()
        return self._waiting.popleft() if self._waiting else None


class Hub:
    """Hears for the readers of one event loop.  It begins with the first of them and stays."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox] = set()
        self._hears = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def inbox(self, sees: Sees) -> Iterator[Inbox]:
        """Collect for a reader until the block ends."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen_for_ever())
        inbox = Inbox(sees)
        self._inboxes.add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes.discard(inbox)

    async def hears(self, *, seconds: float) -> bool:
        """Wait until PostgreSQL is listened to: from then on nothing is missed; False where it takes longer."""
        waiting = asyncio.ensure_future(self._hears.wait())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()
        return self._hears.is_set()

    async def _listen_for_ever(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                async with await _connect() as session:
                    await session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                    self._hears.set()
                    pause = FIRST_PAUSE
                    async for notice in session.notifies():
                        self._hand_on(read(notice.payload))
            except psycopg.Error as error:
                _log.warning("live updates are not heard", extra={"sqlstate": error.sqlstate})
            finally:
                self._hears.clear()
                for inbox in self._inboxes:
                    inbox.end()
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311  # so that processes do not come at once
            pause = min(2 * pause, LONGEST_PAUSE)

    def _hand_on(self, heard: list[Change] | None) -> None:
        for inbox in self._inboxes:
            inbox.tell(heard)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Give the hub of the running event loop: of the process, where a server runs one loop."""
    loop = asyncio.get_running_loop()
    found = _hubs.get(loop)
    if found is None:
        found = _hubs[loop] = Hub()
    return found


async def _connect() -> psycopg.AsyncConnection[Any]:
    known: dict[str, Any] = connections["default"].get_connection_params()
    for name in _NOT_FOR_A_SESSION_OF_OUR_OWN:
        known.pop(name)
    named = known | KEEPALIVE | {"application_name": "carelane live"}
    return await psycopg.AsyncConnection.connect(**named, autocommit=True)
