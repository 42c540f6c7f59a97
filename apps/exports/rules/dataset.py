"""A dataset: rows that leave together, their columns in a fixed order, and what they can be narrowed by.

A dataset adds columns at its end and keeps its version; whoever removes, renames or moves one raises the version.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.exports.formats.columns import Column, Kind
from lib.access import Phi, Principal

Filters = Mapping[str, Any]


def _nothing_more(filters: Filters, by: Principal) -> dict[str, Any]:
    return {}


def _no_objection(filters: Filters, by: Principal) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Dataset:
    """One kind of export.

    `rows` is a table with its alias, or anything else that stands after FROM; `joins` are further tables by alias, of
    which a statement takes those alone that it looks at.  `conditions` say in SQL what each filter keeps, with
    parameters of the filter's name; `reach` gives the condition of a caller's data scope.  `order` has to be a total
    one.  `more` gives parameters that the statement refers to, for these filters and this caller.  A dataset that is
    computed in Python is rows of `json_to_recordset(%(rows)s::json)`, with `more` for them and `counted` for how many
    they are: filters and reach have been looked at there, and its conditions keep everything.
    """

    name: str
    version: int
    description: str
    columns: tuple[Column, ...]
    rows: str
    order: str
    reach: Callable[[Principal], tuple[str, dict[str, Any]]]
    joins: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    always: str = "true"
    statuses: tuple[str, ...] = ()
    rider: str | None = None  # SQL of the rider of a row, for the trail
    scope: str | None = None  # besides exports:create
    more: Callable[[Filters, Principal], dict[str, Any]] = _nothing_more
    check: Callable[[Filters, Principal], None] = _no_objection  # raises InvalidInput where filters make no sense
    # Up to which moment the rows know everything, by the name of the database that is read.
    known_until: Callable[[str], datetime | None] | None = None  # None: up to what the database knows
    identity: int = 3  # so many of the first columns tell rows apart, and stand in every file
    # Whether its rows are rides, which a locked export keeps from being corrected.
    lockable: bool = False

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)

    def shown(self, phi: Phi, *, sealed: bool) -> tuple[Column, ...]:
        """List what a level is given without asking for columns; sealed ones are for those who ask for `sealed`."""
        return tuple(one for one in self.columns if one.phi <= phi and (sealed or one.kind is not Kind.SEALED))

    def tables(self, expressions: Sequence[str]) -> str:
        """Write FROM with the tables that some expressions look at, those that these need among them."""
        said = " ".join(expressions)
        taken: list[str] = []
        for alias, join in reversed(list(self.joins.items())):
            if re.search(rf"\b{alias}\.", said):
                taken.insert(0, join)
                said += join
        return " ".join([self.rows, *taken])
