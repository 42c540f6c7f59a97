"""Measures of rollups, added up by day, week, facility and the like."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.reporting.queries.reading import binary_cursor
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.measures import MEASURES
from apps.reporting.rules.rollups import CELL

Sums = Mapping[str, Any]  # by measure: a number, or packed values


@dataclass(frozen=True, slots=True)
class _Grouping:
    sql: str
    by_facility: bool = False
    by_hour: bool = False
    split: bool = False
    where: str = "true"


# Weekdays from Monday 1; weeks begin on Mondays (ISO 8601).
GROUPINGS: Final[Mapping[str, _Grouping]] = {
    "facility": _Grouping("facility_id", by_facility=True),
    "day": _Grouping("service_date"),
    "week": _Grouping("date_trunc('week', service_date::timestamp)::date"),
    "month": _Grouping("date_trunc('month', service_date::timestamp)::date"),
    "weekday": _Grouping("extract(isodow FROM service_date)::int"),
    "hour": _Grouping("hour", by_hour=True),
    "provider": _Grouping("provider_id", split=True),
    "service_type": _Grouping("service_type", split=True),
    "pattern": _Grouping("pattern", split=True, where="pattern <> ''"),
    "shift": _Grouping("shift", split=True, where="shift <> ''"),
}


def sums(selection: Selection, names: Collection[str], *, by: tuple[str, ...] = ()) -> dict[tuple[Any, ...], Sums]:
    """Add these measures up by these groupings; without any, the one key is ().  One query.

    Reads rows of rollups alone: one for each day, or for each day and facility, hour, or provider and service type.

    Raises:
        InvalidInput: see `Selection.grain`.
    """
    groupings = [GROUPINGS[name] for name in by]
    grain = selection.grain(
        by_facility=any(one.by_facility for one in groupings),
        by_hour=any(one.by_hour for one in groupings),
        split=any(one.split for one in groupings),
    )
    condition, parameters = selection.where_rolled_up()
    wanted = [name for name in MEASURES if name in names]
    columns = [*(one.sql for one in groupings), *(MEASURES[name].of_days for name in wanted)]
    conditions = " AND ".join([condition, *(one.where for one in groupings)])
    places = ", ".join(str(number + 1) for number in range(len(groupings)))
    order = f"GROUP BY {places} ORDER BY {places}" if groupings else ""
    with binary_cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM {CELL} WHERE grain = {grain.value} AND {conditions} {order}",  # noqa: S608  # constant names, values are parameters
            parameters,
        )
        rows = cursor.fetchall()
    width = len(groupings)
    return {tuple(row[:width]): dict(zip(wanted, row[width:], strict=True)) for row in rows}
