"""How fast what is sent again leaves: due one after the other, WEBHOOK_REPLAYS_PER_SECOND at each endpoint.

Whatever is added is due after what waits already, so that two recoveries follow each other.  What falls due while the
breaker keeps everything back goes to the end of its queue, so that it does not leave at once when the breaker closes.
"""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from apps.webhooks.models import Delivery

QUEUE_LOCK: Final = 0x77686B03  # with a hash of the endpoint: one adds to a queue at a time
MOST_MOVED: Final = 5_000  # of one endpoint at once; as much falls due in eight minutes

# The rows of a queue; those that were tried have due times of their own.
_QUEUED: Final = "d.status = 'pending' AND d.priority = 2 AND d.attempts = 0"
# Waits for nobody: what somebody adds to, or holds, is left to the next time.  What is older than it may be stays as it
# is, for `watching` to end it.
_MOVE: Final = f"""
    WITH kept_back AS MATERIALIZED (
        SELECT l.endpoint_id, greatest(%(at)s, l.open_until) AS until FROM webhooks_lane l
        WHERE l.trips > 0
            AND EXISTS (SELECT FROM webhooks_delivery d
                WHERE d.endpoint_id = l.endpoint_id AND {_QUEUED} AND d.due_at <= %(at)s AND d.expires_at > %(at)s)
            AND pg_try_advisory_xact_lock(%(lock)s, hashtext(l.endpoint_id::text))
    ), overdue AS MATERIALIZED (
        SELECT found.id, greatest(k.until, (SELECT d.due_at FROM webhooks_delivery d
                WHERE d.endpoint_id = k.endpoint_id AND {_QUEUED} ORDER BY d.due_at DESC LIMIT 1))
            + row_number() OVER (PARTITION BY k.endpoint_id ORDER BY found.due_at, found.id) * %(gap)s::interval AS due
        FROM kept_back k CROSS JOIN LATERAL (
            SELECT d.id, d.due_at FROM webhooks_delivery d
            WHERE d.endpoint_id = k.endpoint_id AND {_QUEUED} AND d.due_at <= %(at)s AND d.expires_at > %(at)s
            ORDER BY d.due_at, d.id LIMIT %(most)s
            FOR NO KEY UPDATE SKIP LOCKED) found
    )
    UPDATE webhooks_delivery d SET due_at = overdue.due FROM overdue WHERE d.id = overdue.id
"""  # noqa: S608  # constant names, values are parameters


def gap() -> timedelta:
    """Say how long after one the next is due."""
    return timedelta(seconds=1 / settings.WEBHOOK_REPLAYS_PER_SECOND)


def end_of_queue(endpoint_id: UUID, *, at: datetime) -> datetime:
    """Say when the last of what waits to be sent again to an endpoint is due; `at`, where nothing is later.

    Nobody else adds to the queue until the transaction ends: whoever does it now is waited for.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s::text))", [QUEUE_LOCK, endpoint_id])
    queue = Delivery.objects.filter(endpoint=endpoint_id, status="pending", priority=Delivery.Priority.REPLAY)
    last = queue.filter(attempts=0).order_by("-due_at").values_list("due_at", flat=True).first()
    return at if last is None else max(at, last)


def keep(*, at: datetime) -> int:
    """Put what fell due behind breakers that have opened at the end of its queue; say how much was moved."""
    values: dict[str, Any] = {"at": at, "gap": gap(), "most": MOST_MOVED, "lock": QUEUE_LOCK}
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, values)
        return int(cursor.rowcount)
