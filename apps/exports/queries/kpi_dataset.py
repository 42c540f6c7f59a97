"""The dataset of figures: what `GET /reports/facility-kpis` shows, a row for each figure of each facility.

Figures are worked out in Python by the queries of the reports, with what may not be shown taken away, and become rows
of one statement.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

import orjson
from django.utils.translation import gettext_lazy as _

from apps.exports.formats.columns import Column, Kind
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

# A month by day of 60 facilities.  They are held in memory while they are sent: 100,000 took 184 MB.
MOST_FIGURES: Final = 70_000
# Steps of a period, and the fewest days that one has.
STEPS: Final = {"day": 1, "week": 7, "month": 28}
_ROWS: Final = """json_to_recordset(%(rows)s::json) AS f(kpi text, version text, facility_id uuid, first date,
    last date, place int, unit text, value float8, numerator bigint, denominator bigint, excluded json, parts json,
    suppressed boolean)"""


def _check(filters: Filters, by: Principal) -> None:
    """Refuse a period that is open, too long, or cut into more figures than are held at a time."""
    for name in ("service_date_from", "service_date_to"):
        if name not in filters:
            message = _("%(field)s is required for the dataset kpis.")
            raise InvalidInput(camel(name), message, detail_code="required")
    selection_days = (filters["service_date_to"] - filters["service_date_from"]).days + 1
    if selection_days > MAX_DAYS:
        message = _("The period must not be longer than %(days)s days.")
        raise InvalidInput("serviceDateTo", message, detail_code="too_long", days=MAX_DAYS)
    selection, step = _selection(filters, by), filters.get("group_by")
    steps = 1 if step is None else selection.days // STEPS[step] + 2
    known = selection.facility_ids
    facilities = 1 + (Facility.objects.count() if known is None else len(known))  # a job is asked for without the copy
    if len(_definitions(filters)) * facilities * steps > MOST_FIGURES:
        message = _("The export may have more than %(most)s values. Select KPIs, or group by a longer period.")
        raise InvalidInput("groupBy" if step else "kpi", message, detail_code="too_many", most=f"{MOST_FIGURES:,}")


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


def _definitions(filters: Filters) -> tuple[Kpi, ...]:
    """Give the figures that are asked for, in the order of the definitions."""
    keys = filters.get("kpi", KPI_BY_KEY)
    return tuple(one for one in ALL_KPIS if one.key in keys)


def _figures(filters: Filters, by: Principal) -> dict[str, Any]:
    selection = _selection(filters, by)
    as_of = freshness.progress().as_of  # before the figures: they know at least that
    rows, count = bytearray(b"["), 0
    for row in _told(selection, filters, by):  # not a list of them: they take several times as much
        rows += b"," * (count > 0) + orjson.dumps(row)
        count += 1
    return {"rows": (rows + b"]").decode(), "counted": count, "as_of": as_of, "read_basis": selection.basis.value}


def _told(selection: Selection, filters: Filters, by: Principal) -> Iterator[dict[str, Any]]:
    step = filters.get("group_by")
    definitions = _definitions(filters)
    for start, facilities in figures_by_facility(by=by, selection=selection, kpis=definitions, step=step):
        first, last = _part(selection, step, start)
        for facility_id, figures in facilities.items():
            for place, figure in enumerate(figures.values()):
                yield _row(figure, facility_id, first, last, place)


def _row(figure: Figure, facility_id: UUID | None, first: date, last: date, place: int) -> dict[str, Any]:
    return {
        "kpi": figure.kpi.key,
        "version": figure.kpi.version,
        "facility_id": facility_id,
        "first": first,
        "last": last,
        "place": place,
        "unit": figure.kpi.unit.value,
        **as_json(figure),
    }


def _part(selection: Selection, step: str | None, start: date | None) -> tuple[date, date]:
    """Say which days of the period a step has: weeks and months at its ends may be cut."""
    if step is None or start is None:
        return selection.first, selection.last
    following = (start + timedelta(days=31)).replace(day=1) if step == "month" else start + timedelta(days=STEPS[step])
    return max(start, selection.first), min(following - timedelta(days=1), selection.last)


def _known_until(using: str) -> Any:
    return freshness.progress().as_of


KPIS: Final = Dataset(
    name="kpis",
    version=1,
    description="Facility KPIs over a period, as in GET /reports/facility-kpis, or for each part of it.",
    columns=(
        Column("kpi", Kind.WORD, "f.kpi"),
        Column("definitionVersion", Kind.WORD, "f.version"),
        Column("facilityId", Kind.ID, "f.facility_id"),
        Column("periodFrom", Kind.DATE, "f.first"),
        Column("periodTo", Kind.DATE, "f.last"),
        BATCH,
        Column("facilityName", Kind.TEXT, "spot.name"),
        Column("value", Kind.NUMBER, "f.value"),
        Column("numerator", Kind.COUNT, "f.numerator"),
        Column("denominator", Kind.COUNT, "f.denominator"),
        Column("unit", Kind.WORD, "f.unit"),
        Column("suppressed", Kind.FLAG, "f.suppressed"),
        Column("excluded", Kind.JSON, "f.excluded"),
        Column("parts", Kind.JSON, "f.parts"),
        Column("basis", Kind.WORD, "%(read_basis)s::text"),
        Column("asOf", Kind.INSTANT, "%(as_of)s::timestamptz"),
    ),
    identity=6,
    rows=_ROWS,
    order="f.first, f.facility_id, f.place",
    reach=lambda by: ("true", {}),
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
    more=_figures,
    check=_check,
    known_until=_known_until,
)
