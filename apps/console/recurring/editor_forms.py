"""Forms of the series editor: a new standing order, or changes from a date."""

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.console.booking.place_fields import PlaceChoices
from apps.console.recurring.external_ids import lines_of, with_types
from apps.console.recurring.series_form import TERMS_FIELDS, SeriesForm
from apps.organizations import queries as organizations
from apps.organizations.models import Entrance, Facility, SubjectType
from apps.organizations.rules import stops
from apps.recurring.models import StandingOrder
from apps.recurring.rules import order_validation
from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.rides.rules.draft import Notes, Payment, ServiceType
from lib.access import Principal
from lib.console_forms import capitalized, choose, day_field
from lib.errors import DomainError, StaleVersion
from lib.ids import uuid_or_none


class NewOrder(SeriesForm):
    """A new order.  `key` becomes its id, so that submitting the form twice creates one order.

    With `current_terms`, those of a booked ride, its places and needs are offered as they are.
    """

    version = None  # type: ignore[assignment]  # a new order has none
    key = forms.UUIDField(widget=forms.HiddenInput)
    facility = forms.ChoiceField(label=_("Facility"))
    service_type = forms.ChoiceField(
        label=_("For"),
        choices=capitalized(
            (service.value, service.label) for service in ServiceType if service in order_validation.SERVICES
        ),
        initial=ServiceType.DIALYSIS,
    )
    start_date = day_field(_("First day"))
    is_confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)  # existing rides were shown
    is_draft = forms.BooleanField(
        label=_("Save as draft"), required=False, help_text=_("Nothing is booked until it is activated.")
    )

    def __init__(self, *args: Any, by: Principal, current_terms: TermsDraft | None = None, **kwargs: Any) -> None:
        super().__init__(*args, by=by, current_terms=current_terms, **kwargs)
        self._ride_terms = current_terms
        facilities = (
            Facility.objects.visible_to(by).filter(active=True).order_by("name", "pk").values_list("pk", "name")
        )
        choose(self, "facility", facilities)

    def draft(self) -> OrderDraft:
        values, columns = self.cleaned_data, self.columns()
        return OrderDraft(
            facility_id=UUID(values["facility"]),
            start_date=values["start_date"],
            terms=TermsDraft(
                pickup=self._stop("pickup"),
                dropoff=self._stop("dropoff"),
                return_dropoff=self._stop("return_dropoff"),
                accommodation=self.needs.to_object(),
                companions=self.companions.to_object(),
                **self.terms(),
            ),
            service_type=values["service_type"],
            end_date=columns["end_date"],
            payment=Payment(
                payer_id=columns["payer_id"],
                program_code=columns["program_code"],
                authorization_number=columns["authorization_number"],
                authorization_expires_on=columns["authorization_ends_on"],
            ),
            preferred_driver_ids=tuple(columns["preferred_driver_ids"]),
            vehicle_type_requested=columns["vehicle_type_requested"],
            notes=Notes(
                driver=columns["driver_notes"],
                dispatcher=columns["dispatcher_notes"],
                facility=columns["facility_notes"],
            ),
            generation_horizon_days=columns["generation_horizon_days"],
            external_ids=tuple(values["external_ids"]),
            is_draft=values["is_draft"],
        )

    def _stop(self, name: str) -> dict[str, Any]:
        """Return the chosen stop, or that of the ride with its changes."""
        stop = self.dropoff_stop() if name == "dropoff" else self.places[name].stop()
        if stop is None and self._ride_terms is not None:
            changes = self.places[name].patch() | (self.entrance_patch() if name == "dropoff" else {})
            return {**getattr(self._ride_terms, name), **changes}
        return stop or {}


class OrderChange(SeriesForm):
    """Changes of an order, for its whole future or from a date."""

    scope = forms.ChoiceField(
        label=_("Days, times and places change"),
        widget=forms.RadioSelect,
        choices=(
            ("all", _("For all future days")),
            ("following", _("From a day")),
        ),
        initial="all",
    )
    from_date = day_field(_("From this day"), required=False)
    overwrite_customized = forms.BooleanField(
        label=_("Also days changed by hand"),
        required=False,
        help_text=_("If not checked, these days stay as they are and are listed."),
    )

    def __init__(self, *args: Any, order: StandingOrder, current_terms: TermsDraft, **kwargs: Any) -> None:
        self._order, self._current_terms = order, current_terms
        self._external_ids = organizations.external_ids_of(SubjectType.STANDING_ORDER, [order.pk])[order.pk]
        super().__init__(
            *args,
            rider=order.rider,
            current_terms=current_terms,
            drivers=order.preferred_driver_ids,
            payer_id=order.payer_id,
            **kwargs,
        )
        self.fields["external_ids"].initial = lines_of(self._external_ids)
        if not self.sees.dispatcher_notes:
            del self.fields["dispatcher_notes"]

    def facilities(self, current_terms: TermsDraft | None) -> PlaceChoices:
        """Offer the facility, unless it is the current drop-off."""
        facility = organizations.place_of(self._order.facility)
        plain = stops.at_facility(stops.normal({"facilityId": facility["facilityId"]}), facility)
        return {} if stops.normal(self._current_terms.dropoff) == plain else super().facilities(current_terms)

    def entrances(self, by: Principal) -> list[tuple[str, Any]]:
        """Return the entrances of the facility to which riders are brought."""
        facility_id = uuid_or_none(str(self._current_terms.dropoff.get("facilityId") or "")) or self._order.facility_id
        rows = Entrance.objects.filter(facility_id=facility_id).order_by("name", "pk")
        return [(str(row.pk), row.name) for row in rows]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if values.get("scope") == "following" and not values.get("from_date") and "from_date" not in self.errors:
            self.add_error("from_date", _("Enter the first day."))
        return values

    def changes(self) -> dict[str, Any]:
        """Return arguments of `edit_order.change`: only fields that differ from those shown."""
        values, terms = self.cleaned_data, self.terms()
        changed = {name: value for name, value in terms.items() if getattr(self._current_terms, name) != value}
        patches = {"accommodation": self.needs.patch(), "companions": self.companions.patch()}
        for name, place in self.places.items():
            stop = self.dropoff_stop() if name == "dropoff" else place.stop()
            if stop is None:
                patches[name] = place.patch() | (self.entrance_patch() if name == "dropoff" else {})
            elif stop != getattr(self._current_terms, name):
                changed[name] = stop
        return {
            "columns": {name: value for name, value in self.columns().items() if getattr(self._order, name) != value},
            "terms": changed,
            "patches": {name: patch for name, patch in patches.items() if patch},
            "external_ids": with_types(values["external_ids"], self._external_ids)
            if "external_ids" in self.changed_data
            else None,
            "from_date": values["from_date"] if values["scope"] == "following" else None,
            "overwrite_customized": values["overwrite_customized"],
            "expected_version": values["version"],
        }

    def refuse(self, error: DomainError) -> None:
        """Add an error; after a stale version, the form cannot be saved again over the changes of another user."""
        if isinstance(error, StaleVersion):
            self.add_error(None, _("Someone else changed the standing order. Open it again to see the changes."))
        else:
            super().refuse(error)


def initial_of(order: StandingOrder, terms: TermsDraft) -> dict[str, Any]:
    """Return the initial data of the form of an order."""
    return {
        "version": order.version,
        "days": list(terms.days_of_week),
        **{name: getattr(terms, name) for name in TERMS_FIELDS},
        "end_date": order.end_date,
        "vehicle_type": order.vehicle_type_requested,
        "payer": str(order.payer_id or ""),
        "program_code": order.program_code,
        "authorization_number": order.authorization_number,
        "authorization_ends_on": order.authorization_ends_on,
        "horizon_days": order.generation_horizon_days,
        "driver_notes": order.driver_notes,
        "dispatcher_notes": order.dispatcher_notes,
        "facility_notes": order.facility_notes,
    }
