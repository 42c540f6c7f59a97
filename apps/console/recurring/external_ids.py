"""External ids of a standing order in a form: one line for each, "system: value"."""

from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import ExternalId

MOST: Final = 20
MAX_LENGTH: Final = 100  # characters of a system or value


class ExternalIdsField(forms.CharField):
    """Lines "system: value", cleaned to mappings with `system` and `value`."""

    def __init__(self, **options: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
        help_text = _("One per line: the system, a colon and the id, such as “Epic: 12345”.")
        super().__init__(widget=widget, help_text=help_text, **options)

    def clean(self, value: Any) -> list[dict[str, str]]:
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(lines) > MOST:
            raise forms.ValidationError(_("Enter at most 20 ids."))
        return [_parsed(line) for line in lines]


def _parsed(line: str) -> dict[str, str]:
    # Systems may contain colons, as in "urn:oid:1.2: 12345".
    system, _separator, value = line.partition(": " if ": " in line else ":")
    parts = {"system": system.strip(), "value": value.strip()}
    if not all(0 < len(part) <= MAX_LENGTH for part in parts.values()):
        raise forms.ValidationError(_("Enter each line as a system, a colon and an id of up to 100 characters."))
    return parts


def lines_of(rows: Iterable[ExternalId]) -> str:
    """Return external ids as the text of the field."""
    return "\n".join(f"{row.system}: {row.value}" for row in rows)


def with_types(ids: Iterable[dict[str, str]], rows: Iterable[ExternalId]) -> list[dict[str, str]]:
    """Add to entered ids the types of the existing ones, which the field does not show."""
    types = {(row.system, row.value): row.type for row in rows}
    return [{**entered, "type": types.get((entered["system"], entered["value"]), "")} for entered in ids]
