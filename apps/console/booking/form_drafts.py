"""Form data of booking drafts: which posted fields are stored, and the list of drafts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.console.booking.presets import PRESETS, Preset
from apps.organizations.models import Facility
from apps.riders.labels import whole_name
from apps.riders.models import Rider
from apps.rides.models import BookingDraft
from apps.rides.queries import booking_drafts
from lib.access import Principal
from lib.ids import uuid_or_none

MAX_LENGTH: Final = 2_000  # characters of one field
_MAX_FIELDS: Final = 150  # fields; twice as many as the form has
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,60}")
# Fields of the request rather than the ride, and confirmations, which are valid for one submission only.
_DISCARDED: Final = frozenset(
    {"csrfmiddlewaretoken", "do", "by_itself", "key", "q", "somebody_else", "allow_duplicate"}
)


def to_save(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the posted fields to store: plausible names, values as typed, up to `MAX_LENGTH` characters each."""
    names = [name for name in posted if _NAME.fullmatch(name) and name not in _DISCARDED]
    return {name: posted[name][:MAX_LENGTH] for name in names[:_MAX_FIELDS]}


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A draft in the list; "" for values that are missing or not visible to the user."""

    draft: BookingDraft
    preset: Preset
    rider: str
    facility: str
    time: str


def rows(drafts: Sequence[BookingDraft], by: Principal) -> tuple[list[DraftRow], list[Rider]]:
    """Return the rows of the list, and the riders in them that are visible to the user.  Two queries."""
    form_data = [booking_drafts.form_data_of(draft) for draft in drafts]
    riders = Rider.objects.visible_to(by).in_bulk(_ids(form_data, "rider"))
    facilities = Facility.objects.visible_to(by).in_bulk(_ids(form_data, "facility"))
    draft_rows = [
        DraftRow(
            draft,
            PRESETS.get(data.get("preset", ""), PRESETS["other"]),
            _rider_name(data, riders, by),
            str(getattr(facilities.get(uuid_or_none(data.get("facility"))), "name", "")),
            " ".join(filter(None, (data.get("day"), data.get("clock")))),
        )
        for draft, data in zip(drafts, form_data, strict=True)
    ]
    return draft_rows, list(riders.values())


def _ids(form_data: Sequence[Mapping[str, str]], name: str) -> list[Any]:
    return [pk for data in form_data if (pk := uuid_or_none(data.get(name))) is not None]


def _rider_name(data: Mapping[str, str], riders: Mapping[Any, Rider], by: Principal) -> str:
    rider = riders.get(uuid_or_none(data.get("rider")))
    if rider is not None:
        return whole_name(rider, by)
    return ", ".join(filter(None, (data.get("last_name"), data.get("first_name")))) if data.get("is_new") else ""
