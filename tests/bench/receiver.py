"""Receiver of the deliveries: a minimal HTTP server in its own process.

    python tests/bench/receiver.py PORT [NOTES]

Answers 200 at once, on /hang never; appends the instant of each request and the event's id to the file NOTES, if given.
Imports nothing of the service.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import cast

import uvloop

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    """Reads requests as aiohttp writes them: with a length, one after the other."""

    notes: Path | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].lower() + b"\r\n"
            whole = end + 4 + int(_value(head, b"content-length"))
            if len(self._read) < whole:
                return
            self._read = self._read[whole:]
            if Receiver.notes is not None:
                with Receiver.notes.open("a") as notes:
                    notes.write(f"{time.time()} {_value(head, b'webhook-id').decode()}\n")
            if not head.startswith(b"post /hang"):
                self._transport.write(_ANSWER)


def _value(head: bytes, name: bytes) -> bytes:
    start = head.index(b"\r\n" + name + b": ") + len(name) + 4
    return head[start : head.index(b"\r\n", start)]


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    Receiver.notes = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    uvloop.run(_serve(int(sys.argv[1])))
