"""The one way an event comes to be."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists

from apps.events.models import Event
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.ids import oldest_of, uuid7


def record(
    *,
    type: str,
    subject_type: str,
    subject_id: UUID,
    sequence: int,
    occurred_at: datetime,
    by: Principal,
    facility_id: UUID | None = None,
    provider_id: UUID | None = None,
    data: dict[str, Any] | None = None,
) -> Event:
    """Write one event into the transaction under way.

    `sequence` is the subject's version after the change; `data` holds ids, statuses and instants in camelCase and no
    personal data.  Costs one insert.

    Raises:
        django.db.IntegrityError: the subject already has an event of this sequence: its row was not locked.
    """
    return Event.objects.create(
        type=type,
        subject_type=subject_type,
        subject_id=subject_id,
        sequence=sequence,
        facility_id=facility_id,
        provider_id=provider_id,
        occurred_at=occurred_at,
        actor=by.actor,
        request_id=by.request_id,
        data=data or {},
    )


def record_all(events: Iterable[Mapping[str, Any]], *, by: Principal) -> None:
    """Write many events as `record` writes one, each given by its columns but for id and caller.  Costs one COPY."""
    who = {"actor": by.actor, "request_id": by.request_id}
    copy_rows(Event, ({"id": uuid7(), **who, **columns} for columns in events))


def claim_outbox(*, most: int) -> list[UUID]:
    """Take the ids of events that nothing was made of yet, oldest first, out of the outbox.

    They are back if the transaction under way is undone.  Call it under a lock that one publisher holds at a time:
    then the events of one subject come in their order.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM events_outboxentry WHERE id IN (SELECT id FROM events_outboxentry ORDER BY id LIMIT %s)"
            " RETURNING id, event_id",
            [most],
        )
        return [event_id for _, event_id in sorted(cursor.fetchall())]


def is_anything_unpublished() -> bool:
    """Say whether there is an event that nothing was made of yet.  One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM events_outboxentry)")
        return bool(cursor.fetchone()[0])


def oldest_unpublished() -> datetime | None:
    """Return when the event that has waited longest in the outbox was recorded; None if it is empty.  One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT e.recorded_at FROM events_outboxentry u JOIN events_event e ON e.id = u.event_id"
            " ORDER BY u.id LIMIT 1"
        )
        row = cursor.fetchone()
        return row[0] if row else None


def take_history() -> None:
    """Take everything out of the outbox, told to nobody: for loading what happened long ago."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM events_outboxentry")


def forget(*, before: datetime, unless: Exists, most: int) -> int:
    """Delete up to `most` of the oldest events recorded before `before` that are no ride's history.

    `unless` keeps those that somebody else still needs: a subquery over OuterRef("pk").  The database refuses to
    forget what happened to rides, and anything of the last day.
    """
    old = Event.objects.filter(pk__lt=oldest_of(before), recorded_at__lt=before).exclude(subject_type="ride")
    rows = old.exclude(unless).order_by("pk").values("pk")[:most]
    with connection.cursor() as cursor:
        sql, params = rows.query.sql_with_params()
        cursor.execute(f"DELETE FROM events_event WHERE id IN ({sql})", params)  # noqa: S608  # constant names, values are parameters
        return int(cursor.rowcount)
