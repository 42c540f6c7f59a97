"""A lock that is held until its process ends: the operating system releases it, even after a crash."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class AlreadyLocked(Exception):
    """Another process holds the lock; `pid` is its process id, 0 if it is not known yet."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


@contextlib.contextmanager
def process_lock(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, without waiting.

    Raises:
        AlreadyLocked: another process holds it.
    """
    # lockf, not flock: a forked child would keep a flock after this process ends.
    with path.open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            file.seek(0)
            text = file.read().strip()
            raise AlreadyLocked(int(text) if text.isdecimal() else 0) from error
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
