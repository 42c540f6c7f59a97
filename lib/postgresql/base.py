"""Django's PostgreSQL backend, with a check of pooled connections that costs no round trip, binary cursors, and
instants that are read in C.

Django asks the server `SELECT` nothing before each request, to find out whether the connection still stands.  A
connection that the server has closed or broken off has something to read: its farewell, or the end of the stream.
One without stands, as far as anybody can know without waiting for an answer.

Django reads instants in Python, so that it can put them into any zone: 6 µs each, of which a ride has twenty.  Ours are
in UTC, as psycopg's own loader has them in 0.4 µs.
"""

import select
from datetime import UTC
from functools import lru_cache
from typing import Any, cast

from django.db.backends.postgresql import base
from psycopg import Connection, Cursor, adapters
from psycopg.abc import AdaptContext, Loader
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format
from psycopg_pool import ConnectionPool

_AsItCame: Any = adapters.get_loader(adapters.types["timestamptz"].oid, Format.TEXT)  # in C where there is C


class _Instants:
    """What Django takes for its own loader, by the zone that it names; what it makes is psycopg's."""

    format = Format.TEXT
    timezone = UTC

    def __new__(cls, oid: int, context: AdaptContext | None = None) -> Loader:  # type: ignore[misc]  # it stands in
        return cast(Loader, _AsItCame(oid, context))


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        params = super().get_connection_params()
        if self.timezone == UTC:
            params["context"] = _with_instants(params["context"])
        return params

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


@lru_cache(maxsize=1)
def _with_instants(django: AdaptersMap) -> AdaptersMap:
    context = AdaptersMap(django)
    context.register_loader("timestamptz", cast(Any, _Instants))
    return context


def check_quickly(connection: "Connection[Any]") -> None:
    """Refuse a connection that does not stand.

    Raises:
        psycopg.OperationalError: the server has gone, or closed it.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):  # it never speaks unasked while all is well, but a notice is no farewell
        ConnectionPool.check_connection(connection)
