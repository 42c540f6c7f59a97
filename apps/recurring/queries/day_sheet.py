"""One day of a facility as clinics think of it: who comes to which chair, what they need, and how they go back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from apps.organizations.models import Facility
from apps.recurring.models import OrderStatus, StandingOrder, Terms
from apps.recurring.queries.calendar import MANUAL_MOVE_RANGE, LegView, OccurrenceView, calendars
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import FARTHEST_MOVE
from apps.riders.models import AccommodationProfile
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from lib.access import Principal

MOST: Final = 600  # orders of one sheet: more than any centre has chairs for


@dataclass(frozen=True, slots=True)
class VisitLeg:
    """One way of a visit: the leg, its ride where there is one, and what the rider needs, in the API's shape."""

    leg: LegView
    ride: Ride | None
    needs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """An occurrence of an order.  `due_at` is when the rider is to be here; None where the way there is not known.

    `ways` are those that the day has: none back where somebody else brings the rider home.
    """

    order: StandingOrder
    one: OccurrenceView
    ways: Mapping[Leg, VisitLeg]
    due_at: datetime | None
    companions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A day: who is here, in no order, and who would have been, but comes on another day."""

    here: list[Visit]
    gone: list[tuple[StandingOrder, OccurrenceView]]
    has_more: bool


def sheet(facility: Facility, day: date, *, by: Principal, at: datetime) -> Sheet:
    """Read a day of a facility, by its local date.  Nine queries.

    Drafts are left out: nobody rides by them.  Of no facility more than `MOST` orders are looked at.
    """
    around = Q(end_date__isnull=True) | Q(end_date__gte=day - MANUAL_MOVE_RANGE)
    rows = StandingOrder.objects.visible_to(by).filter(around, facility=facility, start_date__lte=day + FARTHEST_MOVE)
    found = list(rows.exclude(status=OrderStatus.DRAFT).select_related("rider").order_by("-pk")[: MOST + 1])
    orders = {order.pk: order for order in found[:MOST]}
    shown = calendars(list(orders.values()), day - FARTHEST_MOVE, day + FARTHEST_MOVE, at=at)
    here = [(orders[pk], one) for pk, some in shown.items() for one in some if one.service_date == day]
    gone = [
        (orders[pk], one) for pk, some in shown.items() for one in some if one.pattern_date == day != one.service_date
    ]
    return Sheet(_visits(here, by), gone, len(found) > MOST)


def _visits(here: list[tuple[StandingOrder, OccurrenceView]], by: Principal) -> list[Visit]:
    ride_ids = [leg.ride_id for _order, one in here for leg in one.legs if leg.ride_id]
    rides = {ride.pk: ride for ride in Ride.objects.visible_to(by).filter(pk__in=ride_ids)}
    riders = [order.rider_id for order, _one in here]
    profiles = AccommodationProfile.objects.filter(rider_id__in=riders, current=True)
    usual = {profile.rider_id: accommodation.snapshot(profile) for profile in profiles}
    terms: dict[UUID, list[Terms]] = {}
    for row in Terms.objects.filter(standing_order_id__in=[order.pk for order, _one in here]).order_by("from_date"):
        terms.setdefault(row.standing_order_id, []).append(row)
    return [_visit(order, one, terms[order.pk], usual.get(order.rider_id), rides) for order, one in here]


def _visit(
    order: StandingOrder,
    one: OccurrenceView,
    rows: list[Terms],
    usual: Mapping[str, Any] | None,
    rides: Mapping[UUID, Ride],
) -> Visit:
    terms = [row for row in rows if row.from_date <= one.pattern_date][-1]
    needs = accommodation.overridden(usual or accommodation.complete({}), terms.accommodation)
    back = terms.return_mobility or needs["returnMobility"]
    planned = {Leg.OUTBOUND: needs, Leg.RETURN: accommodation.overridden(needs, {"mobility": back}) if back else needs}
    ways = {}
    for leg in one.legs:
        ride = rides.get(leg.ride_id) if leg.ride_id else None
        ways[leg.leg] = VisitLeg(leg, ride, ride.accommodation if ride else planned[leg.leg])
    out = ways.get(Leg.OUTBOUND)
    chair_at = out.leg.appointment_at if out else None
    early = timedelta(minutes=terms.arrive_early_minutes)
    companions = out.ride.companions if out and out.ride else terms.companions
    return Visit(order, one, ways, chair_at and chair_at - early, companions)
