"""Why rides ended, whose doing it was, and what went wrong: counts by word."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.reporting.models import Tally
from apps.reporting.queries.figures import shown_amounts
from apps.reporting.queries.reading import binary_cursor
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.rollups import TALLY
from lib.access import Principal

_COLUMNS: Final[Mapping[str, tuple[Tally.Kind, str]]] = {
    "reason": (Tally.Kind.ENDING, "word, code"),
    "fault": (Tally.Kind.ENDING, "word, fault"),
    "exception_type": (Tally.Kind.EXCEPTION, "word, code"),
}
BREAKDOWNS: Final = tuple(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many, for one pair: status and reason or fault of an ending, severity and type of exceptions.

    `amount` None: too few for the caller to see.
    """

    word: str
    code: str
    amount: int | None


def breakdown(*, by: Principal, selection: Selection, what: str, most: int | None = None) -> list[Counted]:
    """Count by `what`, a name of `BREAKDOWNS`, most first.  One query of tallies.

    Cancellations that belong to no figure, such as duplicates, are among the reasons.
    """
    kind, columns = _COLUMNS[what]
    condition, parameters = selection.where_rolled_up()
    with binary_cursor() as cursor:
        cursor.execute(
            f"SELECT {columns}, sum(amount)::bigint AS amount FROM {TALLY}"  # noqa: S608  # constant names, values are parameters
            f" WHERE kind = %(kind)s AND {condition} GROUP BY {columns} ORDER BY amount DESC, {columns}",
            {**parameters, "kind": kind.value},
        )
        found = {(word, code): int(amount) for word, code, amount in cursor.fetchall()}
    shown = [Counted(word, code, amount) for (word, code), amount in shown_amounts(by, found).items()]
    # What is hidden comes last: its place would tell how many there are.
    return sorted(shown, key=lambda one: one.amount is None)[:most]
