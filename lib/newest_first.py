"""Pages of rows whose ids are UUIDv7, newest first: the next page begins below the last id of this one."""

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
SIZE: Final = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and the id below which the older ones begin; None: there are none."""

    rows: list[Row]
    older: UUID | None


def page_of(rows: QuerySet[Row], before: str, *, size: int = SIZE) -> Page[Row]:
    """Cut a page; `before` is what the address said, and what is no id there is the first page.  One query."""
    last = uuid_or_none(before)
    found = list((rows if last is None else rows.filter(pk__lt=last)).order_by("-pk")[: size + 1])
    return Page(found[:size], found[size - 1].pk if len(found) > size else None)


def uuid_or_none(text: Any) -> UUID | None:
    """Read an id; None for what is none."""
    try:
        return UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None
