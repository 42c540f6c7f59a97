"""Lists of drivers in forms, preferred or excluded: one field per driver, in order of preference."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django import forms
from django.db.models import Q
from django.forms import BoundField
from django.utils.translation import gettext as _

from apps.fleet.models import Activation, Driver
from apps.rides.labels import OUT_OF_REACH, driver_name
from lib.access import Principal

FEWEST: Final = 3
MOST: Final = 20
_NAME: Final = "%s_%s"


class DriverFields:
    """Fields for a list of drivers, with one empty field; `current_ids` are the current ids.

    `name` starts the names of the fields, and `wire` is the list in the API.  Without `ranked`, the order of the list
    means nothing, and neither do the labels.

    Choices are active drivers inside the data scope, and the current ones even if inactive.  One query.
    """

    def __init__(
        self,
        form: forms.Form,
        *,
        current_ids: Sequence[UUID],
        by: Principal,
        name: str = "driver",
        wire: str = "preferredDriverIds",
        ranked: bool = True,
    ) -> None:
        self._form, self._wire = form, wire
        is_selectable = Q(activation=Activation.ACTIVE) | Q(pk__in=current_ids)
        drivers = Driver.objects.visible_to(by).filter(is_selectable).select_related("default_vehicle")
        names = {str(driver.pk): driver_name(driver, by) for driver in drivers}
        names |= {str(pk): str(OUT_OF_REACH) for pk in current_ids if str(pk) not in names}
        choices = [("", _("None")), *sorted(names.items(), key=lambda choice: choice[1].lower())]
        count = min(max(FEWEST, len(current_ids) + 1), MOST)
        for number in range(count):
            form.fields[_NAME % (name, number)] = forms.ChoiceField(
                label=_label(number, ranked=ranked),
                required=False,
                choices=choices,
                initial=str(current_ids[number]) if number < len(current_ids) else "",
            )
        self._names = [_NAME % (name, number) for number in range(count)]

    def check(self) -> None:
        """Add an error for a driver that is selected twice."""
        seen: set[Any] = set()
        for name in self._names:
            selected = self._form.cleaned_data.get(name)
            if selected and selected in seen:
                self._form.add_error(name, _("This driver is already selected above."))
            seen.add(selected)

    def wires(self) -> dict[str, str]:
        return {self._wire: self._names[0]}

    def ids(self) -> list[UUID]:
        return [UUID(self._form.cleaned_data[name]) for name in self._names if self._form.cleaned_data[name]]

    # For the template

    @property
    def fields(self) -> list[BoundField]:
        return [self._form[name] for name in self._names]

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.fields)

    @property
    def summary(self) -> str:
        """The names of the selected drivers."""
        names = dict(self.fields[0].field.choices)  # type: ignore[attr-defined]  # a ChoiceField
        selected = (field.value() for field in self.fields)
        return ", ".join(str(names[pk]) for pk in selected if pk and pk in names)


def _label(number: int, *, ranked: bool) -> str:
    if not ranked:
        return _("Driver %(number)s") % {"number": number + 1}
    return _("First choice") if number == 0 else _("Choice %(number)s") % {"number": number + 1}
