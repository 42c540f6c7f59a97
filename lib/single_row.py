"""Look-ups by a unique key."""

from typing import TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def single(rows: QuerySet[Row]) -> Row | None:
    """Answer the row of a query that cannot find two, or None.

    `first()` adds an order and a limit, which the database ignores here and Django takes its time to write.
    """
    return next(iter(rows), None)
