"""Celery's broker in files, for one machine: kombu's `filesystem://` with messages that appear whole.

kombu 5.7 opens a message file under its final name and writes it afterwards; a worker that looks in between takes an
empty message, cannot decode it and ends ("Unrecoverable error: JSONDecodeError", met within minutes on a busy machine).
Here every file is written aside and renamed, which a reader sees entirely or not at all.
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
        """Put a message onto `queue`; its name sorts by time, as kombu's do."""
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        message = Path(self.data_folder_out) / name
        _written_aside(message, dumps(payload)).rename(message)

    def _queue_bind(self, exchange: str, *binding: Any) -> None:
        """Bind as kombu does, on a table that exists: creating it would show an empty one."""
        table = self._exchange_file(exchange)  # type: ignore[attr-defined]  # not in the stubs
        table.parent.mkdir(parents=True, exist_ok=True)
        aside = _written_aside(table, "[]")
        with contextlib.suppress(FileExistsError):
            os.link(aside, table)  # unlike a rename, this never replaces the table of somebody who was first
        aside.unlink()
        super()._queue_bind(exchange, *binding)


class Transport(filesystem.Transport):
    """The transport that `filesystem://` names in this project, see config/celery.py."""

    Channel = Channel


def _written_aside(path: Path, text: str) -> Path:
    # The leading dot keeps the name from ending in `<queue>.msg` after its first dot, which is what a reader looks for.
    aside = path.with_name(f".{uuid.uuid4()}.{path.name}")
    aside.write_text(text, encoding="utf-8")
    return aside
