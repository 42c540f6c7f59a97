"""The dataset of KPIs: the values of `GET /reports/facility-kpis`, one row for each KPI of each facility.

The queries of the reports compute the values, with small counts suppressed.  They become rows of one statement.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

import orjson
from django.utils.translation import gettext_lazy as _

from apps.exports.formats.columns import Column, ColumnType
from apps.exports.queries.dataset_columns import BATCH
from apps.exports.rules.dataset import Dataset, Filters
from apps.organizations.models import Facility
from apps.reporting.models import Basis
from apps.reporting.queries import freshness
from apps.reporting.queries.figures import Figure, as_json
from apps.reporting.queries.reports import figures_by_facility
from apps.reporting.queries.selection import MAX_DAYS, Selection, select
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY, Kpi
from lib.access import Principal
from lib.api.serializers import camel
from lib.errors import InvalidInput
from lib.scopes import Scope

# A month by day for 60 facilities.  Rows are held in memory while they are sent: 100,000 took 184 MB.
MAX_VALUES: Final = 70_000
# Intervals of a period, with the minimum number of days.
INTERVAL_DAYS: Final = {"day": 1, "week": 7, "month": 28}
_FROM: Final = """json_to_recordset(%(rows)s::json) AS f(kpi text, version text, facility_id uuid, first date,
    last date, position int, unit text, value float8, numerator bigint, denominator bigint, excluded json, parts json,
    suppressed boolean)"""


def _check(filters: Filters, by: Principal) -> None:
    """Check the period and the number of values.

    Raises:
        InvalidInput: the period is open or too long, or there may be too many values.
    """
    for name in ("service_date_from", "service_date_to"):
        if name not in filters:
            message = _("%(field)s is required for the dataset kpis.")
            raise InvalidInput(camel(name), message, detail_code="required")
    selection_days = (filters["service_date_to"] - filters["service_date_from"]).days + 1
    if selection_days > MAX_DAYS:
        message = _("The period must not be longer than %(days)s days.")
        raise InvalidInput("serviceDateTo", message, detail_code="too_long", days=MAX_DAYS)
    selection, interval = _selection(filters, by), filters.get("group_by")
    intervals = 1 if interval is None else selection.days // INTERVAL_DAYS[interval] + 2
    ids = selection.facility_ids
    facilities = 1 + (Facility.objects.count() if ids is None else len(ids))
    if len(_kpis(filters)) * facilities * intervals > MAX_VALUES:
        message = _("The export may have more than %(most)s values. Select KPIs, or group by a longer period.")
        raise InvalidInput("groupBy" if interval else "kpi", message, detail_code="too_many", most=f"{MAX_VALUES:,}")


def _selection(filters: Filters, by: Principal) -> Selection:
    return select(
        by=by,
        first=filters["service_date_from"],
        last=filters["service_date_to"],
        facility_ids=[filters[name] for name in ("facility_id",) if name in filters],
        provider_ids=[filters[name] for name in ("provider_id",) if name in filters],
        service_types=filters.get("service_type", ()),
        basis=Basis(filters.get("basis", Basis.CLOSED)),
    )


def _kpis(filters: Filters) -> tuple[Kpi, ...]:
    """Return the requested KPIs, in the order of `ALL_KPIS`."""
    keys = filters.get("kpi", KPI_BY_KEY)
    return tuple(kpi for kpi in ALL_KPIS if kpi.key in keys)


def _parameters(filters: Filters, by: Principal) -> dict[str, Any]:
    selection = _selection(filters, by)
    as_of = freshness.progress().as_of  # before the values, which then include at least that
    rows, count = bytearray(b"["), 0
    for row in _rows(selection, filters, by):  # not as a list, which takes several times the memory
        rows += b"," * (count > 0) + orjson.dumps(row)
        count += 1
    return {"rows": (rows + b"]").decode(), "counted": count, "as_of": as_of, "read_basis": selection.basis.value}


def _rows(selection: Selection, filters: Filters, by: Principal) -> Iterator[dict[str, Any]]:
    interval, kpis = filters.get("group_by"), _kpis(filters)
    for start, facilities in figures_by_facility(by=by, selection=selection, kpis=kpis, step=interval):
        first, last = _interval_days(selection, interval, start)
        for facility_id, figures in facilities.items():
            for position, figure in enumerate(figures.values()):
                yield _row(figure, facility_id, first, last, position)


def _row(figure: Figure, facility_id: UUID | None, first: date, last: date, position: int) -> dict[str, Any]:
    return {
        "kpi": figure.kpi.key,
        "version": figure.kpi.version,
        "facility_id": facility_id,
        "first": first,
        "last": last,
        "position": position,
        "unit": figure.kpi.unit.value,
        **as_json(figure),
    }


def _interval_days(selection: Selection, interval: str | None, start: date | None) -> tuple[date, date]:
    """Return the first and last day of an interval; the period may cut its first and last week or month."""
    if interval is None or start is None:
        return selection.first, selection.last
    next_month = (start + timedelta(days=31)).replace(day=1)
    end = next_month if interval == "month" else start + timedelta(days=INTERVAL_DAYS[interval])
    return max(start, selection.first), min(end - timedelta(days=1), selection.last)


def _complete_until(using: str) -> Any:
    return freshness.progress().as_of


KPIS: Final = Dataset(
    name="kpis",
    version=1,
    description="Facility KPIs over a period, as in GET /reports/facility-kpis, or for each part of it.",
    columns=(
        Column("kpi", ColumnType.WORD, "f.kpi"),
        Column("definitionVersion", ColumnType.WORD, "f.version"),
        Column("facilityId", ColumnType.ID, "f.facility_id"),
        Column("periodFrom", ColumnType.DATE, "f.first"),
        Column("periodTo", ColumnType.DATE, "f.last"),
        BATCH,
        Column("facilityName", ColumnType.TEXT, "spot.name"),
        Column("value", ColumnType.NUMBER, "f.value"),
        Column("numerator", ColumnType.COUNT, "f.numerator"),
        Column("denominator", ColumnType.COUNT, "f.denominator"),
        Column("unit", ColumnType.WORD, "f.unit"),
        Column("suppressed", ColumnType.FLAG, "f.suppressed"),
        Column("excluded", ColumnType.JSON, "f.excluded"),
        Column("parts", ColumnType.JSON, "f.parts"),
        Column("basis", ColumnType.WORD, "%(read_basis)s::text"),
        Column("asOf", ColumnType.INSTANT, "%(as_of)s::timestamptz"),
    ),
    identity=6,
    rows=_FROM,
    order="f.first, f.facility_id, f.position",
    data_scope=lambda by: ("true", {}),
    joins={"spot": "LEFT JOIN organizations_facility spot ON spot.id = f.facility_id"},
    conditions=dict.fromkeys(
        (
            "service_date_from",
            "service_date_to",
            "facility_id",
            "provider_id",
            "kpi",
            "service_type",
            "group_by",
            "basis",
        ),
        "true",
    ),
    scope=Scope.REPORTS_READ,
    parameters=_parameters,
    check=_check,
    complete_until=_complete_until,
)
