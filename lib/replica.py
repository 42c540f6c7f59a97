"""Reading from a replica of the database: reports and exports do so if the operator has one (REPLICA_URL).

`reading` is the only place that chooses the database.  A replica lags behind; `as_of` returns by how much, and
responses include it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

REPLICA: Final = "replica"

_reading: ContextVar[str | None] = ContextVar("reading from", default=None)

# The primary's last message contained its log position at that time: once that is replayed, the replica has everything
# up to the message.  Later changes may be on their way or blocked; the replica cannot tell.  Only members of
# pg_read_all_stats can read that message; others get the last replayed change, which is correct but older.
_AS_OF: Final = """
    SELECT CASE WHEN pg_is_in_recovery() THEN greatest(
        pg_last_xact_replay_timestamp(),
        (SELECT last_msg_send_time FROM pg_stat_wal_receiver WHERE latest_end_lsn <= pg_last_wal_replay_lsn())
    ) ELSE statement_timestamp() END
"""


def alias() -> str:
    """Return the alias of the database for reports and exports.

    The replica if there is one, else the default database.
    """
    return REPLICA if REPLICA in connections.settings else DEFAULT_DB_ALIAS


@contextmanager
def reading() -> Iterator[str]:
    """Read models in this block from the database of reports; yields its alias, for SQL."""
    mark = _reading.set(alias())
    try:
        yield alias()
    finally:
        _reading.reset(mark)


def as_of(using: str) -> datetime | None:
    """Return the time up to which a database has all changes; None if it is unknown.  One query."""
    with connections[using].cursor() as cursor:
        cursor.execute(_AS_OF)
        replayed_at: datetime | None = cursor.fetchone()[0]
        return replayed_at


class Router:
    """Routes reads inside `reading` to the replica, and all other queries to the default database."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return _reading.get()

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
