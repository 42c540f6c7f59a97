"""The rides behind a KPI value or a count, so that users can check every number of a report."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connections
from django.utils.translation import gettext_lazy as _

from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.facts import RIDES_OF_PERIOD, facts_of
from apps.reporting.rules.kpis import Kpi, Names
from apps.reporting.rules.measures import MEASURES, PACKED, MeasureKind
from apps.rides.rules.exception_types import ExceptionSeverity
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Phi, Principal
from lib.errors import InvalidInput
from lib.replica import alias

_ONE_OF: Final = _("%(field)s must be one of: %(choices)s.")
_REASON_WITHOUT_EXCLUDED: Final = _("%(field)s requires counted=excluded.")
MAX_DAYS: Final = 92  # reads rides, not rollups
# Expressions over ride facts that select one bucket of a trend.
BUCKET_FILTERS: Final[Mapping[str, str]] = {
    "hour": "hour",
    "weekday": "extract(isodow FROM service_date)",
    "pattern": "pattern",
    "shift": "shift",
}
NO_BUCKET: Final[Mapping[str, object]] = {}
# Conditions of the counts by category (breakdowns.py), and of the counts of a day by status.
_CONDITIONS: Final[Mapping[str, str]] = {
    "status": "status = %(category)s",
    "reason": "status = %(category)s AND reason = %(code)s",
    "fault": "status = %(category)s AND fault = %(code)s",
    "exception_type": (
        "id IN (SELECT ride_id FROM rides_rideexception WHERE severity = %(category)s AND type = %(code)s)"
    ),
}
DIMENSIONS: Final = tuple(_CONDITIONS)
_ENDINGS: Final = (RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED)
_CATEGORIES: Final[Mapping[str, Collection[str]]] = {
    "status": RideStatus.values,
    "reason": _ENDINGS,
    "fault": _ENDINGS,
    "exception_type": ExceptionSeverity.values,
}


@dataclass(frozen=True, slots=True)
class Count:
    """The category that a count covers.

    `dimension` is one of `DIMENSIONS`, `category` a status or a severity, `code` the reason, fault or exception type;
    "" for the dimension status.
    """

    dimension: str
    category: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class DrillDownRide:
    """One ride, the measures that count it, and its values if the KPI is made of minutes."""

    ride_id: UUID
    service_date: date
    facility_id: UUID | None
    pickup_at: datetime
    status: str
    measures: list[str]
    minutes: list[int]


@dataclass(frozen=True, slots=True)
class RidePage:
    """A page of rides.  `suppressed`: too few rides for the caller to see any."""

    rows: list[DrillDownRide]
    has_more: bool
    suppressed: bool = False


def count_of(dimension: str, category: str | None, code: str | None) -> Count:
    """Return the `Count` of the query parameters.

    Raises:
        InvalidInput: the dimension has no such category, or the code is missing or not allowed for the dimension.
    """
    if category is None or category not in _CATEGORIES[dimension]:
        choices = list(_CATEGORIES[dimension])
        raise InvalidInput("category", _ONE_OF, detail_code="invalid_choice", choices=choices)
    if dimension == "status":
        if code is not None:
            raise InvalidInput("code", _("%(field)s cannot be combined with dimension=status."))
    elif not code:
        template = _("%(field)s is required with dimension=%(dimension)s.")
        raise InvalidInput("code", template, detail_code="required", dimension=dimension)
    return Count(dimension, category, code or "")


def measures_behind(kpi: Kpi, counted: str, reason: str | None, part: str | None = None) -> Names:
    """Return the measures that count the rides behind the numerator, the denominator or an exclusion of a KPI.

    `counted` is "numerator", "denominator" or "excluded"; `reason` names the exclusion.  For a quantile, numerator and
    denominator are both the rides with a value.  `part` selects one part of the KPI.

    Raises:
        InvalidInput: the KPI has no such part or exclusion, or `reason` was sent without counted=excluded.
    """
    if part is not None:
        if part not in kpi.parts or counted == "excluded":
            template = _("%(field)s must be one of: %(choices)s; not with counted=excluded.")
            raise InvalidInput("part", template, choices=list(kpi.parts) or [_("none")])
        if reason is not None:
            raise InvalidInput("reason", _REASON_WITHOUT_EXCLUDED)
        selected = kpi.parts[part]
        return selected.numerator if counted == "numerator" else selected.denominator or selected.numerator
    if counted == "excluded":
        if reason is None or reason not in kpi.excluded:
            raise InvalidInput("reason", _ONE_OF, detail_code="invalid_choice", choices=list(kpi.excluded))
        return kpi.excluded[reason]
    if reason is not None:
        raise InvalidInput("reason", _REASON_WITHOUT_EXCLUDED)
    return kpi.numerator if counted == "numerator" else kpi.denominator or kpi.numerator


def numerator_of(kpi: Kpi, part: str | None) -> Names:
    return kpi.parts[part].numerator if part else kpi.numerator


def rides_behind(
    *,
    by: Principal,
    selection: Selection,
    measures: Names = (),
    numerator: Names = (),
    count: Count | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
    bucket: Mapping[str, object] = NO_BUCKET,
) -> RidePage:
    """List the rides counted by any of the measures, or by the count, by pickup time after the position `after`.

    Each ride names those of `measures` and of `numerator` that count it, so that the rides of a denominator show which
    of them are in the numerator.  `bucket` selects one bucket of a trend, by names of `BUCKET_FILTERS`.  Reads the
    current rides: for a restated day this is basis `live`.  One query; two for callers who may not see small counts.
    """
    condition, parameters = selection.where()
    counted = [MEASURES[name] for name in measures]
    conditions = [condition]
    if counted:
        conditions.append("(" + " OR ".join(f"({measure.condition})" for measure in counted) + ")")
    if count is not None:
        conditions.append(_CONDITIONS[count.dimension])
        parameters |= {"category": count.category, "code": count.code}
    for name, value in bucket.items():
        conditions.append(f"{BUCKET_FILTERS[name]} = %({name})s")
        parameters[name] = value
    if by.phi <= Phi.NONE and any(map(is_small, _counts(conditions, parameters, numerator))):
        return RidePage([], has_more=False, suppressed=True)
    if after is not None:
        conditions.append("(pickup_at, id) > (%(after_at)s, %(after_id)s)")
        parameters |= {"after_at": after[0], "after_id": after[1]}
    reported = tuple(dict.fromkeys((*measures, *numerator)))
    flags = ", ".join(f"({MEASURES[name].condition}) IS TRUE" for name in reported)
    values = [measure for measure in counted if measure.name in PACKED]
    minutes = _minutes(values[0].sql, values[0].kind) if values else "NULL::int[]"
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT id, service_date, facility_id, pickup_at, status, ARRAY[{flags}]::bool[], {minutes}"  # noqa: S608  # no user input
            f" FROM ({facts_of(RIDES_OF_PERIOD)}) fact WHERE {' AND '.join(conditions)}"
            " ORDER BY pickup_at, id LIMIT %(limit)s",
            {**parameters, "limit": limit + 1},
        )
        rows = cursor.fetchall()
    return RidePage([_ride(row, reported) for row in rows[:limit]], has_more=len(rows) > limit)


def _minutes(sql: str, kind: MeasureKind) -> str:
    return f"({sql})" if kind is MeasureKind.VALUES else f"ARRAY[{sql}]"


def _counts(conditions: Sequence[str], parameters: dict[str, Any], numerator: Names) -> tuple[int, int, int]:
    """Count all rides, those in the numerator, and the rest: a list of rides reveals all three numbers."""
    in_numerator = " OR ".join(f"({MEASURES[name].condition})" for name in numerator) or "false"
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), count(*) FILTER (WHERE {in_numerator}) FROM ({facts_of(RIDES_OF_PERIOD)}) fact"  # noqa: S608  # no user input
            f" WHERE {' AND '.join(conditions)}",
            parameters,
        )
        total, matching = cursor.fetchone()
    return total, matching, total - matching


def _ride(row: tuple[Any, ...], names: Names) -> DrillDownRide:
    ride_id, service_date, facility_id, pickup_at, status, flags, minutes = row
    measures = [name for name, counts in zip(names, flags, strict=True) if counts]
    return DrillDownRide(ride_id, service_date, facility_id, pickup_at, status, measures, list(minutes or []))
