"""The body of `GET /rides`, as bytes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.riders.rules import disclosure as rider_disclosure
from apps.rides.api.filters import ALIASES
from apps.rides.queries import expansion
from apps.rides.rules.disclosure import FIELDS
from apps.rides.services import listing
from apps.rides.services.listing import RideListPage, RideListQuery
from lib.access import Principal
from lib.api.json import dumps
from lib.errors import ScopeMissing
from lib.pagination import MAX_LIMIT, TOTAL_CAP, CursorInvalid, digest_of, open_cursor, reach, seal_cursor
from lib.scopes import Scope

_NOT_FILTERS = frozenset({"limit", "cursor", "include_total", "sort", "only", "expand"})
# A filter on what the caller may not see would tell it by trying.
_FILTER_TELLS = {"client_reference": "clientReference", "external_ref": "externalIds"}
_SCOPE_OF = {"rider": Scope.RIDERS_READ, "driver": Scope.DRIVERS_READ, "facility": Scope.FACILITIES_READ}


def render(query: Mapping[str, Any], *, by: Principal, at: datetime) -> tuple[bytes, str | None]:
    """Return the page of a parsed `RideQuery` and the cursor of the next page.

    Three queries; one more for a total, and one per expanded kind of record.

    Raises:
        CursorInvalid: the cursor is not one of this list for this caller.
        PhiNotPermitted, ScopeMissing: a filter, field or expansion is above the caller's level or scopes.
    """
    expand = query.get("expand", ())
    _require_permitted(query, by)
    filters = {name: value for name, value in query.items() if name not in _NOT_FILTERS}
    if "status" in filters:
        filters["status"] = [ALIASES.get(status, status) for status in filters["status"]]
    bound = digest_of(["rides", query["sort"], filters, reach(by)])
    limit = min(query["limit"], MAX_LIMIT)
    list_query = RideListQuery(
        filters=filters,
        sort=query["sort"],
        limit=limit,
        only=tuple(query["only"]) if "only" in query else None,
        after=_opened(query["cursor"], bound) if "cursor" in query else None,
    )
    listed = listing.list_rides(query=list_query, by=by, at=at)
    if expand:
        _expand(listed, expand, by)
    next_cursor = seal_cursor(list(listed.next_after), bound=bound) if listed.next_after else None
    page: dict[str, Any] = {"limit": limit, "hasMore": next_cursor is not None, "nextCursor": next_cursor}
    if query.get("include_total"):
        total = listing.count_rides(filters=filters, by=by)
        page |= {"total": min(total, TOTAL_CAP), "totalIsCapped": total > TOTAL_CAP}
    return dumps({"data": listed.rows, "page": page}), next_cursor


def _require_permitted(query: Mapping[str, Any], by: Principal) -> None:
    named = [_FILTER_TELLS[name] for name in _FILTER_TELLS if name in query]
    rider_disclosure.require(by.phi, [*named, *query.get("only", ())], table=FIELDS)
    for kind in query.get("expand", ()):
        if not by.has_scope(_SCOPE_OF[kind]):
            raise ScopeMissing(_SCOPE_OF[kind])


def _opened(cursor: str, bound: bytes) -> tuple[datetime, UUID]:
    key, last = open_cursor(cursor, bound=bound, parts=2)
    if not isinstance(key, datetime) or not isinstance(last, UUID):
        raise CursorInvalid
    return key, last


def _expand(listed: RideListPage, kinds: list[str], by: Principal) -> None:
    """Add the related records to the rows of rides; null for a record outside the caller's scope."""
    places = {"rider": 0, "facility": 1, "driver": 2}
    for kind in kinds:
        place = places[kind]
        records = expansion.READERS[kind]({pk for pk in (named[place] for named in listed.named) if pk}, by)
        for row, named in zip(listed.rows, listed.named, strict=True):
            pk = named[place]
            row[kind] = None if pk is None else records.get(pk)
