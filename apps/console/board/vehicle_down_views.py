"""A vehicle is down: its drivers take other vehicles, the other rides wait for a driver, and undo."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.board.cards import row
from apps.console.board.page import reader_of
from apps.console.board.timeline import Reader
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.spare_vehicles import VehicleCrew, first_choices, vehicle_crews
from apps.dispatch.services import vehicle_down
from apps.dispatch.services.vehicle_down import VehicleDown
from apps.fleet.models import OutageReason, Vehicle, VehicleOutage, VehicleStatus
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import restored_rides
from lib import zone_labels
from lib.console_forms import add_errors
from lib.errors import DomainError, NotFound
from lib.ids import uuid_or_none
from lib.scopes import Scope


class OutageForm(forms.Form):
    reason = forms.ChoiceField(
        label=gettext_lazy("Reason"),
        choices=OutageReason.choices,
        initial=OutageReason.BREAKDOWN,
        widget=forms.RadioSelect,
    )
    note = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=100)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # With one press of Enter, the usual report is sent.
        self.fields["reason"].widget.attrs["autofocus"] = not self.is_bound


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def report(request: HttpRequest, vehicle_id: UUID) -> HttpResponse:
    """Show who drives the vehicle and which others fit; POST moves the drivers to these.  Audited."""
    reader = reader_of(request)
    vehicle = Vehicle.objects.visible_to(reader.by).filter(pk=vehicle_id).first()
    if vehicle is None:
        raise Http404
    crews = vehicle_crews(vehicle, by=reader.by, at=reader.at)
    form = OutageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            down = vehicle_down.report(
                vehicle_id=vehicle_id,
                replacements=_replacements(request, crews),
                by=reader.by,
                at=reader.at,
                **form.cleaned_data,
            )
        except DomainError as refusal:
            add_errors(form, refusal, {})
        else:
            _report_result(request, down)
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
        "outages": _outages(vehicle, reader),
        "form": form,
        "zone": zone_labels.long_name(reader.zone.key),
    }
    return render(request, "dispatch/vehicle_down.html", context, status=UNPROCESSABLE if form.errors else 200)


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def undo(request: HttpRequest, vehicle_id: UUID, outage_id: UUID) -> HttpResponse:
    """Put the vehicle back with shifts and rides; with `without_rides`, leave the rides as they are."""
    by, now = principal_of(request), timezone.now()
    without_rides = request.POST.get("without_rides") == "on"
    try:
        undone = vehicle_down.undo(
            vehicle_id=vehicle_id, outage_id=outage_id, without_rides=without_rides, by=by, at=now
        )
    except NotFound as gone:
        raise Http404 from gone
    except DomainError as refusal:
        messages.error(request, refusal.message)
        return redirect("vehicle_down", vehicle_id)
    count = len(undone.ride_ids)
    text = ngettext(
        "The vehicle is back in service, with %(count)s ride.",
        "The vehicle is back in service, with %(count)s rides.",
        count,
    )
    messages.success(request, text % {"count": count} if count else _("The vehicle is back in service."))
    return redirect("fleet_vehicle", vehicle_id)


def _outages(vehicle: Vehicle, reader: Reader) -> list[dict[str, Any]]:
    """Return the outages that can be undone, newest first, with their rides that wait for a driver."""
    rows = VehicleOutage.objects.filter(vehicle=vehicle, ends_at__gt=reader.at).order_by("-reported_at")
    contexts = []
    for outage in rows:
        versions = {UUID(row["id"]): row["version"] for row in outage.undo.get("rides", [])}
        rides = list(
            Ride.objects.visible_to(reader.by).filter(pk__in=versions).select_related("rider").order_by("pickup_at")
        )
        contexts.append(
            {
                "outage": outage,
                "has_changed": bool(
                    restored_rides.changed_since(rides, {pk: {"version": versions[pk]} for pk in versions})
                ),
                "waiting": [_ride_row(ride, reader) for ride in rides if ride.status == RideStatus.SCHEDULED],
            }
        )
    return contexts


def _replacements(request: HttpRequest, crews: list[VehicleCrew]) -> dict[UUID, UUID]:
    """Return the chosen vehicles by driver; a vehicle that is not offered is no choice."""
    chosen = {crew.driver.pk: uuid_or_none(request.POST.get(f"vehicle-{crew.driver.pk}")) for crew in crews}
    offered = {crew.driver.pk: {spare.pk for spare in crew.spares} for crew in crews}
    return {
        driver_id: spare_id
        for driver_id, spare_id in chosen.items()
        if spare_id is not None and spare_id in offered[driver_id]
    }


def _report_result(request: HttpRequest, down: VehicleDown) -> None:
    messages.success(request, _("The vehicle is out of service."))
    if count := len(down.moved):
        text = ngettext("%(count)s ride has another vehicle.", "%(count)s rides have another vehicle.", count)
        messages.success(request, text % {"count": count})
    if count := len(down.freed_ids):
        text = ngettext("%(count)s ride waits for a driver.", "%(count)s rides wait for a driver.", count)
        messages.warning(request, text % {"count": count})


def _crew_contexts(crews: list[VehicleCrew], reader: Reader) -> list[dict[str, Any]]:
    """Return the crews; each is preselected the first fitting vehicle that no crew before has."""
    chosen = first_choices(crews)
    return [
        {
            "crew": crew,
            "name": driver_name(crew.driver, reader.by),
            "first": chosen.get(crew.driver.pk),
            "rides": [_ride_row(ride, reader) for ride in crew.rides],
            "under_way": [_ride_row(ride, reader) for ride in crew.under_way],
        }
        for crew in crews
    ]


def _ride_row(ride: Ride, reader: Reader) -> dict[str, Any]:
    return row(BoardRide(ride, slot_of(ride, at=reader.at)), None, reader)
