"""How lists of /admin/ are cut into pages."""

from functools import cached_property
from typing import Any, Final, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet

CAP: Final = 10_000


class CappedPaginator(Paginator[Any]):
    """Pages of the first 10,000 rows of a list, counted no further than that.

    PostgreSQL counts by reading every row, a million of them with each look at a list; and nobody turns two hundred
    pages.  What lies beyond is reached by filter and search.
    """

    @cached_property
    def count(self) -> int:
        return min(self._counted, CAP)

    @property
    def is_capped(self) -> bool:
        """Whether there are more rows than the pages hold."""
        return self._counted > CAP

    @cached_property
    def _counted(self) -> int:
        return cast("QuerySet[Any]", self.object_list).order_by()[: CAP + 1].count()
