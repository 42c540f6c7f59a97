"""A driver is out: the report, then the freed rides with their replacements, and undo.

The page of an absence is a view of what is left to do: it shows the freed rides as they are now, so that it can be
reloaded, left and opened again from the driver's page until the absence has ended.
"""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.board import labels
from apps.console.board.cards import row
from apps.console.board.forms import parse_accepted
from apps.console.board.page import reader_of
from apps.console.board.suggestion_views import ride_card, suggestion_row
from apps.console.board.timeline import Reader
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.replacements import replacements
from apps.dispatch.queries.suggestions import Preview
from apps.dispatch.rules.suggesting import Suggestion
from apps.dispatch.services import driver_out
from apps.dispatch.services.driver_out import DriverOut
from apps.dispatch.services.planning import Accepted
from apps.fleet.models import AbsenceReason, Driver, Leave
from apps.fleet.services import absences
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.queries import absence_rides
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.facts import Span
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ranking import ReasonCode
from apps.rides.services import driver_absence
from lib import zone_labels
from lib.console_forms import add_errors
from lib.errors import DomainError, NotFound
from lib.scopes import Scope

_FIELDS: Final = {"from": "starts_at", "to": "ends_at", "note": "note", "reason": "reason"}


def _time_field(label: Any, help_text: Any) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, required=False, widget=widget, help_text=help_text)


class AbsenceForm(forms.Form):
    """An absence; its times are in Django's current time zone, the reader's."""

    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"),
        choices=AbsenceReason.choices,
        initial=AbsenceReason.SICK,
        widget=forms.RadioSelect,
    )
    starts_at = _time_field(gettext_lazy("From"), gettext_lazy("Leave blank for now."))
    ends_at = _time_field(gettext_lazy("Until"), gettext_lazy("Leave blank for the rest of the service day."))
    note = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=100)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # With one press of Enter, the usual report is sent.
        self.fields["reason"].widget.attrs["autofocus"] = not self.is_bound


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def report(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Report a driver out, after showing the rides that this frees, each with its best replacement.

    POST with `preview` shows them for the times of the form and stores nothing; with `reassign`, the replacements of
    the form (`suggestion`) take their rides at once.  The list writes an audit entry.
    """
    reader = reader_of(request)
    driver = _driver(driver_id, reader)
    form = AbsenceForm(request.POST or None)
    is_preview = request.POST.get("preview") == "on"
    if request.method == "POST" and form.is_valid() and not is_preview:
        try:
            out = driver_out.report(
                driver_id=driver_id, accepted=_accepted(request), by=reader.by, at=reader.at, **form.cleaned_data
            )
        except DomainError as refusal:
            add_errors(form, refusal, _FIELDS)
        else:
            _confirm(request, out)
            return redirect("driver_absence", driver_id, out.reported.leave.pk)
    away = _period(form, driver, reader)
    freed = absence_rides.freed_by(driver_id, away, by=reader.by, at=reader.at)
    under_way = absence_rides.needing_handover(driver_id, away, by=reader.by, at=reader.at)
    attended = absence_rides.attended_by(driver_id, away, by=reader.by, at=reader.at)
    record_read(
        by=reader.by,
        action="rides.suggestions",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={ride.rider_id for ride in (*freed, *under_way, *attended)},
    )
    plans = replacements([ride.pk for ride in freed], instead_of=driver_id, by=reader.by, at=reader.at)
    context = {
        **_context(driver, reader),
        **_plan_context(plans, reader),
        "form": form,
        "absences": list(Leave.objects.filter(driver=driver, ends_at__gt=reader.at).exclude(absence="")),
        "freed": len(freed),
        "away": away,
        "under_way": [_ride_row(ride, reader) for ride in under_way],
        "attended": [_ride_row(ride, reader) for ride in attended],
    }
    status = UNPROCESSABLE if form.errors and not is_preview else 200
    return render(request, "dispatch/driver_out.html", context, status=status)


def _accepted(request: HttpRequest) -> list[Accepted]:
    """Return the replacements that the form names, if the rides are to be reassigned at once; malformed ones: none."""
    if request.POST.get("reassign") != "on":
        return []
    try:
        return parse_accepted(request.POST.getlist("suggestion"))
    except ValueError:
        return []


def _confirm(request: HttpRequest, out: DriverOut) -> None:
    count = sum(result.ride is not None for result in out.outcomes)
    if count:
        text = ngettext("%(count)s ride is reassigned.", "%(count)s rides are reassigned.", count)
        messages.success(request, text % {"count": count})


def _period(form: AbsenceForm, driver: Driver, reader: Reader) -> Span:
    """Return the time of the form, by default from now; a form that cannot be reported counts as an empty one."""
    valid = form.is_bound and form.is_valid()
    starts_at: dt.datetime = (form.cleaned_data["starts_at"] if valid else None) or reader.at
    ends_at: dt.datetime = (form.cleaned_data["ends_at"] if valid else None) or absences.default_end(driver, starts_at)
    if ends_at <= starts_at:
        return Span(reader.at, absences.default_end(driver, reader.at))
    return Span(starts_at, ends_at)


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def absence(request: HttpRequest, driver_id: UUID, absence_id: UUID) -> HttpResponse:
    """Show the freed rides of an absence: who can take those that wait, and who has the others.  Audited."""
    reader = reader_of(request)
    driver = _driver(driver_id, reader)
    leave = _absence(driver, absence_id, reader)
    freed_ids = [row["id"] for row in (leave.undo or {}).get("rides", [])]
    rows = Ride.objects.visible_to(reader.by).filter(pk__in=freed_ids).select_related("rider", "driver")
    freed = list(rows.order_by("pickup_at", "pk"))
    waiting_ids = [ride.pk for ride in freed if ride.status == RideStatus.SCHEDULED]
    plans = replacements(waiting_ids, by=reader.by, at=reader.at)
    away = Span(leave.starts_at, leave.ends_at)
    under_way = absence_rides.needing_handover(driver_id, away, by=reader.by, at=reader.at)
    record_read(
        by=reader.by,
        action="rides.suggestions",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={ride.rider_id for ride in (*freed, *under_way)},
    )
    context = {
        **_context(driver, reader),
        **_plan_context(plans, reader),
        "absence": leave,
        "is_over": leave.ends_at <= reader.at,
        "back": request.path,
        "placed": [
            {**_ride_row(ride, reader), "driver": driver_name(ride.driver, reader.by) if ride.driver else ""}
            for ride in freed
            if ride.status != RideStatus.SCHEDULED
        ],
        "under_way": [_ride_row(ride, reader) for ride in under_way],
        "freed": len(freed),
    }
    return render(request, "dispatch/absence.html", context)


def _plan_context(plans: Sequence[Preview], reader: Reader) -> dict[str, Any]:
    """Return the rides with their replacements, and those that nobody can take, in order of urgency."""
    return {
        "rows": [_replacement_row(each, plan, reader) for plan in plans for each in plan.plan.suggestions],
        "unmatched": [
            {**ride_card(each.ride_id, plan, reader), "conflicts": labels.conflict_summary(each.against)}
            for plan in plans
            for each in plan.plan.unplaced
        ],
    }


def _replacement_row(suggestion: Suggestion, plan: Preview, reader: Reader) -> dict[str, Any]:
    """Return the context of a replacement; its lateness has a column and is not repeated among the reasons."""
    added = suggestion.added_drive_minutes
    return {
        **suggestion_row(suggestion, plan, reader),
        "reasons": [reason.message for reason in suggestion.reasons if reason.code is not ReasonCode.LATE],
        "late_minutes": suggestion.late_minutes,
        "added_minutes": None if added is None else math.ceil(added),
    }


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def undo(request: HttpRequest, driver_id: UUID, absence_id: UUID) -> HttpResponse:
    """Give the driver shifts and rides back; with `without_rides`, end the absence and leave the rides as they are."""
    by, now = principal_of(request), timezone.now()
    without_rides = request.POST.get("without_rides") == "on"
    try:
        undone = driver_absence.undo(
            driver_id=driver_id, absence_id=absence_id, without_rides=without_rides, by=by, at=now
        )
    except NotFound as gone:
        raise Http404 from gone
    except DomainError as refusal:
        messages.error(request, refusal.message)
        return redirect("driver_absence", driver_id, absence_id)
    count = len(undone.ride_ids)
    text = ngettext("The driver is back, with %(count)s ride.", "The driver is back, with %(count)s rides.", count) % {
        "count": count
    }
    messages.success(request, text if count else _("The driver is back."))
    return redirect(reverse("board"))


def _driver(driver_id: UUID, reader: Reader) -> Driver:
    driver = Driver.objects.visible_to(reader.by).select_related("provider").filter(pk=driver_id).first()
    if driver is None:
        raise Http404
    return driver


def _absence(driver: Driver, absence_id: UUID, reader: Reader) -> Leave:
    try:
        return absences.absence_of(driver.pk, absence_id, reader.by)
    except NotFound as gone:
        raise Http404 from gone


def _ride_row(ride: Ride, reader: Reader) -> dict[str, Any]:
    return row(BoardRide(ride, slot_of(ride, at=reader.at)), None, reader)


def _context(driver: Driver, reader: Reader) -> dict[str, Any]:
    return {
        "driver": driver,
        "name": driver_name(driver, reader.by),
        "zone": zone_labels.long_name(reader.zone.key),
    }
