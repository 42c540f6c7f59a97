"""For tests of two at once: to know that the other one has come as far as our lock."""

import time

from django.db import connection

PATIENCE = 60  # seconds; lock_timeout runs only once somebody waits, and then we go on


def wait_until_somebody_waits() -> None:
    """Return once a session of this database waits for a lock; fail after a while."""
    give_up_at = time.monotonic() + PATIENCE
    while time.monotonic() < give_up_at:
        with connection.cursor() as cursor:
            # Within a transaction PostgreSQL goes on showing the sessions that there were at the first look.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            row = cursor.fetchone()
        if row is not None and row[0]:
            return
        time.sleep(0.01)
    raise AssertionError("nobody waited for the lock")
