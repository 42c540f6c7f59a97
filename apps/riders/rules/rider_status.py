"""The status of a rider, its reason and period, and whether the rider may be booked."""

from datetime import date
from typing import TYPE_CHECKING, Any, Final

from lib.choices import TextChoices
from lib.errors import InvalidInput
from lib.messages import FieldName, Template
from lib.messages import gettext_lazy as _

if TYPE_CHECKING:
    from apps.riders.models import Rider


class RiderStatus(TextChoices):
    ACTIVE = "active", _("Active")
    INACTIVE = "inactive", _("Inactive")
    ON_HOLD = "on_hold", _("on hold")
    DO_NOT_BOOK = "do_not_book", _("do not book")
    DECEASED = "deceased", _("Deceased")


# A rider who cannot be booked has a right to know the reason.
NEEDS_REASON: Final = frozenset({RiderStatus.INACTIVE, RiderStatus.ON_HOLD, RiderStatus.DO_NOT_BOOK})
_OF_STATUS: Final[dict[str, Any]] = {"status_reason": "", "status_from": None, "status_until": None}


def barred(rider: "Rider", day: date) -> Template | None:
    """Return why the rider's record allows no ride on that service date; None if it does."""
    begins, ends = rider.status_from, rider.status_until
    holds = (begins is None or begins <= day) and (ends is None or day <= ends)
    if rider.status == RiderStatus.DECEASED:
        return _("The rider's record says that they have died.")
    if rider.status == RiderStatus.DO_NOT_BOOK and holds:
        return _("The rider is not to be booked.")
    if rider.status == RiderStatus.ON_HOLD and holds:
        return _("The rider is on hold on that day.")
    return None


def completed(columns: dict[str, Any], *, status_before: str) -> dict[str, Any]:
    """Reset reason and period when the status changes and no new ones are given."""
    if columns.get("status", status_before) == status_before:
        return dict(columns)
    return {**_OF_STATUS, **columns}


def check(rider: "Rider") -> None:
    """Check that reason and period fit the status.

    Raises:
        InvalidInput: names `statusReason` or `statusUntil`.
    """
    if rider.status in NEEDS_REASON and not rider.status_reason:
        raise InvalidInput("statusReason", _("%(field)s is required with this status."), detail_code="required")
    begins, ends = rider.status_from, rider.status_until
    if begins is not None and ends is not None and ends < begins:
        raise InvalidInput(
            "statusUntil", _("%(field)s must not be before %(status_from)s."), status_from=FieldName("statusFrom")
        )
