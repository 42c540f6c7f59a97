"""Changes to the measures of closed days, and the events that caused them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connections

from apps.reporting.models import Basis, Restatement
from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import Sums
from apps.reporting.rules.measures import MEASURES, PACKED, MeasureKind
from apps.reporting.rules.rollup_sql import METRICS_TABLE, Grain
from apps.rides.models import Ride
from lib.access import Phi, Principal
from lib.replica import alias

MAX_ROWS: Final = 1000  # per response


@dataclass(frozen=True, slots=True)
class Change:
    """A measure of a facility day, as closed and as it is now.  For measures of single values: their sum."""

    measure: str
    closed: int | None
    current: int | None


@dataclass(frozen=True, slots=True)
class Restated:
    """A facility day that has changed since it was closed.

    `ride_ids` and `event_ids` are the causes; both are empty if a rebuild found the change.  `at` is the last change.
    """

    service_date: date
    facility_id: UUID | None
    changes: list[Change]
    at: datetime | None
    event_ids: list[UUID]
    ride_ids: list[UUID]


def restatements(*, by: Principal, selection: Selection) -> list[Restated]:
    """List the restated facility days of the selection, latest day first, at most `MAX_ROWS`.

    One query of rows whose closed and live state differ; a second query for the causes if there are any.
    """
    as_closed, as_now = _both_states(selection)
    keys = sorted({*as_closed, *as_now}, key=lambda key: (-key[0].toordinal(), str(key[1])))
    if not keys:
        return []
    causes = _causes(by, selection)
    restated = []
    for day, facility in keys:
        changes = _changes(by, as_closed.get((day, facility), {}), as_now.get((day, facility), {}))
        if changes:
            restated.append(_restated(day, facility, changes, causes.get((day, facility), [])))
    return restated[:MAX_ROWS]


FacilityDayKey = tuple[date, UUID | None]


def _both_states(selection: Selection) -> tuple[dict[FacilityDayKey, Sums], dict[FacilityDayKey, Sums]]:
    """Read the restated facility days, as closed and as they are now."""
    condition, parameters = selection.where()
    columns = ", ".join(measure.of_rows for measure in MEASURES.values())
    grain = Grain.SPLIT if selection.is_split else Grain.FACILITY
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT service_date, facility_id, basis, {columns} FROM {METRICS_TABLE}"  # noqa: S608  # no user input
            f" WHERE grain = {grain.value} AND basis <> 'both' AND {condition} GROUP BY 1, 2, 3",
            parameters,
        )
        rows = cursor.fetchall()
    states: dict[str, dict[FacilityDayKey, Sums]] = {Basis.CLOSED.value: {}, Basis.LIVE.value: {}}
    for day, facility, basis, *values in rows:
        states[basis][day, facility] = dict(zip(MEASURES, values, strict=True))
    return states[Basis.CLOSED.value], states[Basis.LIVE.value]


def _restated(day: date, facility: UUID | None, changes: list[Change], causes: list[Restatement]) -> Restated:
    return Restated(
        service_date=day,
        facility_id=facility,
        changes=changes,
        at=max((cause.at for cause in causes), default=None),
        event_ids=[cause.event_id for cause in causes if cause.event_id],
        ride_ids=sorted({cause.ride_id for cause in causes if cause.ride_id}),
    )


def _changes(by: Principal, closed: Sums, current: Sums) -> list[Change]:
    changes = []
    for name in MEASURES:
        before, now = _amount(name, closed), _amount(name, current)
        if before == now and _has_same_values(name, closed, current):
            continue
        is_hidden = by.phi <= Phi.NONE and _may_be_of_few(name, before, now)
        changes.append(Change(name, None, None) if is_hidden else Change(name, before, now))
    return changes


def _may_be_of_few(name: str, before: int, now: int) -> bool:
    """Return whether a change may concern few rides.  A sum, such as minutes, does not reveal its number of rides."""
    return MEASURES[name].kind is not MeasureKind.COUNT or any(map(is_small, (before, now, abs(now - before))))


def _amount(name: str, sums_: Mapping[str, Any]) -> int:
    if name not in sums_:
        return 0
    return sum(_values(sums_[name])) if name in PACKED else int(sums_[name])


def _has_same_values(name: str, closed: Sums, current: Sums) -> bool:
    """Return whether the single values are equal, too: two of them may change while their sum does not."""
    return name not in PACKED or _values(closed.get(name, b"")) == _values(current.get(name, b""))


def _values(packed: bytes) -> list[int]:
    return sorted(int.from_bytes(packed[at : at + 4], signed=True) for at in range(0, len(packed), 4))


def _causes(by: Principal, selection: Selection) -> Mapping[FacilityDayKey, list[Restatement]]:
    """Read the causes of restatements by day and facility, without rides outside the caller's data scope."""
    rows = Restatement.objects.using(alias())
    rows = rows.filter(service_date__range=(selection.first, selection.last)).order_by("pk")
    if by.is_bound:
        rows = rows.filter(ride_id__in=Ride.objects.visible_to(by).values("pk"))
    causes: dict[FacilityDayKey, list[Restatement]] = defaultdict(list)
    for row in rows:
        causes[row.service_date, row.facility_id].append(row)
    return causes
