"""Write rollup rows.  The rows of a facility day are always recomputed from all its rides.

Nothing is incremented or decremented, so writing a facility day twice, or again after a crash, changes nothing.  The
caller holds a lock on the row of `RollupCheckpoint`, which excludes other writers.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db import connection

from apps.reporting.rules.facts import RIDES_OF_FACILITY_DAYS
from apps.reporting.rules.rollup_sql import (
    BREAKDOWN_COLUMNS,
    BREAKDOWN_TABLE,
    DAY_GRAINS,
    FACILITY_GRAINS,
    METRICS_COLUMNS,
    METRICS_TABLE,
    breakdowns_of,
    day_metrics,
    metrics_of,
)

FacilityDay = tuple[date, UUID | None]  # None: the rides without a facility
BATCH: Final = 200  # facility days per statement: about 20,000 rides of a large operator


@dataclass(frozen=True, slots=True)
class _Table:
    """A rollup table, and the SQL that computes its rows."""

    name: str
    columns: str
    computed: str
    is_facility_row: str  # condition; the table of metrics has rows of whole days, too


_TABLES: Final = (
    _Table(
        METRICS_TABLE,
        METRICS_COLUMNS,
        metrics_of(RIDES_OF_FACILITY_DAYS),
        f"grain IN {tuple(map(int, FACILITY_GRAINS))}",
    ),
    _Table(BREAKDOWN_TABLE, BREAKDOWN_COLUMNS, breakdowns_of(RIDES_OF_FACILITY_DAYS), "true"),
)
# Two conditions, because no index supports IS NOT DISTINCT FROM.
_IN_FACILITY_DAYS: Final = (
    "t.service_date = selected.day AND t.facility_id = selected.facility",
    "t.service_date = selected.day AND t.facility_id IS NULL AND selected.facility IS NULL",
)
_FACILITY_DAYS: Final = "unnest(%(dates)s::date[], %(facilities)s::uuid[]) AS selected(day, facility)"


def write(facility_days: Iterable[FacilityDay], *, closed_through: date | None) -> set[FacilityDay]:
    """Recompute these facility days and the totals of their days; return the closed ones whose measures changed.

    If a closed day changes, its closed rows are kept beside the live rows.
    """
    ordered = sorted(set(facility_days), key=str)
    changed: set[FacilityDay] = set()
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        closed = [item for item in batch if closed_through is not None and item[0] <= closed_through]
        _replace([item for item in batch if item not in closed])
        changed |= _restate(closed)
    _add_up_days({day for day, _ in ordered})
    return changed


def discard_closed(facility_days: Collection[FacilityDay]) -> None:
    """Delete the rows of these facility days, closed ones included.  Call `write` afterwards."""
    for table in _TABLES:
        _delete(table, list(facility_days), "true")


def _parameters(facility_days: Sequence[FacilityDay]) -> dict[str, Any]:
    return {
        "dates": [day for day, _ in facility_days],
        "facilities": [facility for _, facility in facility_days],
    }


def _replace(facility_days: list[FacilityDay]) -> None:
    if not facility_days:
        return
    for table in _TABLES:
        _delete(table, facility_days, "true")
        _insert(table, facility_days, "both")


def _restate(facility_days: list[FacilityDay]) -> set[FacilityDay]:
    """Compute the live rows of closed facility days, and store them beside the closed rows where the two differ."""
    if not facility_days:
        return set()
    for table in _TABLES:
        _insert(table, facility_days, "fresh")
    differing = {item for table in _TABLES for item in _differing(table, facility_days, ("both", "live"), "fresh")}
    for table in _TABLES:
        if differing:
            changed = list(differing)
            _set_basis(table, changed, old="both", new="closed")
            _delete(table, changed, "basis = 'live'")
            _set_basis(table, changed, old="fresh", new="live")
        _delete(table, facility_days, "basis = 'fresh'")
    _merge_if_as_closed(list(differing))
    return differing


def _merge_if_as_closed(facility_days: list[FacilityDay]) -> None:
    """Merge closed and live rows into one state where a later change reverted the earlier one."""
    if not facility_days:
        return
    differing = {item for table in _TABLES for item in _differing(table, facility_days, ("closed",), "live")}
    reverted = [item for item in facility_days if item not in differing]
    if reverted:
        for table in _TABLES:
            _delete(table, reverted, "basis = 'live'")
            _set_basis(table, reverted, old="closed", new="both")


def _insert(table: _Table, facility_days: list[FacilityDay], basis: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table.name} (basis, {table.columns})"  # noqa: S608  # no user input
            f" SELECT %(basis)s, {table.columns} FROM ({table.computed}) computed",
            {**_parameters(facility_days), "basis": basis},
        )


def _delete(table: _Table, facility_days: list[FacilityDay], where: str) -> None:
    with connection.cursor() as cursor:
        for in_facility_days in _IN_FACILITY_DAYS:
            cursor.execute(
                f"DELETE FROM {table.name} t USING {_FACILITY_DAYS}"  # noqa: S608  # no user input
                f" WHERE {in_facility_days} AND {table.is_facility_row} AND {where}",
                _parameters(facility_days),
            )


def _set_basis(table: _Table, facility_days: list[FacilityDay], *, old: str, new: str) -> None:
    with connection.cursor() as cursor:
        for in_facility_days in _IN_FACILITY_DAYS:
            cursor.execute(
                f"UPDATE {table.name} t SET basis = %(new)s FROM {_FACILITY_DAYS}"  # noqa: S608  # no user input
                f" WHERE {in_facility_days} AND {table.is_facility_row} AND basis = %(old)s",
                {**_parameters(facility_days), "old": old, "new": new},
            )


def _differing(table: _Table, facility_days: list[FacilityDay], bases: tuple[str, ...], other: str) -> set[FacilityDay]:
    """Return the facility days whose rows of these bases differ from the rows of the other basis."""
    parameters = {**_parameters(facility_days), "bases": list(bases), "other": [other]}
    rows = [
        f"SELECT {table.columns} FROM {table.name} t JOIN {_FACILITY_DAYS}"  # noqa: S608  # no user input
        f" ON ({' OR '.join(_IN_FACILITY_DAYS)}) WHERE {table.is_facility_row} AND basis = ANY(%({name})s)"
        for name in ("bases", "other")
    ]
    with connection.cursor() as cursor:
        cursor.execute(differing_rows(*rows), parameters)
        return {(day, facility) for day, facility in cursor.fetchall()}


def differing_rows(first: str, second: str) -> str:
    """Return the SQL statement that lists the days and facilities in which the rows of two selections differ."""
    return (
        f"WITH a AS MATERIALIZED ({first}), b AS MATERIALIZED ({second})"  # noqa: S608  # no user input
        " SELECT DISTINCT service_date, facility_id FROM"
        " ((TABLE a EXCEPT TABLE b) UNION ALL (TABLE b EXCEPT TABLE a)) differing"
    )


def _add_up_days(days: set[date]) -> None:
    """Rewrite the rows of all facilities for these days: one set of rows for both bases, or one for each basis."""
    if not days:
        return
    parameters = {"dates": sorted(days)}
    restated = (
        f"SELECT DISTINCT service_date FROM {METRICS_TABLE} WHERE basis <> 'both'"  # noqa: S608  # no user input
        f" AND service_date = ANY(%(dates)s::date[]) AND grain IN {tuple(map(int, FACILITY_GRAINS))}"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {METRICS_TABLE} WHERE grain IN {tuple(map(int, DAY_GRAINS))}"  # noqa: S608  # no user input
            " AND service_date = ANY(%(dates)s::date[])",
            parameters,
        )
        for basis, bases, where in (
            ("both", "'both'", "NOT IN"),
            ("closed", "'both', 'closed'", "IN"),
            ("live", "'both', 'live'", "IN"),
        ):
            cursor.execute(
                f"INSERT INTO {METRICS_TABLE} (basis, {METRICS_COLUMNS})"  # noqa: S608  # no user input
                f" SELECT '{basis}', {METRICS_COLUMNS} FROM ({day_metrics(bases)}) added"
                f" WHERE service_date {where} ({restated})",
                parameters,
            )
