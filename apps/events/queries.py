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
    """Some events in order, where to go on, and whether there were more already."""

    events: list[Event]
    position: Position
    has_more: bool


def feed(*, by: Principal, types: list[str] | None, after: Position, limit: int) -> Batch:
    """Read what follows the position (transaction, id) `after`, in commit order.

    Rows of transactions that began after one still running are held back until that one ends, so that whoever stores
    the position misses nothing.  PostgreSQL counts the transactions of all databases of a cluster for this.  One query
    on the index `event_feed`.
    """
    transaction, last_id = after
    events = Event.objects.visible_to(by).settled().in_commit_order()
    events = events.filter(transaction__gte=transaction).filter(Q(transaction__gt=transaction) | Q(id__gt=last_id))
    if types is not None:
        events = events.filter(type__in=types)
    found = list(events[: limit + 1])
    shown = found[:limit]
    position = (shown[-1].transaction, shown[-1].pk) if shown else after
    return Batch(shown, position, len(found) > limit)


def position_of(event_id: UUID, *, by: Principal) -> Position | None:
    """Find the position of an event in the feed; None when the principal has no such event."""
    return Event.objects.visible_to(by).filter(pk=event_id).values_list("transaction", "pk").first()


def frontier() -> Position:
    """Give the position behind everything that is settled: whoever starts there hears of what settles from now on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
        return cursor.fetchone()[0], START[1]


def made_since(moment: dt.datetime, *, by: Principal, most: int) -> list[Event]:
    """Read events whose ids were made since then by the clock of whoever recorded them, settled or not.

    One query on the primary key.
    """
    return list(Event.objects.visible_to(by).filter(pk__gte=oldest_of(moment)).order_by("pk")[:most])
