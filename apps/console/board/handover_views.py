"""The handover to the next dispatcher: a page to read, print and sign off."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.accounts import queries as accounts
from apps.audit.views import record_read
from apps.console.board.cards import row
from apps.console.board.page import reader_of
from apps.console.board.timeline import Reader
from apps.console.exceptions.views import exception_row_context
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.dispatch.queries.handover import CHANGES, HandoverFacts, handover_facts
from apps.dispatch.services.handover import sign_off
from apps.rides.labels import driver_name
from apps.rides.models import RideException
from apps.rides.queries import exception_queue
from apps.rides.queries.exception_causes import Cause, causes_of
from apps.rides.queries.exception_queue import ExceptionFilter
from lib import zone_labels
from lib.scopes import Scope

_CHANGE_LABELS: Final = {
    "ride.scheduled": gettext_lazy("Booked or confirmed"),
    "ride.rescheduled": gettext_lazy("Moved to another time"),
    "ride.driver_assigned": gettext_lazy("Drivers assigned"),
    "ride.driver_unassigned": gettext_lazy("Drivers unassigned"),
    "ride.cancelled": gettext_lazy("Canceled"),
    "ride.no_show": gettext_lazy("Rider no-shows"),
    "ride.unfulfilled": gettext_lazy("Missed trips (provider)"),
    "ride.completed": gettext_lazy("Completed"),
}


class SignOffForm(forms.Form):
    note = forms.CharField(
        label=gettext_lazy("Note to the next dispatcher"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def handover(request: HttpRequest) -> HttpResponse:
    """Show the state of the desk, and record the sign-off.  The lists write an audit entry."""
    reader = reader_of(request)
    form = SignOffForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        sign_off(note=form.cleaned_data["note"], by=reader.by, at=reader.at)
        messages.success(request, _("Signed off. The next dispatcher sees your note here."))
        return redirect("handover")
    facts = handover_facts(reader.zone.key, by=reader.by, at=reader.at)
    alerts = exception_queue.queue(ExceptionFilter(snoozed="all"), by=reader.by, at=reader.at).rows
    record_read(
        by=reader.by,
        action="dispatch.handover",
        subject_type="ride",
        rider_ids={
            *(alert.rider_id for alert in alerts),
            *(risky.board_ride.ride.rider_id for risky in facts.at_risk),
            *(each.ride.rider_id for each in facts.will_calls),
        },
    )
    causes = causes_of(alerts, by=reader.by, at=reader.at)
    context = {
        **_context(facts, reader),
        "form": form,
        "alerts": [_alert(alert, reader, causes) for alert in alerts],
        "me": reader.by.id,
        "now": reader.at,
        "zone": zone_labels.short_name(reader.zone.key, reader.at),
    }
    return render(request, "dispatch/handover.html", context, status=UNPROCESSABLE if form.errors else 200)


def _alert(alert: RideException, reader: Reader, causes: Mapping[UUID, Cause]) -> dict[str, Any]:
    """Return the context of an open alert with its own note, and the note for dispatchers of its ride."""
    note = alert.ride.dispatcher_notes if alert.ride is not None and reader.disclosure.dispatcher_notes else ""
    return {**exception_row_context(alert, reader.by, reader.at, causes), "note": note}


def _context(facts: HandoverFacts, reader: Reader) -> dict[str, Any]:
    names = accounts.names_of(each.signed_by for each in facts.sign_offs)
    return {
        "absences": [{"leave": leave, "name": driver_name(leave.driver, reader.by)} for leave in facts.absences],
        "vehicles": facts.vehicles,
        "at_risk": [row(risky.board_ride, risky.row, reader) for risky in facts.at_risk],
        "will_calls": [row(each, None, reader) for each in facts.will_calls],
        "since": facts.since,
        "changes": [(_CHANGE_LABELS[type_], facts.changes[type_]) for type_ in CHANGES if type_ in facts.changes],
        "sign_offs": [
            {"handover": each, "name": ride_labels.actor_name(each.signed_by, names)} for each in facts.sign_offs
        ],
    }
