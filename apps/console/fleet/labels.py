"""Labels of credentials and their urgency, and of the status of drivers and vehicles."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.console.fleet.credential_board import Cell
from apps.console.ride.labels import Badge
from apps.fleet.models import Activation, CredentialType, Driver, Vehicle, VehicleStatus
from apps.fleet.rules.credentials import Urgency
from apps.rides.labels import driver_name
from lib.access import Principal
from lib.file_kinds import FileKind

Text = str | Promise

URGENCIES: Final[Mapping[Urgency, Badge]] = {
    Urgency.EXPIRED: Badge("bad", "✕", gettext_lazy("Expired")),
    Urgency.MISSING: Badge("bad", "○", gettext_lazy("Missing")),
    Urgency.REJECTED: Badge("bad", "⊘", gettext_lazy("Rejected")),
    Urgency.WITHIN_7: Badge("bad", "▲", gettext_lazy("7 days or less")),
    Urgency.WITHIN_30: Badge("warn", "◆", gettext_lazy("30 days or less")),
    Urgency.WITHIN_60: Badge("info", "◷", gettext_lazy("60 days or less")),
    Urgency.VALID: Badge("ok", "✓", gettext_lazy("Valid")),
    Urgency.NOT_FILED: Badge("quiet", "·", gettext_lazy("Not filed")),
}
# Labels of the board's filter, in this order.
NARROWED: Final[Mapping[str, Text]] = {
    "not_valid": gettext_lazy("Not valid"),
    "expired": gettext_lazy("Expired"),
    "missing": gettext_lazy("Missing"),
    "rejected": gettext_lazy("Rejected"),
    "within_7": gettext_lazy("7 days or less"),
    "within_30": gettext_lazy("30 days or less"),
    "within_60": gettext_lazy("60 days or less"),
    "unverified": gettext_lazy("Not verified"),
    "sound": gettext_lazy("All valid"),
}
ACTIVATIONS: Final[Mapping[str, Badge]] = {
    Activation.PENDING: Badge("info", "○", gettext_lazy("Not active yet")),
    Activation.ACTIVE: Badge("ok", "✓", gettext_lazy("Active")),
    Activation.SUSPENDED: Badge("bad", "⊘", gettext_lazy("Suspended")),
    Activation.INACTIVE: Badge("quiet", "✕", gettext_lazy("Terminated")),
}
VEHICLE_STATUSES: Final[Mapping[str, Badge]] = {
    VehicleStatus.IN_SERVICE: Badge("ok", "✓", gettext_lazy("In service")),
    VehicleStatus.OUT_OF_SERVICE: Badge("bad", "⊘", gettext_lazy("Out of service")),
    VehicleStatus.MAINTENANCE: Badge("warn", "◆", gettext_lazy("Maintenance")),
    VehicleStatus.RETIRED: Badge("quiet", "✕", gettext_lazy("Retired")),
}
KINDS: Final[Mapping[str, str]] = {FileKind.PDF: "PDF", FileKind.JPEG: "JPEG", FileKind.PNG: "PNG"}
_COUNTED: Final = frozenset({Urgency.WITHIN_7, Urgency.WITHIN_30, Urgency.WITHIN_60})


def credential_label(type_: str) -> str:
    return capfirst(str(CredentialType(type_).label))


def name_of(owner: Driver | Vehicle, by: Principal) -> str:
    return driver_name(owner, by) if isinstance(owner, Driver) else owner.unit_number


def status_badge(owner: Driver | Vehicle) -> Badge:
    """Return the badge of a driver's activation or a vehicle's status."""
    return ACTIVATIONS[owner.activation] if isinstance(owner, Driver) else VEHICLE_STATUSES[owner.status]


def state(cell: Cell) -> str:
    """Return the status of a credential: days left if it expires soon, else its urgency in a word."""
    if cell.urgency not in _COUNTED:
        return str(URGENCIES[cell.urgency].text)
    if not cell.days:
        return _("Expires today")
    return ngettext("%(count)s day left", "%(count)s days left", cell.days) % {"count": cell.days}


def review(awaits: bool) -> str:
    """Return a note if a filed credential has not been verified, else ""."""
    return _("not verified") if awaits else ""


def broken(count: int) -> str:
    """Return the number of assigned rides on days when a credential is not valid, as text; "" if there are none."""
    return ngettext("%(count)s ride at risk", "%(count)s rides at risk", count) % {"count": count} if count else ""
