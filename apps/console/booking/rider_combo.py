"""Search for riders by name, id, phone number or birth date.

Searches are POST requests, so that the search text never appears in a URL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Value
from django.db.models.functions import Concat, Lower

from apps.audit.views import record_read
from apps.console.booking.place_fields import line_of
from apps.riders import queries as riders
from apps.riders.labels import mobility_label, need_labels, whole_name
from apps.riders.models import Rider
from apps.riders.queries import RiderRecord
from lib.access import Principal
from lib.phone_input import e164

MIN_LENGTH: Final = 2  # characters; shorter texts find nothing
MAX_RIDERS: Final = 8  # riders in a result; a longer text narrows it down
# One expression: with the columns of the index on names, PostgreSQL would scan that index for the first few matches.
_BY_NAME: Final = Concat(Lower("last_name"), Value(" "), Lower("first_name"))
# Names of criteria in the audit trail, the same as for the API.
_RECORDED: Final[Mapping[str, str]] = {"called": "external_id"}


@dataclass(frozen=True, slots=True)
class Option:
    """A rider to choose; `facts` distinguishes riders with the same name."""

    record: RiderRecord
    name: str
    facts: str


@dataclass(frozen=True, slots=True)
class RiderMatches:
    options: Sequence[Option]
    has_more: bool


def find(text: str, *, by: Principal, limit: int = MAX_RIDERS) -> RiderMatches:
    """Find up to `limit` visible riders, sorted by name.

    The text is a prefix of a name, an id of any system, a phone number or a birth date (ISO 8601).  Writes an audit
    entry with the riders found.  Five queries, up to two more for a text with digits.
    """
    query = text.strip()
    riders_found: list[Any] = []
    criteria_used: list[str] = []
    for criteria in _criteria(query) if len(query) >= MIN_LENGTH else ():
        criteria_used += criteria
        rows = riders.search(criteria, by=by).order_by(_BY_NAME, "pk")
        if riders_found := list(rows[: limit + 1]):
            break
    record_read(
        by=by,
        action="riders.search",
        subject_type="rider",
        rider_ids=[rider.pk for rider in riders_found[:limit]],
        details={"criteria": sorted(_RECORDED.get(name, name) for name in criteria_used)},
    )
    records = riders.records(riders_found[:limit], by=by) if riders_found else []
    return RiderMatches([option_of(record, by) for record in records], len(riders_found) > limit)


def options(rider_ids: Sequence[UUID], *, by: Principal) -> list[Option]:
    """Return visible riders as options, by name.  Four queries."""
    rows = Rider.objects.visible_to(by).filter(pk__in=rider_ids).order_by("last_name", "first_name", "pk")
    return [option_of(record, by) for record in riders.records(list(rows), by=by)]


def option_of(record: RiderRecord, by: Principal) -> Option:
    """Return a rider as an option, with birth date, id and mobility."""
    return _option(record, [mobility_label(record.needs["mobility"])], by)


def card_of(record: RiderRecord, by: Principal) -> Option:
    """Return the chosen rider, with all needs and the home address."""
    home = record.rider.home_address
    return _option(record, [*need_labels(record.needs, None, {}, by), *([line_of(home)] if home else [])], by)


def _option(record: RiderRecord, facts: Sequence[str], by: Principal) -> Option:
    rider = record.rider
    ids = [name.value for name in record.external_ids[:1]]
    born = [rider.date_of_birth.isoformat()] if rider.date_of_birth else []
    return Option(record, whole_name(rider, by), " · ".join([*born, *ids, *facts]))


def _criteria(text: str) -> list[Mapping[str, Any]]:
    """Return possible meanings of the text, in the order in which the search tries them."""
    if not any(character.isdigit() for character in text):
        return [{"name": text}]
    phone, birth_date = e164(text, region=settings.PHONE_REGION), _day(text)
    numbers: list[Mapping[str, Any]] = [{"date_of_birth": birth_date}] if birth_date else []
    if phone:  # in some regions a date also parses as a phone number
        numbers.append({"phone": phone})
    return [*numbers, {"called": text}, {"name": text}]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
