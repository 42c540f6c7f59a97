"""Reading from a copy of the database: reports and exports do, where the operator has one (REPLICA_URL).

`reading` is the one place that chooses.  A copy lags behind; `as_of` says how far, and answers hand that on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

REPLICA: Final = "replica"

_reading: ContextVar[str | None] = ContextVar("reading from", default=None)

# The server said with its last message how far its log went then: where that is replayed, the copy knows all there was.
# What came after is on its way, or cannot come: nothing here would tell.  That message can be read by members of
# pg_read_all_stats alone; for others it is the last change that was replayed, which is true, and older.
_AS_OF: Final = """
    SELECT CASE WHEN pg_is_in_recovery() THEN greatest(
        pg_last_xact_replay_timestamp(),
        (SELECT last_msg_send_time FROM pg_stat_wal_receiver WHERE latest_end_lsn <= pg_last_wal_replay_lsn())
    ) ELSE statement_timestamp() END
"""


def alias() -> str:
    """Name the database that reports and exports read: the copy, or without one the database itself."""
    return REPLICA if REPLICA in connections.settings else DEFAULT_DB_ALIAS


@contextmanager
def reading() -> Iterator[str]:
    """Let the models of this block be read from where reports read; gives the alias, for SQL."""
    mark = _reading.set(alias())
    try:
        yield alias()
    finally:
        _reading.reset(mark)


def as_of(using: str) -> datetime | None:
    """Ask up to which moment a database knows everything; None: it cannot tell.  One query."""
    with connections[using].cursor() as cursor:
        cursor.execute(_AS_OF)
        found: datetime | None = cursor.fetchone()[0]
        return found


class Router:
    """Sends reads inside `reading` to the copy, and everything else where it belongs: only one database is written."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return _reading.get()

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
