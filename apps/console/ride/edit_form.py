"""The form that edits a booked ride, made of the parts of the booking form.

The fields that the status of the ride does not allow to change are left out.  `changes` returns what differs from the
ride, for `editing.edit`.  `base` holds the values that the page showed: with it, `merges` finds what somebody else has
changed meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.booking.fields import TimesFields
from apps.console.booking.needs_fields import COMPANIONS, FOR_DISPATCHERS, NEEDS, NeedFields
from apps.console.booking.place_fields import CURRENT, Place, PlaceChoices, PlaceFields, home_of, saved_places_of
from apps.console.booking.presets import ARRIVE, PICKUP, WILL_CALL
from apps.organizations.models import Entrance, Facility, Payer
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking_preview, legs
from apps.rides.services.edit_checks import EDITABLE
from apps.rides.services.editing import CrewAction
from lib.access import Principal
from lib.clocks import clock
from lib.console_forms import add_errors, choose
from lib.errors import DomainError
from lib.ids import uuid_or_none
from lib.phones import PhoneField

PLACES: Final = (
    Place("pickup_from", "", "pickup", gettext_lazy("Pickup")),
    Place("dropoff_at", "dropoff_", "dropoff", gettext_lazy("Destination")),
)
MERGE: Final = "merge_"  # prefix of the choice between both values of a field
MINE: Final = "mine"
THEIRS: Final = "theirs"
_TIMES: Final = ("when", "clock", "day", "pickup_clock", "which")
_NOTES: Final = ("driver", "facility", "dispatcher")
_CHOICES: Final = (
    "version",
    "base",
    "which",
    "crew",
    "new_driver",
    "new_vehicle",
    "override_reason",
    "move_return",
    "allow_duplicate",
)
_FIELDS: Final[Mapping[str, str]] = {
    "payer.payerId": "payer",
    "authorizationNumber": "authorization_number",
    "returnLeg.pickupTime": "move_return",
    "assignment.action": "crew",
    "assignment.driverId": "crew",
    "assignment.vehicleId": "crew",
    "overrideReason": "override_reason",
    "requestedBy.phone": "contact_phone",
}


@dataclass(frozen=True, slots=True)
class Merge:
    """A field that somebody else changed meanwhile; `chosen` is `MINE` or `THEIRS`."""

    name: str
    label: str
    mine: str
    theirs: str
    chosen: str


class EditForm(TimesFields):
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    base = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)
    driver_notes = forms.CharField(
        label=gettext_lazy("Note to the driver"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    facility_notes = forms.CharField(
        label=gettext_lazy("Facility note"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    dispatcher_notes = forms.CharField(
        label=gettext_lazy("Internal (dispatch only)"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    payer = forms.ChoiceField(label=gettext_lazy("Payer"), required=False)
    authorization_number = forms.CharField(label=gettext_lazy("Authorization"), required=False, max_length=50)
    contact_name = forms.CharField(label=gettext_lazy("Requested by"), required=False, max_length=100)
    contact_phone = PhoneField(label=gettext_lazy("Phone"), required=False)
    crew = forms.ChoiceField(
        label=gettext_lazy("The driver"),
        required=False,
        widget=forms.RadioSelect,
        choices=(
            (CrewAction.KEEP.value, gettext_lazy("Keep the driver")),
            (CrewAction.REASSIGN.value, gettext_lazy("Reassign")),
            (CrewAction.UNASSIGN.value, gettext_lazy("Unassign the driver")),
        ),
    )
    new_driver = forms.UUIDField(widget=forms.HiddenInput, required=False)
    new_vehicle = forms.UUIDField(widget=forms.HiddenInput, required=False)
    override_reason = forms.CharField(label=gettext_lazy("Reason for the override"), required=False, max_length=500)
    move_return = forms.BooleanField(label=gettext_lazy("Move the return trip along"), required=False, initial=True)
    allow_duplicate = forms.BooleanField(label=gettext_lazy("Save anyway"), required=False)

    def __init__(self, *args: Any, ride: Ride, by: Principal, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ride, self.by, self.zone, self.now = ride, by, ride.timezone, now
        editable = EDITABLE[RideStatus(ride.status)]
        disclosure = disclosure_of(by)
        self._initial_times()
        self._initial_texts()
        self.places = [self._place(place, disclosure.door_codes) for place in PLACES if place.wire in editable]
        self.needs, self.companions = self._needs(editable, disclosure.dispatcher_notes)
        for name in ("way_back", "back_clock", *(() if "pickup_at" in editable else _TIMES)):
            del self.fields[name]
        if not disclosure.dispatcher_notes:
            del self.fields["dispatcher_notes"]
        for part, names in (
            ("payment", ("payer", "authorization_number")),
            ("requested_by", ("contact_name", "contact_phone")),
        ):
            for name in names if part not in editable else ():
                del self.fields[name]
        self.initial.update({"version": ride.version, "base": self._base()})
        if not self.is_bound and "clock" in self.fields:
            self.fields["clock"].widget.attrs["autofocus"] = True

    @property
    def is_recorded(self) -> bool:
        return self.ride.after_the_fact

    def _initial_times(self) -> None:
        ride, zone = self.ride, ZoneInfo(self.ride.timezone)
        self._is_arrival = ride.scheduling_anchor == "appointment" and ride.appointment_at is not None
        pickup = ride.pickup_at.astimezone(zone)
        shown = ride.appointment_at.astimezone(zone) if self._is_arrival and ride.appointment_at else pickup
        self.initial.update(
            {
                "when": WILL_CALL if ride.will_call else ARRIVE if self._is_arrival else PICKUP,
                "clock": clock(shown),
                "day": shown.date(),
                "pickup_clock": clock(pickup) if self._is_arrival else "",
            }
        )

    def _initial_texts(self) -> None:
        ride = self.ride
        self.initial.update({f"{name}_notes": getattr(ride, f"{name}_notes") for name in _NOTES})
        self.initial.update(
            {
                "payer": str(ride.payer_id or ""),
                "authorization_number": ride.authorization_number,
                "contact_name": ride.requested_by.get("name") or "",
                "contact_phone": ride.requested_by.get("phone") or "",
            }
        )
        payers = [(row.pk, row.name) for row in Payer.objects.filter(active=True).order_by("name")]
        if ride.payer is not None and not ride.payer.active:
            payers.append((ride.payer.pk, ride.payer.name))
        choose(self, "payer", payers, first=_("None"))

    def _place(self, place: Place, opens_doors: bool) -> PlaceFields:
        access = legs.opened_access(getattr(self.ride, f"{place.wire}_access"))
        current = {**getattr(self.ride, place.wire), **access}
        facility = getattr(self.ride, f"{place.wire}_facility")
        others = Facility.objects.visible_to(self.by).filter(active=True).order_by("name", "pk")
        offered: PlaceChoices = {
            **home_of(self.ride.rider),
            **saved_places_of(self.ride.rider),
            **{
                f"at-{other.pk}": (other.name, {"facilityId": str(other.pk)})
                for other in others
                if facility is None or other.pk != facility.pk
            },
        }
        fields = PlaceFields(self, place, current=current, offered=offered, opens_doors=opens_doors)
        code_labels = {"pickup": _("Door code at the pickup"), "dropoff": _("Door code at the destination")}
        self.fields[f"{place.prefix}access_code"].label = code_labels[place.wire]
        if facility is not None:
            entrances = list(Entrance.objects.filter(facility=facility).order_by("name", "pk"))
            if entrances:
                name = f"{place.wire}_entrance"
                self.fields[name] = forms.ChoiceField(label=_("Entrance"), required=False)
                choose(self, name, [(row.pk, row.name) for row in entrances], first=_("Not specified"))
                self.initial[name] = current.get("entranceId") or ""
        return fields

    def _needs(self, editable: frozenset[str], sees_all: bool) -> tuple[NeedFields | None, NeedFields | None]:
        if "accommodation" not in editable:
            return None, None
        needs = [need for need in NEEDS if need.name != FOR_DISPATCHERS or sees_all]
        current = accommodation.complete(self.ride.accommodation)
        return (
            NeedFields(self, needs, wire="accommodation", current=current, usual={}, is_complete=True),
            NeedFields(self, COMPANIONS, wire="companions", current=self.ride.companions, usual={}),
        )

    # Changes by somebody else

    def _shown_values(self) -> dict[str, str]:
        """Return the current values of the ride as the form shows them, by field."""
        names = [name for name in self.fields if name not in _CHOICES]
        return {name: _as_text(self.get_initial_for_field(self.fields[name], name)) for name in names}

    def _base(self) -> str:
        return orjson.dumps(self._shown_values()).decode()

    @property
    def is_stale(self) -> bool:
        return str(self.data.get("version", "")) != str(self.ride.version)

    def merges(self) -> list[Merge]:
        """List the fields that differ now from what the page had shown."""
        try:
            base = dict(orjson.loads(self.data.get("base") or "{}"))
        except orjson.JSONDecodeError:
            base = {}
        current, merges = self._shown_values(), []
        for name, theirs in current.items():
            mine = str(self.data.get(name, ""))
            if name not in base or base[name] == theirs or mine == theirs:
                continue
            chosen = THEIRS if mine == base[name] else MINE
            label, field = str(self.fields[name].label), self.fields[name]
            merges.append(Merge(name, label, _shown(field, mine), _shown(field, theirs), chosen))
        return merges

    def take_theirs(self) -> None:
        """Replace the values for which the user chose those of somebody else; call it before validation."""
        current = self._shown_values()
        data = _copy(self.data)
        for name, theirs in current.items():
            if data.get(MERGE + name) == THEIRS:
                data[name] = theirs
        self.data = data

    def refresh(self) -> None:
        """Set the version and the base to those of the ride now, for the page that shows both values."""
        data = _copy(self.data)
        data["version"], data["base"] = str(self.ride.version), self._base()
        self.data = data

    # Validation and result

    def clean(self) -> dict[str, Any]:
        for place in self.places:
            place.check()
        if "clock" in self.fields:
            self.check_times(self.ride.service_type)
            if not self.errors and self.appointment_at is not None:
                self._set_pickup(self.appointment_at)
        return self.cleaned_data

    def _set_pickup(self, appointment_at: datetime) -> None:
        """Set the pickup time of an arrival: as entered, moved along with the appointment, or by the drive."""
        before = self.ride.appointment_at
        is_untouched = self._is_arrival and "pickup_clock" not in self.changed_data and before is not None
        if is_untouched and before is not None:
            self.pickup_at = self.ride.pickup_at + (appointment_at - before)
        elif self.pickup_at is None:
            self.pickup_at = booking_preview.pickup_for(
                appointment_at,
                pickup=self.ride.pickup,
                dropoff=self.ride.dropoff,
                facility_id=self.ride.facility_id,
                mobility=self.ride.accommodation["mobility"],
                by=self.by,
            )
            if self.pickup_at is None:
                self.add_error("pickup_clock", _("The drive time is unknown: enter the pickup time."))

    def changes(self) -> dict[str, Any]:
        """Return what differs from the ride, as `editing.edit` takes it; requires a valid form."""
        return {
            **self._changed_times(),
            **self._changed_places(),
            **self._changed_needs(),
            **self._changed_texts(),
        }

    def _changed_times(self) -> dict[str, Any]:
        if "clock" not in self.fields or not {"when", "clock", "day", "pickup_clock", "which"} & set(self.changed_data):
            return {}
        ride, when = self.ride, self.cleaned_data["when"]
        after = {
            "pickup_at": self.pickup_at,
            "appointment_at": self.appointment_at or ride.appointment_at,
            "scheduling_anchor": "appointment" if when == ARRIVE else "pickup",
            "will_call": when == WILL_CALL,
        }
        return {name: value for name, value in after.items() if value != getattr(ride, name)}

    def _changed_places(self) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        for fields in self.places:
            stop = fields.stop()
            patch: dict[str, Any] = fields.patch() if stop is None else stop
            entrance = f"{fields.place.wire}_entrance"
            is_current = self.cleaned_data.get(fields.place.choice) == CURRENT
            if is_current and entrance in self.changed_data:
                patch = {**patch, "entranceId": self.cleaned_data[entrance] or None}
            if patch:
                changes[fields.place.wire] = patch
        return changes

    def _changed_needs(self) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if self.needs is not None and (patch := self.needs.patch()):
            changes["accommodation"] = patch
        if self.companions is not None and (patch := self.companions.patch()):
            changes["companions"] = patch
        return changes

    def _changed_texts(self) -> dict[str, Any]:
        changed, values = set(self.changed_data), self.cleaned_data
        changes: dict[str, Any] = {}
        if notes := {name: values[f"{name}_notes"] for name in _NOTES if f"{name}_notes" in changed}:
            changes["notes"] = notes
        payment: dict[str, Any] = {}
        if "payer" in changed:
            payment["payer_id"] = uuid_or_none(values["payer"])
        if "authorization_number" in changed:
            payment["authorization_number"] = values["authorization_number"]
        if payment:
            changes["payment"] = payment
        contact = {"name": "contact_name", "phone": "contact_phone"}
        if contact_changes := {key: values[name] or None for key, name in contact.items() if name in changed}:
            changes["requested_by"] = contact_changes
        return changes

    @property
    def new_crew(self) -> tuple[UUID | None, UUID | None]:
        return self.cleaned_data.get("new_driver"), self.cleaned_data.get("new_vehicle")

    def refuse(self, refusal: DomainError) -> None:
        """Add the errors of a service to the fields that they concern."""
        is_arrival = self.cleaned_data.get("when") == ARRIVE
        times = {"pickupTime": "pickup_clock" if is_arrival else "clock", "appointmentTime": "clock"}
        parts = [part for part in (*self.places, self.needs, self.companions) if part is not None]
        names = {**_FIELDS, **times, **{wire: name for part in parts for wire, name in part.wires().items()}}
        add_errors(self, refusal, {path: name for path, name in names.items() if name in self.fields})

    # For the template

    @property
    def note_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("driver_notes", "facility_notes", "dispatcher_notes") if name in self.fields]

    @property
    def payment_pairs(self) -> list[list[forms.BoundField]]:
        pairs = (("payer", "authorization_number"), ("contact_name", "contact_phone"))
        return [[self[name] for name in pair] for pair in pairs if pair[0] in self.fields]

    @property
    def place_parts(self) -> list[tuple[PlaceFields, forms.BoundField | None]]:
        return [
            (part, self[f"{part.place.wire}_entrance"] if f"{part.place.wire}_entrance" in self.fields else None)
            for part in self.places
        ]

    @property
    def need_fields(self) -> list[forms.BoundField]:
        return [field for part in (self.needs, self.companions) if part is not None for field in part.fields]


def _as_text(value: Any) -> str:
    return "" if value in (None, False) else "on" if value is True else str(value)


def _shown(field: forms.Field, value: str) -> str:
    choices = {str(key): str(label) for key, label in getattr(field, "choices", ())}
    return choices.get(value, value) or str(_("empty"))


def _copy(data: Any) -> Any:
    return data.copy() if isinstance(data, QueryDict) else dict(data)
