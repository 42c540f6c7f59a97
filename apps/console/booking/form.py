"""The booking form: a ride of a known or a new rider, as a draft for `booking.book`.

The form combines the parts for times, discharge and new rider with fields for places, needs and companions, which
depend on the `Desk`: facility, purpose and rider.  `clean` validates across the parts and computes a missing pickup
time from the appointment; `draft` returns the result; `refuse` shows errors of the service on the form's fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.booking.discharge_fields import DischargeFields
from apps.console.booking.fields import NewRiderFields, TimesFields
from apps.console.booking.needs_fields import COMPANIONS, FOR_DISPATCHERS, NEEDS, NeedFields
from apps.console.booking.place_fields import HOME, TYPED, Place, PlaceChoices, PlaceFields, home_of, saved_places_of
from apps.console.booking.presets import ARRIVE, FACILITY, NONE, PRESETS, WILL_CALL, Preset
from apps.organizations.models import Facility, Payer
from apps.riders import queries as riders
from apps.riders.models import Rider
from apps.riders.queries import RiderRecord
from apps.riders.rules import accommodation
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.draft import Notes, Payment, ReturnLeg, RideDraft, ServiceType
from apps.rides.services import booking, booking_preview
from apps.rides.services.booking import OverlappingRide, RiderNotBookable
from apps.rides.services.legs import PickupInPast
from lib.access import Principal
from lib.console_forms import add_errors, choose
from lib.errors import DomainError
from lib.ids import uuid_or_none

PICKUP_PLACE: Final = Place("pickup_from", "", "pickup", gettext_lazy("Pickup"))
DROPOFF_PLACE: Final = Place("dropoff_at", "dropoff_", "dropoff", gettext_lazy("Destination"))
FRONT: Final = ("mobility", "oxygen_uses", "escorts")  # what most bookings need; other needs are in a collapsed section
# Form fields by their paths in the API.
_FIELDS: Final[Mapping[str, str]] = {
    "facilityId": "facility",
    "riderId": "q",
    "firstName": "first_name",
    "lastName": "last_name",
    "dateOfBirth": "birth_date",
    "phones[0].number": "phone",
    "homeAddress.addressLine1": "home_line1",
    "homeAddress.city": "home_city",
    "returnLeg": "way_back",
    "returnLeg.pickupTime": "back_clock",
    "discharge": "unit",
    "discharge.unit": "unit",
    "discharge.unitPhone": "unit_phone",
    "discharge.planner": "planner_name",
    "discharge.pickupEntranceId": "entrance",
    "pickup.entranceId": "entrance",
    "payer.payerId": "payer",
    "authorizationNumber": "authorization_number",
}


@dataclass(frozen=True, slots=True)
class Desk:
    """Context of a booking: user, purpose, facility and rider.

    `name` is the user's name; `facility` the requesting facility, or None; `facilities` the active facilities visible
    to the user, where rides may begin or end; `rider` is None until one is chosen, and for a new rider (`is_new`).
    """

    by: Principal
    name: str
    preset_key: str
    facility: Facility | None
    facilities: tuple[Facility, ...]
    rider: RiderRecord | None
    is_new: bool
    now: datetime

    @property
    def preset(self) -> Preset:
        return PRESETS[self.preset_key]

    @property
    def zone(self) -> str:
        return self.facility.timezone if self.facility else settings.OPERATOR_TIME_ZONE


class BookingForm(TimesFields, DischargeFields, NewRiderFields):
    """One booking.  `key` becomes the ride's id, so that a form that is submitted twice books one ride."""

    field_order = (  # order of the error summary; other fields follow as declared
        *("key", "q", "first_name", "last_name", "birth_date", "phone"),
        *("home_line1", "home_line2", "home_city", "home_state", "home_postal_code", "somebody_else"),
    )
    suspect_ids: Sequence[UUID] = ()  # visible riders who may be the same person as the new rider

    key = forms.UUIDField(widget=forms.HiddenInput)
    q = forms.CharField(
        label=gettext_lazy("Rider"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy("Name, MRN or phone"),
    )
    facility = forms.ChoiceField(label=gettext_lazy("Facility"), required=False)
    allow_duplicate = forms.BooleanField(label=gettext_lazy("Book anyway"), required=False)
    after_the_fact = forms.BooleanField(
        label=gettext_lazy("Already took place"),
        required=False,
        help_text=gettext_lazy(
            "Records the ride after the fact, up to 72 hours back. Nothing is promised, and no alert opens."
        ),
    )
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

    def __init__(self, *args: Any, desk: Desk, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.desk, self.zone, self.now = desk, desk.zone, desk.now
        disclosure = disclosure_of(desk.by)
        if not disclosure.dispatcher_notes:
            del self.fields["dispatcher_notes"]
        if not booking.may_record(desk.by):
            del self.fields["after_the_fact"]
        rows = [(facility.pk, facility.name) for facility in desk.facilities]
        sees_all = desk.by.facility_ids is None
        choose(self, "facility", rows, first=_("None of them") if sees_all else None)
        payers = Payer.objects.filter(active=True).order_by("name").values_list("pk", "name")
        choose(self, "payer", payers, first=_("None"))
        preset = desk.preset
        self.offer_entrances(desk.facility if preset.service == ServiceType.HOSPITAL_DISCHARGE else None)
        for name, value in (("when", preset.when), ("way_back", preset.way_back), ("day", self.today)):
            self.fields[name].initial = value
        self.pickup = self._place(PICKUP_PLACE, preset.pickup, disclosure.door_codes)
        self.dropoff = self._place(DROPOFF_PLACE, preset.dropoff, disclosure.door_codes)
        self.fields["access_code"].label = _("Door code at the pickup")
        self.fields["dropoff_access_code"].label = _("Door code at the destination")
        needs = [need for need in NEEDS if need.name != FOR_DISPATCHERS or disclosure.dispatcher_notes]
        self.needs = NeedFields(self, needs, wire="accommodation", current={}, usual=self._usual_needs())
        self.companions = NeedFields(self, COMPANIONS, wire="companions", current={}, usual={})
        focused = "clock" if desk.rider else "first_name" if desk.is_new else "q"
        if not self.is_bound:  # a bound form begins with its error summary
            self.fields[focused].widget.attrs["autofocus"] = True

    def _usual_needs(self) -> Mapping[str, Any]:
        return self.desk.rider.needs if self.desk.rider else accommodation.complete({})

    def _place(self, place: Place, usual: str, opens_doors: bool) -> PlaceFields:
        offered = {**self._requesting_facility(), **self._places_of_rider(), **self._other_facilities()}
        usual = usual if usual in offered else TYPED
        # The default is the first choice, where a user in a hurry looks.
        ordered = {key: offered[key] for key in sorted(offered, key=lambda key: key != usual)}
        return PlaceFields(self, place, current=None, offered=ordered, opens_doors=opens_doors, usual=usual)

    def _requesting_facility(self) -> PlaceChoices:
        facility = self.desk.facility
        return {FACILITY: (facility.name, {"facilityId": str(facility.pk)})} if facility else {}

    def _places_of_rider(self) -> PlaceChoices:
        if self.desk.rider is not None:
            rider: Rider = self.desk.rider.rider
            return {**home_of(rider), **saved_places_of(rider)}
        if self.desk.is_new:
            return {HOME: (_("Home (as entered)"), self.typed_home())}
        return {HOME: (_("The rider's home"), {})}  # no rider is chosen yet

    def _other_facilities(self) -> PlaceChoices:
        facilities = [
            facility
            for facility in self.desk.facilities
            if self.desk.facility is None or facility.pk != self.desk.facility.pk
        ]
        return {f"at-{facility.pk}": (facility.name, {"facilityId": str(facility.pk)}) for facility in facilities}

    @property
    def is_recorded(self) -> bool:
        return bool(self.cleaned_data.get("after_the_fact"))

    # Validation and result

    def clean(self) -> dict[str, Any]:
        if self.desk.is_new:
            self.check_new_rider()
            self._check_duplicates()
        elif self.desk.rider is None:
            self.add_error("q", _("Choose a rider from the list, or add a new rider."))
        for place in (self.pickup, self.dropoff):
            place.check()
            at_home = self.cleaned_data.get(place.place.choice) == HOME
            if at_home and self.desk.is_new and not self.typed_home() and "home_line1" not in self.errors:
                self.add_error("home_line1", _("The ride begins or ends at this address: enter it."))
        self.check_times(self.desk.preset.service)
        if self.desk.preset.service == ServiceType.HOSPITAL_DISCHARGE:
            self._check_discharge()
        if not self.errors and self.pickup_at is None and self.appointment_at is not None:
            self._compute_pickup(self.appointment_at)
        return self.cleaned_data

    def _check_discharge(self) -> None:
        for name in ("unit", "unit_phone", "planner_name"):
            if not self.cleaned_data.get(name) and name not in self.errors:
                self.add_error(name, _("Required for a discharge."))
        self.received_until = self.instant("receiving_by")
        if self.cleaned_data.get("entrance") and self.cleaned_data.get("pickup_from") != FACILITY:
            self.add_error("entrance", _("This entrance belongs to the facility, but the pickup is somewhere else."))

    def _check_duplicates(self) -> None:
        """Add an error if visible riders seem to be the same person, unless the user confirmed it.  One query."""
        cleaned = self.cleaned_data
        if cleaned.get("somebody_else") or not (cleaned.get("first_name") and cleaned.get("last_name")):
            return
        new_rider = Rider(
            **{name: cleaned[name] for name in ("first_name", "last_name")}, date_of_birth=cleaned.get("birth_date")
        )
        self.suspect_ids = riders.possible_duplicates(new_rider, by=self.desk.by)
        if self.suspect_ids:
            self.add_error(
                "somebody_else",
                _("There is already a rider with this name and birth date. Choose that rider, or check this box."),
            )

    def _compute_pickup(self, appointment_at: datetime) -> None:
        """Set `pickup_at` from the appointment and the estimated drive.  At most two queries.

        Adds an error if the duration of the drive is unknown.
        """
        mobility = self.needs.to_object().get("mobility") or self._usual_needs()["mobility"]
        try:
            self.pickup_at = booking_preview.pickup_for(
                appointment_at,
                pickup=self.pickup.stop() or {},
                dropoff=self.dropoff.stop() or {},
                facility_id=self.desk.facility.pk if self.desk.facility else None,
                mobility=mobility,
                by=self.desk.by,
            )
        except DomainError as refusal:
            self.refuse(refusal)
            return
        if self.pickup_at is None:
            self.add_error("pickup_clock", _("The drive time is unknown: enter the pickup time."))

    def draft(self) -> RideDraft:
        """Return the draft; requires a valid form."""
        cleaned, preset = self.cleaned_data, self.desk.preset
        needs = self.needs.to_object()
        rider_values: dict[str, Any] = (
            {"rider": self.rider_draft(needs)}
            if self.desk.rider is None
            else {"rider_id": self.desk.rider.rider.pk, "accommodation": needs}
        )
        is_discharge = preset.service == ServiceType.HOSPITAL_DISCHARGE
        return RideDraft(
            pickup_at=cast(datetime, self.pickup_at),  # not None in a valid form
            pickup={
                **(self.pickup.stop() or {}),
                **({"entranceId": cleaned["entrance"]} if cleaned["entrance"] else {}),
            },
            dropoff=self.dropoff.stop() or {},
            facility_id=self.desk.facility.pk if self.desk.facility else None,
            service_type=preset.service,
            appointment_at=self.appointment_at,
            scheduling_anchor="appointment" if cleaned["when"] == ARRIVE else "pickup",
            will_call=cleaned["when"] == WILL_CALL,
            companions=self.companions.to_object(),
            discharge=self.discharge() if is_discharge else None,
            payment=Payment(
                payer_id=uuid_or_none(cleaned["payer"]), authorization_number=cleaned["authorization_number"]
            ),
            notes=Notes(
                driver=cleaned["driver_notes"],
                dispatcher=cleaned.get("dispatcher_notes", ""),
                facility=cleaned["facility_notes"],
            ),
            requested_by={"userId": str(self.desk.by.id), "name": self.desk.name, "role": self.desk.by.role},
            allow_duplicate=cleaned["allow_duplicate"],
            after_the_fact=self.is_recorded,
            return_leg=self._return_leg(),
            **rider_values,
        )

    def _return_leg(self) -> ReturnLeg | None:
        return_mode = self.cleaned_data["way_back"]
        return None if return_mode == NONE else ReturnLeg(pickup_at=self.back_at, will_call=return_mode == WILL_CALL)

    def refuse(self, refusal: DomainError) -> None:
        """Add the errors of a service to the fields that they concern."""
        if isinstance(refusal, OverlappingRide):
            self.add_error("allow_duplicate", _("The rider has a ride at this time. Check this to book anyway."))
        elif isinstance(refusal, RiderNotBookable):
            self.add_error("q", refusal.message)
        else:
            add_errors(self, refusal, self._names())
            self._suggest_recording(refusal)

    def _suggest_recording(self, refusal: DomainError) -> None:
        if isinstance(refusal, PickupInPast) and "after_the_fact" in self.fields and not self.is_recorded:
            self.add_error("after_the_fact", _("If the ride has already taken place, check “Already took place”."))

    def _names(self) -> dict[str, str]:
        is_arrival = self.cleaned_data.get("when") == ARRIVE
        times = {"pickupTime": "pickup_clock" if is_arrival else "clock", "appointmentTime": "clock"}
        parts = (self.pickup, self.dropoff, self.needs, self.companions)
        return {**_FIELDS, **times, **{wire: name for part in parts for wire, name in part.wires().items()}}

    # For the template

    @property
    def front(self) -> list[forms.BoundField]:
        return [self[name] for name in FRONT]

    @property
    def more_needs(self) -> list[forms.BoundField]:
        return [field for part in (self.needs, self.companions) for field in part.fields if field.name not in FRONT]

    @property
    def more_needs_summary(self) -> str:
        parts = [part.summary for part in (self.needs, self.companions)]
        return ", ".join(filter(None, parts))

    @property
    def more_needs_have_errors(self) -> bool:
        return any(field.errors for field in self.more_needs)

    @property
    def more_has_errors(self) -> bool:
        names = ("facility_notes", "dispatcher_notes", "access_code", "dropoff_access_code", "payer")
        return any(name in self.errors for name in (*names, "authorization_number"))

    @property
    def shows_which(self) -> bool:
        return self.is_ambiguous or bool(self["which"].value())

    @property
    def chosen_day(self) -> date:
        """Return the day of the form; today if it has no valid day."""
        day = getattr(self, "cleaned_data", {}).get("day")
        return day or self.today
