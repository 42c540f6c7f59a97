"""The page of a standing order: its terms, a month of occurrences, and its actions."""

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
from apps.organizations.models import Entrance, SubjectType
from apps.organizations.queries import external_ids_of
from apps.recurring.models import Hold, OrderStatus, StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.queries.calendar import LegStatus, OccurrenceView, calendar
from apps.recurring.rules.recurrence import ChangeType, OccurrenceStatus
from apps.riders.labels import may_name, need_labels, rider_name
from apps.riders.rules import accommodation
from apps.rides.queries import bookings
from apps.rides.rules import timing
from apps.rides.rules.disclosure import disclosure_of
from lib import zone_labels
from lib.access import Phi, Principal
from lib.scopes import Scope

_BEGUN = {LegStatus.UNDER_WAY, LegStatus.DONE}


@require_safe
@opens(Scope.RIDES_READ)
def order(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Show an order, a month of it, and a day with its actions."""
    return page(request, get_order(order_id, principal_of(request)))


def page(request: HttpRequest, order: StandingOrder, *, day: date | None = None, **forms: Versioned) -> HttpResponse:
    """Show an order; `forms` are submitted forms with errors, and `day` is their day."""
    by, now = principal_of(request), timezone.now()
    today = timing.local_day(now, order.timezone)
    first = months.parse_month(request.GET.get("month", ""), today)
    day = day or _day(request.GET.get("day", ""))
    if day is not None:
        first = months.parse_month(f"{day:%Y-%m}", today)
        day = day if day.replace(day=1) == first else None  # too far away
    begin, end = months.span(first)
    ahead = today + timedelta(days=order.generation_horizon_days)
    views = calendar(order, min(begin, today), max(end, ahead), at=now)
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
        "opens_rider": may_name(by),
        "status": labels.STATUSES[order.status],
        "phi": by.phi >= Phi.FULL,
        "sees": disclosure_of(by),
        "zone": zone_labels.long_name(order.timezone),
        "zone_short": zone_labels.short_name(order.timezone, now),
        "elsewhere": zone_of(request).key != order.timezone,
        "today": today,
        "month": months.month(first, views, zone=order.timezone, today=today),
        "refused": _refused(views, today, ahead),
        "terms": _terms_rows(order, _current_and_later(terms, today), by),
        "external_ids": external_ids_of(SubjectType.STANDING_ORDER, [order.pk])[order.pk],
        "drivers": labels.driver_names(order.preferred_driver_ids, by),
        "holds": _holds(order, today),
        "day": day,
        "occurrences": [
            _occurrence(view, order, today, may_change, forms) for view in views if view.service_date == day
        ],
        "moved_away": [view for view in views if view.pattern_date == day != view.service_date],
        "may_change": may_change,
        "hold": HoldForm(initial={"version": order.version, "from_date": today}, auto_id="hold_%s"),
        "resume": ResumeForm(initial={"version": order.version, "from_date": today}, auto_id="resume_%s"),
        "end": EndForm(initial={"version": order.version}, auto_id="end_%s"),
        "plain": Plain(initial={"version": order.version}, auto_id=False),
        "error_form": next(iter(forms.values()), None),
        **forms,
    }
    return render(request, "recurring/order.html", context, status=UNPROCESSABLE if forms else 200)


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 2000 <= day.year < 2200 else None


def _current_and_later(terms: Sequence[Terms], today: date) -> Sequence[Terms]:
    past = [row for row in terms if row.from_date <= today]
    return [*past[-1:], *terms[len(past) :]]


def _terms_rows(order: StandingOrder, rows: Sequence[Terms], by: Principal) -> list[dict[str, Any]]:
    """Format terms: days, places, and the needs of the rider on these rides."""
    profile = bookings.current_profile(order.rider_id)
    profile_needs = accommodation.snapshot(profile) if profile else accommodation.complete({})
    formatted = []
    entrance_ids = [row.dropoff["entranceId"] for row in rows if row.dropoff.get("entranceId")]
    entrances = {str(entrance.pk): entrance.name for entrance in Entrance.objects.filter(pk__in=entrance_ids)}
    for row in rows:
        needs = accommodation.overridden(profile_needs, row.accommodation)
        return_mobility = row.return_mobility or needs["returnMobility"] if len(row.legs) > 1 else None
        formatted.append(
            {
                "row": row,
                "days": labels.pattern_of(row),
                "return_mode": labels.RETURNS[row.return_mode],
                "needs": ", ".join(need_labels(needs, return_mobility, row.companions, by)),
                "pickup": line_of(row.pickup),
                "dropoff": line_of(row.dropoff),
                "entrance": entrances.get(row.dropoff.get("entranceId") or "", ""),
                "return_dropoff": line_of(row.return_dropoff) if row.return_dropoff else "",
            }
        )
    return formatted


def _holds(order: StandingOrder, today: date) -> list[tuple[Hold, str]]:
    rows = Hold.objects.filter(Q(until__isnull=True) | Q(until__gte=today), standing_order=order)
    holds = list(rows.order_by("from_date"))
    names = accounts.names_of([hold.set_by for hold in holds])
    return [(hold, names.get(hold.set_by, hold.set_by)) for hold in holds]


def _refused(views: Sequence[OccurrenceView], today: date, ahead: date) -> list[tuple[str, Sequence[date]]]:
    """List the next days that could not be booked, by reason."""
    reasons: dict[str, list[date]] = {}
    for view in views:
        codes = {leg.refusal for leg in view.legs if leg.status is LegStatus.REFUSED}
        for code in codes if today <= view.service_date <= ahead else ():
            reasons.setdefault(str(labels.refusal_reason(code)), []).append(view.service_date)
    return list(reasons.items())


def _occurrence(
    view: OccurrenceView, order: StandingOrder, today: date, may_change: bool, forms: dict[str, Versioned]
) -> dict[str, Any]:
    """Return the context of an occurrence in the panel of a day, with its possible actions."""
    zone = order.timezone
    is_open = may_change and view.status is not None and not any(leg.status in _BEGUN for leg in view.legs)
    is_open = (
        is_open
        and max(view.service_date, view.pattern_date) >= today
        and view.pattern_date >= plans.first_relevant_date(today)
    )
    legs = [
        {
            "leg": leg,
            "pickup": labels.day_and_clock(leg.pickup_at, zone),
            "chair": labels.clock(leg.appointment_at, zone) if leg.appointment_at else "",
            "badge": labels.leg_badge(leg),
            "reason": labels.refusal_reason(leg.refusal) if leg.refusal else "",
        }
        for leg in view.legs
    ]
    service_date = view.service_date
    initial = {"version": order.version, "day": view.pattern_date, "shown": service_date, "to_date": service_date}
    initial |= occurrence_form.current_times(view, zone)
    form = forms.get("move")
    if form is None or form.data.get("day") != view.pattern_date.isoformat():
        form = MoveForm(initial=initial, auto_id="move_%s")
    return {
        "view": view,
        "change": labels.change_of(view),
        "legs": legs,
        "move": form if is_open and view.status in (OccurrenceStatus.DUE, OccurrenceStatus.CLOSED) else None,
        "skippable": is_open and view.status is OccurrenceStatus.DUE,
        "restorable": is_open and (view.status is OccurrenceStatus.SKIPPED or view.change is ChangeType.CUSTOMIZED),
    }
