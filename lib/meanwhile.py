"""A statement that the database works on while Python does something else: on two cores, not in turn."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def asked(sql: str, parameters: Sequence[Any]) -> Iterator[Callable[[], list[tuple[Any, ...]]]]:
    """Send a statement and go on; the function that this gives waits for the rows.  Call it inside of the block.

    Sees and locks what any statement at its place would.

    Raises:
        django.db.Error: from the function, or at the end of the block where nobody has called it.
    """
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.pipeline(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        yield cursor.fetchall
