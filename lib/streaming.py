"""Responses that are generated while they are sent, from rows or from a file.

Under ASGI a separate thread generates the chunks, one at a time as the client reads them: the event loop never waits
for the database, and at most two chunks are in memory.  Under WSGI the request's thread generates them.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse

_END: Final = b""  # no chunk is empty


def stream_response(
    request: HttpRequest, pieces: Iterator[bytes], *, content_type: str, headers: dict[str, str]
) -> StreamingHttpResponse:
    """Stream chunks, which may use a database connection until the last one; an exception aborts the response."""
    content = _threaded(pieces) if isinstance(request, ASGIRequest) else pieces
    defaults = {"X-Accel-Buffering": "no"}  # nginx would buffer it
    return StreamingHttpResponse(content, content_type=content_type, headers=defaults | headers)


async def _threaded(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    thread = ThreadPoolExecutor(1, thread_name_prefix="sending")
    loop = asyncio.get_running_loop()
    try:
        while piece := await loop.run_in_executor(thread, next, pieces, _END):
            yield piece
    finally:
        # The thread closes the generator after a chunk that it may still generate for a client that has disconnected.
        thread.submit(_close, pieces)
        thread.shutdown(wait=False)


def _close(pieces: Any) -> None:
    """End the generator's statement, and return its connection to the pool."""
    pieces.close()
    connections.close_all()
