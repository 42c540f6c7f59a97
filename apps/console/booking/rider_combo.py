"""Finding a rider by what a caller says: a name, a number, a birth date.  What was looked for stands in no address."""

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
from apps.riders.labels import mobility_said, needs_said, whole_name
from apps.riders.models import Rider
from apps.riders.queries import RiderRecord
from lib.access import Principal
from lib.phone_input import e164

FEWEST: Final = 2  # characters that a search takes
MOST: Final = 8  # riders offered at a time; whoever sees more types more
# In one piece: by the columns of the index on names PostgreSQL would walk that index to find the first few of a name.
_BY_NAME: Final = Concat(Lower("last_name"), Value(" "), Lower("first_name"))
# What the trail calls the criteria, as the API does.
_RECORDED: Final[Mapping[str, str]] = {"called": "external_id"}


@dataclass(frozen=True, slots=True)
class Option:
    """A rider to choose, with what tells namesakes apart."""

    record: RiderRecord
    name: str
    facts: str


@dataclass(frozen=True, slots=True)
class Found:
    options: Sequence[Option]
    has_more: bool


def find(text: str, *, by: Principal, most: int = MOST) -> Found:
    """Find `most` riders in reach by the beginning of a name, an id of any system, a phone or a birth date; by name.

    The search is in the trail with whom it showed.  Five queries, up to two more for what holds digits.
    """
    said = text.strip()
    found: list[Any] = []
    tried: list[str] = []
    for criteria in _criteria(said) if len(said) >= FEWEST else ():
        tried += criteria
        rows = riders.search(criteria, by=by).order_by(_BY_NAME, "pk")
        if found := list(rows[: most + 1]):
            break
    record_read(
        by=by,
        action="riders.search",
        subject_type="rider",
        rider_ids=[rider.pk for rider in found[:most]],
        details={"criteria": sorted(_RECORDED.get(name, name) for name in tried)},
    )
    shown = riders.records(found[:most], by=by) if found else []
    return Found([option_of(record, by) for record in shown], len(found) > most)


def options(rider_ids: Sequence[UUID], *, by: Principal) -> list[Option]:
    """Say who these riders in reach are, by name.  Four queries."""
    rows = Rider.objects.visible_to(by).filter(pk__in=rider_ids).order_by("last_name", "first_name", "pk")
    return [option_of(record, by) for record in riders.records(list(rows), by=by)]


def option_of(record: RiderRecord, by: Principal) -> Option:
    """Say who a rider is."""
    return _option(record, [mobility_said(record.needs["mobility"])], by)


def card_of(record: RiderRecord, by: Principal) -> Option:
    """Say who the rider is that was chosen, with all that they need and where they live."""
    home = record.rider.home_address
    return _option(record, [*needs_said(record.needs, None, {}, by), *([line_of(home)] if home else [])], by)


def _option(record: RiderRecord, more: Sequence[str], by: Principal) -> Option:
    rider = record.rider
    known_as = [name.value for name in record.external_ids[:1]]
    born = [rider.date_of_birth.isoformat()] if rider.date_of_birth else []
    return Option(record, whole_name(rider, by), " · ".join([*born, *known_as, *more]))


def _criteria(said: str) -> list[Mapping[str, Any]]:
    """Guess what was said; each is tried until one finds somebody."""
    if not any(one.isdigit() for one in said):
        return [{"name": said}]
    phone, birth_date = e164(said, region=settings.PHONE_REGION), _day(said)
    numbers: list[Mapping[str, Any]] = [{"date_of_birth": birth_date}] if birth_date else []
    if phone:  # in some regions a date has the length of a phone number
        numbers.append({"phone": phone})
    return [*numbers, {"called": said}, {"name": said}]


def _day(said: str) -> date | None:
    try:
        return date.fromisoformat(said)
    except ValueError:
        return None
