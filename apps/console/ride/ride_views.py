"""The ride page: status, history with its sources, and forms for the allowed actions.

`page` renders it for a visit and for a form that failed in `ride_actions`.  A form that failed because the ride has
changed comes back with the list of these changes, and with the current version, so that the user can submit it again.
"""

from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.queries import names_of
from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.console.ride import ride_panel
from apps.console.ride.ride_forms import (
    AnswerForm,
    CorrectionForm,
    LinkForm,
    MomentForm,
    NotesForm,
    Overridable,
    ReasonForm,
    Versioned,
    reasons_for,
)
from apps.riders import labels as rider_labels
from apps.rides.labels import note_text
from apps.rides.models import Ride
from apps.rides.queries import ride_story
from apps.rides.queries.ride_forecasts import NO_ETA, etas_of
from apps.rides.rules import disclosure
from apps.rides.rules.booking_rules import is_past
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.guards import CORRECTION_WINDOW
from apps.rides.rules.lifecycle import ReasonList, RideStatus
from apps.rides.rules.ride_actions import RideAction, allowed_actions, step_to
from apps.rides.rules.timeliness import late_minutes
from apps.rides.services import leg_decisions
from lib.access import Phi, Principal
from lib.scopes import Scope

CONFLICT = 409  # the form was based on an older version of the ride
NOTES_FORM = "notes_form"  # name in the template, where `notes` holds the notes
_REASON_LISTS = {
    RideAction.CANCEL: ReasonList.CANCELLED,
    RideAction.NO_SHOW: ReasonList.NO_SHOW,
    RideAction.UNFULFILLED: ReasonList.UNFULFILLED,
    RideAction.UNASSIGN: ReasonList.UNASSIGN,
}


@require_safe
@require_scope(Scope.RIDES_READ)
def ride(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Show a ride.  At most fourteen queries, independent of the length of its history."""
    return page(request, ride_id)


def get_ride(ride_id: UUID, by: Principal) -> Ride:
    """Return a ride that is visible to the user.

    Raises:
        Http404: there is no such ride.
    """
    ride = ride_story.ride_with_details(ride_id, by)
    if ride is None:
        raise Http404
    return ride


def page(request: HttpRequest, ride_id: UUID, *, seen_version: int = 0, **returned: Versioned) -> HttpResponse:
    """Render a ride.  Writes an audit entry.

    `returned` holds a form with errors under its name in the template; `seen_version` is the version that the form was
    based on.  The status is 409 for a stale form and 422 for other errors.
    """
    by, now = principal_of(request), timezone.now()
    ride = get_ride(ride_id, by)
    story = ride_story.story(ride, by)
    record_read(
        by=by,
        action="rides.read",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id, *(leg.rider_id for leg in story.legs)],
        facility_id=ride.facility_id,
    )
    actions = _available_actions(ride, by, now)
    own = ride_story.own_reasons()
    stale = any(form.is_stale for form in returned.values())
    context = {
        **_ride_context(ride, story, own, by),
        "late": late_minutes(ride, now),
        "actions": {action.value for action in actions},
        "back_to": ride_labels.STATUSES[ride.status_before_end].text if ride.status_before_end else "",
        "assign_url": _assign_url(ride) if RideAction.ASSIGN in actions else "",
        **_forms(ride, actions, own, by),
        "link": link_form(ride, by),
        "may_repeat": by.has_scope(Scope.SCHEDULES_WRITE) and by.provider_ids is None,
        "may_book": by.has_scope(Scope.RIDES_WRITE) and by.provider_ids is None,
        "needs_answer": by.has_scope(Scope.RIDES_WRITE)
        and any(leg_decisions.awaits_decision(exception) for exception in story.exceptions),
        "answer": AnswerForm(initial={"version": ride.version}, auto_id="answer_%s"),
        **returned,
        "returned": next(iter(returned.values()), None),
        "may_override": by.has_scope(Scope.RIDES_OVERRIDE),
        "changes": _changes(ride, seen_version, own) if stale else [],
    }
    context["times"] = ride_panel.times(ride, context["late"], etas_of([ride], at=now).get(ride.pk, NO_ETA))
    status = 200 if not returned else CONFLICT if stale else UNPROCESSABLE
    with timezone.override(ZoneInfo(ride.timezone)):
        return render(request, "rides/ride.html", context, status=status)


def _assign_url(ride: Ride) -> str:
    name = "hand_over_ride" if ride.status == RideStatus.IN_PROGRESS else "assign_ride"
    return reverse(name, args=[ride.pk])


def _available_actions(ride: Ride, by: Principal, now: datetime) -> frozenset[RideAction]:
    actions = allowed_actions(ride, by)
    if is_past(ride.pickup_at, at=now):
        actions -= {RideAction.REINSTATE}
    return actions - {RideAction.CORRECT} if now - ride.status_changed_at > CORRECTION_WINDOW else actions


def _ride_context(ride: Ride, story: ride_story.Story, own: ride_panel.OwnReasons, by: Principal) -> dict[str, Any]:
    to = disclosure_of(by)
    current = next((assignment for assignment in story.assignments if assignment.pk == ride.assignment_id), None)
    return {
        "ride": ride,
        "name": rider_labels.rider_name(ride.rider, by),
        "rider_url": _rider_url(ride, by),
        "badges": ride_labels.status_of(ride),
        "day": ride_labels.day(ride.pickup_at, ride.timezone),
        "clock": ride_labels.clock(ride.pickup_at, ride.timezone),
        "reference": ride.client_reference if to.phi >= Phi.LIMITED else "",
        "phi": to.phi >= Phi.FULL,
        "stops": ride_panel.stops(ride, story, to),
        "needs": ride_panel.needs(ride, to, by),
        "notes": ride_panel.notes(ride, to),
        "people": ride_panel.people(ride, story, to, by),
        "driver": ride_panel.driver_of(current, by) if current else "",
        "timeline": ride_panel.timeline(ride, story, own, by),
        "assignments": ride_panel.assignments(story, by),
        "sees_exceptions": by.has_scope(Scope.EXCEPTIONS_READ),
        "exceptions": ride_panel.exceptions(story, by),
        "legs": [
            (leg, ride_labels.status_of(leg), ride_labels.clock(leg.pickup_at, leg.timezone)) for leg in story.legs
        ],
        "reads": None
        if story.audit_entries is None
        else [(read, ride_labels.actor_name(read.actor, story.names)) for read in story.audit_entries],
        "ending": _ending(ride, story, own) if ride.reason_code else None,
    }


def _ending(ride: Ride, story: ride_story.Story, own: ride_panel.OwnReasons) -> dict[str, Any]:
    codes = {"reasonCode": ride.reason_code, "fault": ride.fault, "timing": ride.cancellation_timing}
    return {
        "details": ride_panel.details_of(codes, own),
        "ended_by": ride_labels.actor_name(ride.ended_by, story.names),
        "note": note_text(ride.end_note),
    }


def _forms(
    ride: Ride, actions: frozenset[RideAction], own: ride_panel.OwnReasons, by: Principal
) -> dict[str, Versioned]:
    """Return the forms of the allowed actions, with the ride's current values."""
    fresh = {"version": ride.version}
    forms: dict[str, Versioned] = {
        action.value: Overridable(initial=fresh, auto_id=f"{action.value}_%s")
        for action in (RideAction.READY, RideAction.UNREADY, RideAction.CONFIRM)
        if action in actions
    }
    for action in _REASON_LISTS:
        if action in actions:
            forms[action.value] = reason_form(ride, action, own, initial=fresh)
    if RideAction.CORRECT in actions:
        forms[RideAction.CORRECT.value] = CorrectionForm(initial=fresh, auto_id="correct_%s")
    if RideAction.MOMENT in actions:
        forms[RideAction.MOMENT.value] = MomentForm(status=ride.status, initial=fresh, auto_id="moment_%s")
    if RideAction.NOTES in actions:
        current_notes = {name: getattr(ride, f"{name}_notes") for name in ("driver", "facility", "dispatcher")}
        forms[NOTES_FORM] = NotesForm(
            dispatchers=disclosure_of(by).dispatcher_notes, initial=fresh | current_notes, auto_id="notes_%s"
        )
    return forms


def link_form(ride: Ride, by: Principal, *data: Any) -> LinkForm | None:
    """Return the form that links other rides of the rider; None if there are none, or the user may not book."""
    if not by.has_scope(Scope.RIDES_WRITE) or by.provider_ids is not None:
        return None
    offered = linkable_rides(ride, by)
    return LinkForm(*data, offered=offered, initial={"version": ride.version}, auto_id="link_%s") if offered else None


def linkable_rides(ride: Ride, by: Principal) -> dict[str, str]:
    """Return the rides that can be linked with a ride, by id: "Sat 21 Nov, 16:00 CST: Mercy West → Home"."""
    to = disclosure_of(by)
    offered = {}
    for other in ride_story.linkable_rides(ride, by):
        places = (ride_labels.place_name(disclosure.stop(stop, to)) for stop in (other.pickup, other.dropoff))
        offered[str(other.pk)] = f"{ride_labels.day_and_clock(other.pickup_at, other.timezone)}: {' → '.join(places)}"
    return offered


def reason_form(ride: Ride, action: RideAction, own: ride_panel.OwnReasons, *data: Any, **options: Any) -> ReasonForm:
    """Return the form for an ending or an unassignment, with the reasons for the ride's current status."""
    step = step_to(action, RideStatus(ride.status))
    on_board = action is RideAction.UNFULFILLED and ride.status == RideStatus.IN_PROGRESS
    reasons = reasons_for(ride, _REASON_LISTS[action], step, own)
    return ReasonForm(*data, reasons=reasons, on_board=on_board, auto_id=f"{action.value}_%s", **options)


def _changes(ride: Ride, seen_version: int, own: ride_panel.OwnReasons) -> list[dict[str, Any]]:
    """Return the events of a ride since the user opened the page.  Two queries."""
    events = ride_story.changes_since(ride.pk, seen_version)
    names = names_of(event.actor for event in events)
    return [
        {
            "title": ride_labels.event_label(event.type),
            "actor": ride_labels.actor_name(event.actor, names),
            "at": event.recorded_at,
            "details": ride_panel.details_of(event.data, own),
        }
        for event in events
    ]


def _rider_url(ride: Ride, by: Principal) -> str:
    return reverse("rider_page", args=[ride.rider_id]) if rider_labels.may_name(by) else ""
