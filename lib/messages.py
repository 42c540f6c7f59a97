"""Texts with parameters, for errors, alerts and everything else that people of several languages read.

A `Message` holds a gettext template and its parameters, and becomes text only where somebody reads it: `str()` formats
it in the active language.  The API, tasks and logs run in English, console pages and mails in the reader's language.
Parameters that are texts themselves (labels of choices, lazy gettext texts, messages, lists of them) and dates follow
the language; numbers, names and ids are the same in each.  A `FieldName` is the API's name of a field: console forms
replace it with the label that their reader sees.

Stored texts, such as alerts, are stored as template and parameters (`as_json`) and translated when they are read.  The
template is the key of the translation, so a stored text whose template has been reworded since is read in English.

Rules import the gettext functions from here: they may not import Django (see the contracts in pyproject.toml).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.utils.functional import Promise, lazy
from django.utils.translation import get_language, gettext_lazy, ngettext_lazy, override, pgettext_lazy
from django_stubs_ext import StrPromise

from lib.dates import plain_day

__all__ = [
    "FieldName",
    "Message",
    "Template",
    "Text",
    "all_of",
    "any_of",
    "gettext_lazy",
    "listed",
    "lowered",
    "ngettext_lazy",
    "pgettext_lazy",
]


class FieldName(str):
    """The name of a field in the API's spelling, as a parameter of a message."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A template, marked by `gettext_lazy`, and the values of its `%(name)s`."""

    template: str | StrPromise
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.parameters or isinstance(self.template, str):
            return str(self.template)
        # Not str() first: the plural form of a template depends on the parameters.
        return self.template % {name: _formatted(value) for name, value in self.parameters.items()}

    def with_labels(self, labels: Mapping[str, str]) -> "Message":
        """Replace names of fields with labels; the label of `field`, the subject of the text, keeps its capital."""
        parameters = dict(self.parameters)
        for name, value in self.parameters.items():
            if isinstance(value, FieldName) and value in labels:
                parameters[name] = labels[value] if name == "field" else labels[value].lower()
        return Message(self.template, parameters)

    def as_json(self) -> dict[str, Any]:
        """Represent the message for storage.  Templates and labels in it have no gettext context and no plural."""
        with override(None):  # the text of the template itself
            parameters = {name: _stored(value) for name, value in self.parameters.items()}
            return {"template": str(self.template), "parameters": parameters}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Message":
        return cls(
            gettext_lazy(stored["template"]), {name: _read(value) for name, value in stored["parameters"].items()}
        )


Template = StrPromise | Message  # a text that has a translation
Text = str | Template


def _joined(texts: Sequence[object]) -> str:
    return ", ".join(map(str, texts))


def _lowered(text: object) -> str:
    return str(text).lower()


listed = lazy(_joined, str)  # joined by commas
lowered = lazy(_lowered, str)  # a label for the middle of a sentence


def any_of(texts: Sequence[Text]) -> Text:
    """Join texts with "or"."""
    *first_texts, last = texts
    return (
        Message(gettext_lazy("%(others)s or %(last)s"), {"others": first_texts, "last": last}) if first_texts else last
    )


def all_of(texts: Sequence[Template]) -> Template:
    """Join texts with "and"."""
    *first_texts, last = texts
    return (
        Message(gettext_lazy("%(others)s and %(last)s"), {"others": first_texts, "last": last}) if first_texts else last
    )


def _formatted(value: object) -> object:
    if isinstance(value, list | tuple):
        return _joined(value)
    # Without a language, as in the API, a date is ISO 8601.
    return plain_day(value) if type(value) is date and get_language() else value


def _stored(value: object) -> object:
    if isinstance(value, Message):
        return value.as_json()
    if isinstance(value, Promise):
        return {"template": str(value), "parameters": {}}
    if isinstance(value, list | tuple):
        return [_stored(item) for item in value]
    if type(value) is date:
        return {"date": value.isoformat()}
    return value if isinstance(value, int | float) else str(value)


def _read(value: Any) -> object:
    if isinstance(value, dict):
        if "date" in value:
            return date.fromisoformat(value["date"])
        return Message.from_json(value)
    return [_read(item) for item in value] if isinstance(value, list) else value
