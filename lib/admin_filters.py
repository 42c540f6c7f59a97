"""Filters beside the lists of /admin/: within the scope of who looks, and in words as people read them."""

from typing import Any

from django.contrib.admin.filters import AllValuesFieldListFilter, ChoicesFieldListFilter, RelatedFieldListFilter
from django.http import HttpRequest
from django.utils.text import capfirst


class ScopedRelatedFilter(RelatedFieldListFilter):
    """A filter of a list by other records: it names those in the person's scope, where Django names all there are."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        return [(row.pk, str(row)) for row in model_admin.choices_of(field, request)]


class SpokenValuesFilter(AllValuesFieldListFilter):
    """A filter by the words that a column holds: as people read them, and without a nameless one for no word."""

    def choices(self, changelist: Any) -> Any:
        for choice in super().choices(changelist):
            if choice["display"]:
                yield {**choice, "display": str(choice["display"]).replace("_", " ")}


class SpokenChoicesFilter(ChoicesFieldListFilter):
    """A filter by choices, in the words of their column; they begin with a capital letter."""

    def __init__(self, field: Any, request: Any, params: Any, model: Any, model_admin: Any, field_path: Any) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        words = model_admin.words.get(field.name, {})
        self._said = {str(label): words.get(value, label) for value, label in field.flatchoices}

    def choices(self, changelist: Any) -> Any:
        for choice in super().choices(changelist):
            label = str(choice["display"])
            yield {**choice, "display": capfirst(str(self._said.get(label, label)))}
