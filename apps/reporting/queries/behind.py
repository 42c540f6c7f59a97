"""The rides behind a figure: what its numerator, its denominator, or one of its exclusions counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connections

from apps.reporting.defining import Definition, Names
from apps.reporting.facts import OF_PERIOD, facts_of
from apps.reporting.measures import MEASURES, PACKED, Kind
from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
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


def names_of(definition: Definition, counted: str, reason: str | None) -> Names:
    """Name the measures that are `counted`: "numerator", "denominator", or "excluded" with its reason.

    Of a quantile, numerator and denominator are both the rides that have a value.

    Raises:
        InvalidInput: the figure has no such exclusion, or a reason came without need.
    """
    if counted == "excluded":
        if reason is None or reason not in definition.excluded:
            known = ", ".join(definition.excluded)
            raise InvalidInput("reason", f"reason must be one of: {known}.", detail_code="invalid_choice")
        return definition.excluded[reason]
    if reason is not None:
        raise InvalidInput("reason", "reason goes with counted=excluded alone.")
    return definition.numerator if counted == "numerator" else definition.denominator or definition.numerator


def rides_behind(
    *,
    by: Principal,
    selection: Selection,
    names: Names,
    after: tuple[datetime, UUID] | None = None,
    most: int,
    narrowed: Mapping[str, object] = NOT_NARROWED,
) -> Rides:
    """List the rides that any of these measures counts, by pickup, from behind `after` on.  One or two queries.

    As they are now: for a restated day that is `basis` current.  `narrowed` opens one point of a trend: values by names
    of `NARROWED_BY`.
    """
    condition, parameters = selection.where()
    measures = [MEASURES[name] for name in names]
    applies = " OR ".join(f"({measure.applies})" for measure in measures)
    conditions = [condition, f"({applies})"]
    for name, value in narrowed.items():
        conditions.append(f"{NARROWED_BY[name]} = %({name})s")
        parameters[name] = value
    if by.phi <= Phi.NONE and is_small(_count(conditions, parameters)):
        return Rides([], has_more=False, suppressed=True)
    if after is not None:
        conditions.append("(pickup_at, id) > (%(after_at)s, %(after_id)s)")
        parameters |= {"after_at": after[0], "after_id": after[1]}
    told = ", ".join(f"({measure.applies}) IS TRUE" for measure in measures)
    values = [measure for measure in measures if measure.name in PACKED]
    minutes = _minutes(values[0].sql, values[0].kind) if values else "NULL::int[]"
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT id, service_date, facility_id, pickup_at, status, ARRAY[{told}], {minutes}"  # noqa: S608  # of ours
            f" FROM ({facts_of(OF_PERIOD)}) fact WHERE {' AND '.join(conditions)}"
            " ORDER BY pickup_at, id LIMIT %(most)s",
            {**parameters, "most": most + 1},
        )
        found = cursor.fetchall()
    return Rides([_behind(row, names) for row in found[:most]], has_more=len(found) > most)


def _minutes(sql: str, kind: Kind) -> str:
    return f"({sql})" if kind is Kind.VALUES else f"ARRAY[{sql}]"


def _count(conditions: Sequence[str], parameters: dict[str, Any]) -> int:
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ({facts_of(OF_PERIOD)}) fact WHERE {' AND '.join(conditions)}",  # noqa: S608  # of ours
            parameters,
        )
        return int(cursor.fetchone()[0])


def _behind(row: tuple[Any, ...], names: Names) -> Behind:
    ride_id, service_date, facility_id, pickup_at, status, told, minutes = row
    measures = [name for name, counts in zip(names, told, strict=True) if counts]
    return Behind(ride_id, service_date, facility_id, pickup_at, status, measures, list(minutes or []))
