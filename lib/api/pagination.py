"""Pages by key: a cursor names the last row seen, so that rows inserted meanwhile are neither missed nor repeated."""

import base64
import binascii
import datetime as dt
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from lib.access import Principal
from lib.api.json import canonical
from lib.errors import Code, DomainError

MAX_LIMIT: Final = 200
TOTAL_CAP: Final = 10_000  # a count beyond costs more than it tells
_NONCE_BYTES: Final = 12

Row = TypeVar("Row", bound=Model)


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
    column, descending = sort.removeprefix("-"), sort.startswith("-")
    bound = _binding(rows.model, sort, query, by)
    total = rows.order_by()[: TOTAL_CAP + 1].count() if query.get("include_total") else None
    if cursor := query.get("cursor"):
        key, last_id = open_cursor(cursor, bound=bound, parts=2)
        way = "lt" if descending else "gt"
        # `>=` on the first column lets the index find the start; the rest tells equal keys apart.
        rows = rows.filter(**{f"{column}__{way}e": key}).filter(
            Q(**{f"{column}__{way}": key}) | Q(**{f"pk__{way}": last_id})
        )
    order = ("-" if descending else "") + "pk"
    found = list(rows.order_by(sort, order)[: limit + 1])
    shown = found[:limit]
    more = len(found) > limit
    next_cursor = seal_cursor([getattr(shown[-1], column), shown[-1].pk], bound=bound) if more else None
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
