"""Standing orders and calendar shifts inside the caller's data scope, and orders with all fields of the API."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.organizations.models import CalendarShift, CalendarShiftQuerySet, ExternalId, Facility, SubjectType
from apps.organizations.queries import external_ids_of
from apps.recurring.models import Hold, OccurrenceChange, StandingOrder, StandingOrderQuerySet, Terms
from apps.recurring.queries import plans
from apps.riders.models import Rider
from apps.rides.rules import timing
from lib.access import Principal
from lib.errors import NotFound


@dataclass(frozen=True, slots=True)
class TermsRecord:
    """Terms in an attribute named as in `OrderRecord`, for the same serializer."""

    terms: Terms


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order with its current terms (before it starts, the first), later terms, and single days.

    `holds`, `skips` and `changes` are those that can affect the present or future, by date.
    """

    order: StandingOrder
    terms: Terms
    later: list[TermsRecord]
    external_ids: list[ExternalId]
    holds: list[Hold]
    skips: list[OccurrenceChange]
    changes: list[OccurrenceChange]


def order(order_id: UUID, by: Principal) -> StandingOrder:
    """Return an order.

    Raises:
        NotFound: there is no such order in the data scope.
    """
    order = StandingOrder.objects.visible_to(by).filter(pk=order_id).first()
    if order is None:
        raise NotFound(_("standing order"))
    return order


def orders_of(rider_id: UUID, by: Principal) -> StandingOrderQuerySet:
    """List a rider's orders.

    Raises:
        NotFound: there is no such rider in the data scope.
    """
    if not Rider.objects.visible_to(by).filter(pk=rider_id).exists():
        raise NotFound(_("rider"))
    return StandingOrder.objects.visible_to(by).filter(rider_id=rider_id)


def calendar_shift(shift_id: UUID, by: Principal) -> CalendarShift:
    """Return a calendar shift.

    Raises:
        NotFound: there is no such shift in the data scope.
    """
    shift = CalendarShift.objects.visible_to(by).filter(pk=shift_id).first()
    if shift is None:
        raise NotFound(_("calendar shift"))
    return shift


def calendar_shifts_of(facility_id: UUID, by: Principal) -> CalendarShiftQuerySet:
    """List a facility's calendar shifts.

    Raises:
        NotFound: there is no such facility in the data scope.
    """
    if not Facility.objects.visible_to(by).filter(pk=facility_id).exists():
        raise NotFound(_("facility"))
    return CalendarShift.objects.visible_to(by).filter(facility_id=facility_id)


def records(orders: Sequence[StandingOrder], *, at: datetime) -> list[OrderRecord]:
    """Read what the API shows of orders.  Four queries."""
    ids = [order.pk for order in orders]
    terms: dict[UUID, list[Terms]] = defaultdict(list)
    for row in Terms.objects.filter(standing_order_id__in=ids).order_by("from_date"):
        terms[row.standing_order_id].append(row)
    holds: dict[UUID, list[Hold]] = defaultdict(list)
    for hold in Hold.objects.filter(standing_order_id__in=ids).order_by("from_date", "pk"):
        holds[hold.standing_order_id].append(hold)
    changes: dict[UUID, list[OccurrenceChange]] = defaultdict(list)
    for change in OccurrenceChange.objects.filter(standing_order_id__in=ids).order_by("pattern_date"):
        changes[change.standing_order_id].append(change)
    names = external_ids_of(SubjectType.STANDING_ORDER, ids)
    return [
        _record(order, terms[order.pk], names[order.pk], holds[order.pk], changes[order.pk], at) for order in orders
    ]


def _record(
    order: StandingOrder,
    terms: list[Terms],
    names: list[ExternalId],
    holds: list[Hold],
    changes: list[OccurrenceChange],
    at: datetime,
) -> OrderRecord:
    today = timing.local_day(at, order.timezone)
    since = plans.first_relevant_date(today)
    begun = sum(row.from_date <= today for row in terms) or 1
    ahead = [change for change in changes if change.pattern_date >= since]
    skip = OccurrenceChange.Kind.SKIP
    return OrderRecord(
        order=order,
        terms=terms[begun - 1],
        later=[TermsRecord(row) for row in terms[begun:]],
        external_ids=names,
        holds=[hold for hold in holds if hold.until is None or hold.until >= since],
        skips=[change for change in ahead if change.kind == skip],
        changes=[change for change in ahead if change.kind != skip],
    )
