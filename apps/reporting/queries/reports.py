"""The reports: figures by facility and over time, with the period before and what was restated beside them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from apps.organizations.models import Facility, TransportProvider
from apps.reporting.queries import reading
from apps.reporting.queries.figures import Figure, figures_of, hidden, shown_beside_total
from apps.reporting.queries.reading import Progress
from apps.reporting.queries.restatements import Restated, restatements
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import Sums, sums
from apps.reporting.rules.defining import Definition
from apps.reporting.rules.definitions import DEFINITIONS
from apps.reporting.rules.measures import PACKED
from apps.reporting.rules.steps import TIMES
from lib.access import Phi, Principal
from lib.errors import InvalidInput
from lib.replica import alias

Figures = Mapping[str, Figure]
Names = Mapping[UUID, str]


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
    progress = reading.progress()
    rows, total = _by_facility(by, selection, definitions)
    before, total_before = _by_facility(by, selection.before(), definitions) if compared else ({}, {})
    empty = _nothing(definitions)
    names = _names(Facility, rows)
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
        progress=progress,
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
    "facility": ("facility",),
    "provider": ("provider",),
    "service_type": ("service_type",),
}
# Along these, several facilities are told one by one, beside one another.
FEWEST_LINES: Final = 2
MOST_LINES: Final = 6
NO_NAMES: Final[Names] = {}
_NAMED: Final[Mapping[str, type[Facility | TransportProvider]]] = {
    "facility": Facility,
    "provider": TransportProvider,
}


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of one day, week, hour of the week and so on; `key` has the values that `BY` names, in its order."""

    key: tuple[Any, ...]
    figures: Figures


@dataclass(frozen=True, slots=True)
class Line:
    """One of several facilities along the steps in which it has rides; `name` as it is now."""

    facility_id: UUID
    name: str
    points: list[Point]


@dataclass(frozen=True, slots=True)
class Trend:
    """`names` are those of facilities or providers in the keys, as they are now; `lines` those that were asked for."""

    by: str
    points: list[Point]
    restatements: list[Restated]
    progress: Progress
    names: Names = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


def trends(
    *, by: Principal, selection: Selection, definitions: Sequence[Definition], along: str, each: bool = False
) -> Trend:
    """Give the figures of each step of a period that has rides; `along` is a key of `BY`.  Three or four queries.

    `each` tells the selected facilities one by one, besides.  Facilities and providers come by name, none of them last.

    Raises:
        InvalidInput: `along` cannot be told for what is selected (`Selection.grain`), or facilities one by one.
    """
    progress = reading.progress()
    if each:
        points, lines = _one_by_one(by, selection, definitions, along)
        return Trend(along, points, restatements(by=by, selection=selection), progress, lines=lines)
    names = measures_of(definitions)
    found = sums(selection, names, by=BY[along])
    shown, _total = _beside_total(by, list(found.values()), definitions)
    points = [Point(key, figures) for key, figures in zip(found, shown, strict=True)]
    called = _names(_NAMED[along], [point.key[0] for point in points]) if along in _NAMED else NO_NAMES
    if along in _NAMED:
        points.sort(key=lambda point: (point.key[0] is None, called.get(point.key[0], ""), str(point.key[0])))
    return Trend(along, points, restatements(by=by, selection=selection), progress, called)


def _one_by_one(
    by: Principal, selection: Selection, definitions: Sequence[Definition], along: str
) -> tuple[list[Point], list[Line]]:
    """Follow all selected facilities together, and each of them.

    What is hidden of all together at a step hides each at that step: they add up to it.
    """
    ids = selection.facility_ids
    if ids is None or not FEWEST_LINES <= len(ids) <= MOST_LINES or along not in TIMES:
        raise InvalidInput("each", "Choose two to six facilities to follow them by day, week or month.")
    steps: dict[tuple[Any, ...], dict[UUID, Sums]] = defaultdict(dict)
    for place, row in sums(selection, measures_of(definitions), by=("facility", *BY[along])).items():
        steps[place[1:]][place[0]] = row
    keys = sorted(steps)
    wholes = [_added(list(steps[key].values()), measures_of(definitions)) for key in keys]
    together, _total = _beside_total(by, wholes, definitions)
    points: list[Point] = []
    told: dict[UUID, list[Point]] = {one: [] for one in ids}
    for key, whole in zip(keys, together, strict=True):
        rows, _whole = _beside_total(by, list(steps[key].values()), definitions)
        points.append(Point(key, whole))
        for facility, row in zip(steps[key], rows, strict=True):
            figures = {name: hidden(one) if whole[name].suppressed else one for name, one in row.items()}
            told[facility].append(Point(key, figures))
    called = _names(Facility, ids)
    lines = [
        Line(one, called.get(one, ""), told[one]) for one in sorted(ids, key=lambda one: (called.get(one, ""), one))
    ]
    return points, lines


def _beside_total(
    by: Principal, rows: Sequence[Sums], definitions: Sequence[Definition]
) -> tuple[list[dict[str, Figure]], dict[str, Figure]]:
    """Make figures of rows, as they may be shown beside their total; it is left out where it hides nothing."""
    told = [figures_of(definitions, row) for row in rows]
    if by.phi > Phi.NONE:
        return told, {}
    return shown_beside_total(by, told, figures_of(definitions, _added(rows, measures_of(definitions))))


def _names(model: type[Facility | TransportProvider], ids: Iterable[UUID | None]) -> Names:
    rows = model._default_manager.using(alias()).filter(pk__in=[one for one in ids if one])
    return dict(rows.values_list("pk", "name"))
