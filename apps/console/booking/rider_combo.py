"""Search for riders by name, id, phone number or birth date.

Searches are POST requests, so that the search text never appears in a URL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Value
from django.db.models.functions import Concat, Lower
from django.forms import DateField
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.audit.views import record_read
from apps.console.booking.place_fields import line_of
from apps.riders import queries as riders
from apps.riders.labels import mobility_label, need_labels, whole_name
from apps.riders.models import Rider
from apps.riders.queries import RiderRecord
from lib.access import Phi, Principal
from lib.phone_input import e164

MIN_LENGTH: Final = 2  # characters; shorter texts find nothing
MAX_RIDERS: Final = 8  # riders in a result; a longer text narrows it down
# One expression: with the columns of the index on names, PostgreSQL would scan that index for the first few matches.
_BY_NAME: Final = Concat(Lower("last_name"), Value(" "), Lower("first_name"))
_DATE_FORMATS: Final = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y", "%m-%d-%y", "%m.%d.%Y")
# Names of criteria in the audit trail, the same as for the API.
_RECORDED: Final[Mapping[str, str]] = {"called": "external_id", "alike": "name"}


@dataclass(frozen=True, slots=True)
class Option:
    """A rider to choose; `facts` distinguishes riders with the same name."""

    record: RiderRecord
    name: str
    facts: str


@dataclass(frozen=True, slots=True)
class RiderMatches:
    """`are_similar`: no name matched exactly; those found have one wrong letter."""

    options: Sequence[Option]
    has_more: bool
    are_similar: bool = False


def find(text: str, *, by: Principal, limit: int = MAX_RIDERS, fill_up: bool = False) -> RiderMatches:
    """Find up to `limit` visible riders, sorted by name.

    The text is a prefix of a name, an id of any system, a phone number, a birth date, or a name with one wrong letter.
    With `fill_up`, riders with similar names follow those who match, up to the limit.  Writes an audit entry with the
    riders found.  Six queries, up to two more for a text with digits.
    """
    query = text.strip()
    riders_found: list[Rider] = []
    criteria_used: list[str] = []
    first_match = ""  # the criterion of the first riders found
    for criteria in _criteria(query) if len(query) >= MIN_LENGTH else ():
        rows = riders.search(criteria, by=by).order_by(_BY_NAME, "pk")
        if riders_found and not (fill_up and "alike" in criteria):
            break
        criteria_used += criteria
        rows = rows.exclude(pk__in=[rider.pk for rider in riders_found]) if riders_found else rows
        first_match = first_match if riders_found else next(iter(criteria))
        riders_found += rows[: limit + 1 - len(riders_found)]
        if len(riders_found) > limit:
            break
    record_read(
        by=by,
        action="riders.search",
        subject_type="rider",
        rider_ids=[rider.pk for rider in riders_found[:limit]],
        details={"criteria": sorted({_RECORDED.get(name, name) for name in criteria_used})},
    )
    records = riders.records(riders_found[:limit], by=by) if riders_found else []
    are_similar = bool(riders_found) and first_match == "alike"
    return RiderMatches([option_of(record, by) for record in records], len(riders_found) > limit, are_similar)


def options(rider_ids: Sequence[UUID], *, by: Principal) -> list[Option]:
    """Return visible riders as options, by name.  Four queries."""
    rows = Rider.objects.visible_to(by).filter(pk__in=rider_ids).order_by("last_name", "first_name", "pk")
    return [option_of(record, by) for record in riders.records(list(rows), by=by)]


def option_of(record: RiderRecord, by: Principal) -> Option:
    """Return a rider as an option, with birth date and age, id, mobility and town."""
    town = (record.rider.home_address or {}).get("city") if by.phi >= Phi.FULL else ""
    return _option(record, [mobility_label(record.needs["mobility"]), *([town] if town else [])], by)


def card_of(record: RiderRecord, by: Principal) -> Option:
    """Return the chosen rider, with all needs and the home address."""
    home = record.rider.home_address
    return _option(record, [*need_labels(record.needs, None, {}, by), *([line_of(home)] if home else [])], by)


def _option(record: RiderRecord, facts: Sequence[str], by: Principal) -> Option:
    rider = record.rider
    ids = [name.value for name in record.external_ids[:1]]
    born = rider.date_of_birth if by.phi >= Phi.FULL else None
    return Option(record, whole_name(rider, by), " · ".join([*([_birth(born)] if born else []), *ids, *facts]))


def _birth(born: date) -> str:
    today = timezone.localdate()
    age = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
    return _("%(born)s (age %(age)s)") % {"born": f"{born:%m/%d/%Y}", "age": age}


def _criteria(text: str) -> list[Mapping[str, Any]]:
    """Return possible meanings of the text, in the order in which the search tries them."""
    names: list[Mapping[str, Any]] = [{"name": text}, {"alike": text}]
    if not any(character.isdigit() for character in text):
        return names
    phone, birth_date = e164(text, region=settings.PHONE_REGION), _day(text)
    numbers: list[Mapping[str, Any]] = [{"date_of_birth": birth_date}] if birth_date else []
    if phone:  # in some regions a date also parses as a phone number
        numbers.append({"phone": phone})
    return [*numbers, {"called": text}, *names]


def _day(text: str) -> date | None:
    """Parse a birth date as people in the US write it, or by ISO 8601; two digits mean a past year."""
    try:
        day: date | None = DateField(required=False, input_formats=_DATE_FORMATS).clean(text)
    except ValidationError:
        return None
    return day.replace(year=day.year - 100) if day and day > timezone.localdate() else day
