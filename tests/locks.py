"""Helper of concurrency tests: wait until another session waits for our lock."""

import time

from django.db import connection

PATIENCE = 60  # seconds; lock_timeout starts when a session waits, and then the test continues


def wait_until_somebody_waits() -> None:
    """Return once a session of this database waits for a lock; fail after a timeout."""
    give_up_at = time.monotonic() + PATIENCE
    while time.monotonic() < give_up_at:
        with connection.cursor() as cursor:
            # Within a transaction PostgreSQL caches the sessions of the first query.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            row = cursor.fetchone()
        if row is not None and row[0]:
            return
        time.sleep(0.01)
    raise AssertionError("nobody waited for the lock")
