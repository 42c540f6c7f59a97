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

LONGEST: Final = 2_000  # characters of one field
_MOST: Final = 150  # fields; twice as many as the form has
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,60}")
# Fields of the request rather than the ride, and confirmations, which are valid for one submission only.
_NOT_KEPT: Final = frozenset({"csrfmiddlewaretoken", "do", "by_itself", "key", "q", "somebody_else", "allow_duplicate"})


def to_keep(said: Mapping[str, str]) -> dict[str, str]:
    """Return the posted fields to store: plausible names, values as typed, up to `LONGEST` characters each."""
    names = [name for name in said if _NAME.fullmatch(name) and name not in _NOT_KEPT]
    return {name: said[name][:LONGEST] for name in names[:_MOST]}


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A draft in the list; "" for values that are missing or not visible to the user."""

    draft: BookingDraft
    preset: Preset
    who: str
    where: str
    when: str


def rows(mine: Sequence[BookingDraft], by: Principal) -> tuple[list[DraftRow], list[Rider]]:
    """Return the rows of the list, and the riders in them that are visible to the user.  Two queries."""
    said = [booking_drafts.form_data_of(draft) for draft in mine]
    riders = Rider.objects.visible_to(by).in_bulk(_ids(said, "rider"))
    facilities = Facility.objects.visible_to(by).in_bulk(_ids(said, "facility"))
    found = [
        DraftRow(
            draft,
            PRESETS.get(one.get("preset", ""), PRESETS["other"]),
            _who(one, riders, by),
            str(getattr(facilities.get(uuid_or_none(one.get("facility"))), "name", "")),
            " ".join(filter(None, (one.get("day"), one.get("clock")))),
        )
        for draft, one in zip(mine, said, strict=True)
    ]
    return found, list(riders.values())


def _ids(said: Sequence[Mapping[str, str]], name: str) -> list[Any]:
    return [pk for one in said if (pk := uuid_or_none(one.get(name))) is not None]


def _who(said: Mapping[str, str], riders: Mapping[Any, Rider], by: Principal) -> str:
    known = riders.get(uuid_or_none(said.get("rider")))
    if known is not None:
        return whole_name(known, by)
    return ", ".join(filter(None, (said.get("last_name"), said.get("first_name")))) if said.get("is_new") else ""
