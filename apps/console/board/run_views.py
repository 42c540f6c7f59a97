"""A driver's day: the rides in order of time, breaks, and a form that unassigns all rides at once."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.audit.views import record_read
from apps.console.board.cards import row
from apps.console.board.page import page_of, reader_of
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import board
from apps.dispatch.rules.axis import Axis
from apps.fleet.services import drivers
from apps.rides.labels import driver_name
from apps.rides.queries import reason_codes
from apps.rides.rules.lifecycle import ReasonList
from lib import zone_labels
from lib.scopes import Scope


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def run(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Show a driver's open rides of a day, with shift, leave and vehicle.  Writes an audit entry.

    Returns 404 if the driver has neither a shift nor a ride on that day, or is not visible to the reader.
    """
    reader = reader_of(request)
    page = page_of(request, reader)
    day_board = board(Axis(page.day, reader.zone.key), by=reader.by, at=reader.at, driver_ids={driver_id})
    if not day_board.rows:
        raise Http404
    (driver_row,) = day_board.rows
    record_read(
        by=reader.by,
        action="rides.run",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={board_ride.ride.rider_id for board_ride in driver_row.rides},
        details={"day": page.day.isoformat()},
    )
    context = {
        "page": page,
        "back": page.url(),
        "driver_row": driver_row,
        "name": driver_name(driver_row.driver, reader.by),
        "is_late": any(board_ride.late for board_ride in driver_row.rides),
        "rows": [row(board_ride, driver_row, reader) for board_ride in driver_row.rides],
        "duty": [(reader.clock(span.starts_at), reader.clock(span.ends_at)) for span in driver_row.duty],
        "breaks": [(reader.clock(span.starts_at), reader.clock(span.ends_at)) for span in driver_row.breaks],
        "leave": [(reader.clock(span.starts_at), reader.clock(span.ends_at)) for span in driver_row.leave],
        "reasons": reason_codes.offered(ReasonList.UNASSIGN),
        "zone": zone_labels.long_name(reader.zone.key),
    }
    return render(request, "dispatch/run.html", context)


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def pause(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Record the start or the end of a driver's break."""
    reader = reader_of(request)
    starts = request.POST.get("on_break") == "on"
    changes = {"on_break": starts}
    drivers.amend(driver_id=driver_id, changes=changes, expected_version=None, by=reader.by, at=reader.at)
    messages.success(request, _("The driver is on a break.") if starts else _("The driver is back from the break."))
    return redirect("board")
