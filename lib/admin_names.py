"""Columns of /admin/ that show related records by name, with a link for users who may open them.

Django shows `str(row)`, which is an id for records about persons, and links it for all users.  Labels of choices are
written for the middle of a sentence and are capitalized here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import ForeignKey, Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.text import capfirst

Words = Mapping[str, Mapping[str, str | Promise]]  # by column and stored value


@dataclass(frozen=True, slots=True)
class _InPlace:
    """A read-only column or field of `model` that replaces the column `key` and has its name."""

    model: type[Model]
    key: str

    @property
    def __name__(self) -> str:
        return self.key

    def __str__(self) -> str:
        return self.key

    @property
    def short_description(self) -> str:
        return str(self.model._meta.get_field(self.key).verbose_name)  # type: ignore[union-attr]  # a column has one


@dataclass(frozen=True, slots=True)
class NamedRecord(_InPlace):
    """Replaces a foreign key: the name of the related record."""

    linked: bool
    site: AdminSite = field(compare=False)
    request: HttpRequest = field(compare=False)

    def __call__(self, row: Any) -> str:
        named = getattr(row, self.key)
        if named is None:
            return "-"
        table: Any = self.site.get_model_admin(type(named))
        text: str = table.name_of(named, self.request)
        if not self.linked or not table.has_view_permission(self.request):
            return text
        address = f"{self.site.name}:{table.opts.app_label}_{table.opts.model_name}_change"
        return format_html('<a href="{}">{}</a>', reverse(address, args=[named.pk]), text)


@dataclass(frozen=True, slots=True)
class SpokenChoice(_InPlace):
    """Replaces a column with choices: the label of the value."""

    words: Mapping[str, str | Promise] = field(compare=False)

    @property
    def admin_order_field(self) -> str:
        return self.key

    def __call__(self, row: Any) -> str:
        label = self.words.get(getattr(row, self.key)) or getattr(row, f"get_{self.key}_display")()
        return capfirst(str(label)) or "-"


def with_names(
    names: Iterable[Any], model: type[Model], site: AdminSite, request: HttpRequest, *, linked: bool, words: Words
) -> list[Any]:
    """Replace foreign keys by names of records and choices by labels; an entry may be a group of fields on one line.

    `words` overrides labels of choices for which other pages use a different label.
    """

    def named(name: Any) -> Any:
        if isinstance(name, list | tuple):
            return tuple(map(named, name))
        if name in keys:
            return NamedRecord(model, name, linked, site, request)
        return SpokenChoice(model, name, words.get(name, {})) if name in chosen else name

    chosen = {column.name for column in model._meta.concrete_fields if column.choices}
    keys = {column.name for column in model._meta.concrete_fields if isinstance(column, ForeignKey)}
    return [named(name) for name in names]
