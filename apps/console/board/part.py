"""The filter form of the board, and the links that remove its filters."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.console.board.page import BoardPage
from apps.dispatch.queries.narrowing import Choices


def parts(page: BoardPage, offered: Choices) -> dict[str, Any]:
    """Return the context of the filter form: the fields with more than one option or with a selected value.

    `chosen` lists the active filters, each with the URL without it; `kept` holds the other query parameters, for hidden
    inputs of the form.
    """
    within = page.within
    fields = [
        _field("facility", _("Facility"), offered.facilities, within.facility_id),
        _field("provider", _("Provider"), offered.providers, within.provider_id),
        _field("zone", _("Time zone"), [(zone, zone) for zone in offered.zones], within.zone or None),
    ]
    shown = [field for field in fields if field["chosen"] or len(field["options"]) > 1]
    chosen = [
        {"label": field["label"], "name": field["said"], "url": page.url(**{field["name"]: ""})}
        for field in fields
        if field["chosen"]
    ]
    kept = page.asked(facility="", provider="", zone="")
    return {"fields": shown, "chosen": chosen, "kept": kept, "all": page.url(facility="", provider="", zone="")}


def _field(
    name: str, label: str, options: Sequence[tuple[UUID | str, str]], chosen: UUID | str | None
) -> dict[str, Any]:
    said = dict(options).get(chosen, _("Not found")) if chosen else ""
    rows = [(str(value), text, value == chosen) for value, text in options]
    return {"name": name, "label": label, "options": rows, "chosen": bool(chosen), "said": said}
