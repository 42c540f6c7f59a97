"""Records of reads: which riders an answer showed, to whom, at which level of detail.

Views write the row before the answer leaves, so that a read that cannot be recorded shows nothing.  API views inherit
`AuditedReads`, pages call `record_read`.  Writes are recorded by the services that make them (`services.audit.record`).
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from apps.audit.services import audit
from lib.access import Principal


def record_read(
    *,
    by: Principal,
    action: str,
    subject_type: str = "",
    subject_id: UUID | None = None,
    rider_ids: Iterable[UUID] = (),
    facility_id: UUID | None = None,
    phi: bool = True,
    details: dict[str, Any] | None = None,
) -> None:
    """Record that the caller read a record or a list; one insert.

    `rider_ids` are all riders on it.  `phi`: it showed riders at the caller's level; False for what names none.
    """
    audit.record(
        by=by,
        action=action,
        subject_type=subject_type,
        subject_id=subject_id,
        rider_ids=rider_ids,
        facility_id=facility_id,
        phi=by.phi.name.lower() if phi else "",
        details=details,
    )


class AuditedReads:
    """A mixin of API views that show riders."""

    principal: Any  # Principal: a property of ApiViewSet

    def record_read(self, action: str, **columns: Any) -> None:
        """Record what this answer shows; `columns` are the arguments of the function of this name."""
        record_read(by=self.principal, action=action, **columns)
