"""A vehicle is down: its drivers take other vehicles, or are reported out."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from apps.audit.views import record_read
from apps.console.board.cards import row
from apps.console.board.page import reader_of
from apps.console.board.timeline import Reader
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.spare_vehicles import WITHIN, VehicleCrew, vehicle_crews
from apps.dispatch.services import vehicle_down
from apps.fleet.models import Vehicle, VehicleStatus
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.queries.ride_needs import slot_of
from lib.errors import DomainError
from lib.ids import uuid_or_none
from lib.scopes import Scope

MAX_REASON: Final = 200


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def report(request: HttpRequest, vehicle_id: UUID) -> HttpResponse:
    """Show who drives the vehicle and which others fit; POST moves the drivers to these.  Audited."""
    reader = reader_of(request)
    vehicle = Vehicle.objects.visible_to(reader.by).filter(pk=vehicle_id).first()
    if vehicle is None:
        raise Http404
    crews = vehicle_crews(vehicle, by=reader.by, at=reader.at)
    error = ""
    if request.method == "POST":
        try:
            down = vehicle_down.report(
                vehicle_id=vehicle_id,
                reason=request.POST.get("reason", "").strip()[:MAX_REASON],
                replacements=_replacements(request, crews),
                until=reader.at + WITHIN,
                by=reader.by,
                at=reader.at,
            )
        except DomainError as refusal:
            error = refusal.message
        else:
            _report_result(request, len(down.moved_ids))
            return redirect("vehicle_down", vehicle_id)
    record_read(
        by=reader.by,
        action="rides.run",
        subject_type="vehicle",
        subject_id=vehicle_id,
        rider_ids={ride.rider_id for crew in crews for ride in (*crew.rides, *crew.under_way)},
    )
    context = {
        "vehicle": vehicle,
        "is_down": vehicle.status != VehicleStatus.IN_SERVICE,
        "crews": _crew_contexts(crews, reader),
        "error": error,
        "reason": request.POST.get("reason", ""),
        "max_reason": MAX_REASON,
        "zone": reader.at.astimezone(reader.zone).strftime("%Z"),
    }
    return render(request, "dispatch/vehicle_down.html", context, status=UNPROCESSABLE if error else 200)


def _replacements(request: HttpRequest, crews: list[VehicleCrew]) -> dict[UUID, UUID]:
    """Return the chosen vehicles by driver; a vehicle that is not offered is no choice."""
    chosen = {crew.driver.pk: uuid_or_none(request.POST.get(f"vehicle-{crew.driver.pk}")) for crew in crews}
    offered = {crew.driver.pk: {spare.pk for spare in crew.spares} for crew in crews}
    return {
        driver_id: spare_id
        for driver_id, spare_id in chosen.items()
        if spare_id is not None and spare_id in offered[driver_id]
    }


def _report_result(request: HttpRequest, count: int) -> None:
    messages.success(request, _("The vehicle is out of service."))
    if count:
        text = ngettext("%(count)s ride has another vehicle.", "%(count)s rides have another vehicle.", count)
        messages.success(request, text % {"count": count})


def _crew_contexts(crews: list[VehicleCrew], reader: Reader) -> list[dict[str, Any]]:
    """Return the crews; each is preselected the first fitting vehicle that no crew before has."""
    taken: set[UUID] = set()
    contexts = []
    for crew in crews:
        first = next((spare.pk for spare in crew.spares if spare.pk not in taken), None)
        if first is not None:
            taken.add(first)
        contexts.append(
            {
                "crew": crew,
                "name": driver_name(crew.driver, reader.by),
                "first": first,
                "rides": [_ride_row(ride, reader) for ride in crew.rides],
                "under_way": [_ride_row(ride, reader) for ride in crew.under_way],
            }
        )
    return contexts


def _ride_row(ride: Ride, reader: Reader) -> dict[str, Any]:
    return row(BoardRide(ride, slot_of(ride, at=reader.at)), None, reader)
