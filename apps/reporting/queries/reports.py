"""The reports: figures by facility and over time, with the period before and what was restated beside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from apps.organizations.models import Facility
from apps.reporting.defining import Definition
from apps.reporting.definitions import DEFINITIONS
from apps.reporting.measures import PACKED
from apps.reporting.queries import reading
from apps.reporting.queries.figures import Figure, figures_of, shown_beside_total, shown_to
from apps.reporting.queries.reading import Progress
from apps.reporting.queries.restatements import Restated, restatements
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import Sums, sums
from lib.access import Principal
from lib.replica import alias

Figures = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class FacilityRow:
    """The figures of one facility, None for rides of none; `name` as it is now."""

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
    *, by: Principal, selection: Selection, definitions: Sequence[Definition] = DEFINITIONS, compared: bool = True
) -> FacilityReport:
    """Give the figures of every facility that has rides in the period, and of all of them together.

    `compared` reads the period before, too.  Four queries of rollups at the most, whatever the period.
    """
    rows, total = _by_facility(by, selection, definitions)
    before, total_before = _by_facility(by, selection.before(), definitions) if compared else ({}, {})
    empty = _nothing(definitions)
    names = dict(Facility.objects.using(alias()).filter(pk__in=filter(None, rows)).values_list("pk", "name"))
    return FacilityReport(
        rows=sorted(
            (
                FacilityRow(one, names.get(one, "") if one else "", figures, before.get(one, empty if compared else {}))
                for one, figures in rows.items()
            ),
            key=lambda row: (row.facility_id is None, row.name, str(row.facility_id)),
        ),
        total=total,
        total_before=total_before,
        restatements=restatements(by=by, selection=selection),
        progress=reading.progress(),
    )


def _by_facility(
    by: Principal, selection: Selection, definitions: Sequence[Definition]
) -> tuple[dict[UUID | None, dict[str, Figure]], dict[str, Figure]]:
    found = sums(selection, measures_of(definitions), by=("facility",))
    return _shown(by, {facility: row for (facility,), row in found.items()}, definitions)


def _shown(
    by: Principal, found: Mapping[UUID | None, Sums], definitions: Sequence[Definition]
) -> tuple[dict[UUID | None, dict[str, Figure]], dict[str, Figure]]:
    rows = [figures_of(definitions, one) for one in found.values()]
    whole = figures_of(definitions, _added(list(found.values()), measures_of(definitions)))
    shown, total = shown_beside_total(by, rows, whole)
    return dict(zip(found, shown, strict=True)), total


def figures_by_facility(
    *, by: Principal, selection: Selection, definitions: Sequence[Definition], step: str | None
) -> Iterator[tuple[date | None, dict[UUID | None, dict[str, Figure]]]]:
    """Give the figures of each facility, as `facility_kpis` shows them, for each step of the period that has rides.

    `step` is "day", "week" or "month", and a step is named by its first day, which may lie before the period; without
    steps it is all one, named None.  One query.
    """
    if step is None:
        yield None, _by_facility(by, selection, definitions)[0]
        return
    found = sums(selection, measures_of(definitions), by=(step, "facility"))
    for first, keys in groupby(found, key=itemgetter(0)):
        yield first, _shown(by, {key[1]: found[key] for key in keys}, definitions)[0]


def _added(rows: Sequence[Sums], names: Collection[str]) -> dict[str, Any]:
    """Add sums of several rows up; packed values are strung together."""
    added: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows]
        added[name] = b"".join(values) if name in PACKED else sum(values)
    return added


def _nothing(definitions: Sequence[Definition]) -> dict[str, Figure]:
    return figures_of(definitions, _added([], measures_of(definitions)))


def measures_of(definitions: Sequence[Definition]) -> frozenset[str]:
    return frozenset(name for one in definitions for name in one.measures)


# What trends go by, and the groupings of rollups behind it.
BY: Final[Mapping[str, tuple[str, ...]]] = {
    "day": ("day",),
    "week": ("week",),
    "month": ("month",),
    "weekday_hour": ("weekday", "hour"),
    "pattern": ("pattern",),
    "shift": ("shift",),
    "weekday_of_dialysis": ("pattern", "weekday"),
    "provider": ("provider",),
    "service_type": ("service_type",),
}


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one day, week, hour of the week and so on; `key` has the values that `BY` names, in its order."""

    key: tuple[Any, ...]
    figures: Figures


@dataclass(frozen=True, slots=True)
class Trend:
    by: str
    points: list[Point]
    restatements: list[Restated]
    progress: Progress


def trends(*, by: Principal, selection: Selection, definitions: Sequence[Definition], along: str) -> Trend:
    """Give the figures of each step of a period that has rides; `along` is a key of `BY`.  Three queries.

    Raises:
        InvalidInput: `along` cannot be told for what is selected (`Selection.grain`).
    """
    found = sums(selection, measures_of(definitions), by=BY[along])
    points = [
        Point(key, {name: shown_to(by, figure) for name, figure in figures_of(definitions, row).items()})
        for key, row in found.items()
    ]
    return Trend(along, points, restatements(by=by, selection=selection), reading.progress())
