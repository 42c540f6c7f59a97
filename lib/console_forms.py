"""Forms of pages: choices that depend on who asks, and refusals of services said by the field they are about."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.text import capfirst

from lib.errors import DomainError


def choose(form: forms.Form, name: str, rows: Iterable[tuple[Any, str]], *, first: Any = None) -> None:
    """Offer rows (id and name) in a field; `first` is what choosing none of them is called."""
    choices = [(str(pk), label) for pk, label in rows]
    cast(forms.ChoiceField, form.fields[name]).choices = choices if first is None else [("", first), *choices]


class Ticks(forms.CheckboxSelectMultiple):
    """Boxes to tick.  An address names what is ticked one by one, as browsers do, or with commas between."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        texts: list[str] = data.getlist(name)
        return sorted({one for text in texts for one in text.split(",") if one})


class Several(forms.MultipleChoiceField):
    """Some of what is offered; none of them asks for all, which is called `whole`."""

    widget = Ticks

    def __init__(self, *, whole: Any, **options: Any) -> None:
        super().__init__(required=False, **options)
        self.whole = whole


class ListFilter(forms.Form):
    """What of a list is shown; all of it stands in the address."""

    def known(self) -> dict[str, str]:
        """Say what is asked for as addresses do: fields of the form alone, and of them what holds and is not empty."""
        self.is_valid()
        return {name: _spelled(value) for name, value in self.cleaned_data.items() if value}


def _spelled(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def spoken(choices: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """Begin the labels of choices with a capital letter, as whatever begins a line; lazy ones stay so."""
    return [(str(value), capfirst(label)) for value, label in choices]


def day_field(label: Any, *, since: date = date(2000, 1, 1), **options: Any) -> forms.DateField:
    """Ask for a day.  Arithmetic with days and zones overflows where the calendar ends."""
    bounds = [MinValueValidator(since), MaxValueValidator(date(2199, 12, 31))]
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, widget=widget, validators=bounds, **options)


def put_on(form: forms.Form, refusal: DomainError, names: Mapping[str, str]) -> None:
    """Add the messages of an error to a bound form; `names` are the form's fields by their names in the API.

    Messages contain the labels of fields in place of their names in the API.
    """
    labels = {wire: str(form.fields[name].label) for wire, name in names.items() if name in form.fields}
    details = [detail for detail in refusal.details if detail.field in names]
    for detail in details:
        form.add_error(names[detail.field or ""], str(detail.text.with_labels(labels)))
    if not details:
        form.add_error(None, refusal.message)
