"""Recording events, and the outbox of events that no webhook delivery has been created for.

A trigger adds each event to the outbox in the same transaction, so an event is published if and only if it commits.
"""

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
    """Record an event in the current transaction.

    `sequence` is the subject's version after the change; `data` holds ids, statuses and instants in camelCase and no
    personal data.  One insert.

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
    """Record many events, each given by its columns except id and caller.  One COPY."""
    caller = {"actor": by.actor, "request_id": by.request_id}
    copy_rows(Event, ({"id": uuid7(), **caller, **columns} for columns in events))


def claim_outbox(*, most: int) -> list[UUID]:
    """Remove up to `most` entries from the outbox, oldest first, and return their event ids.

    A rollback restores them.  Call it under a lock that one publisher holds at a time, so that the events of a subject
    stay in order.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM events_outboxentry WHERE id IN (SELECT id FROM events_outboxentry ORDER BY id LIMIT %s)"
            " RETURNING id, event_id",
            [most],
        )
        return [event_id for _, event_id in sorted(cursor.fetchall())]


def is_anything_unpublished() -> bool:
    """Return whether the outbox has entries.  One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM events_outboxentry)")
        return bool(cursor.fetchone()[0])


def oldest_unpublished() -> datetime | None:
    """Return when the oldest event in the outbox was recorded; None if the outbox is empty.  One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT e.recorded_at FROM events_outboxentry u JOIN events_event e ON e.id = u.event_id"
            " ORDER BY u.id LIMIT 1"
        )
        row = cursor.fetchone()
        return row[0] if row else None


def clear_outbox() -> None:
    """Empty the outbox without publishing: for loading historical data."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM events_outboxentry")


def forget(*, before: datetime, unless: Exists, most: int) -> int:
    """Delete up to `most` of the oldest events recorded before `before` that do not belong to a ride.

    `unless` is a subquery over OuterRef("pk") that excludes events still in use.  A trigger refuses to delete events of
    rides and of the last day.
    """
    old = Event.objects.filter(pk__lt=oldest_of(before), recorded_at__lt=before).exclude(subject_type="ride")
    rows = old.exclude(unless).order_by("pk").values("pk")[:most]
    with connection.cursor() as cursor:
        sql, params = rows.query.sql_with_params()
        cursor.execute(f"DELETE FROM events_event WHERE id IN ({sql})", params)  # noqa: S608  # constant names, values are parameters
        return int(cursor.rowcount)
