"""Streams of server-sent events: the one place that makes a response which does not end by itself.

The format: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import Error, connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from lib.live.changes import as_json
from lib.live.hub import Inbox, Sees, Signal, hub

ALIVE_SECONDS: Final = (15, 20)  # between signs of life; spread, so that a thousand streams do not ask at once
PATIENCE_SECONDS: Final = 5  # for PostgreSQL; then the browser comes again
_TYPE: Final = "text/event-stream"
_RETRY: Final = b"retry: 2000\n\n"  # milliseconds after which a browser comes again
_RESYNC: Final = b"event: resync\ndata: 1\n\n"


def listens(request: HttpRequest) -> bool:
    """Say whether a stream is asked for, and not a page."""
    return request.headers.get("Accept") == _TYPE


def stream(request: HttpRequest, *, sees: Sees, stands: Callable[[], bool]) -> HttpResponseBase:
    """Answer with the changes that `sees` lets through, as they are committed, until `stands` says no.

    Events: `ready` (from now on nothing is missed), `alive`, `changes`, `resync`; the data of the first two are the
    server's clock in milliseconds.  `stands` may query; it is asked about every 20 seconds, in a thread.  The stream
    holds no database connection.  Under WSGI a stream would keep a thread for itself: the answer is 204 then, upon
    which browsers give up, and pages ask instead.
    """
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would collect it
    return StreamingHttpResponse(_sent(sees, stands), content_type=_TYPE, headers=headers)


async def _sent(sees: Sees, stands: Callable[[], bool]) -> AsyncIterator[bytes]:
    # What sign-in and middleware have used goes back to the pool now: `request_finished`, which does it for other
    # answers, comes when a stream ends.
    await sync_to_async(connections.close_all)()
    yield _RETRY
    with hub().inbox(sees) as inbox:
        if not await hub().hears(seconds=PATIENCE_SECONDS):
            return
        yield _clock("ready")
        async for message in _messages(inbox, stands):
            yield message


async def _messages(inbox: Inbox, stands: Callable[[], bool]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    due = loop.time() + random.uniform(*ALIVE_SECONDS)  # noqa: S311  # no secret
    while True:
        message = await inbox.take(seconds=max(0, due - loop.time()))
        if message is Signal.OVER:
            return
        if message is Signal.RESYNC:
            yield _RESYNC
        elif message is not None:
            yield b"event: changes\ndata: %b\n\n" % json.dumps(as_json(message)).encode()
        if loop.time() >= due:
            if not await sync_to_async(_asked)(stands):
                return
            due = loop.time() + random.uniform(*ALIVE_SECONDS)  # noqa: S311  # no secret
            yield _clock("alive")  # scripts do not see comments, so this is an event


def _asked(stands: Callable[[], bool]) -> bool:
    try:
        return stands()
    except Error:
        return False  # who comes again is looked at anew
    finally:
        connections.close_all()


def _clock(event: str) -> bytes:
    return b"event: %b\ndata: %d\n\n" % (event.encode(), time.time() * 1000)
