"""Statements whose end nobody waits for before going on: PostgreSQL works, and Python does at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.db import connection


@contextmanager
def pipelined() -> Iterator[None]:
    """Send the statements of the block without waiting for each; wait at its end.  Inside a transaction.

    Answers cannot be read before the end without waiting for them, and nothing is copied within.  Whatever the database
    says against one of the statements may come with a later one, or at the end.

    Raises:
        django.db.DatabaseError: as any of the statements would.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, cast(Any, connection.connection).pipeline():
        yield
