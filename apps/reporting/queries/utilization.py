"""Utilization of drivers and vehicles: busy time, time on shift and miles, from rides and shifts, at most 92 days.

A shift covers all rides of its driver.  If facilities or service types are selected, or limit the caller's data scope,
the rides are only a part of the work in the shift, and the time on shift is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connections

from apps.reporting.queries.figures import visible_counts
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.facts import RIDES_OF_PERIOD
from lib.access import Principal
from lib.replica import alias

MAX_DAYS: Final = 92
_COLUMNS: Final[Mapping[str, str]] = {"driver": "driver_id", "vehicle": "vehicle_id"}
WORKERS: Final = tuple(_COLUMNS)
# `range_agg` merges overlaps: with two riders on board, the driver is busy once.  Without an arrival time between them,
# the times of a ride may be out of order, and PostgreSQL refuses a range that ends before it starts: hence `least` and
# `greatest`.
_RIDE_SUMS: Final = """
    count(*) AS rides,
    range_agg(tstzrange(
        least(departed_at, boarded_at, dropped_off_at), greatest(departed_at, boarded_at, dropped_off_at)
    )) AS spans,
    coalesce(sum(onboard_minutes), 0)::bigint AS onboard, coalesce(sum(loaded_miles), 0) AS miles
"""
_BUSY: Final = """
    coalesce((SELECT floor(extract(epoch FROM sum(upper(span) - lower(span))) / 60) FROM unnest(spans) span), 0)::bigint
"""
_BY_WORKER: Final = """
    WITH ridden AS (
        SELECT {column} AS worker, max(service_date) AS last, {sums}
        FROM ({rides}) ride WHERE status = 'completed' AND {column} IS NOT NULL AND {condition} GROUP BY 1
    ), planned AS (
        SELECT {column} AS worker, sum(floor(extract(epoch FROM
            least(ends_at, %(until)s::timestamp AT TIME ZONE %(zone)s)
            - greatest(starts_at, %(first)s::date::timestamp AT TIME ZONE %(zone)s)) / 60))::bigint AS shifts
        FROM fleet_shift WHERE status = 'planned' AND starts_at < %(until)s::timestamp AT TIME ZONE %(zone)s
            AND ends_at > %(first)s::date::timestamp AT TIME ZONE %(zone)s GROUP BY 1
    )
    SELECT worker, last, rides, {busy} AS busy, onboard, coalesce(shifts, 0), miles
    FROM ridden LEFT JOIN planned USING (worker) ORDER BY busy DESC, worker
"""
_BY_DAY: Final = """
    WITH ridden AS (
        SELECT service_date AS day, {sums}
        FROM ({rides}) ride WHERE status = 'completed' AND {column} = %(worker)s AND {condition} GROUP BY 1
    ), planned AS (
        SELECT day::date AS day, sum(floor(extract(epoch FROM
            least(ends_at, (day + interval '1 day') AT TIME ZONE %(zone)s)
            - greatest(starts_at, day AT TIME ZONE %(zone)s)) / 60))::bigint AS shifts
        FROM generate_series(%(first)s::date::timestamp, %(last)s::date::timestamp, interval '1 day') day
        JOIN fleet_shift ON starts_at < (day + interval '1 day') AT TIME ZONE %(zone)s
            AND ends_at > day AT TIME ZONE %(zone)s
        WHERE {column} = %(worker)s AND status = 'planned' GROUP BY 1
    )
    SELECT day, day, rides, {busy}, onboard, coalesce(shifts, 0), miles
    FROM ridden LEFT JOIN planned USING (day) ORDER BY day DESC
"""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a driver or vehicle.  `minutes_on_shift` None: the rides are only a part of that time."""

    rides: int
    minutes_busy: int
    minutes_on_board: int
    minutes_on_shift: int | None
    miles: float

    @property
    def share_busy(self) -> float | None:
        return round(self.minutes_busy / self.minutes_on_shift, 4) if self.minutes_on_shift else None


@dataclass(frozen=True, slots=True)
class WorkerUtilization:
    """The work of one driver or vehicle in the period.  `work` None: too few rides for the caller to see.

    `last_date` is their last day with a completed ride.
    """

    id: UUID
    last_date: date
    work: Work | None


@dataclass(frozen=True, slots=True)
class DayUtilization:
    """The work of one driver or vehicle on one day.  `work` None: too few rides for the caller to see."""

    date: date
    work: Work | None


def by_worker(*, by: Principal, selection: Selection, of: str) -> list[WorkerUtilization]:
    """Add up the completed rides of each driver or vehicle (`of`, one of `WORKERS`), the busiest first.

    Shifts are cut at the ends of the period in the operator's time zone.  One query of rides: the selection has at most
    `MAX_DAYS`.  Hidden rows come last, by id: their position would reveal how busy they were.
    """
    records = _read(_BY_WORKER, selection, of, {})
    visible = _visible(by, records)
    rows = [
        WorkerUtilization(worker, last, _work(values, selection) if visible[worker] is not None else None)
        for worker, last, *values in records
    ]
    return sorted(rows, key=lambda row: (row.work is None, "" if row.work else str(row.id)))


def by_day(*, by: Principal, selection: Selection, of: str, worker_id: UUID) -> list[DayUtilization]:
    """Add up the completed rides of one driver or vehicle by day, latest first; empty if it has none.

    One query.  A shift over midnight counts on both days.
    """
    records = _read(_BY_DAY, selection, of, {"worker": worker_id})
    visible = _visible(by, records)
    return [
        DayUtilization(day, _work(values, selection) if visible[day] is not None else None)
        for day, _day, *values in records
    ]


def _visible(by: Principal, rows: list[tuple[Any, ...]]) -> Mapping[Any, int | None]:
    """Hide rows with few rides by the rules of `visible_counts`."""
    return visible_counts(by, {key: rides for key, _last, rides, *_rest in rows})


def _work(values: list[Any], selection: Selection) -> Work:
    rides, busy, onboard, shifts, miles = values
    has_all_rides = selection.facility_ids is None and not selection.service_types
    return Work(rides, busy, onboard, shifts if has_all_rides else None, float(miles))


def _read(statement: str, selection: Selection, of: str, extra: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    condition, parameters = selection.where()
    until = {"until": selection.last + timedelta(days=1), "zone": settings.OPERATOR_TIME_ZONE}
    sql = statement.format(column=_COLUMNS[of], rides=RIDES_OF_PERIOD, condition=condition, sums=_RIDE_SUMS, busy=_BUSY)
    with connections[alias()].cursor() as cursor:
        cursor.execute(sql, {**parameters, **until, **extra})
        return list(cursor.fetchall())
