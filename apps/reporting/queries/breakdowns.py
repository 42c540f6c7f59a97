"""Counts by category: reasons and fault of ended rides, and exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db import connections

from apps.reporting.models import BreakdownCount
from apps.reporting.queries.figures import visible_counts
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.rollup_sql import BREAKDOWN_TABLE
from lib.access import Principal
from lib.replica import alias

_COLUMNS: Final[Mapping[str, tuple[BreakdownCount.Kind, str]]] = {
    "reason": (BreakdownCount.Kind.ENDING, "category, code"),
    "fault": (BreakdownCount.Kind.ENDING, "category, fault"),
    "exception_type": (BreakdownCount.Kind.EXCEPTION, "category, code"),
}
BREAKDOWNS: Final = tuple(_COLUMNS)


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """The count of one pair: status and reason or fault of an ending, severity and type of exceptions.

    `amount` None: too few for the caller to see.
    """

    category: str
    code: str
    amount: int | None


def breakdown(*, by: Principal, selection: Selection, dimension: str, limit: int | None = None) -> list[CategoryCount]:
    """Count by a dimension, one of `BREAKDOWNS`, highest first.  One query of rollups.

    Cancellations that are in no KPI, such as duplicates, are among the reasons.
    """
    kind, columns = _COLUMNS[dimension]
    condition, parameters = selection.where_rolled_up()
    with connections[alias()].cursor() as cursor:
        cursor.execute(
            f"SELECT {columns}, sum(amount)::bigint AS amount FROM {BREAKDOWN_TABLE}"  # noqa: S608  # no user input
            f" WHERE kind = %(kind)s AND {condition} GROUP BY {columns} ORDER BY amount DESC, {columns}",
            {**parameters, "kind": kind.value},
        )
        amounts = {(category, code): int(amount) for category, code, amount in cursor.fetchall()}
    counts = [CategoryCount(category, code, amount) for (category, code), amount in visible_counts(by, amounts).items()]
    # Hidden counts come last: their position would reveal how many there are.
    return sorted(counts, key=lambda count: count.amount is None)[:limit]
