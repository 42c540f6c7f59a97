"""The page of a standing order: what it asks for, its month, and what can be done about it."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of, zone_of
from apps.audit.views import record_read
from apps.console.booking.place_fields import line_of
from apps.console.kit.rights import UNPROCESSABLE
from apps.console.recurring import labels, occurrence_form
from apps.console.recurring import month as months
from apps.console.recurring.forms import EndForm, HoldForm, MoveForm, Plain, ResumeForm, Versioned
from apps.console.recurring.rights import get_order, opens
from apps.recurring.models import Hold, OrderStatus, StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.queries.calendar import LegStatus, OccurrenceView, calendar
from apps.recurring.rules.recurrence import ChangeType, OccurrenceStatus
from apps.riders.labels import needs_said, rider_name
from apps.riders.rules import accommodation
from apps.rides.queries import bookings
from apps.rides.rules import timing
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Phi, Principal
from lib.scopes import Scope

_BEGUN = {LegStatus.UNDER_WAY, LegStatus.DONE}


@require_safe
@opens(Scope.RIDES_READ)
def order(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Show an order, a month of it, and of one day what can be done about it."""
    return page(request, get_order(order_id, principal_of(request)))


def page(request: HttpRequest, order: StandingOrder, *, day: date | None = None, **forms: Versioned) -> HttpResponse:
    """Show an order; `forms` are those that come back with their errors, `day` the one that they are about."""
    by, now = principal_of(request), timezone.now()
    today = timing.local_day(now, order.timezone)
    first = months.chosen(request.GET.get("month", ""), today)
    day = day or _day(request.GET.get("day", ""))
    if day is not None:
        first = months.chosen(f"{day:%Y-%m}", today)
        day = day if day.replace(day=1) == first else None  # too far off to be shown
    begin, end = months.span(first)
    ahead = today + timedelta(days=order.generation_horizon_days)
    found = calendar(order, min(begin, today), max(end, ahead), at=now)
    terms = list(Terms.objects.filter(standing_order=order).order_by("from_date"))
    record_read(
        by=by,
        action="standing_orders.read",
        subject_type="standing_order",
        subject_id=order.pk,
        rider_ids=[order.rider_id],
        facility_id=order.facility_id,
    )
    may_change = by.has_scope(Scope.SCHEDULES_WRITE) and order.status != OrderStatus.ENDED
    context = {
        "order": order,
        "name": rider_name(order.rider, by),
        "status": labels.STATUSES[order.status],
        "phi": by.phi >= Phi.FULL,
        "sees": disclosure_of(by),
        "zone": labels.zone_name(order.timezone, now),
        "elsewhere": zone_of(request).key != order.timezone,
        "today": today,
        "month": months.month(first, found, zone=order.timezone, today=today),
        "refused": _refused(found, today, ahead),
        "terms": _facts(order, _shown(terms, today), by),
        "drivers": labels.driver_names(order.preferred_driver_ids, by),
        "holds": _holds(order, today),
        "day": day,
        "occurrences": [_occurrence(one, order, today, may_change, forms) for one in found if one.service_date == day],
        "gone": [one for one in found if one.pattern_date == day != one.service_date],
        "may_change": may_change,
        "hold": HoldForm(initial={"version": order.version, "from_date": today}, auto_id="hold_%s"),
        "resume": ResumeForm(initial={"version": order.version, "from_date": today}, auto_id="resume_%s"),
        "end": EndForm(initial={"version": order.version}, auto_id="end_%s"),
        "plain": Plain(initial={"version": order.version}, auto_id=False),
        "wrong": next(iter(forms.values()), None),
        **forms,
    }
    return render(request, "recurring/order.html", context, status=UNPROCESSABLE if forms else 200)


def _day(text: str) -> date | None:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    return found if 2000 <= found.year < 2200 else None


def _shown(terms: Sequence[Terms], today: date) -> Sequence[Terms]:
    """Keep the terms in force today and those to come."""
    past = [row for row in terms if row.from_date <= today]
    return [*past[-1:], *terms[len(past) :]]


def _facts(order: StandingOrder, rows: Sequence[Terms], by: Principal) -> list[dict[str, Any]]:
    """Say what terms ask for: the days, the places, and what the rider needs on these rides."""
    profile = bookings.current_profile(order.rider_id)
    usual = accommodation.snapshot(profile) if profile else accommodation.complete({})
    found = []
    for row in rows:
        needs = accommodation.overridden(usual, row.accommodation)
        back = row.return_mobility or needs["returnMobility"] if len(row.legs) > 1 else None
        found.append(
            {
                "row": row,
                "days": labels.pattern_of(row),
                "way_back": labels.RETURNS[row.return_mode],
                "needs": ", ".join(needs_said(needs, back, row.companions, by)),
                "pickup": line_of(row.pickup),
                "dropoff": line_of(row.dropoff),
                "return_dropoff": line_of(row.return_dropoff) if row.return_dropoff else "",
            }
        )
    return found


def _holds(order: StandingOrder, today: date) -> list[tuple[Hold, str]]:
    rows = Hold.objects.filter(Q(until__isnull=True) | Q(until__gte=today), standing_order=order)
    found = list(rows.order_by("from_date"))
    names = accounts.names_of([hold.set_by for hold in found])
    return [(hold, names.get(hold.set_by, hold.set_by)) for hold in found]


def _refused(found: Sequence[OccurrenceView], today: date, ahead: date) -> list[tuple[str, Sequence[date]]]:
    """List the coming days that could not be booked, by why."""
    reasons: dict[str, list[date]] = {}
    for one in found:
        codes = {leg.refusal for leg in one.legs if leg.status is LegStatus.REFUSED}
        for code in codes if today <= one.service_date <= ahead else ():
            reasons.setdefault(str(labels.refusal_reason(code)), []).append(one.service_date)
    return list(reasons.items())


def _occurrence(
    one: OccurrenceView, order: StandingOrder, today: date, may_change: bool, forms: dict[str, Versioned]
) -> dict[str, Any]:
    """Say what a day's panel shows of an occurrence, and what it offers."""
    zone = order.timezone
    open_ = may_change and one.status is not None and not any(leg.status in _BEGUN for leg in one.legs)
    open_ = (
        open_
        and max(one.service_date, one.pattern_date) >= today
        and one.pattern_date >= plans.first_relevant_date(today)
    )
    legs = [
        {
            "leg": leg,
            "pickup": labels.day_and_clock(leg.pickup_at, zone),
            "chair": labels.clock(leg.appointment_at, zone) if leg.appointment_at else "",
            "badge": labels.leg_badge(leg),
            "why": labels.refusal_reason(leg.refusal) if leg.refusal else "",
        }
        for leg in one.legs
    ]
    shown = one.service_date
    initial = {"version": order.version, "day": one.pattern_date, "shown": shown, "to_date": shown}
    initial |= occurrence_form.present(one, zone)
    form = forms.get("move")
    if form is None or form.data.get("day") != one.pattern_date.isoformat():
        form = MoveForm(initial=initial, auto_id="move_%s")
    return {
        "one": one,
        "words": labels.change_of(one),
        "legs": legs,
        "move": form if open_ and one.status in (OccurrenceStatus.DUE, OccurrenceStatus.CLOSED) else None,
        "skippable": open_ and one.status is OccurrenceStatus.DUE,
        "restorable": open_ and (one.status is OccurrenceStatus.SKIPPED or one.change is ChangeType.CUSTOMIZED),
    }
