"""Pages of lists: of the API, of console pages and of /admin/.

The API and the console page by key: the next page starts after the last row of this page, compared by the sort key and
then by the id.  So rows inserted or deleted meanwhile neither repeat nor hide others, and page 9,000 costs what page 1
costs.  They differ in what carries the key:

- `paginate` of the API makes an encrypted cursor.  It is bound to the filters, the order and the data scope that it was
  issued for; any other use is INVALID_CURSOR.  REST Framework's CursorPagination fails the contract on both counts: its
  cursors hold the sort key in plain text, which may be a name, and it takes them with other filters.  Among rows with
  equal keys it counts an offset, which inserts shift.
- `page_by_keys` of the console writes numbers, instants and ids into the address: sort keys there are never names.
  `newest_first` is the same by the id alone, because ids are UUIDv7.

/admin/ counts pages, up to a cap (`CappedPaginator`).
"""

import base64
import binascii
import datetime as dt
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, TypeVar, cast
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import F, Model, OrderBy, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from lib.access import Principal
from lib.api.json import canonical
from lib.errors import Code, DomainError
from lib.ids import uuid_or_none

MAX_LIMIT: Final = 200
TOTAL_CAP: Final = 10_000  # rows; PostgreSQL counts by reading each
CONSOLE_SIZE: Final = 50
_NONCE_BYTES: Final = 12
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LARGEST: Final = 2**31 - 1  # of a PostgreSQL integer

Row = TypeVar("Row", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


@dataclass(frozen=True, slots=True)
class Key:
    """A column or an annotation that rows are sorted by; if it is `nullable`, rows without a value come last."""

    column: str
    down: bool = False
    kind: type[dt.datetime] | type[int] | type[UUID] = dt.datetime
    nullable: bool = False


Order = Sequence[Key]


def both_ways(name: str, *keys: Key) -> Mapping[str, Order]:
    """Name an order, and its opposite with "-" in front; rows with equal keys are sorted by id like the last key."""
    up = (*keys, Key("pk", down=bool(keys) and keys[-1].down, kind=UUID))
    return {name: up, f"-{name}": tuple(replace(key, down=not key.down) for key in up)}


def order_by(sort: str) -> Order:
    """Order by one column that is never null ("-" for descending) and then by the id in the same direction."""
    down = sort.startswith("-")
    return Key(sort.removeprefix("-"), down), Key("pk", down, UUID)


def rows_after(rows: Rows, order: Order, place: Sequence[Any]) -> Rows:
    """Keep the rows behind the one whose keys are `place`."""
    behind, same = Q(), Q()
    for key, value in zip(order, place, strict=True):
        if value is not None:
            later = Q(**{f"{key.column}__{'lt' if key.down else 'gt'}": value})
            if key.nullable:
                later |= Q(**{f"{key.column}__isnull": True})
            behind |= same & later
        same &= Q(**{f"{key.column}__isnull": True}) if value is None else Q(**{key.column: value})
    if not order[0].nullable:  # implied by the rest; lets an index find the start
        rows = rows.filter(**{f"{order[0].column}__{'lte' if order[0].down else 'gte'}": place[0]})
    return rows.filter(behind)


def _ordering(key: Key) -> OrderBy:
    # Without NULLS LAST on columns that are never null: an index serves only the ordering that it was built with.
    return OrderBy(F(key.column), descending=key.down, nulls_last=True if key.nullable else None)


class CursorInvalid(DomainError):
    """The cursor was altered, or belongs to other filters, another sort order or another reach."""

    code = Code.INVALID_CURSOR
    template = _("The cursor does not belong to this request; start again without one.")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows in order and how to go on; `total` is None unless it was asked for."""

    rows: list[Row]
    limit: int
    has_more: bool
    next_cursor: str | None
    total: int | None = None

    def as_json(self) -> dict[str, Any]:
        page: dict[str, Any] = {"limit": self.limit, "hasMore": self.has_more, "nextCursor": self.next_cursor}
        if self.total is not None:
            page |= {"total": min(self.total, TOTAL_CAP), "totalIsCapped": self.total > TOTAL_CAP}
        return page


def paginate(
    rows: QuerySet[Row],
    *,
    query: Mapping[str, Any],
    by: Principal,
    sort: str = "-created_at",
) -> Page[Row]:
    """Cut one page out of `rows`, ordered by the column `sort` ("-" for descending) and the id.

    `query` is the whole parsed query: `limit`, `cursor`, `include_total`, and the filters that the cursor is bound
    to.  `sort` names a column of `rows` that is never null.  Costs one query, two with a total.

    Raises:
        CursorInvalid: the cursor was altered, or filters, order or data scope are not those it was issued for.
    """
    limit = min(query["limit"], MAX_LIMIT)
    order = order_by(sort)
    bound = _binding(rows.model, sort, query, by)
    total = rows.order_by()[: TOTAL_CAP + 1].count() if query.get("include_total") else None
    if cursor := query.get("cursor"):
        rows = rows_after(rows, order, open_cursor(cursor, bound=bound, parts=2))
    found = list(rows.order_by(*map(_ordering, order))[: limit + 1])
    shown = found[:limit]
    more = len(found) > limit
    next_cursor = seal_cursor([getattr(shown[-1], key.column) for key in order], bound=bound) if more else None
    return Page(rows=shown, limit=limit, has_more=more, next_cursor=next_cursor, total=total)


def _binding(model: type[Model], sort: str, query: Mapping[str, Any], by: Principal) -> bytes:
    """Digest what a cursor is only valid for."""
    filters = {name: value for name, value in query.items() if name not in ("limit", "cursor", "include_total")}
    return digest_of([model._meta.label, sort, filters, reach(by)])


def reach(by: Principal) -> list[Any]:
    """List what decides which rows a principal can see."""
    scopes = (by.facility_ids, by.provider_ids)
    return [None if ids is None else sorted(str(one) for one in ids) for ids in scopes] + [int(by.phi)]


def digest_of(value: Any) -> bytes:
    return hashlib.sha256(canonical(value)).digest()


@lru_cache(maxsize=4)
def _cipher(key: str) -> AESGCM:
    return AESGCM(hashlib.sha256(b"cursor\0" + key.encode()).digest())


def _tagged(value: Any) -> Any:
    """Mark the types that JSON does not tell apart from text."""
    if isinstance(value, dt.datetime):
        return {"at": value.isoformat()}
    return {"id": str(value)} if isinstance(value, UUID) else value


_READ: Final[dict[str, Callable[[str], Any]]] = {
    "at": dt.datetime.fromisoformat,
    "id": UUID,
}


def _untagged(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, text),) = value.items()
    return _READ[tag](text)


def seal_cursor(parts: list[Any], *, bound: bytes) -> str:
    """Make an opaque cursor: what it holds can be neither read nor altered, nor used under another binding.

    Sealed rather than signed, since a sort key may be a name and cursors travel in URLs.
    """
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(settings.CURSOR_KEY).encrypt(nonce, canonical([_tagged(part) for part in parts]), bound)
    return _text_of(sealed)


def _text_of(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def open_cursor(cursor: str, *, bound: bytes, parts: int) -> list[Any]:
    """Read what `seal_cursor` sealed, as it was.

    Raises:
        CursorInvalid: it was altered, is not ours, or was issued under another binding.
    """
    try:
        sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if _text_of(sealed) != cursor:  # the last character has bits that decode to nothing
            raise CursorInvalid
        held = orjson.loads(_cipher(settings.CURSOR_KEY).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound))
    except (binascii.Error, InvalidTag, ValueError):
        raise CursorInvalid from None
    if len(held) != parts:
        raise CursorInvalid
    return [_untagged(part) for part in held]


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Row]):
    """Some rows, and what the address of the next page says; "": this is the last page."""

    rows: list[Row]
    next: str


def page_by_keys(rows: QuerySet[Row], order: Order, after: str, *, size: int) -> KeyPage[Row]:
    """Cut the page that follows `after`, the text of an address; any text that is no place is the first page.

    One query.
    """
    place = _read(after, order)
    if place is not None:
        rows = rows_after(rows, order, place)
    found = list(rows.order_by(*map(_ordering, order))[: size + 1])
    return KeyPage(found[:size], _spelled(found[size - 1], order) if len(found) > size else "")


def newest_first(rows: QuerySet[Row], before: str, *, size: int = CONSOLE_SIZE) -> KeyPage[Row]:
    """Cut a page of rows whose ids are UUIDv7, the newest first; see `page_by_keys`."""
    return page_by_keys(rows, (Key("pk", down=True, kind=UUID),), before, size=size)


def _spelled(row: Model, order: Order) -> str:
    return "_".join(_spell(getattr(row, key.column)) for key in order)


def _spell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return str((value - _EPOCH) // dt.timedelta(microseconds=1))
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
        if kind is dt.datetime:
            return _EPOCH + dt.timedelta(microseconds=number)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= _LARGEST else None


class CappedPaginator(Paginator[Any]):
    """Pages of the first `TOTAL_CAP` rows of a list of /admin/; rows beyond are reached by filter and search.

    PostgreSQL counts by reading every row, a million of them each time a list is opened.
    """

    @cached_property
    def count(self) -> int:
        return min(self._counted, TOTAL_CAP)

    @property
    def is_capped(self) -> bool:
        """Whether there are more rows than the pages hold."""
        return self._counted > TOTAL_CAP

    @cached_property
    def _counted(self) -> int:
        return cast("QuerySet[Any]", self.object_list).order_by()[: TOTAL_CAP + 1].count()
