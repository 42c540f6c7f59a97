"""Lanes from and to their rows, many at once."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.db import connection

from apps.webhooks.rules.lane import Lane
from lib import recordset

_TYPES: Final = {
    "window": "smallint",
    "failures": "integer",
    "failures_since_success": "integer",
    "trips": "smallint",
    "open_until": "timestamptz",
    "sample_since": "timestamptz",
    "sample_attempts": "integer",
    "sample_failures": "integer",
    "ceiling": "smallint",
    "ceiling_until": "timestamptz",
    "failing_since": "timestamptz",
    "told": "smallint",
    "last_success_at": "timestamptz",
    "last_failure_at": "timestamptz",
}
_LOCKED: Final = f"""
    SELECT l.endpoint_id, e.max_in_flight, {", ".join(f'l."{name}"' for name in _TYPES)}
    FROM webhooks_lane l JOIN webhooks_endpoint e ON e.id = l.endpoint_id
    WHERE l.endpoint_id = ANY(%s::uuid[]) ORDER BY l.endpoint_id FOR UPDATE OF l
"""  # noqa: S608  # constant names
_STORE: Final = f"""
    UPDATE webhooks_lane l
    SET {", ".join(f'"{name}" = came."{name}"' for name in _TYPES)},
        attempts_total = l.attempts_total + came.attempts, failures_total = l.failures_total + came.failed
    FROM {recordset.source({"id": "uuid", "attempts": "integer", "failed": "integer", **_TYPES}, name="came")}
    WHERE l.endpoint_id = came.id
"""  # noqa: S608  # constant names


def locked(endpoint_ids: Iterable[UUID]) -> list[tuple[UUID, Lane]]:
    """Lock and read lanes in the order of their ids.  One query."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCKED, [list(endpoint_ids)])
        return [(key, Lane(*state)) for key, *state in cursor.fetchall()]


def store(
    lanes: Mapping[UUID, Lane],
    *,
    attempts: Mapping[UUID, int] | None = None,
    failures: Mapping[UUID, int] | None = None,
) -> None:
    """Write locked lanes, and count attempts and failures on.  One statement; none for no lane."""
    if not lanes:
        return
    came = (
        {
            "id": key,
            "attempts": (attempts or {}).get(key, 0),
            "failed": (failures or {}).get(key, 0),
            **{name: getattr(lane, name) for name in _TYPES},
        }
        for key, lane in lanes.items()
    )
    with connection.cursor() as cursor:
        cursor.execute(_STORE, {"rows": recordset.rows(came)})
