"""The feed: every event once, in an order in which none appears behind a reader."""

import datetime as dt
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from apps.events.models import Event
from lib.access import Principal
from lib.ids import oldest_of

Position = tuple[int, UUID]
START: Final = (0, UUID(int=0))


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in order, the position of the next batch, and whether more are available now."""

    events: list[Event]
    position: Position
    has_more: bool


def feed(*, by: Principal, types: list[str] | None, after: Position, limit: int) -> Batch:
    """Read the events after the position (transaction, id) `after`, in commit order.

    Events of transactions that began after a transaction that is still running are held back until it ends, so that a
    reader that stores the position misses no event.  PostgreSQL counts transactions of all databases of the cluster.
    One query on the index `event_feed`.
    """
    transaction, last_id = after
    events = Event.objects.visible_to(by).settled().in_commit_order()
    events = events.filter(transaction__gte=transaction).filter(Q(transaction__gt=transaction) | Q(id__gt=last_id))
    if types is not None:
        events = events.filter(type__in=types)
    rows = list(events[: limit + 1])
    page = rows[:limit]
    position = (page[-1].transaction, page[-1].pk) if page else after
    return Batch(page, position, len(rows) > limit)


def position_of(event_id: UUID, *, by: Principal) -> Position | None:
    """Return the position of an event in the feed; None if the principal cannot see the event."""
    return Event.objects.visible_to(by).filter(pk=event_id).values_list("transaction", "pk").first()


def frontier() -> Position:
    """Return the position after all settled events: a reader that starts there gets only later events."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return cursor.fetchone()[0], START[1]


def made_since(moment: dt.datetime, *, by: Principal, most: int) -> list[Event]:
    """Read events with ids generated since `moment` (by the clock of the recording process), settled or not.

    One query on the primary key.
    """
    return list(Event.objects.visible_to(by).filter(pk__gte=oldest_of(moment)).order_by("pk")[:most])
