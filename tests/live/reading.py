"""Streams of a running service as a browser reads them: by plain sockets, hundreds in one process."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit


class Reader:
    """One stream.  `open` returns when the service confirms that no later change is missed."""

    def __init__(self, url: str, cookie: str) -> None:
        self._host = urlsplit(url).netloc
        self._cookie = cookie

    async def open(self) -> None:
        host, _, port = self._host.partition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))
        asked = f"GET /console/live/ HTTP/1.1\r\nHost: {self._host}\r\nCookie: {self._cookie}\r\n\r\n"
        self._writer.write(asked.encode())
        first, _ = await self.next()
        assert first == "ready", first

    async def next(self) -> tuple[str, Any]:
        """Return the next event, skipping chunk marks and the response header.

        Raises:
            EOFError: the stream has ended.
        """
        event = ""
        while line := await self._reader.readline():
            word, _, rest = line.decode().rstrip().partition(": ")
            if word == "event":
                event = rest
            elif word == "data" and event:
                return event, json.loads(rest)
        raise EOFError

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
