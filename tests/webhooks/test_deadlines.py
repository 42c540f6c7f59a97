"""One clock for all posts under way."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from apps.webhooks.services.deadlines import TICK, Deadlines, deadlines

pytestmark = pytest.mark.real_clock


async def _said(clock: Deadlines, work: Callable[[], Awaitable[object]]) -> str:
    task = clock.begin()
    try:
        await work()
    except asyncio.CancelledError:
        return "struck" if clock.struck(task) else "cancelled"
    finally:
        clock.end(task)
    return "done"


def _hours() -> Awaitable[object]:
    return asyncio.sleep(7200)


def test_what_takes_too_long_ends_in_time_and_what_began_later_goes_on() -> None:
    async def run() -> tuple[list[str], float]:
        async with deadlines(0.4) as clock:
            began = time.monotonic()
            long = asyncio.create_task(_said(clock, _hours))
            await asyncio.sleep(0.3)
            later = asyncio.create_task(_said(clock, lambda: asyncio.sleep(0.3)))
            first = await long
            took = time.monotonic() - began
            return [first, await later], took

    said, took = asyncio.run(run())

    assert said == ["struck", "done"]
    assert 0.4 <= took < 0.4 + 3 * TICK


def test_what_somebody_else_cancels_was_not_struck() -> None:
    async def run() -> list[str]:
        async with deadlines(0.2) as clock:
            early = asyncio.create_task(_said(clock, _hours))
            both = asyncio.create_task(_said(clock, _hours))
            await asyncio.sleep(0.05)
            early.cancel()
            said = [await early]
            while not clock._struck:
                await asyncio.sleep(0)
            both.cancel()
            return [*said, await both]

    assert asyncio.run(run()) == ["cancelled", "cancelled"]


def test_what_takes_its_time_to_end_is_struck_once() -> None:
    async def tidies() -> None:
        try:
            await _hours()
        finally:
            await asyncio.sleep(4 * TICK)

    async def run() -> str:
        async with deadlines(0.05) as clock:
            return await asyncio.create_task(_said(clock, tidies))

    assert asyncio.run(run()) == "struck"


def test_a_task_that_went_on_is_cancelled_by_nothing_later() -> None:
    async def run() -> tuple[str, int]:
        async with deadlines(0.05) as clock:
            said = await asyncio.wait_for(_said(clock, _hours), 5)
            task = asyncio.current_task()
            assert task is not None
            await asyncio.sleep(2 * TICK)
            return said, task.cancelling()

    assert asyncio.run(run()) == ("struck", 0)
