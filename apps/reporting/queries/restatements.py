"""What has changed in figures of closed days since they were closed, and by what."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from apps.reporting.models import Basis, Restatement
from apps.reporting.queries import reading
from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
from apps.reporting.queries.sums import Sums
from apps.reporting.rules.measures import MEASURES, PACKED, Kind
from apps.reporting.rules.rollups import CELL, Grain
from apps.rides.models import Ride
from lib.access import Phi, Principal
from lib.replica import alias

MOST: Final = 1000  # of one answer


@dataclass(frozen=True, slots=True)
class Change:
    """A measure of a day and facility as it was closed, and now.  Of minutes: all of them together."""

    measure: str
    closed: int | None
    current: int | None


@dataclass(frozen=True, slots=True)
class Restated:
    """One day of one facility whose figures have changed since it was closed.

    `ride_ids` and `event_ids` caused it; without any, a rebuild found it.  `at`: when it was last changed.
    """

    service_date: date
    facility_id: UUID | None
    changes: list[Change]
    at: datetime | None
    event_ids: list[UUID]
    ride_ids: list[UUID]


def restatements(*, by: Principal, selection: Selection) -> list[Restated]:
    """List what was restated among what is selected, latest day first, `MOST` at the most.

    One query of the rows that have two readings; a second one for the causes, if there are any.
    """
    as_closed, as_now = _both_readings(selection)
    keys = sorted({*as_closed, *as_now}, key=lambda key: (-key[0].toordinal(), str(key[1])))
    if not keys:
        return []
    causes = _causes(by, selection)
    found = []
    for day, facility in keys:
        changes = _changes(by, as_closed.get((day, facility), {}), as_now.get((day, facility), {}))
        if changes:
            found.append(_restated(day, facility, changes, causes.get((day, facility), [])))
    return found[:MOST]


Day = tuple[date, UUID | None]


def _both_readings(selection: Selection) -> tuple[dict[Day, Sums], dict[Day, Sums]]:
    """Read the restated days of facilities as they were closed and as they are now."""
    condition, parameters = selection.where()
    columns = ", ".join(measure.of_days for measure in MEASURES.values())
    grain = Grain.SPLIT if selection.is_split else Grain.FACILITY
    with reading.binary_cursor() as cursor:
        cursor.execute(
            f"SELECT service_date, facility_id, basis, {columns} FROM {CELL}"  # noqa: S608  # constant names, values are parameters
            f" WHERE grain = {grain.value} AND basis <> 'both' AND {condition} GROUP BY 1, 2, 3",
            parameters,
        )
        rows = cursor.fetchall()
    readings: dict[str, dict[Day, Sums]] = {Basis.CLOSED.value: {}, Basis.CURRENT.value: {}}
    for day, facility, basis, *values in rows:
        readings[basis][day, facility] = dict(zip(MEASURES, values, strict=True))
    return readings[Basis.CLOSED.value], readings[Basis.CURRENT.value]


def _restated(day: date, facility: UUID | None, changes: list[Change], told: list[Restatement]) -> Restated:
    return Restated(
        service_date=day,
        facility_id=facility,
        changes=changes,
        at=max((one.at for one in told), default=None),
        event_ids=[one.event_id for one in told if one.event_id],
        ride_ids=sorted({one.ride_id for one in told if one.ride_id}),
    )


def _changes(by: Principal, closed: Sums, current: Sums) -> list[Change]:
    changes = []
    for name in MEASURES:
        was, now = _told(name, closed), _told(name, current)
        if was == now and _same(name, closed, current):
            continue
        hides = by.phi <= Phi.NONE and _may_be_of_few(name, was, now)
        changes.append(Change(name, None, None) if hides else Change(name, was, now))
    return changes


def _may_be_of_few(name: str, was: int, now: int) -> bool:
    """Say whether a change may stand on few legs: what was added up, such as minutes, does not tell of how many."""
    return MEASURES[name].kind is not Kind.COUNT or any(map(is_small, (was, now, abs(now - was))))


def _told(name: str, sums_: Mapping[str, Any]) -> int:
    if name not in sums_:
        return 0
    return sum(_values(sums_[name])) if name in PACKED else int(sums_[name])


def _same(name: str, closed: Sums, current: Sums) -> bool:
    """Whether the values are the same, too: two of them may change and keep their sum."""
    return name not in PACKED or _values(closed.get(name, b"")) == _values(current.get(name, b""))


def _values(packed: bytes) -> list[int]:
    return sorted(int.from_bytes(packed[at : at + 4], signed=True) for at in range(0, len(packed), 4))


def _causes(by: Principal, selection: Selection) -> Mapping[Day, list[Restatement]]:
    """Read what caused restatements; a ride that the caller does not reach is none of their business."""
    rows = Restatement.objects.using(alias())
    rows = rows.filter(service_date__range=(selection.first, selection.last)).order_by("pk")
    if by.is_bound:
        rows = rows.filter(ride_id__in=Ride.objects.visible_to(by).values("pk"))
    causes: dict[Day, list[Restatement]] = defaultdict(list)
    for row in rows:
        causes[row.service_date, row.facility_id].append(row)
    return causes
