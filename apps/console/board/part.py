"""The filter form of the board, and the links that remove its filters."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.console.board.page import BoardPage
from apps.dispatch.queries.narrowing import Choices
from lib import zone_labels


def parts(page: BoardPage, choices: Choices) -> dict[str, Any]:
    """Return the context of the filter form: the fields with more than one option or with a selected value.

    `chosen` lists the active filters, each with the URL that removes it; `other_params` holds the other query
    parameters, for hidden inputs of the form.
    """
    within = page.within
    fields = [
        _field("facility", _("Facility"), choices.facilities, within.facility_id),
        _field("provider", _("Provider"), choices.providers, within.provider_id),
        _field("zone", _("Time zone"), zone_labels.choices(choices.zones, iana=False), within.zone or None),
    ]
    visible_fields = [field for field in fields if field["chosen"] or len(field["options"]) > 1]
    chosen = [
        {"label": field["label"], "name": field["selected_label"], "url": page.url(**{field["name"]: ""})}
        for field in fields
        if field["chosen"]
    ]
    other_params = page.query_params(facility="", provider="", zone="")
    return {
        "fields": visible_fields,
        "chosen": chosen,
        "other_params": other_params,
        "all": page.url(facility="", provider="", zone=""),
    }


def _field(
    name: str, label: str, options: Sequence[tuple[UUID | str, str]], chosen: UUID | str | None
) -> dict[str, Any]:
    selected_label = dict(options).get(chosen, _("Not found")) if chosen else ""
    rows = [(str(value), text, value == chosen) for value, text in options]
    return {"name": name, "label": label, "options": rows, "chosen": bool(chosen), "selected_label": selected_label}
