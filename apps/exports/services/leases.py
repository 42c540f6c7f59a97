"""Signs of life of a worker that holds a row for as long as its work takes."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import Error, InterfaceError, OperationalError, connections

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
BEAT_SECONDS: Final = 10.0
_WAITS: Final = (1.0, 4.0, 15.0, 25.0)  # seconds between tries to say what came of it: about as long as a lease


@contextmanager
def renewed(beat: Callable[[], None], row_id: UUID) -> Iterator[None]:
    """Call `beat` every ten seconds beside the work, from a thread: a single step may take minutes."""
    over = threading.Event()

    def renew() -> None:
        try:
            while not over.wait(BEAT_SECONDS):
                try:
                    beat()
                except Error:
                    log.warning("lease not renewed", extra={"row_id": str(row_id)})
                    connections.close_all()  # a connection that broke is not mended by itself
        finally:
            connections.close_all()

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def settle(say: Callable[[], object]) -> None:
    """Say what came of it, by a connection that is alive: the work was long, and the database may have been away.

    Tries again for as long as the row may still be this worker's, so that what was done is not done once more.

    Raises:
        django.db.OperationalError, django.db.InterfaceError: the database is away for longer.
    """
    for wait in _WAITS:
        _give_back()
        try:
            say()
        except (OperationalError, InterfaceError) as trouble:
            log.warning("not settled yet: %s", type(trouble).__name__)
            time.sleep(wait)
        else:
            return
    _give_back()
    say()


def _give_back() -> None:
    """Give connections back, where no transaction is open: who asks next is handed one that stands."""
    for one in connections.all(initialized_only=True):
        if not one.in_atomic_block:
            one.close_if_unusable_or_obsolete()
