"""What may be arranged of a list of the console: by which columns it is sorted, and which of it stands in addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import QueryDict

SIZES: Final = (50, 100, 200)  # rows of a page
DOWN: Final = "-"  # in front of the name of a column: sorted from large to small, from late to early, from Z to A


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the console.

    `page` is the name of its URL, and what is remembered of it is remembered under.  `sorts` names the columns that it
    can be sorted by, those with "-" in front from large to small at first; the first one is the usual order.  `columns`
    names those that may be left out; what a row is called by is none of them, so that a list always shows something.
    """

    page: str
    sorts: Mapping[str, Any]
    columns: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    size: int = SIZES[0]  # of a page, where nobody says another

    @property
    def usual(self) -> str:
        return next(iter(self.sorts), "")

    def sort(self, asked: str) -> str:
        """Read an order out of an address; what is none there is the usual one."""
        return asked if asked.removeprefix(DOWN) in {one.removeprefix(DOWN) for one in self.sorts} else self.usual

    def rows(self, asked: str) -> int | None:
        """Read out of an address how many rows a page has; None for what is no size of this list."""
        return next((size for size in self.sizes if str(size) == asked), None)

    def named(self, column: str) -> Any:
        """Give the name of a column that the list can be sorted by."""
        return self.sorts.get(column) or self.sorts[f"{DOWN}{column}"]

    def turned(self, column: str, sort: str) -> str:
        """Say how a click on the head of a column sorts what is sorted like this now."""
        if sort.removeprefix(DOWN) == column:
            return column if sort.startswith(DOWN) else f"{DOWN}{column}"
        return next(one for one in self.sorts if one.removeprefix(DOWN) == column)


def spelled(values: Mapping[str, object]) -> str:
    """Spell what is asked of a list as addresses do; what is empty asks for nothing."""
    query = QueryDict(mutable=True)
    for name, value in values.items():
        if value:
            query[name] = str(value)
    return query.urlencode()
