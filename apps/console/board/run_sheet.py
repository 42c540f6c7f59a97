"""The run sheet of a driver's day as a PDF for printing."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.console.board.page import page_of, reader_of
from apps.console.kit.pdf_response import pdf_response
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import board
from apps.dispatch.queries.run import rides_of
from apps.dispatch.rules.axis import Axis
from apps.dispatch.services import run_sheet as sheets
from apps.rides.queries.entrances import entrance_names_of
from apps.rides.rules.disclosure import disclosure_of
from lib.scopes import Scope


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def run_sheet(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Return a driver's day as a PDF; 404 if the driver has neither a shift nor a ride on that day.

    Each PDF writes an audit entry, and every page names the user for whom it was made.
    """
    reader = reader_of(request)
    page = page_of(request, reader)
    axis = Axis(page.day, reader.zone.key)
    rows = board(axis, by=reader.by, at=reader.at, driver_ids={driver_id}).rows
    if not rows:
        raise Http404
    rides = rides_of(driver_id, axis, by=reader.by)
    entrances = entrance_names_of(rides, disclosure_of(reader.by))
    sheet_reader = sheets.SheetReader(reader.by, reader.zone, request.user.get_username(), reader.at, entrances)
    return pdf_response(
        request,
        lambda: sheets.pdf_of(sheets.html(rows[0], rides, page.day, sheet_reader)),
        name="run-sheet",
        fallback_url=reverse("board_run", kwargs={"driver_id": driver_id}),
        action="rides.run_sheet",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={ride.rider_id for ride in rides},
        details={"day": page.day.isoformat()},
    )
