"""The audit trail: who did or saw what, to whom, when, from where."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from apps.audit.models import AuditEntry
from lib.access import Principal
from lib.ids import uuid7
from lib.rows import insert

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
    """Write one row into the transaction under way, or on its own where there is none.

    A write that cannot be audited fails with it, and so does a read: call this before the answer leaves.  `rider_ids`
    are all riders whose data was shown or changed; `details` holds names of fields, never their values.  Costs one
    insert.
    """
    riders = set(rider_ids)
    if (named := _named.get()) is not None:
        named |= riders
    entry = AuditEntry(
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
    insert(entry)


@contextmanager
def riders_named() -> Iterator[set[UUID]]:
    """Collect the riders that rows written by `record` inside the block name."""
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
    """Write that a valid token, or somebody signed in, was used where or for what they may not be."""
    record(
        by=by,
        action=f"{by.kind}s.denied",
        subject_type=by.kind,
        subject_id=by.id,
        reason=reason,
        outcome=AuditEntry.Outcome.DENIED,
        details=details,
    )


def read_in_one(*, rider_ids: str, waits: bool) -> str:
    """Write the INSERT that records a read, to stand as a common table expression in the very statement that reads.

    `rider_ids` is SQL for the uuid[] shown; `read_parameters` gives the rest.  The row commits with the answer's
    statement, in one round trip.  Where it does not wait for the disk (AUDIT_READS_WAIT, docs/adr/0007), a crash of
    the database server can lose the last fraction of a second of reads, never of writes.
    """
    unhurried = "" if waits else "FROM (SELECT set_config('synchronous_commit', 'off', true)) AS unhurried"
    return f"""
        INSERT INTO audit_auditentry (id, actor, role, action, subject_type, rider_ids, phi, reason, outcome,
            details, request_id, ip)
        SELECT %(audit_id)s, %(audit_actor)s, %(audit_role)s, %(audit_action)s, %(audit_subject_type)s, {rider_ids},
            %(audit_phi)s, '', 'done', '{{}}'::jsonb, %(audit_request_id)s, %(audit_ip)s::inet
        {unhurried}
    """  # `rider_ids` is ours, everything else a parameter


def read_parameters(*, by: Principal, action: str, subject_type: str) -> dict[str, Any]:
    """Give the parameters of `read_in_one`."""
    return {
        "audit_id": uuid7(),
        "audit_actor": by.actor,
        "audit_role": by.role,
        "audit_action": action,
        "audit_subject_type": subject_type,
        "audit_phi": by.phi.name.lower(),
        "audit_request_id": by.request_id,
        "audit_ip": by.ip,
    }
