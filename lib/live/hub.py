"""One connection per process listens to PostgreSQL; its messages go to the readers who may see them.

The connection is not part of Django's pool and must lead directly to PostgreSQL: a pooler in transaction mode
(PgBouncer) accepts LISTEN but delivers no messages.
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

MOST_WAITING: Final = 100  # messages; a reader that falls further behind has to reconnect
FIRST_PAUSE: Final = 0.5  # seconds until the next attempt to connect to PostgreSQL, doubled each time
LONGEST_PAUSE: Final = 30
# A server that disappears without closing the connection is noticed within 35 seconds; keepalives are sent by the
# kernel, without a query.
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
    """Messages to a reader besides changes."""

    RESYNC = "look at everything again"
    OVER = "nothing follows: connect anew, and look at everything again"


Message = list[Change] | Signal


class Inbox:
    """Messages for one reader that it has not read yet."""

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
        """Discard unread messages and end the stream: a reader that reconnects reloads everything."""
        self._waiting.clear()
        self._waiting.append(Signal.OVER)
        self._rung.set()

    async def take(self, *, seconds: float) -> Message | None:
        """Wait for the next message; None if there is none within `seconds`."""
        if not self._waiting:
            self._rung.clear()
            bell = asyncio.get_running_loop().call_later(seconds, self._rung.set)
            try:
                await self._rung.wait()
            finally:
                bell.cancel()
        return self._waiting.popleft() if self._waiting else None


class Hub:
    """Listens for the readers of one event loop, from the first reader on."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox] = set()
        self._hears = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def inbox(self, sees: Sees) -> Iterator[Inbox]:
        """Return an inbox that collects messages for a reader until the block ends."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen_for_ever())
        inbox = Inbox(sees)
        self._inboxes.add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes.discard(inbox)

    async def hears(self, *, seconds: float) -> bool:
        """Wait until the connection listens, after which no change is missed; False if that takes longer."""
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
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311  # processes reconnect one by one
            pause = min(2 * pause, LONGEST_PAUSE)

    def _hand_on(self, heard: list[Change] | None) -> None:
        for inbox in self._inboxes:
            inbox.tell(heard)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop, of which a server process has one."""
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
