"""One clock for many tasks, each of which may take equally long.

`asyncio.timeout` sets a timer for each and takes it back, thousands of times a second: a tenth of what a post takes
(measured).  Here whichever began first ends first, and a look ten times a second finds those whose time is up.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

TICK: Final = 0.1  # seconds by which a task may overrun

Task = asyncio.Task[Any]


class Deadlines:
    """Tasks at work, in the order in which they began, which is the order of their ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: dict[Task, float] = {}
        self._struck: set[Task] = set()

    def begin(self) -> Task:
        """Let time run for the task that calls; it has to say when it ends."""
        task = cast(Task, asyncio.current_task())
        self._until[task] = time.monotonic() + self._seconds
        return task

    def end(self, task: Task) -> None:
        """Forget it."""
        del self._until[task]
        self._struck.discard(task)

    def struck(self, task: Task) -> bool:
        """Say, when the task was cancelled, whether its time was up and nobody else has cancelled it besides."""
        return task in self._struck and not task.uncancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            for task, until in self._until.items():
                if until > now:
                    break
                if task not in self._struck:
                    self._struck.add(task)
                    task.cancel()


@asynccontextmanager
async def deadlines(seconds: float) -> AsyncIterator[Deadlines]:
    """Run a clock; `seconds` is what each task has."""
    found = Deadlines(seconds)
    watch = asyncio.create_task(found._watch())
    try:
        yield found
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
