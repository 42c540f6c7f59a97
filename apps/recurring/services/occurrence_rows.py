"""Writing the ledger: what was decided about each leg of each pattern date."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from apps.recurring.models import Occurrence
from lib import recordset
from lib.db.bulk_copy import copy_rows

_COLUMNS: Final = {
    "id": "bigint",
    "decision": "varchar",
    "ride_id": "uuid",
    "content": "varchar",
    "refusal": "varchar",
    "moved_by_clock_change": "boolean",
}
_UPDATE: Final = f"""
    UPDATE recurring_occurrence o
    SET decision = came.decision, ride_id = coalesce(came.ride_id, o.ride_id), content = came.content,
        refusal = came.refusal, moved_by_clock_change = came.moved_by_clock_change, decided_at = %(at)s
    FROM {recordset.source(_COLUMNS, name="came")}
    WHERE o.id = came.id
"""  # noqa: S608  # constant names


def write(new: Sequence[dict[str, Any]], known: Sequence[dict[str, Any]], *, at: datetime) -> None:
    """Write new rows by COPY, and those that are there, each given with its id, by one statement."""
    copy_rows(Occurrence, new)
    if known:
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE, {"rows": recordset.rows(known), "at": at})
