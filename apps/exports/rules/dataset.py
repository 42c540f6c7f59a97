"""A dataset: a table that can be exported, with its columns in a fixed order and its filters.

New columns are added at the end; removing, renaming or moving a column requires a new version.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.exports.formats.columns import Column, ColumnType
from lib.access import Phi, Principal

Filters = Mapping[str, Any]


def _no_parameters(filters: Filters, by: Principal) -> dict[str, Any]:
    return {}


def _no_check(filters: Filters, by: Principal) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table that can be exported, as SQL.

    `rows` is the FROM item: a table with its alias, or another expression.  `joins` are further tables by alias; a
    statement joins only those that it uses.  `conditions` are the SQL of the filters, with parameters of the same
    names, and `data_scope` returns the condition of a caller's data scope.  `order` has to be a total order.
    `parameters` returns other parameters of the statement, for these filters and this caller.

    A dataset that is computed in Python reads its rows from `json_to_recordset(%(rows)s::json)`; `parameters` returns
    `rows` and their number as `counted`.  Filters and data scope are applied there, and its conditions are true.
    """

    name: str
    version: int
    description: str
    columns: tuple[Column, ...]
    rows: str
    order: str
    data_scope: Callable[[Principal], tuple[str, dict[str, Any]]]
    joins: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    always: str = "true"
    statuses: tuple[str, ...] = ()
    rider: str | None = None  # SQL of the rider of a row, for the audit trail
    scope: str | None = None  # needed in addition to exports:create
    parameters: Callable[[Filters, Principal], dict[str, Any]] = _no_parameters
    check: Callable[[Filters, Principal], None] = _no_check  # raises InvalidInput for invalid filters
    # Returns the time up to which rows are complete, for a database alias; None: see lib/replica.py.
    complete_until: Callable[[str], datetime | None] | None = None
    identity: int = 3  # number of leading columns that identify a row, which are in every file
    # Whether its rows are rides that a locked export protects from correction.
    lockable: bool = False

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def visible_columns(self, phi: Phi, *, sealed: bool) -> tuple[Column, ...]:
        """Return the default columns of a PHI level, with encrypted ones only if `sealed`."""
        return tuple(
            column for column in self.columns if column.phi <= phi and (sealed or column.kind is not ColumnType.SEALED)
        )

    def tables(self, expressions: Sequence[str]) -> str:
        """Return the FROM clause with the joins that the expressions use, and those that these joins use."""
        sql = " ".join(expressions)
        joins: list[str] = []
        for alias, join in reversed(list(self.joins.items())):
            if re.search(rf"\b{alias}\.", sql):
                joins.insert(0, join)
                sql += join
        return " ".join([self.rows, *joins])
