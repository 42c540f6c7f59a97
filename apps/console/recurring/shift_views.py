"""Calendar shifts of a facility: list, entry, preview, apply and undo."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of, zone_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE
from apps.console.recurring import labels
from apps.console.recurring.forms import time_field
from apps.console.recurring.labels import Badge
from apps.console.recurring.rights import get_facility, opens
from apps.fleet.models import Driver
from apps.organizations.models import CalendarShift, Facility
from apps.recurring.models import StandingOrder
from apps.recurring.queries import roster
from apps.recurring.queries.roster import OrderSummary
from apps.recurring.services import calendar_shifts
from apps.recurring.services.calendar_shifts import ShiftDraft, ShiftPreview
from apps.riders.labels import rider_name
from apps.rides.rules import timing
from lib import dates, zone_labels
from lib.access import Principal
from lib.clocks import clock
from lib.console_forms import add_errors, choose, day_field
from lib.errors import DomainError, NotFound
from lib.scopes import Scope

MOST_SHIFTS: Final = 50
FIELDS: Final = {
    "fromDate": "from_date",
    "toDate": "to_date",
    "newChairTime": "new_chair_time",
    "offsetMinutes": "offset_minutes",
    "standingOrderIds": "orders",
}


class ShiftForm(forms.Form):
    from_date = day_field(gettext_lazy("The day"))
    kind = forms.ChoiceField(
        label=gettext_lazy("Change to the day"),
        widget=forms.RadioSelect,
        choices=(
            ("moves", gettext_lazy("Riders come on another day or at another time")),
            ("closed", gettext_lazy("No service on that day")),
        ),
        initial="moves",
    )
    to_date = day_field(
        gettext_lazy("New date"), required=False, help_text=gettext_lazy("At most seven days before or after.")
    )
    new_chair_time = time_field(
        gettext_lazy("New chair time for all"), required=False, help_text=gettext_lazy("Leave blank to keep the time.")
    )
    offset_minutes = forms.IntegerField(
        label=gettext_lazy("Or shift all times by minutes"),
        required=False,
        min_value=-12 * 60,
        max_value=12 * 60,
        help_text=gettext_lazy("Such as -60: an hour earlier."),
    )
    applies_to = forms.ChoiceField(
        label=gettext_lazy("Applies to"),
        widget=forms.RadioSelect,
        choices=list(labels.APPLIES.items()),
        initial=CalendarShift.AppliesTo.ALL,
    )
    orders = forms.MultipleChoiceField(
        label=gettext_lazy("Standing orders"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, orders: Iterable[tuple[Any, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "orders", orders)

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("kind") == "moves" and not values.get("to_date") and "to_date" not in self.errors:
            self.add_error("to_date", _("Enter the new day, or the same day if only the time changes."))
        return values

    def draft(self) -> ShiftDraft:
        values = self.cleaned_data
        return ShiftDraft(
            from_date=values["from_date"],
            to_date=values["to_date"] if values["kind"] == "moves" else None,
            new_chair_time=values["new_chair_time"],
            offset_minutes=values["offset_minutes"],
            applies_to=values["applies_to"],
            standing_order_ids=tuple(map(UUID, values["orders"])),
        )


@require_safe
@opens(Scope.RIDES_READ)
def facility(request: HttpRequest, facility_id: UUID) -> HttpResponse:
    """List the calendar shifts of a facility, with the entry form for users with the scope."""
    return _page(request, get_facility(facility_id, principal_of(request)))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def enter(request: HttpRequest, facility_id: UUID) -> HttpResponse:
    """Enter a shift, and redirect to its preview."""
    by, now = principal_of(request), timezone.now()
    facility = get_facility(facility_id, by)
    form = ShiftForm(request.POST, orders=_orders(facility, by, now))
    if form.is_valid():
        try:
            entered = calendar_shifts.enter(facility_id=facility_id, draft=form.draft(), by=by, at=now)
        except NotFound:
            raise
        except DomainError as error:
            add_errors(form, error, FIELDS)
        else:
            messages.success(request, _("The change is saved as a draft. Review its effects, then apply it."))
            return redirect("calendar_shift", shift_id=entered.pk)
    return _page(request, facility, form)


@require_safe
@opens(Scope.RIDES_READ)
def shift(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """Show the effects of a shift on each rider, before or after it is applied."""
    by, now = principal_of(request), timezone.now()
    calendar_shift = _get_shift(shift_id, by)
    previews = [] if calendar_shift.undone_at else calendar_shifts.preview(shift_id=shift_id, by=by, at=now)
    record_read(
        by=by,
        action="calendar_shifts.preview",
        subject_type="calendar_shift",
        subject_id=calendar_shift.pk,
        rider_ids=[preview.order.rider_id for preview in previews],
        facility_id=calendar_shift.facility_id,
    )
    drivers = _driver_names(previews, by)
    rows = [_row(preview, drivers, by) for preview in previews]
    today = timing.local_day(now, calendar_shift.facility.timezone)
    has_started = min(calendar_shift.from_date, calendar_shift.to_date or calendar_shift.from_date) <= today
    context = {
        "shift": calendar_shift,
        "state": state_of(calendar_shift),
        "change": change_of(calendar_shift),
        "applies": labels.APPLIES[calendar_shift.applies_to],
        "rows": rows,
        "attention": sum(1 for row in rows if row["problems"]),
        "entered_by": accounts.names_of([calendar_shift.created_by]).get(
            calendar_shift.created_by, calendar_shift.created_by
        ),
        "has_started": has_started,
        "may_change": by.has_scope(Scope.SCHEDULES_WRITE) and calendar_shift.undone_at is None and not has_started,
        "zone": zone_labels.long_name(calendar_shift.facility.timezone),
        "elsewhere": zone_of(request).key != calendar_shift.facility.timezone,
    }
    return render(request, "recurring/shift.html", context)


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def apply(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """Apply a shift.  Idempotent."""
    _perform(request, shift_id, calendar_shifts.apply, _("The change is applied. Rides are moved within a minute."))
    return redirect("calendar_shift", shift_id=shift_id)


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def undo(request: HttpRequest, shift_id: UUID) -> HttpResponse:
    """Undo a shift; one that was never applied is deleted."""
    calendar_shift = _get_shift(shift_id, principal_of(request))
    if calendar_shift.applied_at:
        _perform(
            request, shift_id, calendar_shifts.undo, _("The change is undone. Rides are moved back within a minute.")
        )
        return redirect("calendar_shift", shift_id=shift_id)
    _perform(request, shift_id, calendar_shifts.undo, _("The draft is removed."))
    return redirect("facility_calendar", facility_id=calendar_shift.facility_id)


def state_of(row: CalendarShift) -> Badge:
    if row.undone_at is not None:
        return Badge("quiet", "rotate-ccw", gettext_lazy("Undone"))
    if row.applied_at is not None:
        return Badge("ok", "check", gettext_lazy("In force"))
    return Badge("warn", "pencil", gettext_lazy("Draft"))


def change_of(row: CalendarShift) -> str:
    """Describe a shift in one sentence."""
    values = {"day": dates.short_day(row.from_date), "to": dates.short_day(row.to_date) if row.to_date else ""}
    if row.to_date is None:
        text = _("%(day)s: no service") % values
    elif row.to_date == row.from_date:
        text = _("%(day)s: another time") % values
    else:
        text = _("%(day)s moves to %(to)s") % values
    if row.new_chair_time is not None:
        text += _(", chair time %(time)s") % {"time": clock(row.new_chair_time)}
    if row.offset_minutes:
        offset = _(", %(minutes)s minutes later") if row.offset_minutes > 0 else _(", %(minutes)s minutes earlier")
        text += offset % {"minutes": abs(row.offset_minutes)}
    return text


def _page(request: HttpRequest, facility: Facility, form: ShiftForm | None = None) -> HttpResponse:
    by, now = principal_of(request), timezone.now()
    may_change = by.has_scope(Scope.SCHEDULES_WRITE) and facility.active
    rows = CalendarShift.objects.filter(facility=facility).order_by("-from_date", "-pk")[:MOST_SHIFTS]
    context = {
        "facility": facility,
        "rows": [(row, state_of(row), change_of(row), labels.APPLIES[row.applies_to]) for row in rows],
        "form": form or (ShiftForm(orders=_orders(facility, by, now)) if may_change else None),
        "zone": zone_labels.long_name(facility.timezone),
    }
    return render(request, "recurring/facility.html", context, status=UNPROCESSABLE if form else 200)


def _get_shift(shift_id: UUID, by: Principal) -> CalendarShift:
    return get_object_or_404(CalendarShift.objects.visible_to(by).select_related("facility"), pk=shift_id)


def _perform(request: HttpRequest, shift_id: UUID, action: Callable[..., CalendarShift], message: str) -> None:
    try:
        action(shift_id=shift_id, by=principal_of(request), at=timezone.now())
    except NotFound:
        raise
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, message)


def _orders(facility: Facility, by: Principal, now: datetime) -> list[tuple[UUID, str]]:
    """Return the orders that can be selected for a shift, by rider's name."""
    riding = StandingOrder.objects.visible_to(by).riding().filter(facility=facility).select_related("rider")
    orders = list(riding.order_by("rider__last_name", "rider__first_name", "pk")[: roster.MOST])
    summaries = roster.summarize(orders, today=timing.local_day(now, facility.timezone), at=now)
    record_read(
        by=by,
        action="standing_orders.list",
        subject_type="standing_order",
        rider_ids=[summary.order.rider_id for summary in summaries],
        facility_id=facility.pk,
    )
    return [(summary.order.pk, _order_label(summary, by)) for summary in summaries]


def _order_label(summary: OrderSummary, by: Principal) -> str:
    name, days = rider_name(summary.order.rider, by), labels.pattern_of(summary.terms)
    return f"{name}, {days} {clock(summary.terms.chair_time)}"


def _driver_names(previews: Iterable[ShiftPreview], by: Principal) -> dict[UUID, str]:
    """Return the names of unavailable drivers, if the user may see drivers."""
    ids = {pk for preview in previews for pk in preview.unavailable_driver_ids}
    if not ids or not by.has_scope(Scope.DRIVERS_READ):
        return {}
    drivers = Driver.objects.visible_to(by).filter(pk__in=ids)
    return {driver.pk: f"{driver.first_name} {driver.last_name}" for driver in drivers}


def _row(preview: ShiftPreview, drivers: dict[UUID, str], by: Principal) -> dict[str, Any]:
    zone, after = preview.order.timezone, preview.after
    problems: list[dict[str, Any]] = []
    if preview.conflicting_ride_id:
        problems.append({"text": _("Conflicts with another ride"), "ride_id": preview.conflicting_ride_id})
    if not preview.has_phone:
        problems.append({"text": _("No phone to tell the rider")})
    for pk in preview.unavailable_driver_ids:
        text = _("Driver off at that time: %(name)s") % {"name": drivers[pk]} if pk in drivers else _("Driver off then")
        problems.append({"text": text})
    return {
        "order": preview.order,
        "name": rider_name(preview.order.rider, by),
        "before": labels.day_and_clock(preview.before.chair_at, zone),
        "before_pickup": labels.clock(preview.before.pickup_at, zone),
        "after": labels.day_and_clock(after.chair_at, zone) if after else "",
        "after_pickup": labels.clock(after.pickup_at, zone) if after else "",
        "rides": len(preview.ride_ids),
        "problems": problems,
    }
