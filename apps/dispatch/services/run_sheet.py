"""The printed run sheet of a driver's day: times, stops, contacts, and space for handwritten notes."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dispatch import labels
from apps.dispatch.queries.board import DriverRow
from apps.riders.labels import need_labels, whole_name
from apps.rides import pickup_points
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.rules import disclosure
from apps.rides.services import legs
from lib import dates, pdf, zone_labels
from lib.access import Phi, Principal
from lib.clocks import clock
from lib.phones import phone_text

STYLE: Final = Path(settings.BASE_DIR) / "templates" / "dispatch" / "run_sheet.css"


@dataclass(frozen=True, slots=True)
class SheetReader:
    """The reader and time zone of the sheet, and for whom and when it was created, as printed on every page."""

    by: Principal
    zone: ZoneInfo
    made_for: str
    made_at: dt.datetime
    entrance_names: pickup_points.EntranceNames

    def clock(self, at: dt.datetime) -> str:
        return clock(at.astimezone(self.zone))


def html(driver_row: DriverRow, rides: Sequence[Ride], day: dt.date, reader: SheetReader) -> str:
    """Render a driver's day as an HTML document; `rides` come with their riders, in order of pickup."""
    context = {
        "name": driver_name(driver_row.driver, reader.by),
        "driver_row": driver_row,
        "day": day,
        "zone": zone_labels.long_name(reader.zone.key),
        "rows": [_row(ride, reader) for ride in rides],
        "made_for": reader.made_for,
        "made_at": f"{dates.dated_day(reader.made_at.astimezone(reader.zone).date())}, {reader.clock(reader.made_at)}",
    }
    return render_to_string("dispatch/run_sheet.html", context)


def pdf_of(document: str) -> bytes:
    """Lay out the document of `html` as a PDF.

    Raises:
        lib.pdf.PangoMissing: the server has no Pango.
    """
    return pdf.write(document, style=STYLE)


def _row(ride: Ride, reader: SheetReader) -> dict[str, Any]:
    by, sees = reader.by, disclosure.disclosure_of(reader.by)
    full = by.phi >= Phi.FULL
    notes = [ride.driver_notes, ride.accommodation.get("driverNotes") or ""] if full else []
    return {
        "clock": reader.clock(ride.pickup_at),
        "window": f"{reader.clock(ride.window_starts_at)} {_('to')} {reader.clock(ride.window_ends_at)}",
        "appointment": reader.clock(ride.appointment_at) if ride.appointment_at else "",
        "will_call": ride.will_call and ride.ready_at is None,
        "name": whole_name(ride.rider, by),
        "phones": [phone_text(phone["number"], phone.get("ext")) for phone in ride.rider.phones] if full else [],
        "needs": need_labels(disclosure.accommodation(ride.accommodation, sees), None, ride.companions, by),
        "service": labels.service(ride),
        "stops": [
            (_("From"), stop_lines(ride, "pickup", reader.entrance_names, sees)),
            (_("To"), stop_lines(ride, "dropoff", reader.entrance_names, sees)),
        ],
        "notes": [note for note in notes if note],
    }


def stop_lines(
    ride: Ride, side: str, entrance_names: pickup_points.EntranceNames, sees: disclosure.Disclosure
) -> list[str]:
    """Return the lines of a stop: address, entrance and way inside, instructions, contact, door code."""
    shape, sealed = getattr(ride, side), getattr(ride, f"{side}_access")
    seen = disclosure.stop(shape, sees)
    contact = seen.get("contact") or {}
    steps = int(seen.get("steps") or 0)
    inside = [
        pickup_points.entrance(ride, side, entrance_names, sees),
        *pickup_points.inside(ride, side, sees),
        ngettext("%(count)s step", "%(count)s steps", steps) % {"count": steps} if steps else "",
    ]
    code = legs.opened_access(sealed).get("accessCode", "") if sees.door_codes else ""
    lines = [
        ", ".join(filter(None, (labels.place(shape, sees), seen.get("addressLine1"), seen.get("city")))),
        ", ".join(filter(None, inside)),
        seen.get("instructions") or "",
        " ".join(filter(None, (contact.get("name"), phone_text(contact.get("phone"), contact.get("ext"))))),
        _("Door code %(code)s") % {"code": code} if code else "",
    ]
    return [line for line in lines if line]
