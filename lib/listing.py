"""Lists of the console: sortable columns, optional columns and page sizes, and their query parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import QueryDict

SIZES: Final = (50, 100, 200)  # rows of a page
DOWN: Final = "-"  # prefix of a column that is sorted in descending order


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the console.

    `page` is the name of its URL, and the key of its saved preferences.  `sorts` maps sortable columns to labels; "-"
    marks those that sort in descending order at the first click; the first is the default.  `columns` may
    be hidden, without the column that names a row.
    """

    page: str
    sorts: Mapping[str, Any]
    columns: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    size: int = SIZES[0]  # default number of rows of a page

    @property
    def usual(self) -> str:
        return next(iter(self.sorts), "")

    def sort(self, value: str) -> str:
        """Return the order of a query parameter; the default for an unknown value."""
        return value if value.removeprefix(DOWN) in {column.removeprefix(DOWN) for column in self.sorts} else self.usual

    def rows(self, value: str) -> int | None:
        """Return the page size of a query parameter; None for an unknown value."""
        return next((size for size in self.sizes if str(size) == value), None)

    def named(self, column: str) -> Any:
        """Return the label of a sortable column."""
        return self.sorts.get(column) or self.sorts[f"{DOWN}{column}"]

    def turned(self, column: str, sort: str) -> str:
        """Return the order after a click on the header of `column`, with `sort` as the current order."""
        if sort.removeprefix(DOWN) == column:
            return column if sort.startswith(DOWN) else f"{DOWN}{column}"
        return next(name for name in self.sorts if name.removeprefix(DOWN) == column)


def spelled(values: Mapping[str, object]) -> str:
    """Encode values as a query string, without empty values."""
    query = QueryDict(mutable=True)
    for name, value in values.items():
        if value:
            query[name] = str(value)
    return query.urlencode()
