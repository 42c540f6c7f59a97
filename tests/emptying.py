"""Keep the tables of the test database small: empty after tests that commit, and without the dead rows of all others.

What is rolled back stays in its table as dead rows until somebody vacuums, and is read by every statement that goes
through the table: after a month of demo data a test of few rows takes ten times as long.  No autovacuum comes in time.
"""

from functools import cache
from typing import Any, Final

from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import TestCase

# As migrations made them; no test commits others.
_KEPT: Final = frozenset({"django_migrations", "django_content_type", "auth_permission"})
_LARGE: Final = 8 << 20  # bytes in all tables together; a new database has half a MiB
_SIZE: Final = """
    SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
_HOLDING: Final = "SELECT '{table}' WHERE EXISTS (SELECT FROM {table})"
_roll_back: Final = TestCase._fixture_teardown  # type: ignore[attr-defined]  # missing in the stubs


def after_rollback(case: TestCase) -> None:
    """Undo what a test did, as Django does, and give its room back once there is much of it.

    Not while a module keeps a world in a transaction of its own: the first test after it does.
    """
    _roll_back(case)
    if connection.connection is None or connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        if _is_large(cursor):
            cursor.execute(f"TRUNCATE {', '.join(_tables())}")


def after_commits(*_: Any) -> None:
    """Remove all rows but those of migrations, once nobody else has a transaction open on any table.

    Django truncates all tables, which makes a file for each of them and for each index, and makes the content types and
    permissions anew.  Here rows are deleted, which takes a fiftieth of that; where the role is no superuser, it is
    Django's way.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Neither a foreign key nor what keeps a table append-only has a say.
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
