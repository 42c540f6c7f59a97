"""The audit trail: who did or saw what, to whom, when, from where."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from apps.audit.models import AuditEntry
from lib.access import Principal

_named: ContextVar[set[UUID] | None] = ContextVar("riders_named", default=None)


def record(
    *,
    by: Principal,
    action: str,
    subject_type: str = "",
    subject_id: UUID | None = None,
    rider_ids: Iterable[UUID] = (),
    facility_id: UUID | None = None,
    phi: str = "",
    reason: str = "",
    outcome: str = AuditEntry.Outcome.DONE,
    details: dict[str, Any] | None = None,
) -> None:
    """Record an entry in the current transaction, or on its own if there is none.

    If the entry cannot be written, the change or read fails: call this before the response is sent.  `rider_ids` are
    all riders whose data was shown or changed; `details` holds names of fields, never values.  One insert.
    """
    riders = set(rider_ids)
    if (named := _named.get()) is not None:
        named |= riders
    AuditEntry.objects.create(
        actor=by.actor,
        role=by.role,
        action=action,
        subject_type=subject_type,
        subject_id=subject_id,
        rider_ids=sorted(riders),
        facility_id=facility_id,
        phi=phi,
        reason=reason[:500],
        outcome=outcome,
        details=details or {},
        request_id=by.request_id,
        ip=by.ip,
    )


@contextmanager
def riders_named() -> Iterator[set[UUID]]:
    """Collect the riders of all entries that are recorded inside the block."""
    riders: set[UUID] = set()
    around = _named.get()
    token = _named.set(riders)
    try:
        yield riders
    finally:
        _named.reset(token)
        if around is not None:
            around |= riders


def record_denial(*, by: Principal, reason: str, details: dict[str, Any] | None = None) -> None:
    """Record that a valid token or a signed-in user was refused for lack of rights."""
    record(
        by=by,
        action=f"{by.kind}s.denied",
        subject_type=by.kind,
        subject_id=by.id,
        reason=reason,
        outcome=AuditEntry.Outcome.DENIED,
        details=details,
    )
