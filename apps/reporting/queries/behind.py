"""The rides behind a figure: what its numerator, its denominator, a part or an exclusion counts; and behind a count."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connections

from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.defining import Definition, Names
from apps.reporting.rules.facts import OF_PERIOD, facts_of
from apps.reporting.rules.measures import MEASURES, PACKED, Kind
from apps.rides.rules.exception_types import ExceptionSeverity
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Phi, Principal
from lib.errors import InvalidInput
from lib.replica import alias

MOST_DAYS: Final = 92  # rides themselves are read
# Columns of facts by which trends go.
NARROWED_BY: Final[Mapping[str, str]] = {
    "hour": "hour",
    "weekday": "extract(isodow FROM service_date)",
    "pattern": "pattern",
    "shift": "shift",
}
NOT_NARROWED: Final[Mapping[str, object]] = {}
# Counts by word (breakdowns.py), and of a day by status: which rides they are of.
_COUNTS: Final[Mapping[str, str]] = {
    "status": "status = %(word)s",
    "reason": "status = %(word)s AND reason = %(code)s",
    "fault": "status = %(word)s AND fault = %(code)s",
    "exception_type": "id IN (SELECT ride_id FROM rides_rideexception WHERE severity = %(word)s AND type = %(code)s)",
}
COUNTS: Final = tuple(_COUNTS)
_ENDED: Final = (RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED)
_WORDS: Final[Mapping[str, Collection[str]]] = {
    "status": RideStatus.values,
    "reason": _ENDED,
    "fault": _ENDED,
    "exception_type": ExceptionSeverity.values,
}


@dataclass(frozen=True, slots=True)
class Count:
    """What is counted: `what` of `COUNTS`, the status or severity, and the reason, fault or type ("" of a status)."""

    what: str
    word: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Behind:
    """One ride, the measures by which it counts, and for minutes how many."""

    ride_id: UUID
    service_date: date
    facility_id: UUID | None
    pickup_at: datetime
    status: str
    measures: list[str]
    minutes: list[int]


@dataclass(frozen=True, slots=True)
class Rides:
    """A page of rides; `suppressed`: there are too few of them for the caller to see any."""

    rows: list[Behind]
    has_more: bool
    suppressed: bool = False


def count_of(what: str, word: str | None, code: str | None) -> Count:
    """Read what a count is of.

    Raises:
        InvalidInput: there is no such status or severity, or a code is missing or has no place.
    """
    if word is None or word not in _WORDS[what]:
        known = ", ".join(_WORDS[what])
        raise InvalidInput("word", f"word must be one of: {known}.", detail_code="invalid_choice")
    if what == "status":
        if code is not None:
            raise InvalidInput("code", "code has no place with what=status.")
    elif not code:
        raise InvalidInput("code", f"code is required with what={what}.", detail_code="required")
    return Count(what, word, code or "")


def names_of(definition: Definition, counted: str, reason: str | None, part: str | None = None) -> Names:
    """Name the measures that are `counted`: "numerator", "denominator", or "excluded" with its reason.

    Of a quantile, numerator and denominator are both the rides that have a value.  `part` asks about one of the parts.

    Raises:
        InvalidInput: the figure has no such part or exclusion, or a reason came without need.
    """
    if part is not None:
        if part not in definition.parts or counted == "excluded":
            known = ", ".join(definition.parts) or "none"
            raise InvalidInput("part", f"part must be one of: {known}; without counted=excluded.")
        if reason is not None:
            raise InvalidInput("reason", "reason goes with counted=excluded alone.")
        found = definition.parts[part]
        return found.numerator if counted == "numerator" else found.denominator or found.numerator
    if counted == "excluded":
        if reason is None or reason not in definition.excluded:
            known = ", ".join(definition.excluded)
            raise InvalidInput("reason", f"reason must be one of: {known}.", detail_code="invalid_choice")
        return definition.excluded[reason]
    if reason is not None:
        raise InvalidInput("reason", "reason goes with counted=excluded alone.")
    return definition.numerator if counted == "numerator" else definition.denominator or definition.numerator


def numerator_of(definition: Definition, part: str | None) -> Names:
    return definition.parts[part].numerator if part else definition.numerator


def rides_behind(
    *,
    by: Principal,
    selection: Selection,
    names: Names = (),
    told: Names = (),
    count: Count | None = None,
    after: tuple[datetime, UUID] | None = None,
    most: int,
    narrowed: Mapping[str, object] = NOT_NARROWED,
) -> Rides:
    """List the rides that any of these measures, or this count, counts, by pickup, from behind `after` on.

    One or two queries.  Each says which of the measures count it, and which of those that are `told` besides: of a
    denominator, the numerator.
    As they are now: for a restated day that is `basis` current.  `narrowed` opens one point of a trend: values by names
    of `NARROWED_BY`.
    """
    condition, parameters = selection.where()
    measures = [MEASURES[name] for name in names]
    conditions = [condition]
    if measures:
        conditions.append("(" + " OR ".join(f"({measure.applies})" for measure in measures) + ")")
    if count is not None:
        conditions.append(_COUNTS[count.what])
        parameters |= {"word": count.word, "code": count.code}
    for name, value in narrowed.items():
        conditions.append(f"{NARROWED_BY[name]} = %({name})s")
        parameters[name] = value
    if by.phi <= Phi.NONE and any(map(is_small, _counts(conditions, parameters, told))):
        return Rides([], has_more=False, suppressed=True)
    if after is not None:
        conditions.append("(pickup_at, id) > (%(after_at)s, %(after_id)s)")
        parameters |= {"after_at": after[0], "after_id": after[1]}
    said = tuple(dict.fromkeys((*names, *told)))
    each = ", ".join(f"({MEASURES[name].applies}) IS TRUE" for name in said)
    values = [measure for measure in measures if measure.name in PACKED]
    minutes = _minutes(values[0].sql, values[0].kind) if values else "NULL::int[]"
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT id, service_date, facility_id, pickup_at, status, ARRAY[{each}]::bool[], {minutes}"  # noqa: S608  # constant names, values are parameters
            f" FROM ({facts_of(OF_PERIOD)}) fact WHERE {' AND '.join(conditions)}"
            " ORDER BY pickup_at, id LIMIT %(most)s",
            {**parameters, "most": most + 1},
        )
        found = cursor.fetchall()
    return Rides([_behind(row, said) for row in found[:most]], has_more=len(found) > most)


def _minutes(sql: str, kind: Kind) -> str:
    return f"({sql})" if kind is Kind.VALUES else f"ARRAY[{sql}]"


def _counts(conditions: Sequence[str], parameters: dict[str, Any], told: Names) -> tuple[int, int, int]:
    """Count the rides, those of them that are `told` of, and the others: a list would tell what a figure hides."""
    those = " OR ".join(f"({MEASURES[name].applies})" for name in told) or "false"
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), count(*) FILTER (WHERE {those}) FROM ({facts_of(OF_PERIOD)}) fact"  # noqa: S608  # constant names, values are parameters
            f" WHERE {' AND '.join(conditions)}",
            parameters,
        )
        every, some = cursor.fetchone()
    return every, some, every - some


def _behind(row: tuple[Any, ...], names: Names) -> Behind:
    ride_id, service_date, facility_id, pickup_at, status, told, minutes = row
    measures = [name for name, counts in zip(names, told, strict=True) if counts]
    return Behind(ride_id, service_date, facility_id, pickup_at, status, measures, list(minutes or []))
