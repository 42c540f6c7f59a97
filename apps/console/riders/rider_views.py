"""The page of a rider: what a dispatcher needs when the rider calls, with the next ride first."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of, zone_of
from apps.audit.views import record_read
from apps.console.booking.place_fields import line_of
from apps.console.kit.rights import require_scope
from apps.console.recurring import labels as order_labels
from apps.console.riders import rider_facts
from apps.organizations.models import Facility
from apps.recurring.models import OrderStatus, StandingOrder
from apps.recurring.queries import roster
from apps.riders import labels as rider_labels
from apps.riders import queries as riders
from apps.riders.models import Rider
from apps.rides.queries import rider_rides
from apps.rides.rules import timing
from lib.access import Phi, Principal
from lib.languages import language_name
from lib.scopes import Scope


@require_safe
@require_scope(Scope.RIDERS_READ)
def rider(request: HttpRequest, rider_id: UUID) -> HttpResponse:
    """Show a rider.  The number of queries is constant."""
    by, now = principal_of(request), timezone.now()
    record = riders.record(visible_rider(rider_id, by), by=by)
    person = record.rider
    record_read(by=by, action="riders.read", subject_type="rider", subject_id=person.pk, rider_ids=[person.pk])
    full = by.phi >= Phi.FULL
    born = person.date_of_birth if full else None
    rides = rider_rides.rides_of(person.pk, by=by, at=now)
    upcoming = rider_facts.ride_rows(rides.upcoming, by)
    policy = riders.policy_standings([person.pk], by=by, at=now)[person.pk]
    facilities = Facility.objects.filter(pk__in=record.facility_ids).order_by("name", "pk")
    context = {
        "rider": person,
        "name": rider_labels.rider_name(person, by),
        "preferred_name": rider_labels.name_beside(person.preferred_name) if by.phi >= Phi.LIMITED else "",
        "born": born,
        "age": rider_facts.age_on(timezone.localtime(now, zone_of(request)).date(), born) if born else None,
        "full": full,
        "language": language_name(person.language),
        "alerts": rider_facts.alerts(record, policy, by),
        "next": upcoming[0] if upcoming else None,
        "upcoming": upcoming[1:],
        "past": rider_facts.ride_rows(rides.past, by),
        "rides": rides,
        "orders": order_rows(person.pk, by, now),
        "address": rider_facts.address(person, by),
        "saved_places": [line_of(place) for place in person.saved_places] if full else [],
        "needs": rider_facts.needs(record, by),
        "people": rider_facts.people(person, by),
        "drivers": rider_facts.drivers(person, by),
        "notes": rider_facts.notes(record, by),
        "documents": rider_facts.documents(record, by),
        "facilities": list(facilities),
        "may_book": by.has_scope(Scope.RIDES_WRITE),
        "may_edit": by.has_scope(Scope.RIDERS_WRITE),
        "may_order": by.has_scope(Scope.SCHEDULES_WRITE),
    }
    return render(request, "riders/rider.html", context)


def visible_rider(rider_id: UUID, by: Principal) -> Rider:
    """Return a rider in the data scope.

    Raises:
        Http404: there is none.
    """
    row = Rider.objects.visible_to(by).filter(pk=rider_id).first()
    if row is None:
        raise Http404
    return row


def current_orders(rider_id: UUID, by: Principal) -> list[StandingOrder]:
    """Return the standing orders of a rider that have not ended, newest first; with facility.  One query."""
    rows = StandingOrder.objects.visible_to(by).filter(rider_id=rider_id).exclude(status=OrderStatus.ENDED)
    return list(rows.select_related("facility").order_by("-pk"))


def order_rows(rider_id: UUID, by: Principal, at: datetime) -> list[dict[str, Any]]:
    """Return the standing orders of a rider that have not ended, with days, status and next ride.  Four queries."""
    orders = current_orders(rider_id, by)
    if not orders:
        return []
    today = timing.local_day(at, orders[0].timezone)
    return list(_order_rows(roster.summarize(orders, today=today, at=at)))


def _order_rows(summaries: Iterable[roster.OrderSummary]) -> Iterable[dict[str, Any]]:
    for summary in summaries:
        badge, more = order_labels.status_of(summary)
        yield {
            "order": summary.order,
            "days": order_labels.pattern_of(summary.terms),
            "chair_time": summary.terms.chair_time,
            "badge": badge,
            "more": more,
        }
