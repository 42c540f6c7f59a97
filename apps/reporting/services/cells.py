"""Writing rollups: a cell is one day of one facility, and is always computed anew as a whole, from the rows.

So nothing has to be added or taken away exactly once: doing it twice, or after a crash, changes nothing.  The caller
holds the row of `Upkeep` locked, which keeps everybody else away.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db import connection

from apps.reporting.rules.facts import OF_CELLS
from apps.reporting.rules.rollups import (
    CELL,
    COLUMNS,
    OF_ALL,
    OF_FACILITIES,
    TALLY,
    TALLY_COLUMNS,
    days_of,
    rows_of,
    tallies_of,
)
from lib import recordset

Place = tuple[date, UUID | None]  # a day, and a facility or none
MOST_AT_ONCE: Final = 200  # cells of one statement: some 20,000 legs of a large operator


@dataclass(frozen=True, slots=True)
class _Table:
    """One of the two tables that hold cells, and how its rows are computed."""

    name: str
    columns: str
    fresh: str
    of_cells: str  # rows of facilities, where the table has others too


_TABLES: Final = (
    _Table(CELL, COLUMNS, rows_of(OF_CELLS), f"grain IN {tuple(map(int, OF_FACILITIES))}"),
    _Table(TALLY, TALLY_COLUMNS, tallies_of(OF_CELLS), "true"),
)
# Two conditions, since no index serves IS NOT DISTINCT FROM.
_IN_CELLS: Final = (
    "t.service_date = cell.day AND t.facility_id = cell.facility",
    "t.service_date = cell.day AND t.facility_id IS NULL AND cell.facility IS NULL",
)
_CELLS: Final = "unnest(%(dates)s::date[], %(facilities)s::uuid[]) AS cell(day, facility)"


def write(places: Iterable[Place], *, closed_through: date | None) -> set[Place]:
    """Compute these cells and the days they lie on; answer the closed ones whose figures have changed by it.

    Of a closed day what stood at its closing is kept beside what is so now.
    """
    wanted = sorted(set(places), key=str)
    changed: set[Place] = set()
    for start in range(0, len(wanted), MOST_AT_ONCE):
        some = wanted[start : start + MOST_AT_ONCE]
        closed = [place for place in some if closed_through is not None and place[0] <= closed_through]
        _replace([place for place in some if place not in closed])
        changed |= _restate(closed)
    _add_up({day for day, _ in wanted})
    return changed


def forget_closing(places: Collection[Place]) -> None:
    """Take the cells as they are now for those that were closed; `write` comes next."""
    for table in _TABLES:
        _delete(table, list(places), "true")


def _parameters(places: Sequence[Place]) -> dict[str, Any]:
    facilities = ",".join("NULL" if facility is None else str(facility) for _, facility in places)
    return {"dates": recordset.ids(day for day, _ in places), "facilities": "{" + facilities + "}"}


def _replace(places: list[Place]) -> None:
    if not places:
        return
    for table in _TABLES:
        _delete(table, places, "true")
        _insert(table, places, "both")


def _restate(places: list[Place]) -> set[Place]:
    """Put what is so now beside what was closed, where the two differ."""
    if not places:
        return set()
    for table in _TABLES:
        _insert(table, places, "fresh")
    differing = {place for table in _TABLES for place in _differing(table, places, ("both", "current"))}
    for table in _TABLES:
        if differing:
            some = list(differing)
            _relabel(table, some, "both", "closed")
            _delete(table, some, "basis = 'current'")
            _relabel(table, some, "fresh", "current")
        _delete(table, places, "basis = 'fresh'")
    _settle_if_as_closed(list(differing))
    return differing


def _settle_if_as_closed(places: list[Place]) -> None:
    """Make one of both readings again where a later change took the earlier one back."""
    if not places:
        return
    still = {place for table in _TABLES for place in _differing(table, places, ("closed",), of="current")}
    back = [place for place in places if place not in still]
    if back:
        for table in _TABLES:
            _delete(table, back, "basis = 'current'")
            _relabel(table, back, "closed", "both")


def _insert(table: _Table, places: list[Place], basis: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table.name} (basis, {table.columns})"  # noqa: S608  # constant names, values are parameters
            f" SELECT %(basis)s, {table.columns} FROM ({table.fresh}) fresh",
            {**_parameters(places), "basis": basis},
        )


def _delete(table: _Table, places: list[Place], where: str) -> None:
    with connection.cursor() as cursor:
        for in_cells in _IN_CELLS:
            cursor.execute(
                f"DELETE FROM {table.name} t USING {_CELLS}"  # noqa: S608  # constant names, values are parameters
                f" WHERE {in_cells} AND {table.of_cells} AND {where}",
                _parameters(places),
            )


def _relabel(table: _Table, places: list[Place], was: str, becomes: str) -> None:
    with connection.cursor() as cursor:
        for in_cells in _IN_CELLS:
            cursor.execute(
                f"UPDATE {table.name} t SET basis = %(becomes)s FROM {_CELLS}"  # noqa: S608  # constant names, values are parameters
                f" WHERE {in_cells} AND {table.of_cells} AND basis = %(was)s",
                {**_parameters(places), "was": was, "becomes": becomes},
            )


def _differing(table: _Table, places: list[Place], bases: tuple[str, ...], *, of: str = "fresh") -> set[Place]:
    """Find the cells whose rows of these bases are not those of the basis `of`."""
    parameters = {**_parameters(places), "bases": list(bases), "fresh": [of]}
    rows = [
        f"SELECT {table.columns} FROM {table.name} t JOIN {_CELLS} ON ({' OR '.join(_IN_CELLS)})"  # noqa: S608  # constant names, values are parameters
        f" WHERE {table.of_cells} AND basis = ANY(%({name})s)"
        for name in ("bases", "fresh")
    ]
    with connection.cursor() as cursor:
        cursor.execute(differing_rows(*rows), parameters)
        return {(day, facility) for day, facility in cursor.fetchall()}


def differing_rows(some: str, others: str) -> str:
    """Write the statement that names the days and facilities in which two selections of rows are not the same."""
    return (
        f"WITH a AS MATERIALIZED ({some}), b AS MATERIALIZED ({others})"  # noqa: S608  # constant names, values are parameters
        " SELECT DISTINCT service_date, facility_id FROM"
        " ((TABLE a EXCEPT TABLE b) UNION ALL (TABLE b EXCEPT TABLE a)) differing"
    )


def _add_up(days: set[date]) -> None:
    """Add the rows of all facilities up for these days, one set for both readings or one for each."""
    if not days:
        return
    parameters = {"dates": recordset.ids(sorted(days))}
    restated = (
        f"SELECT DISTINCT service_date FROM {CELL} WHERE basis <> 'both' AND service_date = ANY(%(dates)s::date[])"  # noqa: S608  # constant names, values are parameters
        f" AND grain IN {tuple(map(int, OF_FACILITIES))}"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {CELL} WHERE grain IN {tuple(map(int, OF_ALL))}"  # noqa: S608  # constant names, values are parameters
            " AND service_date = ANY(%(dates)s::date[])",
            parameters,
        )
        for basis, bases, where in (
            ("both", "'both'", "NOT IN"),
            ("closed", "'both', 'closed'", "IN"),
            ("current", "'both', 'current'", "IN"),
        ):
            cursor.execute(
                f"INSERT INTO {CELL} (basis, {COLUMNS}) SELECT '{basis}', {COLUMNS} FROM ({days_of(bases)}) added"  # noqa: S608  # constant names, values are parameters
                f" WHERE service_date {where} ({restated})",
                parameters,
            )
