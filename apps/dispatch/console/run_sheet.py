"""The run sheet of a driver's day on paper: what is driven when, whom to ask for, and room to write."""

from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from apps.accounts.console.rights import needs
from apps.accounts.services import audit
from apps.dispatch.axis import Axis
from apps.dispatch.console import words
from apps.dispatch.console.page import page_of, reader_of
from apps.dispatch.console.timeline import Reader
from apps.dispatch.queries.board import board
from apps.dispatch.queries.run import rides_of
from apps.riders.words import needs_said, rider_name
from apps.rides import disclosure
from apps.rides.models import Ride
from apps.rides.naming import driver_name
from apps.rides.services import legs
from lib import pdf
from lib.access import Phi
from lib.scopes import Scope

STYLE: Final = Path(settings.BASE_DIR) / "templates" / "dispatch" / "run_sheet.css"


@require_safe
@needs(Scope.ASSIGNMENTS_WRITE)
def run_sheet(request: HttpRequest, driver_id: UUID) -> HttpResponse:
    """Answer a driver's day as a PDF; each one is in the trail, and says on every page for whom it was made."""
    reader = reader_of(request)
    page = page_of(request, reader)
    axis = Axis(page.day, reader.zone.key)
    lanes = board(axis, by=reader.by, at=reader.at, driver_ids={driver_id}).lanes
    if not lanes:
        raise Http404
    rides = rides_of(driver_id, axis, by=reader.by)
    context = {
        "name": driver_name(lanes[0].driver, reader.by),
        "lane": lanes[0],
        "day": page.day,
        "zone": reader.at.astimezone(reader.zone).strftime("%Z"),
        "rows": [_row(ride, reader) for ride in rides],
        "made_for": request.user.get_username(),
        "made_at": reader.at.astimezone(reader.zone),
    }
    try:
        paper = pdf.write(render_to_string("dispatch/run_sheet.html", context), style=STYLE)
    except pdf.PangoMissing:
        messages.error(request, _("Run sheets need Pango on the server, which is not installed (docs/operations.md)."))
        return redirect("board_run", driver_id=driver_id)
    audit.record(
        by=reader.by,
        action="rides.run_sheet",
        subject_type="driver",
        subject_id=driver_id,
        rider_ids={ride.rider_id for ride in rides},
        details={"day": page.day.isoformat()},
    )
    return HttpResponse(
        paper, content_type="application/pdf", headers={"Content-Disposition": 'inline; filename="run-sheet.pdf"'}
    )


def _row(ride: Ride, reader: Reader) -> dict[str, Any]:
    sees = reader.sees
    full = sees.phi >= Phi.FULL
    notes = [ride.driver_notes, ride.accommodation.get("driverNotes") or ""] if full else []
    return {
        "clock": reader.clock(ride.pickup_at),
        "window": f"{reader.clock(ride.window_starts_at)} {reader.until} {reader.clock(ride.window_ends_at)}",
        "appointment": reader.clock(ride.appointment_at) if ride.appointment_at else "",
        "will_call": ride.will_call and ride.ready_at is None,
        "name": rider_name(ride.rider, reader.by),
        "phones": [phone["number"] for phone in ride.rider.phones] if full else [],
        "needs": needs_said(disclosure.accommodation(ride.accommodation, sees), None, ride.companions, reader.by),
        "service": words.service(ride),
        "stops": [
            (_("From"), _stop(ride.pickup, ride.pickup_access, reader)),
            (_("To"), _stop(ride.dropoff, ride.dropoff_access, reader)),
        ],
        "notes": [note for note in notes if note],
    }


def _stop(shape: dict[str, Any], sealed: str, reader: Reader) -> list[str]:
    """Say where to go in lines: the place, its door, whom to call, what opens it."""
    seen = disclosure.stop(shape, reader.sees)
    contact = seen.get("contact") or {}
    steps = int(seen.get("steps") or 0)
    inside = [
        seen.get("entranceText"),
        _("unit %(unit)s") % {"unit": seen["unit"]} if seen.get("unit") else "",
        _("room %(room)s") % {"room": seen["room"]} if seen.get("room") else "",
        ngettext("%(count)s step", "%(count)s steps", steps) % {"count": steps} if steps else "",
    ]
    code = legs.opened_access(sealed).get("accessCode", "") if reader.sees.door_codes else ""
    lines = [
        ", ".join(filter(None, (words.place(shape, reader.sees), seen.get("addressLine1"), seen.get("city")))),
        ", ".join(filter(None, inside)),
        seen.get("instructions") or "",
        " ".join(filter(None, (contact.get("name"), contact.get("phone")))),
        _("Door code %(code)s") % {"code": code} if code else "",
    ]
    return [line for line in lines if line]
