"""Places of rides in forms: each is chosen or typed, with the code of its door beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.organizations.rules import stops
from apps.riders.models import Rider

Offered = Mapping[str, tuple[str, Mapping[str, Any]]]
HOME: Final = "home"
KEPT: Final = "kept"
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
_NEEDED: Final = ("address_line1", "city")
_CODE: Final = "access_code"
_NO_CODE: Final = "no_code"


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a ride or an order: `choice` is the field that says which, `prefix` begins the names of its others.

    `wire` is what the API calls it.  One that is not `required` is, where nothing is chosen, the first of its choices.
    """

    choice: str
    prefix: str
    wire: str
    label: Any
    required: bool = True

    def wires(self) -> dict[str, str]:
        """Name its fields by their names on the wire."""
        inner = {key: name for name, key in ADDRESS.items()} | {stops.ACCESS_CODE: _CODE}
        return {self.wire: self.choice} | {f"{self.wire}.{key}": self.prefix + name for key, name in inner.items()}


class PlaceFields:
    """The fields of one place in a form.

    `kept` is the stop that there is, with its code; None in a form that makes one.  `offered` are names and stops to
    choose from by key; `usual` is the key that a new form begins with, else the first.  To those who do not open doors
    (`opens_doors`) a code is never shown: they may replace or remove it, and what is left empty stays.
    """

    def __init__(
        self,
        form: forms.Form,
        place: Place,
        *,
        kept: Mapping[str, Any] | None,
        offered: Offered,
        opens_doors: bool,
        usual: str = "",
    ) -> None:
        self._form, self.place, self.offered, self._opens_doors = form, place, offered, opens_doors
        self._kept_code = stops.access_code(kept or {})
        choices = [(key, name) for key, (name, _stop) in offered.items()]
        if kept is not None:
            choices.insert(0, (KEPT, _("As it is: %(place)s") % {"place": line_of(kept)}))
        choices.append((TYPED, _("Another address")))
        self._usual = usual or choices[0][0]
        form.fields[place.choice] = forms.ChoiceField(
            label=place.label, choices=choices, initial=self._usual, required=place.required
        )
        for name, key in ADDRESS.items():
            form.fields[place.prefix + name] = forms.CharField(
                label=_LABELS[name], required=False, max_length=stops.MAX_LENGTHS[key]
            )
        hidden = bool(self._kept_code) and not opens_doors
        form.fields[place.prefix + _CODE] = forms.CharField(
            label=_("Door code"),
            required=False,
            max_length=stops.MAX_LENGTHS[stops.ACCESS_CODE],
            initial=self._kept_code if opens_doors else "",
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            help_text=_("There is one, which dispatchers and drivers see. Empty: it stays.")
            if hidden
            else _("How to get in, such as “gate 1234#”. Only dispatchers and drivers see it."),
        )
        if hidden:
            form.fields[place.prefix + _NO_CODE] = forms.BooleanField(label=_("Remove the door code"), required=False)

    def wires(self) -> dict[str, str]:
        """Name the fields by their names on the wire."""
        return self.place.wires()

    def check(self) -> None:
        """Ask for what an address needs, where one is to be typed."""
        values = self._form.cleaned_data
        for name in _NEEDED if values.get(self.place.choice) == TYPED else ():
            if not values.get(self.place.prefix + name):
                self._form.add_error(self.place.prefix + name, _("Another address needs this."))

    def stop(self) -> dict[str, Any] | None:
        """Give the stop that was chosen or typed, with its code; None where it is the one that there was."""
        values, prefix = self._form.cleaned_data, self.place.prefix
        chosen = values[self.place.choice] or self._usual
        if chosen == KEPT:
            return None
        if chosen == TYPED:
            stop: Mapping[str, Any] = {"facilityId": None} | {
                key: values[prefix + name] for name, key in ADDRESS.items()
            }
        else:
            stop = self.offered[chosen][1]
        code = values[prefix + _CODE]
        # The form of those who see the code still holds that of the place before.
        is_of_old = self._opens_doors and code == self._kept_code
        return {**stop, stops.ACCESS_CODE: code} if code and not is_of_old else dict(stop)

    def patch(self) -> dict[str, str]:
        """Give what changes about the place that there was: its code, or nothing."""
        values, prefix = self._form.cleaned_data, self.place.prefix
        code: str = values[prefix + _CODE]
        is_kept = code == self._kept_code if self._opens_doors else not (code or values.get(prefix + _NO_CODE))
        return {} if is_kept else {stops.ACCESS_CODE: code}

    # What the page shows of it

    @property
    def choice(self) -> BoundField:
        return self._form[self.place.choice]

    @property
    def lines(self) -> list[list[BoundField]]:
        """The fields of a typed address, by lines."""
        rows = (("address_line1", "address_line2"), ("city", "state", "postal_code"), ("instructions",))
        return [[self._form[self.place.prefix + name] for name in row] for row in rows]

    @property
    def code(self) -> list[BoundField]:
        names = (self.place.prefix + name for name in (_CODE, _NO_CODE))
        return [self._form[name] for name in names if name in self._form.fields]

    @property
    def says(self) -> str:
        """Say which place the form holds, and that there is a code."""
        chosen = self.choice.value() or self._usual
        name = dict(self.choice.field.choices).get(chosen, "")  # type: ignore[attr-defined]  # a ChoiceField
        return _("%(place)s, with a door code") % {"place": name} if self._has_code() else str(name)

    @property
    def code_says(self) -> str:
        return _("set") if self._has_code() else _("none")

    @property
    def is_wrong(self) -> bool:
        return any(name in self._form.errors for name in self.wires().values())

    @property
    def code_is_wrong(self) -> bool:
        return any(field.errors for field in self.code)

    def _has_code(self) -> bool:
        code, *removed = (field.value() for field in self.code)
        return bool(code) or (bool(removed) and not removed[0])


def line_of(stop: Mapping[str, Any]) -> str:
    """Name a place in one line."""
    return ", ".join(filter(None, (stop.get(key) for key in ("name", "addressLine1", "city")))) or str(_("unnamed"))


def home_of(rider: Rider) -> Offered:
    """Offer the rider's home, if it is known."""
    home = rider.home_address
    return {HOME: (_("Home: %(place)s") % {"place": line_of({**home, "name": ""})}, home)} if home else {}


def saved_places_of(rider: Rider) -> Offered:
    """Offer the places that the rider goes to."""
    return {f"saved-{number}": (line_of(stop), stop) for number, stop in enumerate(rider.saved_places)}
