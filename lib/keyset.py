"""Pages of rows in any order: the next page begins behind the last row of this one, told by what that row is sorted by.

Rows that come or go meanwhile neither repeat nor skip others.  What a row is sorted by stands in addresses: numbers and
instants alone, never a name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db.models import F, Model, OrderBy, Q, QuerySet

from lib.newest_first import uuid_or_none

Row = TypeVar("Row", bound=Model)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST: Final = 2**31 - 1  # of a PostgreSQL integer


@dataclass(frozen=True, slots=True)
class Key:
    """A column or an annotation that rows are sorted by; where it is `nullable`, rows without a value come last."""

    column: str
    down: bool = False
    kind: type[datetime] | type[int] | type[UUID] = datetime
    nullable: bool = False


Order = Sequence[Key]


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and where the next page begins; "": there is none."""

    rows: list[Row]
    next: str


def both_ways(name: str, *keys: Key) -> Mapping[str, Order]:
    """Name an order, and with "-" in front its opposite; between equals the id decides, as the last key goes."""
    up = (*keys, Key("pk", down=bool(keys) and keys[-1].down, kind=UUID))
    return {name: up, f"-{name}": tuple(replace(key, down=not key.down) for key in up)}


def page_of(rows: QuerySet[Row], order: Order, after: str, *, size: int) -> Page[Row]:
    """Cut a page; `after` is what the address said: what is no place in this order is the first page.  One query."""
    place = _read(after, order)
    if place is not None:
        rows = rows.filter(_behind(order, place))
    found = list(rows.order_by(*map(_sorted, order))[: size + 1])
    return Page(found[:size], _spelled(found[size - 1], order) if len(found) > size else "")


def _sorted(key: Key) -> OrderBy:
    # NULLS LAST stands where it says something: an index is of use to the words that it was built with alone.
    return OrderBy(F(key.column), descending=key.down, nulls_last=True if key.nullable else None)


def _behind(order: Order, place: Sequence[Any]) -> Q:
    found, same = Q(), Q()
    for key, value in zip(order, place, strict=True):
        if value is not None:
            later = Q(**{f"{key.column}__{'lt' if key.down else 'gt'}": value})
            if key.nullable:
                later |= Q(**{f"{key.column}__isnull": True})
            found |= same & later
        same &= Q(**{f"{key.column}__isnull": True}) if value is None else Q(**{key.column: value})
    return found


def _spelled(row: Model, order: Order) -> str:
    return "_".join(_spell(getattr(row, key.column)) for key in order)


def _spell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return str((value - _EPOCH) // timedelta(microseconds=1))
    return value.hex if isinstance(value, UUID) else str(value)


def _read(text: str, order: Order) -> list[Any] | None:
    parts = text.split("_")
    if len(parts) != len(order):
        return None
    place = []
    for part, key in zip(parts, order, strict=True):
        value = _value(part, key.kind)
        if value is None and (part or not key.nullable):
            return None
        place.append(value)
    return place


def _value(text: str, kind: type) -> Any:
    """Read what `_spell` wrote; None for anything else."""
    if kind is UUID:
        return uuid_or_none(text)
    try:
        number = int(text)
        if kind is datetime:
            return _EPOCH + timedelta(microseconds=number)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= _LARGEST else None
