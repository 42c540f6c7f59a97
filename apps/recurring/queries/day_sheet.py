"""The day sheet of a facility: its visits with chair times, needs, and outbound and return rides."""

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

MOST: Final = 600  # orders of one sheet: more than a center has chairs


@dataclass(frozen=True, slots=True)
class VisitLeg:
    """One leg of a visit with its ride, if there is one; `needs` in the API's shape."""

    leg: LegView
    ride: Ride | None
    needs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """An occurrence of an order.  `due_at` is the latest arrival of the rider, None without an outbound leg."""

    order: StandingOrder
    occurrence: OccurrenceView
    legs: Mapping[Leg, VisitLeg]
    due_at: datetime | None
    companions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The visits of a day, unsorted, and the occurrences that were moved from it to another day."""

    visits: list[Visit]
    moved_away: list[tuple[StandingOrder, OccurrenceView]]
    has_more: bool


def sheet(facility: Facility, day: date, *, by: Principal, at: datetime) -> Sheet:
    """Read a local day of a facility, without drafts and with at most `MOST` orders.  Nine queries."""
    around = Q(end_date__isnull=True) | Q(end_date__gte=day - MANUAL_MOVE_RANGE)
    rows = StandingOrder.objects.visible_to(by).filter(around, facility=facility, start_date__lte=day + FARTHEST_MOVE)
    newest = list(rows.exclude(status=OrderStatus.DRAFT).select_related("rider").order_by("-pk")[: MOST + 1])
    orders = {order.pk: order for order in newest[:MOST]}
    views_of = calendars(list(orders.values()), day - FARTHEST_MOVE, day + FARTHEST_MOVE, at=at)
    occurrences = [(orders[order_id], view) for order_id, views in views_of.items() for view in views]
    on_day = [(order, view) for order, view in occurrences if view.service_date == day]
    moved_away = [(order, view) for order, view in occurrences if view.pattern_date == day != view.service_date]
    return Sheet(_visits(on_day, by), moved_away, len(newest) > MOST)


def _visits(occurrences: list[tuple[StandingOrder, OccurrenceView]], by: Principal) -> list[Visit]:
    ride_ids = [leg.ride_id for _order, view in occurrences for leg in view.legs if leg.ride_id]
    rides = {ride.pk: ride for ride in Ride.objects.visible_to(by).filter(pk__in=ride_ids)}
    rider_ids = [order.rider_id for order, _view in occurrences]
    profiles = AccommodationProfile.objects.filter(rider_id__in=rider_ids, current=True)
    profile_needs = {profile.rider_id: accommodation.snapshot(profile) for profile in profiles}
    order_ids = [order.pk for order, _view in occurrences]
    terms: dict[UUID, list[Terms]] = {}
    for row in Terms.objects.filter(standing_order_id__in=order_ids).order_by("from_date"):
        terms.setdefault(row.standing_order_id, []).append(row)
    return [
        _visit(order, view, terms[order.pk], profile_needs.get(order.rider_id), rides) for order, view in occurrences
    ]


def _visit(
    order: StandingOrder,
    view: OccurrenceView,
    rows: list[Terms],
    profile_needs: Mapping[str, Any] | None,
    rides: Mapping[UUID, Ride],
) -> Visit:
    terms = [row for row in rows if row.from_date <= view.pattern_date][-1]
    needs = accommodation.overridden(profile_needs or accommodation.complete({}), terms.accommodation)
    mobility = terms.return_mobility or needs["returnMobility"]
    return_needs = accommodation.overridden(needs, {"mobility": mobility}) if mobility else needs
    planned_needs = {Leg.OUTBOUND: needs, Leg.RETURN: return_needs}
    legs = {}
    for leg in view.legs:
        ride = rides.get(leg.ride_id) if leg.ride_id else None
        legs[leg.leg] = VisitLeg(leg, ride, ride.accommodation if ride else planned_needs[leg.leg])
    outbound = legs.get(Leg.OUTBOUND)
    chair_at = outbound.leg.appointment_at if outbound else None
    early = timedelta(minutes=terms.arrive_early_minutes)
    companions = outbound.ride.companions if outbound and outbound.ride else terms.companions
    return Visit(order, view, legs, chair_at and chair_at - early, companions)
