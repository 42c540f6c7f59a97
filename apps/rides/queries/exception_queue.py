"""The exception queue: unsettled exceptions, the next harm first, and the history of closed ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.db.models.functions import Coalesce, Least

from apps.rides.models import RideException
from apps.rides.models.exception import RideExceptionQuerySet
from apps.rides.queries.exception_causes import BY_RANK, one_per_cause
from apps.rides.rules.exception_types import (
    HARMLESS,
    INCIDENTS,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
)
from lib.access import Principal
from lib.pagination import Key, KeyPage, Order, both_ways, page_by_keys

SIZES: Final = (50, 100, 200, 500)
# The instant from which a rider suffers: an incident that nobody has acknowledged, the time of a decision, or the first
# promise of the ride.  Null for work that can wait.  Computed when it is read, because rides are rescheduled.
_HARM_AT: Final = Case(
    When(type__in=sorted(INCIDENTS), status=ExceptionStatus.OPEN, then=F("opened_at")),
    When(type__in=sorted(INCIDENTS | HARMLESS), then=Value(None)),
    When(
        Q(ride__isnull=True) | Q(type__in=[ExceptionType.RETURN_LEG_AT_RISK, ExceptionType.WILL_CALL_UNACTIVATED]),
        then=F("due_at"),
    ),
    When(type=ExceptionType.LATE_TO_APPOINTMENT, then=Coalesce("ride__appointment_at", "ride__window_ends_at")),
    default=Least(Coalesce("ride__promised_pickup_by", "ride__window_ends_at"), "ride__appointment_at"),
    output_field=DateTimeField(),
)
_NAMED: Final = ("ride", "facility", "rider", "owner")
# The index `exception_queue` finds the unsettled rows for the desk's queue (`/exceptions/`); they are few, because they
# expire, and are sorted in memory.  "harm": the next harm first; without any, the most severe, then the newest.
# "-severity": highest first, then the next harm; "-age": oldest first.
ORDERS: Final[Mapping[str, Order]] = {
    **both_ways("harm", Key("harm_at", nullable=True), Key("rank", kind=int), Key("opened_at", down=True)),
    **both_ways("severity", Key("rank", down=True, kind=int), Key("harm_at", down=True, nullable=True)),
    **both_ways("age", Key("opened_at", down=True)),
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
    sort: str = "harm",
    after: str = "",
    size: int = SIZES[1],
) -> KeyPage[RideException]:
    """List unsettled exceptions with their records, one for each cause, in one of `ORDERS`.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).unsettled(), filters)
    if filters.owner == "mine":
        rows = rows.filter(owner_id=by.id)
    elif filters.owner == "nobody":
        rows = rows.filter(owner__isnull=True)
    is_snoozed = Q(snoozed_until__gt=at)
    if filters.snoozed != "all":
        rows = rows.filter(is_snoozed) if filters.snoozed == "only" else rows.exclude(is_snoozed)
    return page_by_keys(_with_records(one_per_cause(rows).annotate(rank=BY_RANK)), ORDERS[sort], after, size=size)


def history(
    filters: ExceptionFilter, *, by: Principal, sort: str = "-closed", after: str = "", size: int = SIZES[1]
) -> KeyPage[RideException]:
    """List closed exceptions with their records, in one of `PAST_ORDERS`.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).filter(resolved_at__isnull=False), filters)
    if filters.code:
        rows = rows.filter(resolution_code=filters.code)
    if filters.closed:
        rows = rows.filter(closed_by_hand=filters.closed == "hand")
    return page_by_keys(_with_records(rows), PAST_ORDERS[sort], after, size=size)


def by_id(exception_id: UUID, *, by: Principal) -> RideException | None:
    """Read an exception with its records, or None.  One query."""
    return _with_records(RideException.objects.visible_to(by)).filter(pk=exception_id).first()


def open_critical(*, by: Principal) -> RideExceptionQuerySet:
    """Unsettled critical exceptions, one for each cause, which the navigation counts."""
    return one_per_cause(RideException.objects.visible_to(by).unsettled().filter(severity=ExceptionSeverity.CRITICAL))


def _with_records(rows: RideExceptionQuerySet) -> RideExceptionQuerySet:
    """Add the records that the desk names, and `harm_at`."""
    return rows.annotate(harm_at=_HARM_AT).select_related(*_NAMED)


def _filtered(rows: RideExceptionQuerySet, filters: ExceptionFilter) -> RideExceptionQuerySet:
    values = {"severity": filters.severity, "type": filters.type, "facility_id": filters.facility_id}
    return rows.filter(**{name: value for name, value in values.items() if value})
