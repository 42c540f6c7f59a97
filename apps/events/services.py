"""The one way an event comes to be."""

from datetime import datetime
from typing import Any
from uuid import UUID

from apps.events.models import Event
from lib.access import Principal
from lib.rows import insert


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
    event = Event(
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
    insert(event)
    return event
