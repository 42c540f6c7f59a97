"""Views that change one ride of the board: assign, unassign, and release a will-call.

Each view has its own URL and works as a full page.  For an htmx request (header `HX-Request`) it returns the inner
template only, and reports the outcome of a POST by an event in `HX-Trigger`: `carelane:done` or `carelane:refused`.
The event `carelane:done` carries the URL and form values that undo the action; `undo` is null if there is no undo.
"""

import json
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.sessions import principal_of, zone_of
from apps.audit.views import record_read
from apps.console.board import labels
from apps.console.board.candidate_rows import candidate_rows, conflict_texts, ride_names
from apps.console.board.forms import POSITION, AssignForm, CallForm, HandOverForm, UnassignForm
from apps.console.exceptions.forms import NoteForm
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import acting, ride_panel, ride_views
from apps.console.ride.labels import CONTACTED
from apps.console.ride.ride_forms import ReadyForm
from apps.dispatch.queries.crew import vehicle_for
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Chosen
from apps.fleet.models import Driver
from apps.riders.labels import rider_name
from apps.rides.labels import OUT_OF_REACH, driver_name
from apps.rides.models import Milestone, Ride
from apps.rides.queries import ride_story
from apps.rides.queries.candidates import candidates
from apps.rides.queries.driver_timelines import predicted_arrivals_of
from apps.rides.queries.ride_needs import slot_of
from apps.rides.queries.rides import ride as get_visible_ride
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.driver_timeline import POSITION_GOOD_FOR
from apps.rides.rules.eligibility import Violation, ViolationKind
from apps.rides.rules.lifecycle import BY_ACTION, OPEN, Action, RideStatus
from apps.rides.rules.ride_actions import MOMENTS, RideAction, allowed_actions
from apps.rides.rules.status_report import Place
from apps.rides.rules.timeliness import promised_at
from apps.rides.services import assignment, exceptions, status_report, will_call
from apps.rides.services.assignment import Handover
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.status import InvalidTransition
from apps.rides.services.status_report import ManualMilestone
from lib.access import Phi, Principal
from lib.clocks import exact_clock
from lib.console_forms import add_errors
from lib.errors import DomainError, NotFound, StaleVersion
from lib.scopes import Scope

STALE: Final = 409
MOST_HISTORY: Final = 6  # newest lines of the history in the panel; the ride's page has all
UNDO_REASON: Final = "replanned"  # reason code of an undone assignment
_FIELDS_BY_PARAMETER: Final = {
    "driverId": "driver_id",
    "vehicleId": "driver_id",
    "attendantIds": "attendant_id",
    "overrideReason": "override_reason",
    "reasonCode": "reason_code",
    "note": "note",
    "riderLocation": "rider_location",
    "location": "place",
    "milesDriven": "miles_driven",
}


class PreviousAssignment(NamedTuple):
    """Driver and vehicle of a ride before a change, for the undo."""

    driver_id: UUID | None
    vehicle_id: UUID | None


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def show_ride(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Show one ride: the facts for a dispatch decision, and the allowed actions.  Writes an audit entry."""
    by, now = principal_of(request), timezone.now()
    ride = ride_views.get_ride(ride_id, by)
    story, to = ride_story.story(ride, by), disclosure_of(by)
    record_read(
        by=by,
        action="rides.read",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
    )
    driver = None if ride.driver_id is None else _driver(ride.driver_id, by)
    history = ride_panel.timeline(ride, story, ride_story.own_reasons(), by)
    predicted_at = predicted_arrivals_of([ride], at=now).get(ride.pk)
    context = {
        **_ride_context(ride, request),
        "driver": driver or "",
        "stops": ride_panel.stops(ride, story, to),
        "needs": ride_panel.needs(ride, to, by),
        "notes": ride_panel.notes(ride, to),
        "people": [row for row in ride_panel.people(ride, story, to, by) if row["role"] != _("Driver")],
        "promised_at": promised_at(ride),
        "predicted_at": predicted_at,
        "late_minutes": _late_minutes(ride, predicted_at),
        "history": history[:MOST_HISTORY],
        "alerts": [each for each in ride_panel.exceptions(story, by) if each["row"].resolved_at is None],
        "may_note": by.has_scope(Scope.EXCEPTIONS_WRITE) and by.phi >= Phi.FULL,
        "callable": CONTACTED if Milestone.Type.CONTACT_ATTEMPT in MOMENTS.get(ride.status, ()) else {},
        "may_assign": ride.status in labels.ASSIGNABLE,
        "may_hand_over": ride.status == RideStatus.IN_PROGRESS,
        "may_edit": RideAction.EDIT in allowed_actions(ride, by),
        "may_link": ride_views.link_form(ride, by) is not None,
        "may_unassign": (RideStatus(ride.status), Action.UNASSIGN) in BY_ACTION,
        "may_release": ride.will_call and ride.ready_at is None and ride.status in will_call.RELEASABLE,
        "ride_url": reverse("ride_page", args=[ride.pk]),
    }
    with timezone.override(ZoneInfo(ride.timezone)):
        return _render_page(request, "ride", context)


def _late_minutes(ride: Ride, predicted_at: datetime | None) -> int:
    """Return the minutes by which the vehicle is predicted to miss the promise; 0: in time, or not predicted."""
    if predicted_at is None:
        return 0
    return max(0, math.ceil((predicted_at - promised_at(ride)).total_seconds() / 60))


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def log_call(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Log an attempt to reach the rider or the facility now.  A stale version returns 409."""
    form = CallForm(request.POST)
    if not form.is_valid():
        return _error_response(request, _("Choose who was called."), status=UNPROCESSABLE)
    values = form.cleaned_data
    now = timezone.now()
    call = ManualMilestone(Milestone.Type.CONTACT_ATTEMPT, occurred_at=now, contacted=values["contacted"])
    try:
        updated = status_report.enter_milestone(
            ride_id=ride_id, moment=call, expected_version=values["version"], by=principal_of(request), at=now
        )
    except DomainError as refusal:
        return _stale(request, refusal)
    return _success_response(request, updated, _("The call is logged."), None)


@require_POST
@require_scope(Scope.EXCEPTIONS_WRITE)
def write_note(request: HttpRequest, ride_id: UUID, exception_id: UUID) -> HttpResponse:
    """Replace the note of an open exception.  A stale version and a closed exception return 409."""
    by = principal_of(request)
    ride = get_visible_ride(ride_id, by)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _error_response(
            request, " ".join(str(form.errors[name][0]) for name in form.errors), status=UNPROCESSABLE
        )
    try:
        exceptions.write_note(
            exception_id=exception_id,
            note=form.cleaned_data["note"],
            expected_version=form.cleaned_data["version"],
            by=by,
            at=timezone.now(),
        )
    except NotFound as gone:
        raise Http404 from gone
    except StaleVersion:
        return _error_response(request, _("Someone else changed it. Review it again."), status=STALE)
    except DomainError as refusal:
        return _error_response(request, refusal.message, status=STALE)
    return _success_response(request, ride, _("The note is saved."), None)


@require_http_methods(["GET", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def assign(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Assign a driver, or list all drivers, ranked, with the rules that they violate.

    A hard violation refuses the assignment; a soft violation needs an override reason.  An invalid form and a violation
    return 422, a stale version 409.  The list of drivers writes an audit entry.
    """
    by, now = principal_of(request), timezone.now()
    ride = get_visible_ride(ride_id, by)
    if request.method != "POST":
        form = AssignForm(initial={"version": ride.version}, auto_id="assign_%s")
        return _assign_page(request, ride, form)
    form = AssignForm(request.POST, auto_id="assign_%s")
    if not form.is_valid():
        return _assign_page(request, ride, form, status=UNPROCESSABLE)
    values = form.cleaned_data
    previous = PreviousAssignment(ride.driver_id, ride.vehicle_id)
    try:
        updated = planning.assign(
            chosen=Chosen(ride_id, values["version"]),
            driver_id=values["driver_id"],
            vehicle_id=values["vehicle_id"],
            attendant_ids=[values["attendant_id"]] if values["attendant_id"] else [],
            override_reason=values["override_reason"],
            by=by,
            at=now,
        )
    except DomainError as refusal:
        return _refused(request, ride, form, refusal)
    message = _("Assigned to %(driver)s.") % {"driver": _driver(values["driver_id"], by)}
    return _success_response(request, updated, message, _undo_of_assignment(updated, previous))


@require_http_methods(["GET", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def hand_over(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Hand a rider on board over to another driver, at an address or where the vehicle is now.

    The answers are those of `assign`.
    """
    by, now = principal_of(request), timezone.now()
    ride = get_visible_ride(ride_id, by)
    position = _vehicle_position(ride, by, now)
    text = "" if position is None else _position_text(position, now)
    if request.method != "POST":
        form = HandOverForm(initial={"version": ride.version}, auto_id="hand_over_%s", position=text)
        return _assign_page(request, ride, form, template="hand_over")
    form = HandOverForm(request.POST, auto_id="hand_over_%s", position=text)
    if not form.is_valid():
        return _assign_page(request, ride, form, template="hand_over", status=UNPROCESSABLE)
    values = form.cleaned_data
    try:
        assigned = assignment.hand_over(
            ride_id=ride_id,
            driver_id=values["driver_id"],
            vehicle_id=values["vehicle_id"]
            or vehicle_for(ride_id=ride_id, driver_id=values["driver_id"], by=by, at=now),
            attendant_ids=[values["attendant_id"]] if values["attendant_id"] else [],
            override=bool(values["override_reason"].strip()),
            override_reason=values["override_reason"],
            handover=_handover(values, position),
            expected_version=values["version"],
            by=by,
            at=now,
        )
    except DomainError as refusal:
        return _refused(request, ride, form, refusal, template="hand_over")
    message = _("Handed over to %(driver)s.") % {"driver": _driver(values["driver_id"], by)}
    return _success_response(request, assigned.ride, message, None)


@require_http_methods(["GET", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def unassign(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Unassign the driver, with a reason code.  An invalid form returns 422, a stale version 409."""
    by = principal_of(request)
    ride = get_visible_ride(ride_id, by)
    if request.method != "POST":
        form = UnassignForm(initial={"version": ride.version, "reason_code": UNDO_REASON}, auto_id="off_%s")
        return _render_page(request, "unassign", {**_ride_context(ride, request), "form": form})
    form = UnassignForm(request.POST, auto_id="off_%s")
    if form.is_valid():
        values = form.cleaned_data
        previous = PreviousAssignment(ride.driver_id, ride.vehicle_id)
        chosen = Chosen(ride_id, values["version"])
        try:
            updated = planning.unassign(
                chosen=chosen, reason_code=values["reason_code"], note=values["note"], by=by, at=timezone.now()
            )
        except StaleVersion as refusal:
            return _stale(request, refusal)
        except DomainError as refusal:
            add_errors(form, refusal, _FIELDS_BY_PARAMETER)
        else:
            return _success_response(
                request, updated, _("The ride waits for a driver."), _undo_of_unassignment(updated, previous)
            )
    return _render_page(request, "unassign", {**_ride_context(ride, request), "form": form}, status=UNPROCESSABLE)


@require_http_methods(["GET", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def link(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Link a ride with other rides of its rider as legs of one trip, as the ride's page does.

    The list of rides writes an audit entry.  An invalid form returns 422.
    """
    by = principal_of(request)
    ride = get_visible_ride(ride_id, by)
    form = ride_views.link_form(ride, by, *([request.POST] if request.method == "POST" else []))
    if form is None:
        return _error_response(request, _("There are no other rides to link."), status=STALE)
    if request.method == "POST" and acting.is_done(form, acting.link_rides(form), ride_id=ride_id, by=by):
        return _success_response(request, ride, _("The rides are linked as one trip."), None)
    record_read(by=by, action="rides.read", subject_type="ride", subject_id=ride.pk, rider_ids=[ride.rider_id])
    status = UNPROCESSABLE if form.errors else 200
    return _render_page(request, "link", {**_ride_context(ride, request), "form": form}, status=status)


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def ready(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Release a will-call ride: the rider is ready now.  Idempotent.

    With an open checklist returns 422 and asks whether the rider is ready anyway, as the ride page does.
    """
    by = principal_of(request)
    ride = get_visible_ride(ride_id, by)
    form = ReadyForm({"version": ride.version, **request.POST.dict()}, auto_id="ready_%s")
    if acting.is_done(form, acting.release, ride_id=ride_id, by=by):
        return _success_response(request, ride, _("The rider is marked ready."), None)
    if form.is_stale:
        return _stale(request, StaleVersion(ride.version))
    if form.asks or form.can_override:
        context = {**_ride_context(ride, request), "form": form, "may_override": by.has_scope(Scope.RIDES_OVERRIDE)}
        return _render_page(request, "ready", context, status=UNPROCESSABLE)
    return _error_response(request, " ".join(map(str, form.non_field_errors())), status=UNPROCESSABLE)


def _vehicle_position(ride: Ride, by: Principal, now: datetime) -> Driver | None:
    """Return the driver with the rider on board if their position is recent."""
    if ride.driver_id is None:
        return None
    rows = Driver.objects.visible_to(by).filter(pk=ride.driver_id, last_located_at__gte=now - POSITION_GOOD_FOR)
    return rows.first()


def _position_text(driver: Driver, now: datetime) -> str:
    minutes = int((now - (driver.last_located_at or now)).total_seconds() // 60)
    text = ngettext(
        "Where the vehicle is now, as reported %(count)s minute ago",
        "Where the vehicle is now, as reported %(count)s minutes ago",
        minutes,
    )
    return text % {"count": minutes}


def _handover(values: dict[str, Any], driver: Driver | None) -> Handover:
    place = None
    location = values["rider_location"]
    if (
        values["place"] == POSITION
        and driver is not None
        and driver.last_lat is not None
        and driver.last_lng is not None
    ):
        place = Place(driver.last_lat, driver.last_lng)
        location = f"{driver.last_lat:.5f}, {driver.last_lng:.5f}"
    return Handover(
        reason_code=values["reason_code"],
        note=values["note"],
        rider_location=location,
        place=place,
        miles=values["miles_driven"],
    )


def _driver(driver_id: UUID, by: Principal) -> str:
    row = Driver.objects.visible_to(by).select_related("default_vehicle").filter(pk=driver_id).first()
    return driver_name(row, by) if row else str(OUT_OF_REACH)


def _ride_context(ride: Ride, request: HttpRequest) -> dict[str, Any]:
    by = principal_of(request)
    _mark, mobility = labels.kind_of(ride)
    open_ = ride.status in OPEN
    return {
        "ride": ride,
        "name": rider_name(ride.rider, by),
        "mobility": mobility,
        "service": labels.service(ride),
        "route": labels.route_label(ride, disclosure_of(by)),
        "state_label": labels.STATES[labels.state_of(ride)] if open_ else capfirst(ride.get_status_display()),
        "clock": exact_clock(slot_of(ride, at=timezone.now()).span.starts_at.astimezone(zone_of(request))),
        "fragment": _is_fragment(request),
    }


def _assign_page(
    request: HttpRequest,
    ride: Ride,
    form: AssignForm,
    *,
    violations: Iterable[Violation] = (),
    template: str = "assign",
    status: int = 200,
) -> HttpResponse:
    by = principal_of(request)
    ranked = candidates(ride_id=ride.pk, by=by, at=timezone.now())
    record_read(by=by, action="rides.candidates", subject_type="ride", subject_id=ride.pk, rider_ids=[ride.rider_id])
    chosen = str(form["driver_id"].value() or "")
    conflicts = list(violations)
    zone = zone_of(request)
    names = ride_names([violation.subject_id for violation in conflicts], by=by, zone=zone)
    context = {
        **_ride_context(ride, request),
        "form": form,
        "rows": candidate_rows(ranked, chosen=chosen, by=by, zone=zone),
        "needs_attendant": any(candidate.attendant_required for candidate in ranked),
        "drivers": sorted((candidate.driver_name, str(candidate.driver_id)) for candidate in ranked),
        "attendant_id": str(form["attendant_id"].value() or ""),
        "conflicts": conflict_texts(conflicts, names),
        "overridable": (
            bool(conflicts)
            and all(violation.kind is ViolationKind.SOFT for violation in conflicts)
            and by.has_scope(Scope.RIDES_OVERRIDE)
        ),
    }
    return _render_page(request, template, context, status=status)


def _refused(
    request: HttpRequest, ride: Ride, form: AssignForm, refusal: DomainError, *, template: str = "assign"
) -> HttpResponse:
    """Return violations and field errors on the form (422); a stale version or invalid transition as 409."""
    if isinstance(refusal, StaleVersion | InvalidTransition):
        return _stale(request, refusal)
    conflicts: list[Violation] = []
    if isinstance(refusal, AssignmentRejected):
        conflicts = refusal.violations
        form.add_error(None, refusal.message)
    else:
        add_errors(form, refusal, _FIELDS_BY_PARAMETER)
    return _assign_page(request, ride, form, violations=conflicts, template=template, status=UNPROCESSABLE)


def _stale(request: HttpRequest, refusal: DomainError) -> HttpResponse:
    message = _("Someone else changed this ride, so nothing was done. The board shows its current state.")
    return _error_response(request, message if isinstance(refusal, StaleVersion) else refusal.message, status=STALE)


def _error_response(request: HttpRequest, message: str, *, status: int) -> HttpResponse:
    """Report an error: to htmx as an event, otherwise as a message on the board."""
    if _is_fragment(request):
        return _event("carelane:refused", {"message": message}, status=status)
    messages.error(request, message)
    return redirect("board")


def _success_response(request: HttpRequest, updated: Ride, message: str, undo: dict[str, Any] | None) -> HttpResponse:
    if _is_fragment(request):
        return _event("carelane:done", {"message": message, "ride": str(updated.pk), "undo": undo}, status=200)
    messages.success(request, message)
    return redirect("board")


def _event(name: str, detail: dict[str, Any], *, status: int) -> HttpResponse:
    answer = HttpResponse(status=status)
    answer["HX-Reswap"] = "none"
    answer["HX-Trigger"] = json.dumps({name: detail})
    return answer


def _undo_of_assignment(updated: Ride, previous: PreviousAssignment) -> dict[str, Any]:
    """Return the request that undoes an assignment: assign the previous driver, or unassign if there was none."""
    if previous.driver_id is None:
        return {
            "url": reverse("board_unassign", args=[updated.pk]),
            "values": {"version": updated.version, "reason_code": UNDO_REASON},
        }
    return _reassign_request(updated, previous)


def _undo_of_unassignment(updated: Ride, previous: PreviousAssignment) -> dict[str, Any] | None:
    return _reassign_request(updated, previous) if previous.driver_id else None


def _reassign_request(updated: Ride, previous: PreviousAssignment) -> dict[str, Any]:
    values = {
        "version": updated.version,
        "driver_id": str(previous.driver_id),
        "vehicle_id": str(previous.vehicle_id),
        "override_reason": "As it was before",  # stored in the database: not translated
    }
    return {"url": reverse("assign_ride", args=[updated.pk]), "values": values}


def _is_fragment(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers


def _render_page(request: HttpRequest, name: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Render a page of one ride; for htmx only its inner template."""
    context |= {"inside": f"dispatch/{name}.html"}
    template = context["inside"] if _is_fragment(request) else "dispatch/ride_page.html"
    return render(request, template, context, status=status)
