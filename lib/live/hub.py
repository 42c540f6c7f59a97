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

from lib.live.changes import CHANNEL, RecordChange, read

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
_DJANGO_ONLY_PARAMS: Final = ("cursor_factory", "context", "prepare_threshold")

_log = logging.getLogger(__name__)
Sees = Callable[[RecordChange], bool]


class Signal(Enum):
    """Messages to a reader besides changes."""

    RESYNC = "reload everything"
    END = "the stream ends: reconnect, and reload everything"


Message = list[RecordChange] | Signal


class Inbox:
    """Messages for one reader that it has not read yet."""

    def __init__(self, sees: Sees) -> None:
        self._sees = sees
        self._waiting: deque[Message] = deque()
        self._arrived = asyncio.Event()

    def put(self, changes: list[RecordChange] | None) -> None:
        message: Message = Signal.RESYNC if changes is None else [change for change in changes if self._sees(change)]
        if not message:
            return
        if len(self._waiting) == MOST_WAITING:
            self.end()
            return
        self._waiting.append(message)
        self._arrived.set()

    def end(self) -> None:
        """Discard unread messages and end the stream: a reader that reconnects reloads everything."""
        self._waiting.clear()
        self._waiting.append(Signal.END)
        self._arrived.set()

    async def take(self, *, seconds: float) -> Message | None:
        """Wait for the next message; None if there is none within `seconds`."""
        if not self._waiting:
            self._arrived.clear()
            timer = asyncio.get_running_loop().call_later(seconds, self._arrived.set)
            try:
                await self._arrived.wait()
            finally:
                timer.cancel()
        return self._waiting.popleft() if self._waiting else None


class Hub:
    """Listens for the readers of one event loop, from the first reader on."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox] = set()
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def inbox(self, sees: Sees) -> Iterator[Inbox]:
        """Return an inbox that collects messages for a reader until the block ends."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen_forever())
        inbox = Inbox(sees)
        self._inboxes.add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes.discard(inbox)

    async def is_listening(self, *, seconds: float) -> bool:
        """Wait until the connection listens, after which no change is missed; False if that takes longer."""
        waiting = asyncio.ensure_future(self._listening.wait())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()
        return self._listening.is_set()

    async def _listen_forever(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                async with await _connect() as session:
                    await session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                    self._listening.set()
                    pause = FIRST_PAUSE
                    async for notice in session.notifies():
                        self._distribute(read(notice.payload))
            except psycopg.Error as error:
                _log.warning("live updates are not heard", extra={"sqlstate": error.sqlstate})
            finally:
                self._listening.clear()
                for inbox in self._inboxes:
                    inbox.end()
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311  # processes reconnect one by one
            pause = min(2 * pause, LONGEST_PAUSE)

    def _distribute(self, changes: list[RecordChange] | None) -> None:
        for inbox in self._inboxes:
            inbox.put(changes)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop, of which a server process has one."""
    loop = asyncio.get_running_loop()
    loop_hub = _hubs.get(loop)
    if loop_hub is None:
        loop_hub = _hubs[loop] = Hub()
    return loop_hub


async def _connect() -> psycopg.AsyncConnection[Any]:
    params: dict[str, Any] = connections["default"].get_connection_params()
    for name in _DJANGO_ONLY_PARAMS:
        params.pop(name)
    own_params = params | KEEPALIVE | {"application_name": "carelane live"}
    return await psycopg.AsyncConnection.connect(**own_params, autocommit=True)
