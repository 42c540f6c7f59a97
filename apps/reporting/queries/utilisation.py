"""What drivers and vehicles have done: read from rides and shifts themselves, of a quarter at the most.

A shift is for all the rides of its driver.  Where facilities or types of service are asked for, or are all that the
caller reaches, the rides are a part of that work, and a share of the shift would be of something else: it is not told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connections

from apps.reporting.queries.figures import shown_amounts
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.facts import OF_PERIOD
from lib.access import Principal
from lib.replica import alias

MOST_DAYS: Final = 92
_COLUMNS: Final[Mapping[str, str]] = {"driver": "driver_id", "vehicle": "vehicle_id"}
WORKERS: Final = tuple(_COLUMNS)
# Two riders in one vehicle are both on board, and whoever drives them is busy once.  Where no arrival is known between
# them, times may be out of order, of which PostgreSQL makes no range.
_RIDDEN: Final = """
    count(*) AS rides,
    range_agg(tstzrange(
        least(departed_at, boarded_at, dropped_off_at), greatest(departed_at, boarded_at, dropped_off_at)
    )) AS spans,
    coalesce(sum(onboard_minutes), 0)::bigint AS onboard, coalesce(sum(loaded_miles), 0) AS miles
"""
_BUSY: Final = """
    coalesce((SELECT floor(extract(epoch FROM sum(upper(span) - lower(span))) / 60) FROM unnest(spans) span), 0)::bigint
"""
_WORK: Final = """
    WITH ridden AS (
        SELECT {column} AS worker, max(service_date) AS last, {ridden}
        FROM ({legs}) leg WHERE status = 'completed' AND {column} IS NOT NULL AND {condition} GROUP BY 1
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
_DAYS: Final = """
    WITH ridden AS (
        SELECT service_date AS day, {ridden}
        FROM ({legs}) leg WHERE status = 'completed' AND {column} = %(worker)s AND {condition} GROUP BY 1
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
class Done:
    """What was done; `minutes_on_shift` None: the rides are a part of what the shifts were for."""

    rides: int
    minutes_busy: int
    minutes_on_board: int
    minutes_on_shift: int | None
    miles: float

    @property
    def share_busy(self) -> float | None:
        return round(self.minutes_busy / self.minutes_on_shift, 4) if self.minutes_on_shift else None


@dataclass(frozen=True, slots=True)
class Work:
    """What one driver or vehicle has done over the period; `done` None: on too few rides for the caller to see.

    `last_date` is the last of their days with a completed ride.
    """

    id: UUID
    last_date: date
    done: Done | None


@dataclass(frozen=True, slots=True)
class Day:
    """What one driver or vehicle has done on a day; `done` None: on too few rides for the caller to see."""

    date: date
    done: Done | None


def utilisation(*, by: Principal, selection: Selection, of: str) -> list[Work]:
    """Add up the work of each driver or vehicle (`of`) on the selected completed rides, the busiest first.

    Shifts are counted inside the period by the operator's clock.  One query, which reads the rides: the selection is of
    `MOST_DAYS` at the most.  What is hidden comes last, by id: its place would tell how busy they were.
    """
    found = _read(_WORK, selection, of, {})
    seen = _seen(by, found)
    rows = [
        Work(worker, last, _done(rest, selection) if seen[worker] is not None else None)
        for worker, last, *rest in found
    ]
    return sorted(rows, key=lambda row: (row.done is None, "" if row.done else str(row.id)))


def days_of(*, by: Principal, selection: Selection, of: str, worker_id: UUID) -> list[Day]:
    """Tell the work of one driver or vehicle by day, the latest first; none where no selected ride is theirs.

    One query.  A shift over midnight is part of both days.
    """
    found = _read(_DAYS, selection, of, {"worker": worker_id})
    seen = _seen(by, found)
    return [Day(day, _done(rest, selection) if seen[day] is not None else None) for day, _again, *rest in found]


def _seen(by: Principal, found: list[tuple[Any, ...]]) -> Mapping[Any, int | None]:
    """Hide rows of few rides, as counts that stand beside one another are hidden."""
    return shown_amounts(by, {key: rides for key, _last, rides, *_others in found})


def _done(row: list[Any], selection: Selection) -> Done:
    rides, busy, onboard, shifts, miles = row
    whole = selection.facility_ids is None and not selection.service_types
    return Done(rides, busy, onboard, shifts if whole else None, float(miles))


def _read(statement: str, selection: Selection, of: str, more: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    condition, parameters = selection.where()
    until = {"until": selection.last.fromordinal(selection.last.toordinal() + 1), "zone": settings.OPERATOR_TIME_ZONE}
    written = statement.format(column=_COLUMNS[of], legs=OF_PERIOD, condition=condition, ridden=_RIDDEN, busy=_BUSY)
    with connections[alias()].cursor() as cursor:
        cursor.execute(written, {**parameters, **until, **more})
        return list(cursor.fetchall())
