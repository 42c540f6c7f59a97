"""The standing orders of a facility with their next ride, for lists."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Min, Q

from apps.organizations.models import Facility
from apps.recurring.models import Hold, OrderStatus, StandingOrder, Terms
from apps.recurring.queries.plans import PENDING
from apps.rides.models import Ride
from apps.rides.rules import timing
from lib.access import Principal

MOST: Final = 600  # orders of one list: more than a center has chairs
LISTED_STATUSES: Final = (OrderStatus.ACTIVE, OrderStatus.ON_HOLD, OrderStatus.DRAFT)


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """An order with its current terms (before it starts, the first) and its next ride.

    `hold` is the current one, otherwise the next.
    """

    order: StandingOrder
    terms: Terms
    hold: Hold | None
    next_pickup_at: datetime | None


@dataclass(frozen=True, slots=True)
class FacilityCounts:
    """A facility with its numbers of orders."""

    facility: Facility
    active: int
    on_hold: int
    draft: int


def summaries(
    facility: Facility, statuses: Collection[str], *, by: Principal, at: datetime
) -> tuple[list[OrderSummary], bool]:
    """List up to `MOST` orders of a facility with these statuses, newest first, and whether there are more.

    Four queries.
    """
    rows = StandingOrder.objects.visible_to(by).filter(facility=facility, status__in=statuses).select_related("rider")
    orders = list(rows.order_by("-pk")[: MOST + 1])
    return summarize(orders[:MOST], today=timing.local_day(at, facility.timezone), at=at), len(orders) > MOST


def summarize(orders: Collection[StandingOrder], *, today: date, at: datetime) -> list[OrderSummary]:
    """Read terms, hold and next ride of orders of one facility, in the given sequence.  Three queries."""
    ids = [order.pk for order in orders]
    terms: dict[UUID, Terms] = {}
    for row in Terms.objects.filter(standing_order_id__in=ids).order_by("from_date"):
        if row.standing_order_id not in terms or row.from_date <= today:
            terms[row.standing_order_id] = row
    holds: dict[UUID, Hold] = {}
    ahead = Q(until__isnull=True) | Q(until__gte=today)
    for hold in Hold.objects.filter(ahead, standing_order_id__in=ids).order_by("from_date"):
        holds.setdefault(hold.standing_order_id, hold)
    rides = Ride.objects.filter(standing_order_id__in=ids, status__in=PENDING, pickup_at__gt=at)
    next_pickups = dict(rides.values_list("standing_order_id").annotate(Min("pickup_at")).order_by())
    return [OrderSummary(order, terms[order.pk], holds.get(order.pk), next_pickups.get(order.pk)) for order in orders]


def facility_counts(*, by: Principal) -> list[FacilityCounts]:
    """Count the orders of each facility that has some, by name.  Two queries."""
    counts = {status.value: Count("pk", filter=Q(status=status)) for status in LISTED_STATUSES}
    rows = StandingOrder.objects.visible_to(by).filter(status__in=LISTED_STATUSES).order_by()
    counted = rows.values("facility_id").annotate(**counts).values_list("facility_id", *counts)
    numbers_of = {facility_id: numbers for facility_id, *numbers in counted}
    facilities = Facility.objects.visible_to(by).filter(pk__in=numbers_of).order_by("name", "pk")
    return [FacilityCounts(facility, *numbers_of[facility.pk]) for facility in facilities]
