"""Signs of life of a worker that holds a row for as long as its work takes."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import Error, connections

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
BEAT_SECONDS: Final = 10.0


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
