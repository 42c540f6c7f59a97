"""The page that edits a booked ride: its form, what would follow, and the choices about driver and return trip.

Without scripts the buttons post the form; with scripts `check` answers what follows while the user types.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.console.ride.edit_form import EditForm
from apps.console.ride.field_labels import change_lines
from apps.console.ride.ride_views import CONFLICT, get_ride
from apps.riders import labels as rider_labels
from apps.rides.models import Ride
from apps.rides.rules.change_values import field_changes
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.ride_actions import RideAction, allowed_actions
from apps.rides.services import editing
from apps.rides.services.editing import CrewAction, CrewChoice, EditOptions, EditPreview
from apps.rides.services.eligibility_checks import Override
from lib.access import Principal
from lib.errors import DomainError, StaleVersion
from lib.scopes import Scope


@dataclass(frozen=True, slots=True)
class Consequences:
    """What an edit would do, as texts; `chosen` is the preselected choice about a driver who does not fit."""

    changes: list[str] = field(default_factory=list)
    promise: str = ""
    violations: list[str] = field(default_factory=list)
    driver: str = ""
    return_legs: list[str] = field(default_factory=list)
    overlaps: bool = False
    approval: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    crew_choices: list[tuple[str, str]] = field(default_factory=list)
    chosen: str = ""
    new_driver: str = ""
    new_vehicle: str = ""
    needs_reason: bool = False


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDES_WRITE)
def edit(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Show the form, what would follow (`do` is "look"), or save; a form of an older version shows both values."""
    by, now = principal_of(request), timezone.now()
    ride = _editable_ride(ride_id, by)
    if request.method != "POST":
        return _page(request, EditForm(ride=ride, by=by, now=now))
    form = EditForm(request.POST, ride=ride, by=by, now=now)
    if form.is_stale:
        return _merge_page(request, form)
    form.take_theirs()
    seen = _consequences(form)
    if not form.is_valid():
        return _page(request, form, seen, status=UNPROCESSABLE)
    if request.POST.get("do") == "look":
        return _page(request, form, seen)
    if seen.crew_choices and not form.cleaned_data["crew"]:
        form.add_error("crew", _("Choose what happens to the driver."))
        return _page(request, form, seen, status=UNPROCESSABLE)
    try:
        editing.edit(
            ride_id=ride.pk,
            changes=form.changes(),
            options=_options(form, form.cleaned_data["crew"]),
            expected_version=ride.version,
            by=by,
            at=now,
        )
    except StaleVersion:
        return _merge_page(request, EditForm(request.POST, ride=_editable_ride(ride_id, by), by=by, now=now))
    except DomainError as refusal:
        form.refuse(refusal)
        return _page(request, form, seen, status=UNPROCESSABLE)
    messages.success(request, _("The ride is changed."))
    return redirect("ride_page", ride_id=ride.pk)


@require_POST
@require_scope(Scope.RIDES_WRITE)
def check(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Return what would follow from the form as fragments."""
    by, now = principal_of(request), timezone.now()
    form = EditForm(request.POST, ride=_editable_ride(ride_id, by), by=by, now=now)
    return render(request, "rides/edit_seen.html", _context(form, _consequences(form)))


def _editable_ride(ride_id: UUID, by: Principal) -> Ride:
    ride = get_ride(ride_id, by)
    if RideAction.EDIT not in allowed_actions(ride, by):
        raise PermissionDenied
    return ride


def _merge_page(request: HttpRequest, form: EditForm) -> HttpResponse:
    merges = form.merges()
    form.refresh()
    return _page(request, form, _consequences(form), merges=merges, status=CONFLICT)


def _page(
    request: HttpRequest, form: EditForm, seen: Consequences | None = None, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the form.  Writes an audit entry."""
    ride = form.ride
    record_read(
        by=form.by,
        action="rides.read",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
    )
    context = {
        **_context(form, seen or Consequences()),
        "name": rider_labels.rider_name(ride.rider, form.by),
        "day": ride_labels.day(ride.pickup_at, ride.timezone),
        "clock": ride_labels.clock(ride.pickup_at, ride.timezone),
        "has_errors": form.is_bound and bool(form.errors) and status == UNPROCESSABLE,
        **more,
    }
    with timezone.override(ZoneInfo(ride.timezone)):
        return render(request, "rides/ride_edit.html", context, status=status)


def _context(form: EditForm, seen: Consequences) -> dict[str, Any]:
    return {
        "form": form,
        "ride": form.ride,
        "seen": seen,
        "may_override": form.by.has_scope(Scope.RIDES_OVERRIDE),
        "reason": form["override_reason"],
    }


def _options(form: EditForm, crew: str) -> EditOptions:
    values = form.cleaned_data
    driver_id, vehicle_id = form.new_crew
    action = CrewAction(crew or CrewAction.KEEP)
    is_new = action is CrewAction.REASSIGN
    return EditOptions(
        allow_duplicate=values["allow_duplicate"],
        override=Override(bool(values["override_reason"]), values["override_reason"]),
        crew=CrewChoice(action, driver_id if is_new else None, vehicle_id if is_new else None),
        move_return=values["move_return"],
    )


def _consequences(form: EditForm) -> Consequences:
    """Preview a valid form that changes something: with the driver, then with the chosen one."""
    if not form.is_valid() or not (changes := form.changes()):
        return Consequences()
    arguments: dict[str, Any] = {"ride_id": form.ride.pk, "changes": changes, "by": form.by, "at": form.now}
    try:
        with_driver = editing.preview(options=_options(form, CrewAction.KEEP), **arguments)
        choices = _crew_choices(with_driver, form.by)
        chosen = form.cleaned_data["crew"] or (choices[0][0] if choices else "")
        best = with_driver.best
        if chosen == CrewAction.REASSIGN and form.new_crew[0] is None and best is not None:
            form.cleaned_data |= {"new_driver": best.driver_id, "new_vehicle": best.vehicle_id}
        after = with_driver
        if choices and chosen in (CrewAction.REASSIGN, CrewAction.UNASSIGN):
            after = editing.preview(options=_options(form, chosen), **arguments)
    except DomainError as refusal:
        form.refuse(refusal)
        return Consequences()
    return _texts(form, with_driver, after, choices, chosen)


def _crew_choices(preview: EditPreview, by: Principal) -> list[tuple[str, str]]:
    """Return the possible choices about a driver who does not fit, the recommended one first."""
    if not preview.violations:
        return []
    choices = []
    if preview.best is not None:
        text = _("Reassign to %(driver)s") % {"driver": preview.best.driver_name}
        choices.append((CrewAction.REASSIGN.value, text))
    choices.append((CrewAction.UNASSIGN.value, _("Unassign the driver; dispatch finds another")))
    if by.has_scope(Scope.RIDES_OVERRIDE):
        choices.append((CrewAction.KEEP.value, _("Keep the driver, with a reason")))
    return choices


def _texts(
    form: EditForm, with_driver: EditPreview, after: EditPreview, choices: list[tuple[str, str]], chosen: str
) -> Consequences:
    ride, zone = after.ride, form.ride.timezone
    best = with_driver.best
    return Consequences(
        changes=change_lines(field_changes(after.values, disclosure_of(form.by)), ride),
        promise=_promise(ride) if "pickupTime" in after.changed else "",
        violations=[str(violation.message) for violation in with_driver.violations],
        driver=_("The driver still fits.") if form.ride.driver_id and not with_driver.violations else "",
        return_legs=[
            (
                _("Return trip: %(before)s → %(after)s")
                % {
                    "before": ride_labels.clock(leg.ride.pickup_at, zone),
                    "after": ride_labels.clock(leg.pickup_at, zone),
                }
            )
            + (_("; its driver is not free then and is unassigned") if leg.loses_driver else "")
            for leg in after.later_legs
        ],
        overlaps=bool(after.overlapping_ids),
        approval=[str(detail.text) for detail in after.questions],
        events=list(dict.fromkeys(ride_labels.event_label(type_) for _ride_id, type_ in after.events)),
        crew_choices=choices,
        chosen=chosen,
        new_driver=str(best.driver_id) if best else "",
        new_vehicle=str(best.vehicle_id) if best else "",
        needs_reason=bool(after.questions or choices),
    )


def _promise(ride: Ride) -> str:
    window = [ride_labels.clock(at, ride.timezone) for at in (ride.window_starts_at, ride.window_ends_at)]
    if ride.after_the_fact:
        return _("Recorded after the fact: nothing is promised.")
    if ride.promised_pickup_by is None:
        return _("Promised when the rider is marked ready.")
    return _("Pickup window %(start)s to %(end)s") % {"start": window[0], "end": window[1]}
