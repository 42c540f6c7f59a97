"""Forms of the series editor: what an order asks for, made anew or changed from a day on."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import VehicleType
from apps.organizations.models import Facility, Payer
from apps.recurring import ordering_rules
from apps.recurring.console import words
from apps.recurring.console.forms import Versioned, time_field
from apps.recurring.draft import OrderDraft, TermsDraft
from apps.recurring.models import HORIZON_DAYS, ReturnMode, StandingOrder
from apps.recurring.ordering_rules import MOST_HORIZON, MOST_WEEKS
from apps.riders.models import Mobility, Rider
from apps.rides.draft import Notes, Payment
from apps.rides.models.ride import ServiceType
from lib.access import Principal
from lib.console_forms import choose, day_field, put_on
from lib.errors import DomainError, StaleVersion
from lib.newest_first import uuid_or_none

# Names on the wire, and what the forms call them.
FIELDS: Final[Mapping[str, str]] = {
    "facilityId": "facility",
    "serviceType": "service_type",
    "startDate": "start_date",
    "endDate": "end_date",
    "fromDate": "from_date",
    "pattern.daysOfWeek": "days",
    "pattern.intervalWeeks": "interval_weeks",
    "treatmentMinutes": "treatment_minutes",
    "outbound.pickup": "pickup_from",
    "outbound.pickup.addressLine1": "address_line1",
    "outbound.pickup.city": "city",
    "outbound.pickupTime": "pickup_time",
    "outbound.appointmentTime": "chair_time",
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
HOME: Final = "home"
KEPT: Final = "kept"
TYPED: Final = "typed"
RETURNS: Final = (
    (ReturnMode.WILL_CALL, _("Will call: the facility says when the rider is ready")),
    (ReturnMode.SCHEDULED, _("Scheduled: at a time of its own, or when the treatment is over")),
    (ReturnMode.NONE, _("None: somebody else brings the rider home")),
)
# What terms and forms call alike.
_OF_TERMS: Final = (
    "interval_weeks",
    "chair_time",
    "treatment_minutes",
    "post_treatment_minutes",
    "arrive_early_minutes",
    "pickup_time",
    "return_mode",
    "return_time",
    "return_mobility",
)
_ADDRESS: Final = {
    "address_line1": "addressLine1",
    "address_line2": "addressLine2",
    "city": "city",
    "state": "state",
    "postal_code": "postalCode",
    "instructions": "instructions",
}


class RiderSearch(forms.Form):
    """Whom the order is for: by name, or by what another system calls them."""

    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("First letters of a name, or of two, such as “doe, or”."),
    )
    system = forms.CharField(
        label=_("System"), required=False, max_length=100, help_text=_("Such as the name of your record system.")
    )
    value = forms.CharField(
        label=_("Id in that system"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if bool(values.get("system")) != bool(values.get("value")):
            self.add_error("value", _("A system and an id belong together."))
        elif not values.get("name") and not values.get("system"):
            self.add_error("name", _("Say whom you look for."))
        return values

    def criteria(self) -> dict[str, Any]:
        values = self.cleaned_data
        named = {"name": values["name"]} if values["name"] else {}
        known = {"external_id": {"system": values["system"], "value": values["value"]}} if values["system"] else {}
        return {**named, **known}


class SeriesForm(Versioned):
    """When and how an order rides; times are facility wall time.  `rider` says which places there are to choose."""

    days = forms.TypedMultipleChoiceField(
        label=_("Days"), coerce=int, choices=words.WEEKDAYS, widget=forms.CheckboxSelectMultiple
    )
    interval_weeks = forms.IntegerField(
        label=_("Every how many weeks"), min_value=1, max_value=MOST_WEEKS, initial=1, help_text=_("1: every week.")
    )
    chair_time = time_field(_("Chair time"))
    treatment_minutes = forms.IntegerField(
        label=_("Treatment, minutes"),
        required=False,
        min_value=1,
        max_value=ordering_rules.LONGEST_STAY,
        help_text=_("Empty: 240 of dialysis, 60 of others."),
    )
    post_treatment_minutes = forms.IntegerField(
        label=_("Coming off, minutes"),
        required=False,
        min_value=0,
        max_value=240,
        help_text=_("Empty: as is usual for the service."),
    )
    arrive_early_minutes = forms.IntegerField(
        label=_("Arrive early, minutes"),
        required=False,
        min_value=0,
        max_value=120,
        help_text=_("Empty: the facility's."),
    )
    pickup_from = forms.ChoiceField(label=_("Picked up from"))
    address_line1 = forms.CharField(label=_("Street and number"), required=False, max_length=200)
    address_line2 = forms.CharField(label=_("Apartment, suite"), required=False, max_length=200)
    city = forms.CharField(label=_("City"), required=False, max_length=100)
    state = forms.CharField(label=_("State"), required=False, max_length=50)
    postal_code = forms.CharField(label=_("Postal code"), required=False, max_length=20)
    instructions = forms.CharField(label=_("Instructions for the driver there"), required=False, max_length=500)
    pickup_time = time_field(
        _("Pickup time"), required=False, help_text=_("Empty: worked out from the drive. Needed for another address.")
    )
    return_mode = forms.ChoiceField(
        label=_("Way back"), widget=forms.RadioSelect, choices=RETURNS, initial=ReturnMode.WILL_CALL
    )
    return_time = time_field(
        _("Way back at"), required=False, help_text=_("Of a scheduled way back. Empty: when the treatment is over.")
    )
    return_mobility = forms.ChoiceField(
        label=_("Mobility on the way back"), required=False, choices=[("", _("As on the way there")), *Mobility.choices]
    )
    end_date = day_field(_("Last day"), required=False, help_text=_("Empty: until somebody ends it."))
    vehicle_type = forms.ChoiceField(
        label=_("Vehicle"), required=False, choices=[("", _("Whatever suits the rider")), *VehicleType.choices]
    )
    payer = forms.ChoiceField(label=_("Payer"), required=False)
    authorization_number = forms.CharField(label=_("Authorization"), required=False, max_length=50)
    authorization_ends_on = day_field(
        _("Authorization ends on"), required=False, help_text=_("Nothing is booked after it.")
    )
    horizon_days = forms.IntegerField(
        label=_("Days booked ahead"), min_value=1, max_value=MOST_HORIZON, initial=HORIZON_DAYS
    )
    driver_notes = forms.CharField(
        label=_("For drivers"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )
    dispatcher_notes = forms.CharField(
        label=_("For dispatchers alone"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )
    facility_notes = forms.CharField(
        label=_("For the facility"), required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )

    names = FIELDS

    def __init__(self, *args: Any, rider: Rider, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places: dict[str, Mapping[str, Any]] = {}
        if rider.home_address:
            self.places[HOME] = rider.home_address
        for number, place in enumerate(rider.saved_places):
            self.places[f"saved-{number}"] = place
        choose(self, "pickup_from", [*self.kept(), *self._offered(), (TYPED, str(_("Another address")))])
        payers = Payer.objects.filter(active=True).order_by("name").values_list("pk", "name")
        choose(self, "payer", payers, first=_("None"))

    def kept(self) -> list[tuple[str, Any]]:
        """Offer what is there already."""
        return []

    def _offered(self) -> list[tuple[str, str]]:
        home = _("Home: %(place)s")
        return [
            (key, home % {"place": line_of({**one, "name": ""})} if key == HOME else line_of(one))
            for key, one in self.places.items()
        ]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("pickup_from") == TYPED:
            for name in ("address_line1", "city"):
                if not values.get(name):
                    self.add_error(name, _("Another address needs this."))
        return values

    def pickup(self) -> Mapping[str, Any]:
        """Give the stop that was chosen or typed."""
        values = self.cleaned_data
        if values["pickup_from"] == TYPED:
            return {key: values[name] for name, key in _ADDRESS.items()}
        return self.places[values["pickup_from"]]

    def terms(self) -> dict[str, Any]:
        """Give fields of TermsDraft besides the place of the pickup."""
        values = self.cleaned_data
        return {"days_of_week": tuple(values["days"]), **{name: values[name] for name in _OF_TERMS}}

    def columns(self) -> dict[str, Any]:
        """Give columns of an order that hold for all of it."""
        values = self.cleaned_data
        return {
            "end_date": values["end_date"],
            "payer_id": uuid_or_none(values["payer"]),
            "authorization_number": values["authorization_number"],
            "authorization_ends_on": values["authorization_ends_on"],
            "vehicle_type_requested": values["vehicle_type"],
            "driver_notes": values["driver_notes"],
            "dispatcher_notes": values["dispatcher_notes"],
            "facility_notes": values["facility_notes"],
            "generation_horizon_days": values["horizon_days"],
        }


class NewOrder(SeriesForm):
    """An order that is made.  `key` becomes its id, so that a form that is sent twice makes one."""

    version = None  # type: ignore[assignment]  # there is none yet
    key = forms.UUIDField(widget=forms.HiddenInput)
    facility = forms.ChoiceField(label=_("Facility"))
    service_type = forms.ChoiceField(
        label=_("For"),
        choices=[(one.value, one.label.capitalize()) for one in ServiceType if one in ordering_rules.SERVICES],
        initial=ServiceType.DIALYSIS,
    )
    start_date = day_field(_("First day"))
    is_draft = forms.BooleanField(
        label=_("Keep it as a draft"), required=False, help_text=_("Nothing is booked until somebody activates it.")
    )

    def __init__(self, *args: Any, by: Principal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = Facility.objects.visible_to(by).filter(active=True).order_by("name", "pk").values_list("pk", "name")
        choose(self, "facility", found)

    def draft(self) -> OrderDraft:
        values, columns = self.cleaned_data, self.columns()
        return OrderDraft(
            facility_id=UUID(values["facility"]),
            start_date=values["start_date"],
            terms=TermsDraft(pickup=self.pickup(), **self.terms()),
            service_type=values["service_type"],
            end_date=columns["end_date"],
            payment=Payment(
                payer_id=columns["payer_id"],
                authorization_number=columns["authorization_number"],
                authorization_expires_on=columns["authorization_ends_on"],
            ),
            vehicle_type_requested=columns["vehicle_type_requested"],
            notes=Notes(
                driver=columns["driver_notes"],
                dispatcher=columns["dispatcher_notes"],
                facility=columns["facility_notes"],
            ),
            generation_horizon_days=columns["generation_horizon_days"],
            is_draft=values["is_draft"],
        )

    def refuse(self, refusal: DomainError) -> None:
        put_on(self, refusal, self.names)


class OrderChange(SeriesForm):
    """An order that is changed, for all its future or from a day on."""

    scope = forms.ChoiceField(
        label=_("Days, times and places change"),
        widget=forms.RadioSelect,
        choices=(
            ("all", _("For every day to come")),
            ("following", _("From a day on")),
        ),
        initial="all",
    )
    from_date = day_field(_("From this day on"), required=False)
    overwrite_customised = forms.BooleanField(
        label=_("Also days that people changed"),
        required=False,
        help_text=_("Without it they stay as they are, and you are told which."),
    )

    def __init__(self, *args: Any, shown: TermsDraft, **kwargs: Any) -> None:
        self.shown = shown
        super().__init__(*args, **kwargs)

    def kept(self) -> list[tuple[str, Any]]:
        return [(KEPT, _("As it is: %(place)s") % {"place": line_of(self.shown.pickup)})]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("scope") == "following" and not values.get("from_date") and "from_date" not in self.errors:
            self.add_error("from_date", _("Say from which day on."))
        return values

    def changes(self, order: StandingOrder) -> dict[str, Any]:
        """Give what `changing.change` takes: only what differs from what the form showed."""
        values, terms = self.cleaned_data, self.terms()
        changed = {name: value for name, value in terms.items() if getattr(self.shown, name) != value}
        if values["pickup_from"] != KEPT:
            changed["pickup"] = self.pickup()
        return {
            "columns": {name: value for name, value in self.columns().items() if getattr(order, name) != value},
            "terms": changed,
            "from_date": values["from_date"] if values["scope"] == "following" else None,
            "overwrite_customised": values["overwrite_customised"],
            "expected_version": values["version"],
        }

    def refuse(self, refusal: DomainError) -> None:
        """Say a refusal; after a stale one nothing that was typed goes over what somebody else has saved."""
        if isinstance(refusal, StaleVersion):
            self.add_error(
                None, _("Somebody changed the standing order meanwhile. Open it again to see what it is now.")
            )
        else:
            super().refuse(refusal)


def initial_of(order: StandingOrder, shown: TermsDraft) -> dict[str, Any]:
    """Say what an order is as its form has it."""
    return {
        "version": order.version,
        "days": list(shown.days_of_week),
        **{name: getattr(shown, name) for name in _OF_TERMS},
        "pickup_from": KEPT,
        "end_date": order.end_date,
        "vehicle_type": order.vehicle_type_requested,
        "payer": str(order.payer_id or ""),
        "authorization_number": order.authorization_number,
        "authorization_ends_on": order.authorization_ends_on,
        "horizon_days": order.generation_horizon_days,
        "driver_notes": order.driver_notes,
        "dispatcher_notes": order.dispatcher_notes,
        "facility_notes": order.facility_notes,
    }


def line_of(stop: Mapping[str, Any]) -> str:
    """Name a place in one line."""
    return ", ".join(filter(None, (stop.get(key) for key in ("name", "addressLine1", "city")))) or str(_("unnamed"))
