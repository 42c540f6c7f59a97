"""Locking rides whose record was handed on for good, and letting them go again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from apps.rides.models import RideLock
from lib import recordset

# Whoever corrects one of them at this moment is waited for, and its version is another then.
_LOCK: Final = f"""
    WITH standing AS (
        SELECT r.id FROM rides_ride r JOIN {recordset.source({"id": "uuid", "version": "int"}, name="given")}
            ON r.id = given.id AND r.version = given.version
        ORDER BY r.id FOR SHARE OF r
    )
    INSERT INTO rides_ridelock (ride_id, export_id, locked_at)
    SELECT id, %(export)s, %(at)s FROM standing ON CONFLICT (ride_id) DO NOTHING
"""  # noqa: S608  # constant names, values are parameters


@transaction.atomic
def lock_rides(versions: Sequence[tuple[UUID, int]], *, export_id: UUID, at: datetime) -> int:
    """Lock rides that are as they were exported, and say how many; others stay free, and are told of anew."""
    with connection.cursor() as cursor:
        rows = recordset.rows({"id": ride_id, "version": version} for ride_id, version in versions)
        cursor.execute(_LOCK, {"rows": rows, "export": export_id, "at": at})
        return int(cursor.rowcount)


def release_rides(*, export_id: UUID) -> int:
    """Let the rides of an export be corrected again; say how many those are."""
    return RideLock.objects.filter(export_id=export_id).delete()[0]
