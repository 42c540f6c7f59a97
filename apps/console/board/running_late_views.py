"""A driver runs late: what moving the next rides to others would save."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.audit.views import record_read
from apps.console.board.cards import row
from apps.console.board.page import reader_of
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.running_late import movable_rides
from apps.fleet.models import Driver
from apps.rides.labels import driver_name
from apps.rides.queries.ride_needs import slot_of
from lib import zone_labels
from lib.scopes import Scope


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def running_late(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Show the driver's next rides with the best other driver of each.  Writes an audit entry."""
    reader = reader_of(request)
    driver = Driver.objects.visible_to(reader.by).select_related("home_base").filter(pk=driver_id).first()
    if driver is None:
        raise Http404
    movable = movable_rides(driver, by=reader.by, at=reader.at)
    record_read(
        by=reader.by,
        action="rides.candidates",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={each.ride.rider_id for each in movable},
    )
    rows = [
        {
            **row(BoardRide(each.ride, slot_of(each.ride, at=reader.at), each.late_minutes), None, reader),
            "movable": each,
            "reasons": [reason.message for reason in each.best.reasons] if each.best else [],
            "value": f"{each.ride.pk}:{each.ride.version}:{each.best.driver_id}:{each.best.vehicle_id}"
            if each.best
            else "",
        }
        for each in movable
    ]
    context = {
        "driver": driver,
        "name": driver_name(driver, reader.by),
        "rows": rows,
        "back": request.path,
        "zone": zone_labels.long_name(reader.zone.key),
    }
    return render(request, "dispatch/running_late.html", context)
