"""Contents of a downtime pack: the rides of two days as tables, and the list of run sheets.

Its readers have no other source, so it includes names of riders, entrances and contacts.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.text import slugify
from django.utils.translation import gettext as _

from apps.dispatch import labels
from apps.dispatch.queries.board import DriverRow
from apps.dispatch.services import run_sheet
from apps.riders.labels import need_labels, whole_name
from apps.rides import pickup_points
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.rules import disclosure
from lib import zone_labels
from lib.access import Principal
from lib.clocks import clock
from lib.phones import phone_text

EVERY: Final = dt.timedelta(minutes=15)
# A pack is started this long after the previous one: the other 5 minutes are for a busy worker or many new sheets.
DUE_AFTER: Final = dt.timedelta(minutes=10)


class DriverSheet(NamedTuple):
    """A run sheet to lay out; `file` is its name in the pack and can be read without the passphrase."""

    file: str
    day: dt.date
    row: DriverRow
    rides: Sequence[Ride]


def is_old(made_at: dt.datetime | None, at: dt.datetime) -> bool:
    return made_at is None or at - made_at > EVERY


def file_name(at: dt.datetime) -> str:
    """Return the name of a pack: the instant of its data in UTC, so that names sort by age."""
    return f"carelane-downtime-{at.astimezone(dt.UTC):%Y%m%d-%H%M%SZ}.zip"


FILES: Final = "carelane-downtime-*.zip"


def sheets(day: dt.date, rows: Iterable[DriverRow], rides: Mapping[UUID, Sequence[Ride]]) -> Iterator[DriverSheet]:
    """Yield the sheets of a day sorted by driver name; `rides` are the remaining rides by driver id.

    File names contain the vehicle but no person's name: they can be read without the passphrase.
    """
    named = sorted(rows, key=lambda row: (row.driver.last_name, row.driver.first_name, str(row.driver.pk)))
    with_rides = [row for row in named if rides.get(row.driver.pk)]
    for number, row in enumerate(with_rides, 1):
        unit = slugify(row.unit)
        file = f"run-sheets/{day.isoformat()}/{number:03}{f'-{unit}' if unit else ''}.pdf"
        yield DriverSheet(file, day, row, rides[row.driver.pk])


def contents(run_sheets: Iterable[DriverSheet], by: Principal, zone: ZoneInfo) -> Iterator[Sequence[object]]:
    """Yield a header and one row per sheet, with its driver and its first and last pickup."""
    yield _("File"), _("Day"), _("Driver"), _("Phone"), _("Vehicle"), _("Rides"), _("First pickup"), _("Last pickup")
    for sheet in run_sheets:
        first, last = sheet.rides[0].pickup_at, sheet.rides[-1].pickup_at
        driver = sheet.row.driver
        clocks = [_local(moment, zone) for moment in (first, last)]
        phone, count = phone_text(driver.phone), len(sheet.rides)
        yield sheet.file, sheet.day, driver_name(driver, by), phone, sheet.row.unit, count, *clocks


def table(
    rides: Iterable[Ride], by: Principal, entrance_names: pickup_points.EntranceNames
) -> Iterator[Sequence[object]]:
    """Yield a header and one row per ride; times are in the ride's own zone, which has a column."""
    yield (
        _("Pickup"), _("Zone"), _("Window"), _("Appointment"), _("Status"), _("Will-call, not ready yet"), _("Rider"),
        _("Phone"), _("Needs"), _("Service"), _("From"), _("To"), _("Driver"), _("Driver's phone"), _("Vehicle"),
        _("Notes"), _("Ride"),
    )  # fmt: skip
    sees = disclosure.disclosure_of(by)
    for ride in rides:
        zone = ZoneInfo(ride.timezone)
        driver, rider = ride.driver, ride.rider
        notes = (ride.driver_notes, ride.accommodation.get("driverNotes"), ride.dispatcher_notes)
        yield (
            _local(ride.pickup_at, zone),
            zone_labels.short_name(ride.timezone, ride.pickup_at),
            f"{clock(ride.window_starts_at.astimezone(zone))} {_('to')} {clock(ride.window_ends_at.astimezone(zone))}",
            _local(ride.appointment_at, zone) if ride.appointment_at else "",
            ride.get_status_display(),
            _("yes") if ride.will_call and ride.ready_at is None else "",
            whole_name(rider, by),
            ", ".join(phone_text(phone["number"], phone.get("ext")) for phone in rider.phones),
            ", ".join(need_labels(ride.accommodation, None, ride.companions, by)),
            labels.service(ride),
            "; ".join(run_sheet.stop_lines(ride, "pickup", entrance_names, sees)),
            "; ".join(run_sheet.stop_lines(ride, "dropoff", entrance_names, sees)),
            driver_name(driver, by) if driver else "",
            phone_text(driver.phone) if driver else "",
            ride.vehicle.unit_number if ride.vehicle else "",
            " / ".join(filter(None, notes)),
            ride.pk,
        )


def _local(at: dt.datetime, zone: ZoneInfo) -> str:
    """Return a time that spreadsheets read and sort; its zone has a column."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
