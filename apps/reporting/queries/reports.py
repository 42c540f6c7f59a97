"""KPI values by facility and over time, with the previous period and restatements."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility, TransportProvider
from apps.reporting.queries import freshness
from apps.reporting.queries.figures import Figure, figures_of, hidden, visible_beside_total
from apps.reporting.queries.freshness import Progress
from apps.reporting.queries.restatements import Restated, restatements
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import Sums, sums
from apps.reporting.rules.kpis import ALL_KPIS, Kpi
from apps.reporting.rules.measures import PACKED
from apps.reporting.rules.trend_buckets import TIMES
from lib.access import Phi, Principal
from lib.errors import InvalidInput
from lib.replica import alias

Figures = Mapping[str, Figure]
Names = Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class FacilityRow:
    """Values of one facility under its current name; `facility_id` None: rides without a facility."""

    facility_id: UUID | None
    name: str
    figures: Figures
    before: Figures


@dataclass(frozen=True, slots=True)
class FacilityReport:
    rows: list[FacilityRow]
    total: Figures
    total_before: Figures
    restatements: list[Restated]
    progress: Progress


def facility_kpis(
    *, by: Principal, selection: Selection, kpis: Sequence[Kpi] = ALL_KPIS, compared: bool = True
) -> FacilityReport:
    """Return the values of every facility with rides in the period, and of all facilities together.

    `compared` adds the previous period.  At most four queries of rollups, for any length of the period.
    """
    progress = freshness.progress()
    rows, total = _by_facility(by, selection, kpis)
    before, total_before = _by_facility(by, selection.before(), kpis) if compared else ({}, {})
    empty = _empty_figures(kpis)
    names = _names(Facility, rows)
    return FacilityReport(
        rows=sorted(
            (
                FacilityRow(
                    facility_id,
                    names.get(facility_id, "") if facility_id else "",
                    figures,
                    before.get(facility_id, empty if compared else {}),
                )
                for facility_id, figures in rows.items()
            ),
            key=lambda row: (row.facility_id is None, row.name, str(row.facility_id)),
        ),
        total=total,
        total_before=total_before,
        restatements=restatements(by=by, selection=selection),
        progress=progress,
    )


def _by_facility(
    by: Principal, selection: Selection, kpis: Sequence[Kpi]
) -> tuple[dict[UUID | None, dict[str, Figure]], dict[str, Figure]]:
    sums_by_group = sums(selection, measures_of(kpis), by=("facility",))
    return _visible_by_facility(by, {facility: row for (facility,), row in sums_by_group.items()}, kpis)


def _visible_by_facility(
    by: Principal, sums_by_facility: Mapping[UUID | None, Sums], kpis: Sequence[Kpi]
) -> tuple[dict[UUID | None, dict[str, Figure]], dict[str, Figure]]:
    rows = [figures_of(kpis, row) for row in sums_by_facility.values()]
    full_total = figures_of(kpis, _added(list(sums_by_facility.values()), measures_of(kpis)))
    visible, total = visible_beside_total(by, rows, full_total)
    return dict(zip(sums_by_facility, visible, strict=True)), total


def figures_by_facility(
    *, by: Principal, selection: Selection, kpis: Sequence[Kpi], step: str | None
) -> Iterator[tuple[date | None, dict[UUID | None, dict[str, Figure]]]]:
    """Yield the values of each facility, as in `facility_kpis`, for each bucket of the period with rides.

    `step` is "day", "week" or "month".  The key of a bucket is its first day, which may be before the period; without a
    step, the whole period is one bucket with the key None.  One query.
    """
    if step is None:
        yield None, _by_facility(by, selection, kpis)[0]
        return
    sums_by_group = sums(selection, measures_of(kpis), by=(step, "facility"))
    for first, keys in groupby(sums_by_group, key=itemgetter(0)):
        yield first, _visible_by_facility(by, {key[1]: sums_by_group[key] for key in keys}, kpis)[0]


def _added(rows: Sequence[Sums], names: Collection[str]) -> dict[str, Any]:
    """Add up the sums of several rows; packed values are concatenated."""
    added: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows]
        added[name] = b"".join(values) if name in PACKED else sum(values)
    return added


def _empty_figures(kpis: Sequence[Kpi]) -> dict[str, Figure]:
    return figures_of(kpis, _added([], measures_of(kpis)))


def measures_of(kpis: Sequence[Kpi]) -> frozenset[str]:
    return frozenset(name for kpi in kpis for name in kpi.measures)


# The buckets of trends, and the groupings of rollup rows that each needs.
BUCKET_GROUPINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "day": ("day",),
    "week": ("week",),
    "month": ("month",),
    "weekday_hour": ("weekday", "hour"),
    "pattern": ("pattern",),
    "shift": ("shift",),
    "weekday_of_dialysis": ("pattern", "weekday"),
    "facility": ("facility",),
    "provider": ("provider",),
    "service_type": ("service_type",),
}
# Number of facilities that a trend can compare, with one line each.
MIN_LINES: Final = 2
MAX_LINES: Final = 6
NO_NAMES: Final[Names] = {}
_NAMED_BUCKETS: Final[Mapping[str, type[Facility | TransportProvider]]] = {
    "facility": Facility,
    "provider": TransportProvider,
}


@dataclass(frozen=True, slots=True)
class Point:
    """Values of one bucket, such as a week.  `key` holds the values of its `BUCKET_GROUPINGS`, in the same order."""

    key: tuple[Any, ...]
    figures: Figures


@dataclass(frozen=True, slots=True)
class TrendLine:
    """One facility of a comparison, under its current name, with the buckets in which it has rides."""

    facility_id: UUID
    name: str
    points: list[Point]


@dataclass(frozen=True, slots=True)
class Trend:
    """A trend; `names` has the current names of facilities or providers in the keys, `lines` is one per facility."""

    by: str
    points: list[Point]
    restatements: list[Restated]
    progress: Progress
    names: Names = field(default_factory=dict)
    lines: list[TrendLine] = field(default_factory=list)


def trends(*, by: Principal, selection: Selection, kpis: Sequence[Kpi], bucket_by: str, each: bool = False) -> Trend:
    """Return the values of each bucket of the period with rides.  Three or four queries.

    `bucket_by` is a key of `BUCKET_GROUPINGS`.  `each` adds a line for each selected facility.  Facilities and
    providers are sorted by name; rides without one are last.

    Raises:
        InvalidInput: rollups do not have these buckets for the selection (`Selection.grain`), or `each` is not
            possible.
    """
    progress = freshness.progress()
    if each:
        points, lines = _facility_lines(by, selection, kpis, bucket_by)
        return Trend(bucket_by, points, restatements(by=by, selection=selection), progress, lines=lines)
    points = trend_points(by=by, selection=selection, kpis=kpis, bucket_by=bucket_by)
    names_by_id = (
        _names(_NAMED_BUCKETS[bucket_by], [point.key[0] for point in points])
        if bucket_by in _NAMED_BUCKETS
        else NO_NAMES
    )
    if bucket_by in _NAMED_BUCKETS:
        points.sort(key=lambda point: (point.key[0] is None, names_by_id.get(point.key[0], ""), str(point.key[0])))
    return Trend(bucket_by, points, restatements(by=by, selection=selection), progress, names_by_id)


def trend_points(*, by: Principal, selection: Selection, kpis: Sequence[Kpi], bucket_by: str) -> list[Point]:
    """Return the values of each bucket of the period with rides, as in `trends`.  One query.

    Raises:
        InvalidInput: rollups do not have these buckets for the selection (`Selection.grain`).
    """
    sums_by_group = sums(selection, measures_of(kpis), by=BUCKET_GROUPINGS[bucket_by])
    visible, _total = _beside_total(by, list(sums_by_group.values()), kpis)
    return [Point(key, figures) for key, figures in zip(sums_by_group, visible, strict=True)]


def _facility_lines(
    by: Principal, selection: Selection, kpis: Sequence[Kpi], bucket_by: str
) -> tuple[list[Point], list[TrendLine]]:
    """Return the points of all selected facilities together, and a line for each.

    A value that is hidden in the total of a bucket is hidden for each facility there, because they add up to it.
    """
    ids = selection.facility_ids
    if ids is None or not MIN_LINES <= len(ids) <= MAX_LINES or bucket_by not in TIMES:
        raise InvalidInput("each", _("Select two to six facilities to compare them by day, week or month."))
    buckets: dict[tuple[Any, ...], dict[UUID, Sums]] = defaultdict(dict)
    for group, row in sums(selection, measures_of(kpis), by=("facility", *BUCKET_GROUPINGS[bucket_by])).items():
        buckets[group[1:]][group[0]] = row
    keys = sorted(buckets)
    totals = [_added(list(buckets[key].values()), measures_of(kpis)) for key in keys]
    visible_totals, _total = _beside_total(by, totals, kpis)
    points: list[Point] = []
    lines: dict[UUID, list[Point]] = {facility: [] for facility in ids}
    for key, total in zip(keys, visible_totals, strict=True):
        rows, _row_total = _beside_total(by, list(buckets[key].values()), kpis)
        points.append(Point(key, total))
        for facility, row in zip(buckets[key], rows, strict=True):
            figures = {name: hidden(figure) if total[name].suppressed else figure for name, figure in row.items()}
            lines[facility].append(Point(key, figures))
    names = _names(Facility, ids)
    by_name = sorted(ids, key=lambda facility: (names.get(facility, ""), facility))
    return points, [TrendLine(facility, names.get(facility, ""), lines[facility]) for facility in by_name]


def _beside_total(
    by: Principal, rows: Sequence[Sums], kpis: Sequence[Kpi]
) -> tuple[list[dict[str, Figure]], dict[str, Figure]]:
    """Compute values of rows and hide those that follow from their total; no total for callers who see everything."""
    figures = [figures_of(kpis, row) for row in rows]
    if by.phi > Phi.NONE:
        return figures, {}
    return visible_beside_total(by, figures, figures_of(kpis, _added(rows, measures_of(kpis))))


def _names(model: type[Facility | TransportProvider], ids: Iterable[UUID | None]) -> Names:
    rows = model._default_manager.using(alias()).filter(pk__in=[pk for pk in ids if pk])
    return dict(rows.values_list("pk", "name"))
