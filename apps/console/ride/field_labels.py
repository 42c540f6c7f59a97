"""Labels and texts of changed fields in the history of a ride."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.ride import labels as ride_labels
from apps.rides.models import Ride
from apps.rides.rules.change_values import FieldChange

Text = str | Promise
_TIMES: Final = frozenset({"pickupTime", "appointmentTime", "discharge.expectedReadyAt"})
# Fields that follow from others, or whose values are ids.
_HIDDEN: Final = (".lat", ".lng", ".facilityId", ".entranceId", "payer.payerId", "requestedBy.userId")
_LABELS: Final[Mapping[str, Text]] = {
    "pickupTime": gettext_lazy("Pickup time"),
    "appointmentTime": gettext_lazy("Appointment"),
    "schedulingAnchor": gettext_lazy("Time counts for"),
    "willCall": gettext_lazy("Will-call"),
    "serviceType": gettext_lazy("Trip type"),
    "priority": gettext_lazy("Priority"),
    "vehicleTypeRequested": gettext_lazy("Vehicle type"),
    "pickup": gettext_lazy("Pickup"),
    "dropoff": gettext_lazy("Destination"),
    "accommodation": gettext_lazy("Needs"),
    "companions": gettext_lazy("Companions"),
    "discharge": gettext_lazy("Discharge"),
    "dialysis": gettext_lazy("Dialysis"),
    "payer": gettext_lazy("Payer"),
    "requestedBy": gettext_lazy("Requested by"),
    "notes.driver": gettext_lazy("Driver note"),
    "notes.facility": gettext_lazy("Facility note"),
    "notes.dispatcher": gettext_lazy("Internal note"),
}


def field_label(path: str) -> str:
    """Return the label of a field by its path in the API, such as "Destination: city"."""
    if path in _LABELS:
        return str(_LABELS[path])
    part, _dot, rest = path.partition(".")
    name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in rest).replace(".", ", ")
    return f"{_LABELS.get(part, part)}: {name}" if rest else str(_LABELS.get(part, part))


def value_text(path: str, value: Any, zone: str) -> str:
    """Return a value as text; times in `zone`, "none" for no value."""
    if value is None:
        return _("none")
    if path in _TIMES:
        return ride_labels.day_and_clock(datetime.fromisoformat(value), zone)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).replace("_", " ")


def change_lines(changes: list[FieldChange], ride: Ride) -> list[str]:
    """Describe the changes with old and new values, without those that only follow from others."""
    lines = []
    for change in changes:
        if change.field.endswith(_HIDDEN):
            continue
        label = field_label(change.field)
        if change.before is None and change.after is None:
            lines.append(_("%(field)s: changed") % {"field": label})
        else:
            before, after = (value_text(change.field, value, ride.timezone) for value in (change.before, change.after))
            lines.append(_("%(field)s: %(before)s → %(after)s") % {"field": label, "before": before, "after": after})
    return lines
