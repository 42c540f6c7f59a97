"""Filters of lists in /admin/: within the user's data scope, with readable labels."""

from typing import Any

from django.contrib.admin.filters import AllValuesFieldListFilter, ChoicesFieldListFilter, RelatedFieldListFilter
from django.http import HttpRequest
from django.utils.text import capfirst


class ScopedRelatedFilter(RelatedFieldListFilter):
    """A filter by related records within the user's data scope; Django would list all of them."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        return [(row.pk, str(row)) for row in model_admin.choices_of(field, request)]


class SpokenValuesFilter(AllValuesFieldListFilter):
    """A filter by the values of a text column, with readable labels and without an unnamed entry for empty values."""

    def choices(self, changelist: Any) -> Any:
        for choice in super().choices(changelist):
            if choice["display"]:
                yield {**choice, "display": str(choice["display"]).replace("_", " ")}


class SpokenChoicesFilter(ChoicesFieldListFilter):
    """A filter by choices, with the column's labels, capitalized."""

    def __init__(self, field: Any, request: Any, params: Any, model: Any, model_admin: Any, field_path: Any) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        words = model_admin.words.get(field.name, {})
        self._said = {str(label): words.get(value, label) for value, label in field.flatchoices}

    def choices(self, changelist: Any) -> Any:
        for choice in super().choices(changelist):
            label = str(choice["display"])
            yield {**choice, "display": capfirst(str(self._said.get(label, label)))}
