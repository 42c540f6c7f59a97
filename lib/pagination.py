"""Pages of lists: of the API, of console pages and of /admin/.

The API and the console use keyset pagination: the next page starts after the last row of this page, compared by the
sort key and then by the id.  So rows that are inserted or deleted between two requests neither repeat nor hide others,
and page 9,000 costs no more than page 1.  The two differ in the form of the key:

- `paginate` of the API returns an encrypted cursor.  It is bound to the filters, the order and the data scope that it
  was issued for; any other use is INVALID_CURSOR.  REST Framework's CursorPagination breaks the contract on both
  counts: its cursors hold the sort key in plain text, which may be a name, and it accepts them with other filters.
  Among rows with equal keys it counts an offset, which inserts shift.
- `page_by_keys` of the console writes numbers, instants and ids into the URL: its sort keys are never names.
  `newest_first` does the same with the id as the only key, because ids are UUIDv7.

/admin/ uses page numbers, up to a cap (`CappedPaginator`).
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
_LARGEST: Final = 2**31 - 1  # maximum of a PostgreSQL integer

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
    """Return an order under its name, and the reverse order with the prefix "-".

    The id is the last key, in the direction of the key before it.
    """
    up = (*keys, Key("pk", down=bool(keys) and keys[-1].down, kind=UUID))
    return {name: up, f"-{name}": tuple(replace(key, down=not key.down) for key in up)}


def order_by(sort: str) -> Order:
    """Return the order by one column that is never null ("-" for descending), then by id in the same direction."""
    down = sort.startswith("-")
    return Key(sort.removeprefix("-"), down), Key("pk", down, UUID)


def rows_after(rows: Rows, order: Order, place: Sequence[Any]) -> Rows:
    """Filter to rows after the row whose keys are `place`."""
    after, equal = Q(), Q()
    for key, value in zip(order, place, strict=True):
        if value is not None:
            beyond = Q(**{f"{key.column}__{'lt' if key.down else 'gt'}": value})
            if key.nullable:
                beyond |= Q(**{f"{key.column}__isnull": True})
            after |= equal & beyond
        equal &= Q(**{f"{key.column}__isnull": True}) if value is None else Q(**{key.column: value})
    if not order[0].nullable:  # implied by the rest; lets an index find the start
        rows = rows.filter(**{f"{order[0].column}__{'lte' if order[0].down else 'gte'}": place[0]})
    return rows.filter(after)


def _ordering(key: Key) -> OrderBy:
    # Without NULLS LAST on columns that are never null: an index serves only the ordering that it was built with.
    return OrderBy(F(key.column), descending=key.down, nulls_last=True if key.nullable else None)


class CursorInvalid(DomainError):
    """The cursor was altered, or was issued for other filters, another sort order or another data scope."""

    code = Code.INVALID_CURSOR
    template = _("The cursor does not belong to this request; start again without one.")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows of one page and the cursor of the next; `total` is None unless requested."""

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
    """Return one page of `rows`, ordered by the column `sort` ("-" for descending) and the id.

    `query` is the whole parsed query: `limit`, `cursor`, `include_total`, and the filters that the cursor is bound to.
    `sort` is a column of `rows` that is never null.  One query, two with a total.

    Raises:
        CursorInvalid: the cursor was altered, or was issued for other filters, another order or another data scope.
    """
    limit = min(query["limit"], MAX_LIMIT)
    order = order_by(sort)
    bound = _binding(rows.model, sort, query, by)
    total = rows.order_by()[: TOTAL_CAP + 1].count() if query.get("include_total") else None
    if cursor := query.get("cursor"):
        rows = rows_after(rows, order, open_cursor(cursor, bound=bound, parts=2))
    fetched = list(rows.order_by(*map(_ordering, order))[: limit + 1])
    page_rows = fetched[:limit]
    more = len(fetched) > limit
    next_cursor = seal_cursor([getattr(page_rows[-1], key.column) for key in order], bound=bound) if more else None
    return Page(rows=page_rows, limit=limit, has_more=more, next_cursor=next_cursor, total=total)


def _binding(model: type[Model], sort: str, query: Mapping[str, Any], by: Principal) -> bytes:
    """Return a digest of the filters, order and data scope that a cursor is valid for."""
    filters = {name: value for name, value in query.items() if name not in ("limit", "cursor", "include_total")}
    return digest_of([model._meta.label, sort, filters, reach(by)])


def reach(by: Principal) -> list[Any]:
    """Return the values of a principal that determine which rows are visible."""
    scopes = (by.facility_ids, by.provider_ids)
    return [None if ids is None else sorted(str(scope_id) for scope_id in ids) for ids in scopes] + [int(by.phi)]


def digest_of(value: Any) -> bytes:
    return hashlib.sha256(canonical(value)).digest()


@lru_cache(maxsize=4)
def _cipher(key: str) -> AESGCM:
    return AESGCM(hashlib.sha256(b"cursor\0" + key.encode()).digest())


def _tagged(value: Any) -> Any:
    """Tag values whose types JSON cannot represent."""
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
    """Return an encrypted cursor that cannot be read, altered, or used under another binding.

    Encrypted rather than signed, because a sort key may be a name and cursors are part of URLs.
    """
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(settings.CURSOR_KEY).encrypt(nonce, canonical([_tagged(part) for part in parts]), bound)
    return _text_of(sealed)


def _text_of(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def open_cursor(cursor: str, *, bound: bytes, parts: int) -> list[Any]:
    """Decrypt a cursor of `seal_cursor` and return its parts.

    Raises:
        CursorInvalid: it was altered, is not from this service, or was issued under another binding.
    """
    try:
        sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if _text_of(sealed) != cursor:  # base64 ignores some bits of the last character
            raise CursorInvalid
        tagged_parts = orjson.loads(
            _cipher(settings.CURSOR_KEY).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound)
        )
    except (binascii.Error, InvalidTag, ValueError):
        raise CursorInvalid from None
    if len(tagged_parts) != parts:
        raise CursorInvalid
    return [_untagged(part) for part in tagged_parts]


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Row]):
    """Rows of one page, and the `after` parameter of the next page; "" on the last page."""

    rows: list[Row]
    next: str


def page_by_keys(rows: QuerySet[Row], order: Order, after: str, *, size: int) -> KeyPage[Row]:
    """Return the page after `after`, a query parameter; the first page if the parameter is not valid.

    One query.
    """
    place = _read(after, order)
    if place is not None:
        rows = rows_after(rows, order, place)
    fetched = list(rows.order_by(*map(_ordering, order))[: size + 1])
    return KeyPage(fetched[:size], _spelled(fetched[size - 1], order) if len(fetched) > size else "")


def newest_first(rows: QuerySet[Row], before: str, *, size: int = CONSOLE_SIZE) -> KeyPage[Row]:
    """Return a page of rows whose ids are UUIDv7, newest first; see `page_by_keys`."""
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
    """Parse a value from `_spell`; None if it is invalid."""
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
    """Pages of the first `TOTAL_CAP` rows of a list in /admin/; filters and search reach the rows beyond.

    PostgreSQL counts by reading every row, which would be a million rows each time a list is opened.
    """

    @cached_property
    def count(self) -> int:
        return min(self._counted, TOTAL_CAP)

    @property
    def is_capped(self) -> bool:
        """Return whether there are more rows than the pages show."""
        return self._counted > TOTAL_CAP

    @cached_property
    def _counted(self) -> int:
        return cast("QuerySet[Any]", self.object_list).order_by()[: TOTAL_CAP + 1].count()
