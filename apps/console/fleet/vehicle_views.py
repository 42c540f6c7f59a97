"""Taking a vehicle out of service and back into service, with its assigned rides."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from apps.accounts.sessions import principal_of
from apps.console.fleet import labels
from apps.console.fleet.forms import VehicleStatusForm
from apps.console.fleet.owner_views import affected, visible_owner
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.rides.models import Ride
from apps.rides.queries import assigned_rides
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import fleet_changes
from lib.errors import DomainError
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_WRITE)
def status(request: HttpRequest, owner_id: UUID) -> HttpResponse:
    """Show a vehicle's assigned rides and change its status; the rides keep the vehicle until a dispatcher decides."""
    by, now = principal_of(request), timezone.now()
    owner = visible_owner("vehicles", owner_id, by, now)
    form = VehicleStatusForm(initial={"version": owner.record.version, "status": owner.record.status})
    if request.method == "POST":
        form = VehicleStatusForm(request.POST)
        if form.is_valid():
            values = form.cleaned_data
            try:
                changed = fleet_changes.change_vehicle_status(
                    vehicle_id=owner_id,
                    to=values["status"],
                    reason=values["reason"],
                    expected_version=values["version"],
                    by=by,
                    at=now,
                )
            except DomainError as refusal:
                form.refuse(refusal)
            else:
                _add_messages(request, changed)
                return redirect("fleet_vehicle", owner_id)
    context = {
        "owner": owner.record,
        "name": labels.name_of(owner.record, by),
        "status": labels.status_badge(owner.record),
        "form": form,
        **affected(assigned_rides.to_vehicle(owner_id, by=by), owner, by, _becomes),
    }
    return render(request, "fleet/vehicle_status.html", context, status=UNPROCESSABLE if form.errors else 200)


def _becomes(ride: Ride) -> str:
    if ride.status == RideStatus.ASSIGNED:
        return _("Needs another vehicle")
    return _("In progress: a dispatcher decides")


def _add_messages(request: HttpRequest, changed: fleet_changes.VehicleChange) -> None:
    status_text = labels.VEHICLE_STATUSES[changed.vehicle.status].text
    messages.success(request, _("The vehicle is now: %(status)s.") % {"status": status_text})
    if count := len(changed.affected_ride_ids):
        text = ngettext(
            "%(count)s ride is still assigned to the vehicle: a dispatcher has to review it.",
            "%(count)s rides are still assigned to the vehicle: a dispatcher has to review them.",
            count,
        )
        messages.warning(request, text % {"count": count})
