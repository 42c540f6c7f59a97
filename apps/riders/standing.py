"""Whether a rider may be booked: the status, its reason and its period."""

from typing import Any, Final

from apps.riders.models import Rider, RiderStatus
from lib.errors import InvalidInput

# A rider that somebody turned away, or set aside, has a right to know why.
NEEDS_REASON: Final = frozenset({RiderStatus.INACTIVE, RiderStatus.ON_HOLD, RiderStatus.DO_NOT_BOOK})
_OF_STATUS: Final[dict[str, Any]] = {"status_reason": "", "status_from": None, "status_until": None}


def completed(columns: dict[str, Any], *, status_before: str) -> dict[str, Any]:
    """Drop reason and period of the old status when there is a new one that does not bring its own."""
    if columns.get("status", status_before) == status_before:
        return dict(columns)
    return {**_OF_STATUS, **columns}


def check(rider: Rider) -> None:
    """Refuse a status that says too little, or a period that ends before it begins.

    Raises:
        InvalidInput: names `statusReason` or `statusUntil`.
    """
    if rider.status in NEEDS_REASON and not rider.status_reason:
        raise InvalidInput("statusReason", "statusReason is required with this status.", detail_code="required")
    begins, ends = rider.status_from, rider.status_until
    if begins is not None and ends is not None and ends < begins:
        raise InvalidInput("statusUntil", "statusUntil must not lie before statusFrom.")
