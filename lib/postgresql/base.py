"""Django's PostgreSQL backend, with a check of pooled connections that costs no round trip, and binary cursors.

Django asks the server `SELECT` nothing before each request, to find out whether the connection still stands.  A
connection that the server has closed or broken off has something to read: its farewell, or the end of the stream.
One without stands, as far as anybody can know without waiting for an answer.
"""

import select
from typing import Any, cast

from django.db.backends.postgresql import base
from psycopg import Connection, Cursor
from psycopg.pq import Format
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool is not None and pool._check is not None:
            pool._check = check_quickly
        return pool

    def binary_cursor(self) -> Any:
        self.ensure_connection()
        with self.wrap_database_errors:
            cursor = Cursor(self.connection)
        cursor.format = Format.BINARY
        return cast(Any, self)._prepare_cursor(cursor)


def check_quickly(connection: "Connection[Any]") -> None:
    """Refuse a connection that does not stand.

    Raises:
        psycopg.OperationalError: the server has gone, or closed it.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):  # it never speaks unasked while all is well, but a notice is no farewell
        ConnectionPool.check_connection(connection)
