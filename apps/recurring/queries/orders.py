"""Standing orders and calendar shifts within the caller's reach, orders with everything that the API shows of them."""

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
    """Terms, under the name that an order has for its own."""

    terms: Terms


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order, the terms in force (before it starts, the first ones), those that begin later, and single days.

    `holds` that are not over, and `skips` and `changes` of days that can still matter, are by their dates.
    """

    order: StandingOrder
    terms: Terms
    later: list[TermsRecord]
    external_ids: list[ExternalId]
    holds: list[Hold]
    skips: list[OccurrenceChange]
    changes: list[OccurrenceChange]


def order(order_id: UUID, by: Principal) -> StandingOrder:
    """Find an order.

    Raises:
        NotFound: there is no such order in reach.
    """
    found = StandingOrder.objects.visible_to(by).filter(pk=order_id).first()
    if found is None:
        raise NotFound(_("standing order"))
    return found


def orders_of(rider_id: UUID, by: Principal) -> StandingOrderQuerySet:
    """List a rider's orders in reach.

    Raises:
        NotFound: there is no such rider in reach.
    """
    if not Rider.objects.visible_to(by).filter(pk=rider_id).exists():
        raise NotFound(_("rider"))
    return StandingOrder.objects.visible_to(by).filter(rider_id=rider_id)


def calendar_shift(shift_id: UUID, by: Principal) -> CalendarShift:
    """Find a calendar shift.

    Raises:
        NotFound: there is no such shift in reach.
    """
    shift = CalendarShift.objects.visible_to(by).filter(pk=shift_id).first()
    if shift is None:
        raise NotFound(_("calendar shift"))
    return shift


def calendar_shifts_of(facility_id: UUID, by: Principal) -> CalendarShiftQuerySet:
    """List a facility's calendar shifts in reach.

    Raises:
        NotFound: there is no such facility in reach.
    """
    if not Facility.objects.visible_to(by).filter(pk=facility_id).exists():
        raise NotFound(_("facility"))
    return CalendarShift.objects.visible_to(by).filter(facility_id=facility_id)


def records(orders: Sequence[StandingOrder], *, at: datetime) -> list[OrderRecord]:
    """Complete orders for the answer.  Four queries."""
    ids = [one.pk for one in orders]
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
    return [_record(one, terms[one.pk], names[one.pk], holds[one.pk], changes[one.pk], at) for one in orders]


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
