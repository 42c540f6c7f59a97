"""Real receiver on loopback: stores requests, and answers as configured."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Got:
    """One received request."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    at: float  # time.monotonic()


@dataclass(slots=True)
class Receiver:
    port: int
    got: list[Got] = field(default_factory=list)
    # By path; 204 without an entry.  A number is the status of the answer.
    answers: dict[str, int | Answer] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def at(self, path: str) -> list[Got]:
        return [one for one in self.got if one.path == path]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append(Got(request.path, headers, await request.read(), time.monotonic()))
        answer = self.answers.get(request.path, 204)
        return web.Response(status=answer) if isinstance(answer, int) else await answer(request)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Serve in a thread as long as the block lasts."""
    started, receiver = threading.Event(), Receiver(0)
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopped.set))
        runner = web.ServerRunner(web.Server(receiver.handle), shutdown_timeout=0.1)  # type: ignore[arg-type]  # wider at run time than in the stubs
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        receiver.port = runner.addresses[0][1]
        started.set()
        await stopped.wait()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield receiver
    finally:
        stop[0]()
        thread.join(10)
