"""Broker of message files: a message becomes visible complete."""

import json
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from threading import Event, Thread
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import filesystem

from lib import file_broker

MESSAGES = 400


def channel(folder: Path, transport: type[Any]) -> Any:
    (folder / "queue").mkdir(exist_ok=True)
    options = {"data_folder_in": folder / "queue", "data_folder_out": folder / "queue", "control_folder": folder / "c"}
    return Connection(transport=transport, transport_options=options).channel()


def test_reader_meets_every_message_whole_while_they_are_written(tmp_path: Path) -> None:
    writer, reader = channel(tmp_path, file_broker.Transport), channel(tmp_path, file_broker.Transport)
    met: list[int] = []
    written = Event()

    def read() -> None:
        while not (written.is_set() and len(met) >= MESSAGES):
            try:
                met.append(reader._get("work")["number"])
            except Empty:
                continue

    thread = Thread(target=read)
    thread.start()
    for number in range(MESSAGES):
        writer._put("work", {"number": number})
    written.set()
    thread.join(timeout=60)

    assert sorted(met) == list(range(MESSAGES))


def test_kombus_own_writer_shows_a_message_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: a read between open and write, which a busy machine makes likely."""
    writer, reader = channel(tmp_path, filesystem.Transport), channel(tmp_path, filesystem.Transport)
    lock: Callable[..., None] = filesystem.lock
    seen: list[str] = []

    def look(file: Any, flags: int) -> None:
        lock(file, flags)
        with pytest.raises(json.JSONDecodeError):
            reader._get("work")
        seen.append("an empty message")

    monkeypatch.setattr(filesystem, "lock", look)
    writer._put("work", {"number": 1})

    assert seen == ["an empty message"]


def test_binding_keeps_the_bindings_of_others(tmp_path: Path) -> None:
    for queue in ("one", "two", "one"):
        channel(tmp_path, file_broker.Transport)._queue_bind("carelane", queue, "", queue)

    bound = channel(tmp_path, file_broker.Transport).get_table("carelane")

    assert {entry.queue for entry in bound} == {"one", "two"}
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["carelane.exchange"]
