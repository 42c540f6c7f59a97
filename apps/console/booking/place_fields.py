"""Form fields for places of rides: each place is chosen from a list or typed, with an access code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.organizations.rules import stops
from apps.riders.models import Rider

PlaceChoices = Mapping[str, tuple[str, Mapping[str, Any]]]
HOME: Final = "home"
CURRENT: Final = "kept"
TYPED: Final = "typed"
ADDRESS: Final = {
    "address_line1": "addressLine1",
    "address_line2": "addressLine2",
    "city": "city",
    "state": "state",
    "postal_code": "postalCode",
    "instructions": "instructions",
}
_LABELS: Final = {
    "address_line1": gettext_lazy("Street and number"),
    "address_line2": gettext_lazy("Apartment, suite"),
    "city": gettext_lazy("City"),
    "state": gettext_lazy("State"),
    "postal_code": gettext_lazy("Postal code"),
    "instructions": gettext_lazy("Instructions for the driver there"),
}
_REQUIRED: Final = ("address_line1", "city")
_CODE: Final = "access_code"
_NO_CODE: Final = "no_code"


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a ride or a standing order.

    `choice` is the field that selects it, `prefix` the prefix of its other fields, `wire` its name in the API.  If it
    is not `required` and nothing is selected, the default choice applies.
    """

    choice: str
    prefix: str
    wire: str
    label: Any
    required: bool = True

    def wires(self) -> dict[str, str]:
        """Return the form's field names by their paths in the API."""
        inner = {key: name for name, key in ADDRESS.items()} | {stops.ACCESS_CODE: _CODE}
        return {self.wire: self.choice} | {f"{self.wire}.{key}": self.prefix + name for key, name in inner.items()}


class PlaceFields:
    """Form fields of one place.

    `current` is the stop before the change with its access code, None in a form that creates one.  `offered` holds
    names and stops to choose from, by key; `usual` is the default key of a new form, else the first choice applies.
    Without `opens_doors` the user never sees an access code: they may replace or remove it, and an empty field leaves
    it unchanged.
    """

    def __init__(
        self,
        form: forms.Form,
        place: Place,
        *,
        current: Mapping[str, Any] | None,
        offered: PlaceChoices,
        opens_doors: bool,
        usual: str = "",
    ) -> None:
        self._form, self.place, self.offered, self._opens_doors = form, place, offered, opens_doors
        self._current_code = stops.access_code(current or {})
        choices = [(key, name) for key, (name, _stop) in offered.items()]
        if current is not None:
            choices.insert(0, (CURRENT, _("As it is: %(place)s") % {"place": line_of(current)}))
        choices.append((TYPED, _("Another address")))
        self._usual = usual or choices[0][0]
        form.fields[place.choice] = forms.ChoiceField(
            label=place.label, choices=choices, initial=self._usual, required=place.required
        )
        for name, key in ADDRESS.items():
            form.fields[place.prefix + name] = forms.CharField(
                label=_LABELS[name], required=False, max_length=stops.MAX_LENGTHS[key]
            )
        hidden = bool(self._current_code) and not opens_doors
        form.fields[place.prefix + _CODE] = forms.CharField(
            label=_("Door code"),
            required=False,
            max_length=stops.MAX_LENGTHS[stops.ACCESS_CODE],
            initial=self._current_code if opens_doors else "",
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            help_text=_("There is one, which only dispatchers and drivers see. Leave blank to keep it.")
            if hidden
            else _("How to get in, such as “gate 1234#”. Only dispatchers and drivers see it."),
        )
        if hidden:
            form.fields[place.prefix + _NO_CODE] = forms.BooleanField(label=_("Remove the door code"), required=False)

    def wires(self) -> dict[str, str]:
        """Return the form's field names by their paths in the API, see `Place.wires`."""
        return self.place.wires()

    def check(self) -> None:
        """Require street and city if the place is a typed address."""
        values = self._form.cleaned_data
        for name in _REQUIRED if values.get(self.place.choice) == TYPED else ():
            if not values.get(self.place.prefix + name):
                self._form.add_error(self.place.prefix + name, _("Required for another address."))

    def stop(self) -> dict[str, Any] | None:
        """Return the chosen or typed stop with its access code; None if the current stop is unchanged."""
        values, prefix = self._form.cleaned_data, self.place.prefix
        chosen = values[self.place.choice] or self._usual
        if chosen == CURRENT:
            return None
        if chosen == TYPED:
            stop: Mapping[str, Any] = {"facilityId": None} | {
                key: values[prefix + name] for name, key in ADDRESS.items()
            }
        else:
            stop = self.offered[chosen][1]
        code = values[prefix + _CODE]
        # For users who see access codes, the field still holds the code of the previous place.
        is_current_code = self._opens_doors and code == self._current_code
        return {**stop, stops.ACCESS_CODE: code} if code and not is_current_code else dict(stop)

    def patch(self) -> dict[str, str]:
        """Return the changed access code of the current stop; {} if it is unchanged."""
        values, prefix = self._form.cleaned_data, self.place.prefix
        code: str = values[prefix + _CODE]
        is_unchanged = code == self._current_code if self._opens_doors else not (code or values.get(prefix + _NO_CODE))
        return {} if is_unchanged else {stops.ACCESS_CODE: code}

    # For the template

    @property
    def choice(self) -> BoundField:
        return self._form[self.place.choice]

    @property
    def lines(self) -> list[list[BoundField]]:
        """Return the fields of a typed address, by line."""
        rows = (("address_line1", "address_line2"), ("city", "state", "postal_code"), ("instructions",))
        return [[self._form[self.place.prefix + name] for name in row] for row in rows]

    @property
    def code(self) -> list[BoundField]:
        names = (self.place.prefix + name for name in (_CODE, _NO_CODE))
        return [self._form[name] for name in names if name in self._form.fields]

    @property
    def summary(self) -> str:
        """Summarize the place, and whether it has an access code."""
        chosen = self.choice.value() or self._usual
        name = dict(self.choice.field.choices).get(chosen, "")  # type: ignore[attr-defined]  # a ChoiceField
        return _("%(place)s, with a door code") % {"place": name} if self._has_code() else str(name)

    @property
    def code_summary(self) -> str:
        return _("set") if self._has_code() else _("none")

    @property
    def has_errors(self) -> bool:
        return any(name in self._form.errors for name in self.wires().values())

    @property
    def code_has_errors(self) -> bool:
        return any(field.errors for field in self.code)

    def _has_code(self) -> bool:
        code, *removed = (field.value() for field in self.code)
        return bool(code) or (bool(removed) and not removed[0])


def line_of(stop: Mapping[str, Any]) -> str:
    """Return name, street and city of a stop in one line."""
    return ", ".join(filter(None, (stop.get(key) for key in ("name", "addressLine1", "city")))) or str(_("unnamed"))


def home_of(rider: Rider) -> PlaceChoices:
    """Return the rider's home as a choice; {} if it is unknown."""
    home = rider.home_address
    return {HOME: (_("Home: %(place)s") % {"place": line_of({**home, "name": ""})}, home)} if home else {}


def saved_places_of(rider: Rider) -> PlaceChoices:
    """Return the rider's saved places as choices, with keys by position."""
    return {f"saved-{number}": (line_of(stop), stop) for number, stop in enumerate(rider.saved_places)}
