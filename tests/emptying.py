"""Keep the tables of the test database small: empty after tests that commit, and free of other tests' dead rows.

Rolled-back rows stay in their table as dead rows until a vacuum, and every scan of the table reads them: after a month
of demo data a test of few rows takes ten times as long.  Autovacuum does not run in time.
"""

from functools import cache
from typing import Any, Final

from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import TestCase

# Filled by migrations; no test commits changes to them.
_KEPT: Final = frozenset({"django_migrations", "django_content_type", "auth_permission"})
_LARGE: Final = 8 << 20  # bytes in all tables together; a new database has half a MiB
_SIZE: Final = """
    SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
_HOLDING: Final = "SELECT '{table}' WHERE EXISTS (SELECT FROM {table})"
_roll_back: Final = TestCase._fixture_teardown  # type: ignore[attr-defined]  # missing in the stubs


def after_rollback(case: TestCase) -> None:
    """Roll back a test as Django does, and reclaim the space once there is much of it.

    Skipped while a module keeps data in its own transaction: the first test after it reclaims the space.
    """
    _roll_back(case)
    if connection.connection is None or connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        if _is_large(cursor):
            cursor.execute(f"TRUNCATE {', '.join(_tables())}")


def after_commits(*_: Any) -> None:
    """Delete all rows except those of migrations, once no other session has a transaction open on any table.

    Django truncates all tables, which creates a file for each table and index, and recreates the content types and
    permissions.  Deleting the rows takes a fiftieth of that; without superuser rights it falls back to Django's way.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Disables foreign keys and the triggers of append-only tables.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(f"LOCK TABLE {', '.join(_tables())} IN ACCESS EXCLUSIVE MODE")
            if _is_large(cursor):
                cursor.execute(f"TRUNCATE {', '.join(_tables())}")
                return
            cursor.execute(" UNION ALL ".join(_HOLDING.format(table=table) for table in _tables()))
            for (table,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # constant names
    except ProgrammingError:
        call_command("flush", verbosity=0, interactive=False, reset_sequences=False)


def _is_large(cursor: Any) -> bool:
    cursor.execute(_SIZE)
    return bool(cursor.fetchone()[0] > _LARGE)


@cache
def _tables() -> list[str]:
    found = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(connection.ops.quote_name(table) for table in set(found) - _KEPT)
