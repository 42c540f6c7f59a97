"""Forms of the board: assign and unassign a driver, for one ride or a selection of rides."""

from collections.abc import Sequence
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.console.ride.labels import CONTACTED
from apps.dispatch.services.planning import Accepted, Chosen
from apps.rides.queries import reason_codes
from apps.rides.rules.lifecycle import ReasonList

MAX_SELECTED: Final = 100  # rides in one selection
MAX_ACCEPTED: Final = 400  # suggestions in one preview


class AssignForm(forms.Form):
    """Assignment of a driver; without `vehicle_id`, with the vehicle that the driver has at the time of the ride."""

    driver_id = forms.UUIDField(label=_("Driver"), error_messages={"required": _("Choose a driver.")})
    vehicle_id = forms.UUIDField(label=_("Vehicle"), required=False, widget=forms.HiddenInput)
    attendant_id = forms.UUIDField(label=_("Second person"), required=False)
    override_reason = forms.CharField(
        label=_("Override reason"), required=False, max_length=500, widget=forms.TextInput
    )
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


POSITION: Final = "position"
ADDRESS: Final = "address"


class HandOverForm(AssignForm):
    """Another driver for a rider on board, and where the rider changes vehicles.

    `position` says when and where the present vehicle reported its position; "" if that is not known.
    """

    place = forms.ChoiceField(label=_("Where the rider changes vehicles"), widget=forms.RadioSelect)
    rider_location = forms.CharField(
        label=_("Address or place where the rider changes vehicles"), required=False, max_length=300
    )
    reason_code = forms.ChoiceField(label=_("Reason"), initial="vehicle_breakdown")
    note = forms.CharField(label=_("Note"), required=False, max_length=500, widget=forms.TextInput)
    miles_driven = forms.DecimalField(
        label=_("Miles driven with the rider so far"), required=False, min_value=0, max_value=999, decimal_places=1
    )

    def __init__(self, *args: Any, position: str, **options: Any) -> None:
        super().__init__(*args, **options)
        places: list[tuple[str, Any]] = [(ADDRESS, _("At an address or place"))]
        if position:
            places.insert(0, (POSITION, position))
        self.knows_position = bool(position)
        self.fields["place"].initial = places[0][0]
        self.fields["place" if position else "rider_location"].widget.attrs["autofocus"] = True
        cast(forms.ChoiceField, self.fields["place"]).choices = places
        set_reason_choices(self)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if values.get("place") == ADDRESS and not values.get("rider_location"):
            self.add_error("rider_location", _("Enter where the rider changes vehicles."))
        return values


class UnassignForm(forms.Form):
    """Reason and note of an unassignment; `version` is the ride's version on the page."""

    reason_code = forms.ChoiceField(label=_("Reason"))
    note = forms.CharField(label=_("Note"), required=False, max_length=500, widget=forms.TextInput)
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        set_reason_choices(self)


class CallForm(forms.Form):
    """An attempt to reach somebody about a ride; `version` is the ride's version on the page."""

    contacted = forms.ChoiceField(choices=list(CONTACTED.items()))
    version = forms.IntegerField(min_value=0)


class SelectionForm(forms.Form):
    """Selected rides, each as `id:version`; assigns `driver_id` to all, or unassigns all with `reason_code`."""

    ride = forms.CharField()
    driver_id = forms.UUIDField(label=_("Driver"), required=False)
    override_reason = forms.CharField(label=_("Override reason"), required=False, max_length=500)
    reason_code = forms.ChoiceField(label=_("Reason"), required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        set_reason_choices(self)

    def clean_ride(self) -> Sequence[Chosen]:
        texts = self.data.getlist("ride") if hasattr(self.data, "getlist") else []
        if len(texts) > MAX_SELECTED:
            raise forms.ValidationError(_("At most %(most)s rides at once."), params={"most": MAX_SELECTED})
        try:
            return [_parse_selected(text) for text in texts]
        except ValueError:
            raise forms.ValidationError(_("Select at least one ride.")) from None


def set_reason_choices(form: forms.Form) -> None:
    """Set the choices of `reason_code`: unassign reasons, including the operator's own."""
    cast(forms.ChoiceField, form.fields["reason_code"]).choices = reason_codes.offered(ReasonList.UNASSIGN)


def _parse_selected(text: str) -> Chosen:
    ride_id, _colon, version = text.partition(":")
    return Chosen(UUID(ride_id), int(version))


def parse_accepted(texts: Sequence[str]) -> list[Accepted]:
    """Parse accepted suggestions, each as `ride:version:driver:vehicle`.

    Raises:
        ValueError: the list is empty or longer than `MAX_ACCEPTED`, or a suggestion is malformed.
    """
    if not 0 < len(texts) <= MAX_ACCEPTED:
        raise ValueError("too few, or too many")
    return [_parse_suggestion(text) for text in texts]


def _parse_suggestion(text: str) -> Accepted:
    ride_id, version, driver_id, vehicle_id = text.split(":")
    return Accepted(Chosen(UUID(ride_id), int(version)), UUID(driver_id), UUID(vehicle_id))
