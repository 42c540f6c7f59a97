"""A lock that lives as long as the process that holds it: the system lets go of it, however the process ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class Held(Exception):
    """Another process holds the lock; `pid` is its number, 0 where it has not said so yet."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


@contextlib.contextmanager
def process_lock(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, without waiting.

    Raises:
        Held: another process has it.
    """
    # lockf, not flock: a child made by fork would go on holding the latter after we are gone.
    with path.open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            file.seek(0)
            text = file.read().strip()
            raise Held(int(text) if text.isdecimal() else 0) from error
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
