"""Pages of a driver (credentials, shifts, leave) and of a vehicle, and the activation of a driver."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.fleet import labels
from apps.console.fleet.credential_board import NOT_VALID, BoardQuery, Cell, board
from apps.console.fleet.forms import KINDS, ActivationForm
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.fleet import queries as fleet
from apps.fleet.models import Activation, Qualification, Vehicle
from apps.fleet.rules.credentials import TYPES_OF, Subject
from apps.fleet.services.activation import CredentialsMissing
from apps.riders.labels import rider_name
from apps.rides.models import Ride, RideQuerySet
from apps.rides.queries import assigned_rides
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import fleet_changes as activations
from lib.access import Principal
from lib.errors import DomainError
from lib.scopes import Scope

MOST_RIDES: Final = 200  # listed before a driver is suspended; more are only counted


@dataclass(frozen=True, slots=True)
class Owner:
    """A driver or vehicle as `fleet.queries` returns it, with `record.active_credentials`."""

    kind: str
    record: Any  # a Driver or Vehicle, with the attributes of its prefetches

    @property
    def subject(self) -> Subject:
        return KINDS[self.kind]


def visible_owner(kind: str, owner_id: UUID, by: Principal, at: datetime) -> Owner:
    """Return a visible driver or vehicle; raises Http404 otherwise."""
    rows: Any = fleet.drivers(by, at) if kind == "drivers" else fleet.vehicles(by)
    record = rows.filter(pk=owner_id).first()
    if record is None:
        raise Http404
    return Owner(kind, record)


@require_safe
@require_scope(Scope.DRIVERS_READ)
def driver(request: HttpRequest, owner_id: UUID) -> HttpResponse:
    """Show a driver with credentials, upcoming shifts, leave, and the number of assigned rides."""
    by, now = principal_of(request), timezone.now()
    owner = visible_owner("drivers", owner_id, by, now)
    record = owner.record
    shifts = list(record.coming_shifts)
    units = dict(Vehicle.objects.filter(pk__in={shift.vehicle_id for shift in shifts}).values_list("pk", "unit_number"))
    context = {
        **_owner_context(owner, by, now),
        "qualifications": [capfirst(str(Qualification(value).label)) for value in record.qualifications],
        "employment": capfirst(record.get_employment_display()),
        "shifts": [(shift, units[shift.vehicle_id]) for shift in shifts],
        "leave": list(record.coming_leave),
        "absences": list(fleet.absences_of(record.pk, now)),
        "may_dispatch": by.has_scope(Scope.ASSIGNMENTS_WRITE),
        "rides": assigned_rides.for_driver(record.pk, by=by).count(),
    }
    return render(request, "fleet/driver.html", context)


@require_safe
@require_scope(Scope.DRIVERS_READ)
def vehicle(request: HttpRequest, owner_id: UUID) -> HttpResponse:
    """Show a vehicle with its credentials."""
    by, now = principal_of(request), timezone.now()
    owner = visible_owner("vehicles", owner_id, by, now)
    record = owner.record
    context = {
        **_owner_context(owner, by, now),
        "type": capfirst(record.get_type_display()),
        "lift": capfirst(record.get_lift_type_display()),
        "configs": list(record.capacity_configs.all()),
        "rides": assigned_rides.to_vehicle(record.pk, by=by).count(),
        "may_dispatch": by.has_scope(Scope.ASSIGNMENTS_WRITE),
    }
    return render(request, "fleet/vehicle.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_WRITE)
def activation(request: HttpRequest, owner_id: UUID) -> HttpResponse:
    """Show how a change of the activation affects the driver's rides; POST applies both in one transaction."""
    by, now = principal_of(request), timezone.now()
    owner = visible_owner("drivers", owner_id, by, now)
    if request.method != "POST":
        to = _parse_activation(request.GET.get("to", ""))
        first = {"version": owner.record.version, "to": to, "release": True}
        return _activation_page(request, owner, ActivationForm(initial=first, to=to), to)
    to = _parse_activation(request.POST.get("to", ""))
    form = ActivationForm(request.POST, to=to)
    if form.is_valid():
        values = form.cleaned_data
        try:
            changed = activations.change_activation(
                driver_id=owner_id,
                to=to,
                reason=values["reason"],
                release_future_rides=values.get("release", False),
                expected_version=values["version"],
                by=by,
                at=now,
            )
        except CredentialsMissing:
            form.add_error(None, _("Required credentials are not valid: see below."))
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            _add_messages(request, changed)
            return redirect("fleet_driver", owner_id)
    return _activation_page(request, owner, form, to)


def owner_credentials(
    owner: Owner, by: Principal, at: datetime
) -> tuple[Sequence[fleet.CredentialShown], Mapping[str, Cell]]:
    """Return active and missing credentials, and the cell of each type.  Three queries."""
    credentials = fleet.credentials_for(owner.subject, owner.record, owner.record.active_credentials, at)
    (row,) = board(BoardQuery(subject=owner.subject, owner_id=owner.record.pk), by=by, at=at).rows
    return credentials, {cell.type: cell for cell in row.cells}


def _owner_context(owner: Owner, by: Principal, at: datetime) -> dict[str, Any]:
    """Return the template context that pages of drivers and of vehicles share."""
    credentials, cells = owner_credentials(owner, by, at)
    names = accounts.names_of(credential.verified_by for credential in credentials)
    filed = {credential.type for credential in credentials}
    return {
        "kind": owner.kind,
        "owner": owner.record,
        "name": labels.name_of(owner.record, by),
        "status": labels.status_badge(owner.record),
        "credentials": [
            {
                "credential": credential,
                "name": labels.credential_label(credential.type),
                "badge": labels.URGENCIES[cells[credential.type].urgency],
                "state": labels.state(cells[credential.type]),
                "broken": labels.broken(cells[credential.type].rides),
                "verified_by": ride_labels.actor_name(credential.verified_by, names),
            }
            for credential in credentials
        ],
        "others": [(kind, labels.credential_label(kind)) for kind in TYPES_OF[owner.subject] if kind not in filed],
        "may_change": by.has_scope(Scope.DRIVERS_WRITE),
    }


def _parse_activation(text: str) -> str:
    """Parse the new activation; the default is a suspension, whose form requires a reason."""
    return text if text in (Activation.ACTIVE, Activation.INACTIVE) else Activation.SUSPENDED


def _activation_page(request: HttpRequest, owner: Owner, form: ActivationForm, to: str) -> HttpResponse:
    by, now, record = principal_of(request), timezone.now(), owner.record
    context: dict[str, Any] = {
        "owner": record,
        "name": labels.name_of(record, by),
        "status": labels.status_badge(record),
        "form": form,
        "to": to,
    }
    if to == Activation.ACTIVE:
        _credentials, cells = owner_credentials(owner, by, now)
        lacking = [cell for cell in cells.values() if cell.blocking and cell.urgency in NOT_VALID]
        context["lacking"] = [
            (cell.type, labels.credential_label(cell.type), labels.URGENCIES[cell.urgency]) for cell in lacking
        ]
    else:
        rides = assigned_rides.for_driver(record.pk, by=by)
        context |= affected(rides, owner, by, lambda ride: _becomes(ride, record.pk))
    return render(request, "fleet/activation.html", context, status=UNPROCESSABLE if form.errors else 200)


def affected(rides: RideQuerySet, owner: Owner, by: Principal, becomes: Callable[[Ride], str]) -> dict[str, Any]:
    """List the assigned rides of an owner and what happens to each; records the read in the audit trail."""
    rows = list(rides.select_related("rider", "facility")[: MOST_RIDES + 1])
    record_read(
        by=by,
        action=f"{owner.kind}.rides",
        subject_type=owner.subject.value,
        subject_id=owner.record.pk,
        rider_ids=[ride.rider_id for ride in rows[:MOST_RIDES]],
    )
    entries = [
        {
            "ride": ride,
            "when": ride_labels.day_and_clock(ride.pickup_at, ride.timezone),
            "place": ride.facility.name if ride.facility else "",
            "rider": rider_name(ride.rider, by),
            "badge": ride_labels.STATUSES[ride.status],
            "becomes": becomes(ride),
        }
        for ride in rows[:MOST_RIDES]
    ]
    return {
        "rides": entries,
        "most": MOST_RIDES if len(rows) > MOST_RIDES else 0,
        "count": rides.count() if len(rows) > MOST_RIDES else len(rows),
    }


def _becomes(ride: Ride, driver_id: UUID) -> str:
    if ride.driver_id != driver_id:
        return _("Attendant on this ride: stays")
    if ride.status == RideStatus.ASSIGNED:
        return _("Becomes unassigned")
    return _("In progress: a dispatcher decides")


def _add_messages(request: HttpRequest, changed: activations.DriverChange) -> None:
    """Add messages about the driver's new activation and the rides that it affects."""
    sentences = [
        {
            Activation.ACTIVE: _("The driver is active."),
            Activation.SUSPENDED: _("The driver is suspended."),
            Activation.INACTIVE: _("The driver has left."),
        }[Activation(changed.driver.activation)]
    ]
    if count := len(changed.released_ride_ids):
        text = ngettext("%(count)s ride is now unassigned.", "%(count)s rides are now unassigned.", count)
        sentences.append(text % {"count": count})
    messages.success(request, " ".join(sentences))
    if remaining := len(changed.affected_ride_ids) - len(changed.released_ride_ids):
        text = ngettext(
            "%(count)s ride is still assigned to the driver: a dispatcher has to review it.",
            "%(count)s rides are still assigned to the driver: a dispatcher has to review them.",
            remaining,
        )
        messages.warning(request, text % {"count": remaining})
