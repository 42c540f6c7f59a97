"""The exception queue: unsettled exceptions by severity, and the history of closed ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Case, IntegerField, Q, Value, When

from apps.rides.models import RideException
from apps.rides.models.exception import RideExceptionQuerySet
from apps.rides.rules.exception_types import SEVERITY_RANK, ExceptionSeverity
from lib.access import Principal
from lib.pagination import Key, KeyPage, Order, both_ways, page_by_keys

SIZES: Final = (50, 100, 200, 500)
# Highest severity first: smaller numbers sort first.
_RANK: Final = {severity.value: -rank for severity, rank in SEVERITY_RANK.items()}
_BY_RANK: Final = Case(
    *(When(severity=severity, then=Value(rank)) for severity, rank in _RANK.items()), output_field=IntegerField()
)
_NAMED: Final = ("ride", "facility", "rider", "owner")
# "-severity": highest first, then oldest; "-age": oldest first.
ORDERS: Final[Mapping[str, Order]] = {
    **both_ways("severity", Key("rank", down=True, kind=int), Key("opened_at", down=True)),
    **both_ways("age", Key("opened_at", down=True)),
    **both_ways("due", Key("due_at", nullable=True), Key("opened_at")),
}
PAST_ORDERS: Final[Mapping[str, Order]] = {
    **both_ways("closed", Key("resolved_at")),
    **both_ways("opened", Key("opened_at")),
}


@dataclass(frozen=True, slots=True)
class ExceptionFilter:
    """Filters of the queue; "" is no filter.

    `owner`: "mine" or "nobody".  `snoozed`: "" hides snoozed exceptions, "only" shows nothing else, "all" shows
    both.  `code` and `closed` ("hand", "itself") apply to the history.
    """

    severity: str = ""
    type: str = ""
    facility_id: UUID | None = None
    owner: str = ""
    snoozed: str = ""
    code: str = ""
    closed: str = ""


def queue(
    filters: ExceptionFilter,
    *,
    by: Principal,
    at: datetime,
    sort: str = "-severity",
    after: str = "",
    size: int = SIZES[1],
) -> KeyPage[RideException]:
    """List unsettled exceptions with their records, in one of `ORDERS`.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).unsettled(), filters)
    if filters.owner == "mine":
        rows = rows.filter(owner_id=by.id)
    elif filters.owner == "nobody":
        rows = rows.filter(owner__isnull=True)
    is_snoozed = Q(snoozed_until__gt=at)
    if filters.snoozed != "all":
        rows = rows.filter(is_snoozed) if filters.snoozed == "only" else rows.exclude(is_snoozed)
    ranked = rows.annotate(rank=_BY_RANK).select_related(*_NAMED)
    return page_by_keys(ranked, ORDERS[sort], after, size=size)


def history(
    filters: ExceptionFilter, *, by: Principal, sort: str = "-closed", after: str = "", size: int = SIZES[1]
) -> KeyPage[RideException]:
    """List closed exceptions with their records, in one of `PAST_ORDERS`.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).filter(resolved_at__isnull=False), filters)
    if filters.code:
        rows = rows.filter(resolution_code=filters.code)
    if filters.closed:
        rows = rows.filter(closed_by_hand=filters.closed == "hand")
    return page_by_keys(rows.select_related(*_NAMED), PAST_ORDERS[sort], after, size=size)


def by_id(exception_id: UUID, *, by: Principal) -> RideException | None:
    """Read an exception with its records, or None.  One query."""
    return RideException.objects.visible_to(by).select_related(*_NAMED).filter(pk=exception_id).first()


def open_critical(*, by: Principal) -> RideExceptionQuerySet:
    """Unsettled critical exceptions, which the navigation counts."""
    return RideException.objects.visible_to(by).unsettled().filter(severity=ExceptionSeverity.CRITICAL)


def _filtered(rows: RideExceptionQuerySet, filters: ExceptionFilter) -> RideExceptionQuerySet:
    values = {"severity": filters.severity, "type": filters.type, "facility_id": filters.facility_id}
    return rows.filter(**{name: value for name, value in values.items() if value})
