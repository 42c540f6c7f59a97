"""The common fields of the forms of the series editor: pattern, times, places and needs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.console.booking.needs_fields import COMPANIONS, FOR_DISPATCHERS, NEEDS, NeedFields
from apps.console.booking.place_fields import CURRENT, Place, PlaceChoices, PlaceFields, home_of, saved_places_of
from apps.console.recurring import external_ids, labels
from apps.console.recurring.driver_fields import DriverFields
from apps.console.recurring.forms import Versioned, time_field
from apps.fleet.models import VehicleType
from apps.organizations.models import Entrance, Facility, Payer
from apps.organizations.rules import stops
from apps.recurring.models import HORIZON_DAYS, ReturnMode
from apps.recurring.rules import order_validation
from apps.recurring.rules.draft import TermsDraft
from apps.recurring.rules.order_validation import MOST_HORIZON, MOST_WEEKS
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.riders.rules.needs import Mobility
from apps.rides.queries import bookings
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Principal
from lib.console_forms import add_errors, capitalized, choose, day_field
from lib.errors import DomainError
from lib.ids import uuid_or_none

# Names in the API, and the fields of the forms.
FIELDS: Final[Mapping[str, str]] = {
    "facilityId": "facility",
    "serviceType": "service_type",
    "startDate": "start_date",
    "endDate": "end_date",
    "fromDate": "from_date",
    "pattern.daysOfWeek": "days",
    "pattern.intervalWeeks": "interval_weeks",
    "pattern.anchorDate": "anchor_date",
    "outbound.dropoff.entranceId": "entrance",
    "payer.programCode": "program_code",
    "externalIds": "external_ids",
    **{f"externalIds[{number}]": "external_ids" for number in range(external_ids.MOST)},
    "treatmentMinutes": "treatment_minutes",
    "outbound.pickupTime": "pickup_time",
    "outbound.appointmentTime": "chair_time",
    "chairTime": "chair_time",
    "pickupTime": "pickup_time",
    "appointmentTime": "chair_time",
    "payer.authorizationNumber": "authorization_number",
    "authorizationNumber": "authorization_number",
    "return.pickupTime": "return_time",
    "outbound.vehicleTypeRequested": "vehicle_type",
    "vehicleType": "vehicle_type",
    "payer.payerId": "payer",
    "authorizationEndsOn": "authorization_ends_on",
    "generationHorizonDays": "horizon_days",
}
FACILITY: Final = "facility"
BEGINNING: Final = "beginning"
PICKUP: Final = Place("pickup_from", "", "outbound.pickup", _("Picked up from"))
DROPOFF: Final = Place("dropoff_at", "dropoff_", "outbound.dropoff", _("Brought to"), required=False)
RETURN: Final = Place("return_to", "return_", "return.dropoff", _("Brought to"), required=False)
RETURNS: Final = (
    (ReturnMode.WILL_CALL, _("Will call: the facility marks the rider ready")),
    (ReturnMode.SCHEDULED, _("Scheduled: at a set time or at the end of treatment")),
    (ReturnMode.NONE, _("None: no return trip by this service")),
)
# Fields with the same names in terms and forms.
TERMS_FIELDS: Final = (
    "interval_weeks",
    "anchor_date",
    "chair_time",
    "treatment_minutes",
    "post_treatment_minutes",
    "arrive_early_minutes",
    "pickup_time",
    "return_mode",
    "return_time",
    "return_mobility",
)


class SeriesForm(Versioned):
    """Pattern, times, places and needs.  Times are facility wall time; `rider` determines the offered places."""

    days = forms.TypedMultipleChoiceField(
        label=_("Days"), coerce=int, choices=labels.WEEKDAYS, widget=forms.CheckboxSelectMultiple
    )
    interval_weeks = forms.IntegerField(
        label=_("Repeat every (weeks)"), min_value=1, max_value=MOST_WEEKS, initial=1, help_text=_("1: every week.")
    )
    anchor_date = day_field(
        _("First week"),
        required=False,
        help_text=_(
            "A day in a week with rides, if not every week has some. Leave blank for the week of the first day."
        ),
    )
    chair_time = time_field(_("Chair time"))
    treatment_minutes = forms.IntegerField(
        label=_("Treatment, minutes"),
        required=False,
        min_value=1,
        max_value=order_validation.LONGEST_STAY,
        help_text=_("Leave blank for the default: 240 for dialysis, 60 for other services."),
    )
    post_treatment_minutes = forms.IntegerField(
        label=_("Post-treatment minutes"),
        required=False,
        min_value=0,
        max_value=240,
        help_text=_("Leave blank for the default of the service."),
    )
    arrive_early_minutes = forms.IntegerField(
        label=_("Arrive early, minutes"),
        required=False,
        min_value=0,
        max_value=120,
        help_text=_("Leave blank to use the facility's setting."),
    )
    pickup_time = time_field(
        _("Pickup time"),
        required=False,
        help_text=_("Leave blank to calculate it from the drive time. Required for another address."),
    )
    return_mode = forms.ChoiceField(
        label=_("Return trip"), widget=forms.RadioSelect, choices=RETURNS, initial=ReturnMode.WILL_CALL
    )
    return_time = time_field(
        _("Return pickup time"),
        required=False,
        help_text=_("For a scheduled return. Leave blank for the end of treatment."),
    )
    return_mobility = forms.ChoiceField(
        label=_("Mobility on the return trip"),
        required=False,
        choices=[("", _("Same as outbound")), *capitalized(Mobility.choices)],
    )
    end_date = day_field(_("Last day"), required=False, help_text=_("Leave blank for no end."))
    vehicle_type = forms.ChoiceField(
        label=_("Vehicle"),
        required=False,
        choices=[("", _("Any suitable vehicle")), *capitalized(VehicleType.choices)],
    )
    payer = forms.ChoiceField(label=_("Payer"), required=False)
    program_code = forms.CharField(label=_("Program code"), required=False, max_length=30)
    authorization_number = forms.CharField(label=_("Authorization"), required=False, max_length=50)
    authorization_ends_on = day_field(
        _("Authorization ends on"), required=False, help_text=_("No rides are booked after this day.")
    )
    horizon_days = forms.IntegerField(
        label=_("Book ahead (days)"), min_value=1, max_value=MOST_HORIZON, initial=HORIZON_DAYS
    )
    external_ids = external_ids.ExternalIdsField(label=_("Ids in other systems"), required=False)
    driver_notes = forms.CharField(
        label=_("For drivers"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )
    dispatcher_notes = forms.CharField(
        label=_("Internal (dispatch only)"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )
    facility_notes = forms.CharField(
        label=_("Facility note"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(
        self,
        *args: Any,
        rider: Rider,
        by: Principal,
        current_terms: TermsDraft | None = None,
        drivers: Sequence[UUID] = (),
        payer_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sees = disclosure_of(by)
        home, saved = home_of(rider), saved_places_of(rider)
        self.pickup = self._place(PICKUP, current_terms.pickup if current_terms else None, {**home, **saved})
        self.dropoff = self._place(
            DROPOFF,
            current_terms.dropoff or None if current_terms else None,
            {**self.facilities(current_terms), **saved},
        )
        self.fields["entrance"] = forms.ChoiceField(label=_("Entrance of the facility"), required=False)
        choose(self, "entrance", self.entrances(by), first=_("Not specified"))
        if current_terms is not None:
            self.fields["entrance"].initial = current_terms.dropoff.get("entranceId") or ""
        beginning: PlaceChoices = {BEGINNING: (str(_("Same as pickup")), {})}
        self.return_dropoff = self._place(
            RETURN, current_terms.return_dropoff or None if current_terms else None, {**beginning, **home, **saved}
        )
        profile = bookings.current_profile(rider.pk)
        usual = accommodation.snapshot(profile) if profile else accommodation.complete({})
        needs = [need for need in NEEDS if need.name != FOR_DISPATCHERS or self.sees.dispatcher_notes]
        current_needs = current_terms.accommodation if current_terms else {}
        self.needs = NeedFields(self, needs, wire="accommodation", current=current_needs, usual=usual)
        current_companions = current_terms.companions if current_terms else {}
        self.companions = NeedFields(self, COMPANIONS, wire="companions", current=current_companions, usual={})
        self.drivers = DriverFields(self, current_ids=drivers, by=by)
        self.places = {"pickup": self.pickup, "dropoff": self.dropoff, "return_dropoff": self.return_dropoff}
        parts: tuple[PlaceFields | NeedFields | DriverFields, ...] = (
            *self.places.values(),
            self.needs,
            self.companions,
            self.drivers,
        )
        self.names = {**FIELDS, **{wire: name for part in parts for wire, name in part.wires().items()}}
        choose(self, "payer", _payers(payer_id), first=_("None"))

    def _place(self, place: Place, current: Mapping[str, Any] | None, choices: PlaceChoices) -> PlaceFields:
        return PlaceFields(self, place, current=current, offered=choices, opens_doors=self.sees.door_codes)

    def facilities(self, current_terms: TermsDraft | None) -> PlaceChoices:
        """Offer the facility as the drop-off."""
        return {FACILITY: (str(_("The facility")), {})}

    def entrances(self, by: Principal) -> list[tuple[str, Any]]:
        """Return the choices of entrances: those of each facility that the user sees."""
        rows = Entrance.objects.filter(facility__in=Facility.objects.visible_to(by).filter(active=True))
        groups: dict[str, list[tuple[str, str]]] = {}
        for row in rows.select_related("facility").order_by("facility__name", "name", "pk"):
            groups.setdefault(row.facility.name, []).append((str(row.pk), row.name))
        return list(groups.items())

    def clean(self) -> dict[str, Any]:
        for place in self.places.values():
            place.check()
        self.drivers.check()
        self._check_entrance()
        if not self.errors and set(self.return_dropoff.stop() or ()) == {stops.ACCESS_CODE}:
            self.add_error("return_access_code", _("Enter the door code of the pickup in its own field above."))
        return self.cleaned_data

    def _check_entrance(self) -> None:
        """Refuse an entrance of the facility for another place."""
        is_new = "entrance" in self.changed_data and self.cleaned_data.get("entrance")
        if is_new and self.cleaned_data.get(DROPOFF.choice) not in ("", FACILITY, CURRENT):
            self.add_error("entrance", _("An entrance can be chosen only if the rider is brought to the facility."))

    def dropoff_stop(self) -> dict[str, Any] | None:
        """Return the chosen drop-off with its entrance; None if the current one stays, see `entrance_patch`."""
        stop, entrance = self.dropoff.stop(), self.cleaned_data["entrance"]
        if stop is None or not entrance or self.cleaned_data[DROPOFF.choice] not in ("", FACILITY):
            return stop
        return {**stop, "entranceId": entrance}

    def entrance_patch(self) -> dict[str, Any]:
        """Return the change of the entrance of the current drop-off; {} if it is unchanged."""
        return {"entranceId": self.cleaned_data["entrance"] or None} if "entrance" in self.changed_data else {}

    def terms(self) -> dict[str, Any]:
        """Return the fields of TermsDraft, without objects."""
        values = self.cleaned_data
        return {"days_of_week": tuple(values["days"]), **{name: values[name] for name in TERMS_FIELDS}}

    def columns(self) -> dict[str, Any]:
        """Return the columns of an order that apply to all dates."""
        values = self.cleaned_data
        readers = ("driver", "dispatcher", "facility") if "dispatcher_notes" in values else ("driver", "facility")
        return {
            "end_date": values["end_date"],
            "payer_id": uuid_or_none(values["payer"]),
            "program_code": values["program_code"],
            "authorization_number": values["authorization_number"],
            "authorization_ends_on": values["authorization_ends_on"],
            "vehicle_type_requested": values["vehicle_type"],
            "generation_horizon_days": values["horizon_days"],
            "preferred_driver_ids": self.drivers.ids(),
            **{f"{reader}_notes": values[f"{reader}_notes"] for reader in readers},
        }

    def refuse(self, error: DomainError) -> None:
        add_errors(self, error, self.names)


def _payers(current_id: UUID | None) -> list[tuple[UUID, str]]:
    """List active payers, and the current payer even if inactive, so that saving does not remove it."""
    inactive = _("%(payer)s (inactive)")
    rows = Payer.objects.filter(Q(active=True) | Q(pk=current_id)).order_by("name")
    return [(payer.pk, payer.name if payer.active else inactive % {"payer": payer.name}) for payer in rows]
