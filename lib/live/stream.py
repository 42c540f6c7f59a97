"""Streams of server-sent events: the only responses that do not end by themselves.

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

ALIVE_SECONDS: Final = (15, 20)  # between `alive` events; random, so that a thousand streams do not query at once
PATIENCE_SECONDS: Final = 5  # to wait for PostgreSQL; then the browser has to reconnect
_TYPE: Final = "text/event-stream"
_RETRY: Final = b"retry: 2000\n\n"  # milliseconds until the browser reconnects
_RESYNC: Final = b"event: resync\ndata: 1\n\n"


def listens(request: HttpRequest) -> bool:
    """Return whether the request accepts a stream instead of a page."""
    return request.headers.get("Accept") == _TYPE


def stream(request: HttpRequest, *, sees: Sees, is_current: Callable[[], bool]) -> HttpResponseBase:
    """Stream the changes that `sees` accepts, as they are committed, until `is_current` returns False.

    Events: `ready` (no later change is missed), `alive`, `changes`, `resync`; the data of the first two is the server's
    clock in milliseconds.  `is_current` checks the session and may query; a thread calls it about every 20 seconds.
    The stream holds no database connection.  Under WSGI a stream would occupy a thread, so the response is 204:
    browsers stop connecting, and pages poll instead.
    """
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would buffer it
    return StreamingHttpResponse(_sent(sees, is_current), content_type=_TYPE, headers=headers)


async def _sent(sees: Sees, is_current: Callable[[], bool]) -> AsyncIterator[bytes]:
    # Return the connections used by sign-in and middleware to the pool now: `request_finished`, which does it for other
    # responses, is sent when a stream ends.
    await sync_to_async(connections.close_all)()
    yield _RETRY
    with hub().inbox(sees) as inbox:
        if not await hub().is_listening(seconds=PATIENCE_SECONDS):
            return
        yield _clock("ready")
        async for message in _messages(inbox, is_current):
            yield message


async def _messages(inbox: Inbox, is_current: Callable[[], bool]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    due = loop.time() + random.uniform(*ALIVE_SECONDS)  # noqa: S311  # no secret
    while True:
        message = await inbox.take(seconds=max(0, due - loop.time()))
        if message is Signal.END:
            return
        if message is Signal.RESYNC:
            yield _RESYNC
        elif message is not None:
            yield b"event: changes\ndata: %b\n\n" % json.dumps(as_json(message)).encode()
        if loop.time() >= due:
            if not await sync_to_async(_check_session)(is_current):
                return
            due = loop.time() + random.uniform(*ALIVE_SECONDS)  # noqa: S311  # no secret
            yield _clock("alive")  # an event, because scripts do not see comments


def _check_session(is_current: Callable[[], bool]) -> bool:
    try:
        return is_current()
    except Error:
        return False  # the browser reconnects and is checked again
    finally:
        connections.close_all()


def _clock(event: str) -> bytes:
    return b"event: %b\ndata: %d\n\n" % (event.encode(), time.time() * 1000)
