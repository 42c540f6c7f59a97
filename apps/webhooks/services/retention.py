"""What is kept for how long (docs/adr/0012)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from apps.events import services as events
from apps.webhooks.models import Delivery, EndpointSecret
from lib.ids import oldest_of

ROWS_AT_ONCE: Final = 5_000
BATCHES: Final = 200  # in one run; the next hour goes on


_ENDED: Final = """(SELECT id FROM webhooks_delivery
    WHERE id < %(before)s AND status NOT IN ('pending', 'in_flight') ORDER BY id LIMIT %(rows)s)"""


def purge(*, at: datetime) -> int:
    """Delete deliveries with their attempts, events that are no ride's history, past their days, and ended secrets.

    In batches that commit by themselves; says how many deliveries and events went.  What still waits to be delivered
    stays, and so does its event.
    """
    EndpointSecret.objects.filter(expires_at__lte=at).delete()  # nothing is signed with them any more
    # Ids carry the time they were made at: the primary key finds the oldest rows, and no other index is needed.
    before = oldest_of(at - timedelta(days=settings.DELIVERY_RETENTION_DAYS))
    gone = _in_batches(lambda: _delete_deliveries(before))
    needed = Exists(Delivery.objects.filter(event=OuterRef("pk")))
    old = at - timedelta(days=settings.EVENT_RETENTION_DAYS)
    return gone + _in_batches(lambda: events.forget(before=old, unless=needed, most=ROWS_AT_ONCE))


def _in_batches(delete: Callable[[], int]) -> int:
    total = 0
    for _ in range(BATCHES):
        count = delete()
        total += count
        if count < ROWS_AT_ONCE:
            break
    return total


@transaction.atomic
def _delete_deliveries(before: UUID) -> int:
    values: dict[str, Any] = {"before": before, "rows": ROWS_AT_ONCE}
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM webhooks_attempt WHERE delivery_id IN {_ENDED}", values)  # noqa: S608  # constant names, values are parameters
        cursor.execute(f"DELETE FROM webhooks_delivery WHERE id IN {_ENDED}", values)  # noqa: S608  # constant names, values are parameters
        return int(cursor.rowcount)
