"""Forms of console pages: choices that depend on the user, and service errors shown at the affected field."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.text import capfirst

from lib.errors import DomainError


def choose(form: forms.Form, name: str, rows: Iterable[tuple[Any, str]], *, first: Any = None) -> None:
    """Set the choices of a field to rows (id and label).

    `first` is the label of the empty choice; None: there is no empty choice.
    """
    choices = [(str(pk), label) for pk, label in rows]
    cast(forms.ChoiceField, form.fields[name]).choices = choices if first is None else [("", first), *choices]


class CheckboxList(forms.CheckboxSelectMultiple):
    """Checkboxes; the URL may repeat the parameter for each value, as browsers do, or separate values by commas."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        texts: list[str] = data.getlist(name)
        return sorted({value for text in texts for value in text.split(",") if value})


class MultiSelectField(forms.MultipleChoiceField):
    """A multiple choice in which no selection means all; `all_label` is the label for all."""

    widget = CheckboxList

    def __init__(self, *, all_label: Any, **options: Any) -> None:
        super().__init__(required=False, **options)
        self.all_label = all_label


class ListFilter(forms.Form):
    """The filter of a list; all of its values are in the URL."""

    def parameters(self) -> dict[str, str]:
        """Return the filter's query parameters: only fields of the form, with valid and non-empty values."""
        self.is_valid()
        return {name: _spelled(value) for name, value in self.cleaned_data.items() if value}


def _spelled(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def capitalized(choices: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """Capitalize the labels of choices, for use at the start of a line; lazy labels stay lazy."""
    return [(str(value), capfirst(label)) for value, label in choices]


def day_field(label: Any, *, since: date = date(2000, 1, 1), **options: Any) -> forms.DateField:
    """Return a date field, bounded so that arithmetic with dates and time zones cannot overflow."""
    bounds = [MinValueValidator(since), MaxValueValidator(date(2199, 12, 31))]
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, widget=widget, validators=bounds, **options)


def add_errors(form: forms.Form, refusal: DomainError, names: Mapping[str, str]) -> None:
    """Add the messages of an error to a bound form; `names` maps API field names to form fields.

    Messages contain the labels of fields in place of their API names.
    """
    labels = {wire: str(form.fields[name].label) for wire, name in names.items() if name in form.fields}
    details = [detail for detail in refusal.details if detail.field in names]
    for detail in details:
        form.add_error(names[detail.field or ""], str(detail.text.with_labels(labels)))
    if not details:
        form.add_error(None, refusal.message)
