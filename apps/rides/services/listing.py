"""The list of rides: reads a page and writes an audit entry (docs/adr/0007)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.audit.services import audit
from apps.organizations.models import SubjectType
from apps.organizations.queries import external_ids_of
from apps.rides.models import Ride
from apps.rides.queries import ride_list
from apps.rides.queries.ride_forecasts import AWAITED, NO_ETA, etas_of
from apps.rides.queries.ride_list import Facts
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Principal
from lib.pagination import TOTAL_CAP, order_by, rows_after

_FACTS = len(Facts._fields)
_HAS_ETA = {"etaPickup", "etaSource"}


@dataclass(frozen=True, slots=True)
class RideListQuery:
    """Filters and page of a request.  `after` is the sort key and id of the last row of the previous page."""

    filters: Mapping[str, Any]
    sort: str
    limit: int
    only: tuple[str, ...] | None = None
    after: tuple[datetime, UUID] | None = None


@dataclass(frozen=True, slots=True)
class RideListPage:
    """A page: rows in the API's shape, JSON inside them as orjson.Fragment, and where the next one starts."""

    rows: list[dict[str, Any]]
    next_after: tuple[datetime, UUID] | None
    # Of each row: ids of rider, facility and driver, null where there is none.
    named: list[tuple[UUID, UUID | None, UUID | None]]


def list_rides(*, query: RideListQuery, by: Principal, at: datetime) -> RideListPage:
    """Read one page of the rides within the caller's data scope, and record the read.

    Three queries: the page, its external ids if they are shown, and the row of the audit trail, without which the page
    is not answered; five more if vehicles are expected on it (`ride_forecasts`).
    """
    shape = ride_list.shape_for(disclosure_of(by), query.only, query.sort)
    rows = ride_list.matching(shape.rows, query.filters, by)
    if query.after is not None:
        rows = rows_after(rows, order_by(ride_list.SORTS[query.sort]), query.after)
    records: list[Any] = list(rows[: query.limit + 1])
    page_records = [(Facts(*values[:_FACTS]), values[_FACTS:]) for values in records[: query.limit]]
    ids = [facts.id for facts, _ in page_records]
    external_ids = external_ids_of(SubjectType.RIDE, ids) if ids and shape.has_external_ids else {}
    expected = [ride_list.times_of(facts) for facts, _ in page_records if facts.status in AWAITED]
    etas = etas_of(expected, at=at) if _HAS_ETA & shape.derived else {}
    audit.record(
        by=by,
        action="rides.list",
        subject_type="ride",
        rider_ids={facts.rider_id for facts, _ in page_records},
        phi=by.phi.name.lower(),
    )
    last = page_records[-1][0] if len(records) > query.limit else None
    return RideListPage(
        rows=[
            shape.row(values, facts, external_ids.get(facts.id, ()), at=at, eta=etas.get(facts.id, NO_ETA))
            for facts, values in page_records
        ],
        next_after=(datetime.fromisoformat(last.sort_key), last.id) if last else None,
        named=[(facts.rider_id, facts.facility_id, facts.driver_id) for facts, _ in page_records],
    )


def count_rides(*, filters: Mapping[str, Any], by: Principal) -> int:
    """Count the rides that match, up to one more than `TOTAL_CAP`.  One query."""
    return ride_list.matching(Ride.objects.all(), filters, by)[: TOTAL_CAP + 1].count()
