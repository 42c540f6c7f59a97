"""Add up measures over rollup rows, by day, week, facility and so on."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections

from apps.reporting.queries.selection import Selection
from apps.reporting.rules.measures import MEASURES
from apps.reporting.rules.rollup_sql import METRICS_TABLE
from lib.replica import alias

Sums = Mapping[str, Any]  # by measure: a number, or packed values (rules/measures.py)


@dataclass(frozen=True, slots=True)
class _Grouping:
    sql: str
    by_facility: bool = False
    by_hour: bool = False
    is_split: bool = False
    where: str = "true"


# Weekdays start with Monday as 1; weeks begin on Mondays (ISO 8601).
GROUPINGS: Final[Mapping[str, _Grouping]] = {
    "facility": _Grouping("facility_id", by_facility=True),
    "day": _Grouping("service_date"),
    "week": _Grouping("date_trunc('week', service_date::timestamp)::date"),
    "month": _Grouping("date_trunc('month', service_date::timestamp)::date"),
    "weekday": _Grouping("extract(isodow FROM service_date)::int"),
    "hour": _Grouping("hour", by_hour=True),
    "provider": _Grouping("provider_id", is_split=True),
    "service_type": _Grouping("service_type", is_split=True),
    "pattern": _Grouping("pattern", is_split=True, where="pattern <> ''"),
    "shift": _Grouping("shift", is_split=True, where="shift <> ''"),
}


def sums(selection: Selection, names: Collection[str], *, by: tuple[str, ...] = ()) -> dict[tuple[Any, ...], Sums]:
    """Add up these measures by these groupings; without groupings, the only key is ().  One query.

    Reads the coarsest rollup rows that have the groupings (`Grain`).

    Raises:
        InvalidInput: no rollup row has these groupings together (`Selection.grain`).
    """
    groupings = [GROUPINGS[name] for name in by]
    grain = selection.grain(
        by_facility=any(grouping.by_facility for grouping in groupings),
        by_hour=any(grouping.by_hour for grouping in groupings),
        split=any(grouping.is_split for grouping in groupings),
    )
    condition, parameters = selection.where_rolled_up()
    measures = [name for name in MEASURES if name in names]
    columns = [*(grouping.sql for grouping in groupings), *(MEASURES[name].of_rows for name in measures)]
    conditions = " AND ".join([condition, *(grouping.where for grouping in groupings)])
    positions = ", ".join(str(number + 1) for number in range(len(groupings)))
    order = f"GROUP BY {positions} ORDER BY {positions}" if groupings else ""
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM {METRICS_TABLE}"  # noqa: S608  # no user input
            f" WHERE grain = {grain.value} AND {conditions} {order}",
            parameters,
        )
        rows = cursor.fetchall()
    width = len(groupings)
    return {tuple(row[:width]): dict(zip(measures, row[width:], strict=True)) for row in rows}
