"""The day sheet of a facility: the visits of a day with chair times, needs and rides, for screen and print."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.recurring import labels
from apps.console.recurring.rights import get_facility, opens
from apps.organizations.models import Facility
from apps.recurring.queries import day_sheet
from apps.recurring.queries.calendar import LegStatus, LegView
from apps.recurring.queries.day_sheet import Visit, VisitLeg
from apps.recurring.rules.reconciliation import Leg
from apps.riders.labels import rider_name
from apps.rides.rules import timing
from lib import zone_labels
from lib.access import Principal
from lib.scopes import Scope

FARTHEST: Final = timedelta(days=366)  # from today, in both directions
_DAY: Final = timedelta(days=1)
_TAKES_PLACE: Final = {LegStatus.PLANNED, LegStatus.BOOKED, LegStatus.UNDER_WAY, LegStatus.DONE}


@require_safe
@opens(Scope.RIDES_READ)
def day(request: HttpRequest, facility_id: UUID) -> HttpResponse:
    """Show a day of a facility by chair time.  The number of queries is constant."""
    by, now = principal_of(request), timezone.now()
    facility = get_facility(facility_id, by)
    today = timing.local_day(now, facility.timezone)
    selected = _parse_day(request.GET.get("date", ""), today)
    sheet = day_sheet.sheet(facility, selected, by=by, at=now)
    rider_ids = [visit.order.rider_id for visit in sheet.visits] + [order.rider_id for order, _view in sheet.moved_away]
    record_read(
        by=by,
        action="standing_orders.list",
        subject_type="standing_order",
        rider_ids=rider_ids,
        facility_id=facility.pk,
        details={"date": selected.isoformat()},
    )
    moved_away = [
        {"order": order, "name": rider_name(order.rider, by), "moved_to": labels.moved_to_briefly(view)}
        for order, view in sheet.moved_away
    ]
    context = {
        "facility": facility,
        "zone": zone_labels.long_name(facility.timezone),
        "day": selected,
        "today": today,
        "previous": selected - _DAY if selected > today - FARTHEST else None,
        "next": selected + _DAY if selected < today + FARTHEST else None,
        "shifts": list(_shifts(sheet.visits, facility, by)),
        "count": len(sheet.visits),
        "coming": sum(map(_takes_place_outbound, sheet.visits)),
        "moved_away": sorted(moved_away, key=lambda row: str(row["name"]).lower()),
        "most": day_sheet.MOST if sheet.has_more else None,
        "read_at": labels.day_and_clock(now, facility.timezone),
    }
    return render(request, "recurring/day_sheet.html", context)


def _parse_day(text: str, today: date) -> date:
    """Parse an ISO date; today if it is invalid or too far from today."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return today
    return day if abs(day - today) <= FARTHEST else today


def _shifts(visits: Iterable[Visit], facility: Facility, by: Principal) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Group by chair time and sort each group by name."""
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for visit in visits:
        row = _row(visit, facility, by)
        rows_of.setdefault(row["chair"], []).append(row)
    for chair in sorted(rows_of, key=lambda chair: (not chair, chair)):
        yield chair, sorted(rows_of[chair], key=lambda row: str(row["name"]).lower())


def _row(visit: Visit, facility: Facility, by: Principal) -> dict[str, Any]:
    zone, view = facility.timezone, visit.occurrence
    outbound, back = visit.legs.get(Leg.OUTBOUND), visit.legs.get(Leg.RETURN)
    arrived_at = outbound.ride.arrived_dropoff_at if outbound and outbound.ride else None
    departed_at = back.ride.boarded_at if back and back.ride else None
    takes_place = outbound is not None and _takes_place(outbound)
    return {
        "order": visit.order,
        "name": rider_name(visit.order.rider, by),
        "chair": labels.clock(outbound.leg.appointment_at, zone) if outbound and outbound.leg.appointment_at else "",
        "change": labels.change_briefly(view),
        "needs": labels.needs_of(visit, by),
        "due": labels.clock(visit.due_at, zone) if visit.due_at and takes_place else "",
        "pickup": _pickup(outbound.leg, view.service_date, zone) if outbound and takes_place else "",
        "arrived": labels.clock(arrived_at, zone) if arrived_at else "",
        "outbound": labels.ride_badge(outbound.leg, waits_for_call=False) if outbound else None,
        "return": labels.ride_badge(back.leg, waits_for_call=_waits_for_call(back)) if back else None,
        "return_at": labels.clock(back.leg.pickup_at, zone) if back and _takes_place(back) else "",
        "will_call": bool(back and back.leg.will_call),
        "departed": labels.clock(departed_at, zone) if departed_at else "",
    }


def _takes_place_outbound(visit: Visit) -> bool:
    outbound = visit.legs.get(Leg.OUTBOUND)
    return outbound is not None and _takes_place(outbound)


def _waits_for_call(leg: VisitLeg) -> bool:
    return leg.ride is not None and leg.ride.will_call and leg.ride.ready_at is None


def _takes_place(leg: VisitLeg) -> bool:
    return leg.leg.status in _TAKES_PLACE


def _pickup(leg: LegView, service_date: date, zone: str) -> str:
    """Format the pickup time, with its day if that is the evening before."""
    is_evening_before = timing.local_day(leg.pickup_at, zone) != service_date
    return labels.day_and_clock(leg.pickup_at, zone) if is_evening_before else labels.clock(leg.pickup_at, zone)
