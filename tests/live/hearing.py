"""Listening to the notification channel of live pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from lib.live.changes import CHANNEL

Listener = psycopg.Connection[Any]
_KINDS = ("cursor_factory", "context", "prepare_threshold")  # of Django's own connections


@contextmanager
def listening() -> Iterator[Listener]:
    """Open a session of the test database that receives all notifications from now on."""
    known = {name: value for name, value in connection.get_connection_params().items() if name not in _KINDS}
    with psycopg.connect(**known, autocommit=True) as session:
        session.execute(f"LISTEN {CHANNEL}")
        yield session


def heard(listener: Listener) -> list[str]:
    """Return the notifications so far: a marker of our own follows everything that was committed before it."""
    listener.execute(f"NOTIFY {CHANNEL}, 'end'")
    found = [notice.payload for notice in listener.notifies(timeout=0.2)]
    return found[: found.index("end")]
