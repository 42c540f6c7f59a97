"""Answers that are made while they are sent, of rows or of a file.

Under ASGI a thread of its own makes the pieces, one at a time as the client takes them: the event loop never waits for
the database, and no more than two pieces are held.  Under WSGI the thread of the request does.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse

_END: Final = b""  # no piece is empty


def send(
    request: HttpRequest, pieces: Iterator[bytes], *, content_type: str, headers: dict[str, str]
) -> StreamingHttpResponse:
    """Answer with pieces, which may use a database connection until the last of them; one that fails breaks it off."""
    content = _threaded(pieces) if isinstance(request, ASGIRequest) else pieces
    beside = {"X-Accel-Buffering": "no"}  # nginx would collect it
    return StreamingHttpResponse(content, content_type=content_type, headers=beside | headers)


async def _threaded(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    thread = ThreadPoolExecutor(1, thread_name_prefix="sending")
    loop = asyncio.get_running_loop()
    try:
        while piece := await loop.run_in_executor(thread, next, pieces, _END):
            yield piece
    finally:
        # Behind a piece that is still being made when the client has gone: one thread does one after the other.
        thread.submit(_close, pieces)
        thread.shutdown(wait=False)


def _close(pieces: Any) -> None:
    """End the statement, and give its connection back to the pool; pieces come from a generator."""
    pieces.close()
    connections.close_all()
