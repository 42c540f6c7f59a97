"""A Celery broker in files, for one machine: kombu's `filesystem://` with atomic writes.

kombu 5.7 opens a message file under its final name and writes it afterwards.  A worker that reads it in between gets an
empty message, cannot decode it and exits ("Unrecoverable error: JSONDecodeError", within minutes on a busy machine).
Here every file is written under a temporary name and renamed, so that a reader sees all of it or nothing.
"""

import contextlib
import os
import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """A channel whose writes are atomic."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # the stubs differ
        """Add a message to `queue`; file names sort by time, as in kombu."""
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        message = Path(self.data_folder_out) / name
        _write_temporary(message, dumps(payload)).rename(message)

    def _queue_bind(self, exchange: str, *binding: Any) -> None:
        """Bind like kombu, but create the table first with its content: kombu would create an empty file."""
        table = self._exchange_file(exchange)  # type: ignore[attr-defined]  # not in the stubs
        table.parent.mkdir(parents=True, exist_ok=True)
        temporary = _write_temporary(table, "[]")
        with contextlib.suppress(FileExistsError):
            os.link(temporary, table)  # unlike a rename, this never replaces a table that another process created first
        temporary.unlink()
        super()._queue_bind(exchange, *binding)


class Transport(filesystem.Transport):
    """The transport that `filesystem://` names in this project, see config/celery.py."""

    Channel = Channel


def _write_temporary(path: Path, text: str) -> Path:
    # A reader looks for names that end in `<queue>.msg` after the first dot; the leading dot prevents that.
    temporary = path.with_name(f".{uuid.uuid4()}.{path.name}")
    temporary.write_text(text, encoding="utf-8")
    return temporary
