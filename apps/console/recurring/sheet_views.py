"""The sheet of one day: who comes to a facility to which chair, and how they go back; on a screen and on paper."""

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
from lib.access import Principal
from lib.scopes import Scope

FARTHEST: Final = timedelta(days=366)  # from today, either way
_DAY: Final = timedelta(days=1)
_COMING: Final = {LegStatus.PLANNED, LegStatus.BOOKED, LegStatus.UNDER_WAY, LegStatus.DONE}


@require_safe
@opens(Scope.RIDES_READ)
def day(request: HttpRequest, facility_id: UUID) -> HttpResponse:
    """Show a day of a facility by chair time.  However many come: as many queries."""
    by, now = principal_of(request), timezone.now()
    facility = get_facility(facility_id, by)
    today = timing.local_day(now, facility.timezone)
    chosen = _chosen(request.GET.get("date", ""), today)
    found = day_sheet.sheet(facility, chosen, by=by, at=now)
    seen = [visit.order.rider_id for visit in found.here] + [order.rider_id for order, _one in found.gone]
    record_read(
        by=by,
        action="standing_orders.list",
        subject_type="standing_order",
        rider_ids=seen,
        facility_id=facility.pk,
        details={"date": chosen.isoformat()},
    )
    gone = [
        {"order": order, "name": rider_name(order.rider, by), "went": labels.left_briefly(one)}
        for order, one in found.gone
    ]
    context = {
        "facility": facility,
        "zone": labels.zone_name(facility.timezone, now),
        "day": chosen,
        "today": today,
        "previous": chosen - _DAY if chosen > today - FARTHEST else None,
        "next": chosen + _DAY if chosen < today + FARTHEST else None,
        "shifts": list(_shifts(found.here, facility, by)),
        "count": len(found.here),
        "coming": sum(map(_comes, found.here)),
        "gone": sorted(gone, key=lambda row: str(row["name"]).lower()),
        "most": day_sheet.MOST if found.has_more else None,
        "read_at": labels.day_and_clock(now, facility.timezone),
    }
    return render(request, "recurring/day_sheet.html", context)


def _chosen(text: str, today: date) -> date:
    """Read a day such as `2026-11-23`; today where the text is none, or too far off."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return today
    return found if abs(found - today) <= FARTHEST else today


def _shifts(here: Iterable[Visit], facility: Facility, by: Principal) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Sort into chair times, and within each by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for visit in here:
        row = _row(visit, facility, by)
        found.setdefault(row["chair"], []).append(row)
    for chair in sorted(found, key=lambda chair: (not chair, chair)):
        yield chair, sorted(found[chair], key=lambda row: str(row["name"]).lower())


def _row(visit: Visit, facility: Facility, by: Principal) -> dict[str, Any]:
    zone, one = facility.timezone, visit.one
    out, back = visit.ways.get(Leg.OUTBOUND), visit.ways.get(Leg.RETURN)
    came_at = out.ride.arrived_dropoff_at if out and out.ride else None
    left_at = back.ride.boarded_at if back and back.ride else None
    return {
        "order": visit.order,
        "name": rider_name(visit.order.rider, by),
        "chair": labels.clock(out.leg.appointment_at, zone) if out and out.leg.appointment_at else "",
        "how": labels.arrived_briefly(one),
        "needs": labels.needs_of(visit, by),
        "due": labels.clock(visit.due_at, zone) if visit.due_at and out and _takes_place(out) else "",
        "pickup": _pickup(out.leg, one.service_date, zone) if out and _takes_place(out) else "",
        "came": labels.clock(came_at, zone) if came_at else "",
        "there": labels.ride_of(out.leg, waits=False) if out else None,
        "back": labels.ride_of(back.leg, waits=_waits(back)) if back else None,
        "back_at": labels.clock(back.leg.pickup_at, zone) if back and _takes_place(back) else "",
        "will_call": bool(back and back.leg.will_call),
        "left": labels.clock(left_at, zone) if left_at else "",
    }


def _comes(visit: Visit) -> bool:
    out = visit.ways.get(Leg.OUTBOUND)
    return out is not None and _takes_place(out)


def _waits(way: VisitLeg) -> bool:
    return way.ride is not None and way.ride.will_call and way.ride.ready_at is None


def _takes_place(way: VisitLeg) -> bool:
    return way.leg.status in _COMING


def _pickup(leg: LegView, service_date: date, zone: str) -> str:
    """Say when a rider is picked up, and on which day where that is the evening before."""
    is_before = timing.local_day(leg.pickup_at, zone) != service_date
    return labels.day_and_clock(leg.pickup_at, zone) if is_before else labels.clock(leg.pickup_at, zone)
