"""Actions on a ride from its page; each form has its own URL.

Each view binds a form and calls one service through `acting.is_done`, with the version that the page showed.  Success
redirects to the page with a message.  On failure the page comes back with the bound form and its errors: 409 if the
ride changed meanwhile, else 422.  Scopes are checked twice: by the view, and by the service for the step.
"""

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.console.kit.rights import require_scope
from apps.console.ride import acting, ride_views
from apps.console.ride.acting import Act
from apps.console.ride.ride_forms import (
    AnswerForm,
    CorrectionForm,
    LinkForm,
    MomentForm,
    NotesForm,
    Overridable,
    ReadyForm,
    Versioned,
)
from apps.rides.models import Milestone, Ride
from apps.rides.queries import ride_story
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ride_actions import RideAction
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import assignment, editing, reinstatement, status_report, trips
from apps.rides.services.eligibility_checks import Override
from apps.rides.services.status import InvalidTransition
from apps.rides.services.status_report import ManualMilestone
from lib.errors import InvalidInput
from lib.scopes import Scope

_MANUAL = Milestone.Source.DISPATCHER_MANUAL.value


@require_POST
@require_scope(Scope.RIDES_WRITE, Scope.RIDES_STATUS)
def ready(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Release a will-call ride: the rider is ready.  A repeated release only shows a message."""
    form = ReadyForm(request.POST, auto_id="ready_%s")
    by = principal_of(request)
    if acting.is_done(form, acting.release, ride_id=ride_id, by=by):
        messages.success(request, _("Marked ready. Dispatch is notified."))
    elif acting.is_released(form, ride_id=ride_id, by=by):
        messages.info(request, _("The ride is already marked ready."))
    else:
        return _show_errors(request, ride_id, RideAction.READY, form)
    return redirect("ride_page", ride_id=ride_id)


@require_POST
@require_scope(Scope.RIDES_WRITE, Scope.RIDES_STATUS)
def unready(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Retract the release of a will-call ride."""
    form = Overridable(request.POST, auto_id="unready_%s")
    return _submit(request, ride_id, RideAction.UNREADY, form, acting.retract, _("The ride is no longer marked ready."))


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def confirm(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Confirm a requested ride; its status becomes scheduled."""

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        override = {"override": values["override"], "override_reason": values["override_reason"]}
        report = StatusReport(status=RideStatus.SCHEDULED, source=_MANUAL, **override)
        return status_report.change_status(report=report, **arguments)

    form = Overridable(request.POST, auto_id="confirm_%s")
    return _submit(request, ride_id, RideAction.CONFIRM, form, act, _("The ride is confirmed."))


@require_POST
@require_scope(Scope.RIDES_WRITE, Scope.RIDES_STATUS)
def cancel(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Cancel a ride, with a reason code."""
    return _end(request, ride_id, RideAction.CANCEL, RideStatus.CANCELLED, _("The ride is canceled."))


@require_POST
@require_scope(Scope.RIDES_STATUS)
def no_show(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Record a no-show; the service requires arrival in the window, the wait, and an attempt to reach the rider."""
    return _end(request, ride_id, RideAction.NO_SHOW, RideStatus.NO_SHOW, _("The no-show is recorded."))


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE, Scope.RIDES_STATUS)
def unfulfilled(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Record that the ride is not carried out, or was aborted."""
    message = _("Marked as missed trip.")
    return _end(request, ride_id, RideAction.UNFULFILLED, RideStatus.UNFULFILLED, message)


@require_POST
@require_scope(Scope.RIDES_WRITE)
def reinstate(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Reinstate a canceled ride, with its driver if they are still free."""
    form = Versioned(request.POST, auto_id="reinstate_%s")

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        return reinstatement.reinstate(**arguments)

    return _submit(request, ride_id, RideAction.REINSTATE, form, act, _("The ride is reinstated."))


@require_POST
@require_scope(Scope.RIDES_WRITE)
def link(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Link a ride with other rides of its rider as legs of one trip."""
    by = principal_of(request)
    offered = ride_views.linkable_rides(ride_views.get_ride(ride_id, by), by)
    form = LinkForm(request.POST, offered=offered, auto_id="link_%s")
    if acting.is_done(form, acting.link_rides(form), ride_id=ride_id, by=by):
        messages.success(request, _("The rides are linked as one trip."))
        return redirect("ride_page", ride_id=ride_id)
    return ride_views.page(request, ride_id, seen_version=form.cleaned_data.get("version") or 0, link=form)


@require_POST
@require_scope(Scope.RIDES_WRITE)
def unlink(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Take a ride out of its trip."""
    by = principal_of(request)
    ride = ride_views.get_ride(ride_id, by)
    if ride.trip_id is not None:
        try:
            trips.unlink(trip_id=ride.trip_id, ride_id=ride.pk, by=by, at=timezone.now())
        except InvalidInput as refusal:
            messages.error(request, str(refusal))
            return redirect("ride_page", ride_id=ride_id)
    messages.success(request, _("The ride is no longer linked."))
    return redirect("ride_page", ride_id=ride_id)


@require_POST
@require_scope(Scope.RIDES_CORRECT)
def correct(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Revert an ending that was recorded by mistake: the ride returns to its status before the end."""
    ride = ride_views.get_ride(ride_id, principal_of(request))

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        override = {"override": values["override"], "override_reason": values["override_reason"]}
        if not ride.status_before_end and arguments["expected_version"] == ride.version:
            raise InvalidTransition(RideStatus(ride.status), "correct")
        # A ride that is no longer ended keeps its status here: the version check refuses the request.
        previous_status = RideStatus(ride.status_before_end or ride.status)
        return status_report.change_status(
            report=StatusReport(status=previous_status, source=_MANUAL, note=values["note"], **override), **arguments
        )

    form = CorrectionForm(request.POST, auto_id="correct_%s")
    return _submit(request, ride_id, RideAction.CORRECT, form, act, _("The outcome is corrected. The ride continues."))


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE, Scope.RIDES_STATUS)
def unassign(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Unassign the driver, with a reason code."""

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        return assignment.unassign(reason_code=values["reason_code"], note=values["note"], **arguments)

    form = _reason_form(request, ride_id, RideAction.UNASSIGN)
    return _submit(
        request,
        ride_id,
        RideAction.UNASSIGN,
        form,
        act,
        _("The driver is unassigned. The ride waits for another driver."),
    )


@require_POST
@require_scope(Scope.RIDES_WRITE)
def notes(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Change the notes that the user may see."""
    form = NotesForm(
        request.POST, dispatchers=disclosure_of(principal_of(request)).dispatcher_notes, auto_id="notes_%s"
    )

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        texts = {name: text for name, text in values.items() if name != "version"}
        return editing.edit(changes={"notes": texts}, **arguments)

    return _submit(request, ride_id, RideAction.NOTES, form, act, _("The notes are saved."))


@require_POST
@require_scope(Scope.RIDES_STATUS)
def moment(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Enter a milestone manually; its time is in the ride's zone."""
    ride = ride_views.get_ride(ride_id, principal_of(request))

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        milestone = ManualMilestone(
            type=Milestone.Type(values["type"]),
            occurred_at=values["occurred_at"] or arguments["at"],
            note=values["note"],
            contacted=values["contacted"],
            secured=values["secured"],
            handoff_name=values["handoff_name"],
            override=Override(values["override"], values["override_reason"]),
        )
        return status_report.enter_milestone(moment=milestone, **arguments)

    with timezone.override(ZoneInfo(ride.timezone)):
        form = MomentForm(request.POST, status=ride.status, auto_id="moment_%s")
        form.full_clean()
    return _submit(request, ride_id, RideAction.MOMENT, form, act, _("The time is logged."))


@require_POST
@require_scope(Scope.RIDES_WRITE)
def answer(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Record the planner's decision for a ride without a driver."""
    form = AnswerForm(request.POST, auto_id="answer_%s")
    return _submit(request, ride_id, RideAction.ANSWER, form, acting.answer, _("Dispatch is notified."))


def _end(request: HttpRequest, ride_id: UUID, action: RideAction, status: RideStatus, message: str) -> HttpResponse:
    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        report = StatusReport(
            status=status,
            source=_MANUAL,
            reason_code=values["reason_code"],
            note=values["note"],
            rider_location=values.get("rider_location", ""),
        )
        return status_report.change_status(report=report, **arguments)

    return _submit(request, ride_id, action, _reason_form(request, ride_id, action), act, message)


def _reason_form(request: HttpRequest, ride_id: UUID, action: RideAction) -> Versioned:
    ride = ride_views.get_ride(ride_id, principal_of(request))
    return ride_views.reason_form(ride, action, ride_story.own_reasons(), request.POST)


def _submit(
    request: HttpRequest, ride_id: UUID, action: RideAction, form: Versioned, act: Act, message: str
) -> HttpResponse:
    """Submit a form: redirect to the ride with a message, or show the page with the errors of the form."""
    if acting.is_done(form, act, ride_id=ride_id, by=principal_of(request)):
        messages.success(request, message)
        return redirect("ride_page", ride_id=ride_id)
    return _show_errors(request, ride_id, action, form)


def _show_errors(request: HttpRequest, ride_id: UUID, action: RideAction, form: Versioned) -> HttpResponse:
    version = form.cleaned_data.get("version") or 0
    return ride_views.page(
        request,
        ride_id,
        seen_version=version,
        **{ride_views.NOTES_FORM if action is RideAction.NOTES else action.value: form},
    )
