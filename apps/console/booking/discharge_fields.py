"""Discharge fields of the booking form: pickup point, contacts, receiving person and checklist."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.console.booking.fields import ClockField
from apps.console.ride import labels as ride_labels
from apps.organizations.models import Entrance, Facility
from apps.rides import pickup_points
from lib.console_forms import choose
from lib.phones import PhoneField

# Checklist items of the API by form field: `item_order_signed` is `orderSigned`.
ITEMS: Final[Mapping[str, str]] = {
    "item_" + "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): key
    for key in ride_labels.CHECKLIST
}
_COLLAPSED: Final = ("entrance", "receiving_name", "receiving_phone", "receiving_by")


def _optional(choices: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [("", gettext_lazy("Not specified")), *choices]


class DischargeFields(forms.Form):
    """Fields of a hospital discharge.

    `received_until` is the instant of `receiving_by`; the booking form sets it when it validates.
    """

    unit = forms.CharField(label=gettext_lazy("Unit"), required=False, max_length=50)
    unit_phone = PhoneField(label=gettext_lazy("Unit phone"), required=False)
    room = forms.CharField(label=gettext_lazy("Room"), required=False, max_length=50)
    meet_at = forms.ChoiceField(
        label=gettext_lazy("Meet at"),
        required=False,
        choices=_optional(pickup_points.PLACES.items()),
    )
    destination_kind = forms.ChoiceField(
        label=gettext_lazy("Discharged to"),
        required=False,
        choices=_optional(
            (
                ("home", pgettext_lazy("place", "Home")),
                ("snf", gettext_lazy("Skilled nursing")),
                ("rehab", gettext_lazy("Rehab")),
                ("hospital", gettext_lazy("Hospital")),
                ("hospice", gettext_lazy("Hospice")),
                ("shelter", gettext_lazy("Shelter")),
                ("other", gettext_lazy("Other")),
            )
        ),
    )
    planner_name = forms.CharField(label=gettext_lazy("Planner"), required=False, max_length=100)
    planner_phone = PhoneField(label=gettext_lazy("Planner phone"), required=False)
    entrance = forms.ChoiceField(label=gettext_lazy("Entrance"), required=False)
    receiving_name = forms.CharField(label=gettext_lazy("Received by"), required=False, max_length=200)
    receiving_phone = PhoneField(label=gettext_lazy("Receiving contact phone"), required=False)
    receiving_by = ClockField(label=gettext_lazy("Accepts until"), required=False)

    received_until: datetime | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("unit", "room", "planner_name", "receiving_name"):
            self.fields[name].widget.attrs["autocomplete"] = "off"
        for name, key in ITEMS.items():
            self.fields[name] = forms.BooleanField(label=cast(str, ride_labels.CHECKLIST[key]), required=False)

    def offer_entrances(self, facility: Facility | None) -> None:
        """Set the choices of `entrance` to the entrances of the facility.  One query, none without a facility."""
        entrances = [] if facility is None else Entrance.objects.filter(facility=facility).order_by("name", "pk")
        choose(
            self,
            "entrance",
            [(entrance.pk, entrance.name) for entrance in entrances],
            first=gettext_lazy("Not specified"),
        )

    def discharge(self) -> dict[str, Any]:
        """Return the discharge in the API's shape, without empty values."""
        cleaned = self.cleaned_data
        planner = {"name": cleaned["planner_name"], "phone": cleaned["planner_phone"]}
        until = self.received_until
        receiving = {
            "name": cleaned["receiving_name"],
            "phone": cleaned["receiving_phone"],
            "acceptBy": "" if until is None else until.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        }
        discharge = {
            "unit": cleaned["unit"],
            "unitPhone": cleaned["unit_phone"],
            "room": cleaned["room"],
            "meetAt": cleaned["meet_at"],
            "destinationKind": cleaned["destination_kind"],
            "planner": {key: text for key, text in planner.items() if text} if cleaned["planner_name"] else {},
            "pickupEntranceId": cleaned["entrance"],
            "receiving": {key: text for key, text in receiving.items() if text},
            "checklist": {key: True for name, key in ITEMS.items() if cleaned[name]},
        }
        return {key: value for key, value in discharge.items() if value}

    # For the template

    @property
    def more_discharge(self) -> list[forms.BoundField]:
        return [self[name] for name in _COLLAPSED]

    @property
    def checklist_items(self) -> list[forms.BoundField]:
        return [self[name] for name in ITEMS]

    @property
    def more_discharge_summary(self) -> str:
        """Summarize the filled-in fields of the collapsed section: entrance, receiving person, checked items."""
        names = dict(self.fields["entrance"].choices)  # type: ignore[attr-defined]  # a ChoiceField
        entrance_id = self["entrance"].value()
        checked = [str(item.label) for item in self.checklist_items if item.value()]
        return ", ".join(
            filter(
                None, (str(names.get(entrance_id, "")) if entrance_id else "", self["receiving_name"].value(), *checked)
            )
        )

    @property
    def more_discharge_has_errors(self) -> bool:
        return any(name in self.errors for name in _COLLAPSED)
