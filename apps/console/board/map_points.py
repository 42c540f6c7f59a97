"""Points of the board's map: rides, vehicles with their drivers, and facilities."""

import datetime as dt
from collections.abc import Iterable
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.console.board import labels
from apps.console.board.driver_status import driver_status
from apps.console.board.timeline import Reader
from apps.dispatch.queries.board import Board, BoardRide, DriverRow
from apps.organizations.models import Facility
from apps.riders.labels import rider_name
from apps.rides.labels import driver_name
from apps.rides.rules.lifecycle import RideStatus

SEEN_WITHIN: Final = dt.timedelta(hours=2)  # an older position does not show where the driver is now
FRESH_FOR: Final = dt.timedelta(minutes=5)  # as in the prediction: an older position is only the last known one
SOON: Final = dt.timedelta(hours=2)
# Statuses in which somebody works on a ride, however far ahead its time is.
UNDER_WAY: Final = frozenset({RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS})
# Shapes of `dispatch/map_shape.html`; lateness and kind have a shape of their own, so that color is not needed.
SHAPES: Final = ("stop", "risk", "late", "vehicle", "parked", "end", "facility")
# CSS class, shape and label of the marks.
LEGEND: Final = (
    ("vehicle", "vehicle", gettext_lazy("Vehicle with heading")),
    ("vehicle", "parked", gettext_lazy("Vehicle")),
    ("vehicle stale", "parked", gettext_lazy("Position older than 5 minutes")),
    ("unassigned", "stop", gettext_lazy("Unassigned")),
    ("will-call", "stop", gettext_lazy("Will-call waiting")),
    ("assigned", "stop", gettext_lazy("Assigned")),
    ("en-route", "stop", gettext_lazy("En route")),
    ("arrived", "stop", gettext_lazy("Arrived at pickup")),
    ("on-board", "stop", gettext_lazy("On board, at the drop-off")),
    ("risk", "risk", gettext_lazy("Running late (predicted)")),
    ("late", "late", gettext_lazy("Late")),
    ("facility", "facility", gettext_lazy("Facility")),
)
Point = dict[str, Any]


def points(day_board: Board, rides: Iterable[BoardRide], reader: Reader) -> dict[str, list[Point]]:
    """Return the points of a day for the map script, with coordinates in degrees.  One query.

    `rides`: the rides that are drawn, in any order.  Leaves out what has no coordinates, rides of drivers that only
    occupy them (context), and drivers without a position in `SEEN_WITHIN`.
    """
    drawn = sorted((board_ride for board_ride in rides if not board_ride.is_context), key=_begins)
    ride_points = [point for board_ride in drawn if (point := _ride(board_ride, reader))]
    drawn_ids = {point["id"] for point in ride_points}
    driver_points = [point for row in day_board.rows if (point := _driver(row, drawn_ids, reader))]
    return {
        "rides": ride_points,
        "drivers": sorted(driver_points, key=lambda point: (point["name"].lower(), point["id"])),
        "facilities": [{"at": [float(lat), float(lng)], "text": name} for name, lat, lng in _facilities(reader)],
    }


def _begins(board_ride: BoardRide) -> tuple[dt.datetime, str]:
    return board_ride.slot.span.starts_at, str(board_ride.ride.pk)


def _facilities(reader: Reader) -> list[tuple[str, Any, Any]]:
    rows = Facility.objects.visible_to(reader.by).filter(active=True, lat__isnull=False, lng__isnull=False)
    return list(rows.order_by("name").values_list("name", "lat", "lng"))


def _ride(board_ride: BoardRide, reader: Reader) -> Point | None:
    """Return a ride: `at` its next stop, the pickup or for a rider on board the drop-off, and both ends of it."""
    begin, end = board_ride.slot.pickup, board_ride.slot.dropoff
    if begin is None:
        return None
    ride, state = board_ride.ride, labels.state_of(board_ride.ride)
    starts_at = board_ride.slot.span.starts_at
    text_parts = [
        f"{reader.clock(starts_at)} {rider_name(ride.rider, reader.by)}",
        labels.route_label(ride, reader.disclosure),
        str(labels.STATES[state]),
        labels.lateness(board_ride),
    ]
    next_stop = end if end and ride.status == RideStatus.IN_PROGRESS else begin
    return {
        "id": str(ride.pk),
        "at": [next_stop.lat, next_stop.lng],
        "from": [begin.lat, begin.lng],
        "to": [end.lat, end.lng] if end else None,
        "state": state,
        "late": "late" if board_ride.is_late else "risk" if board_ride.late else "",
        "soon": ride.status in UNDER_WAY or starts_at <= reader.at + SOON,
        "text": ", ".join(part for part in text_parts if part),
    }


def _driver(row: DriverRow, drawn_ids: set[str], reader: Reader) -> Point | None:
    """Return a driver with a position, its age, and the ids of the driver's open rides on the map, in order."""
    driver = row.driver
    seen_at = driver.last_located_at
    if driver.last_lat is None or driver.last_lng is None or seen_at is None or seen_at < reader.at - SEEN_WITHIN:
        return None
    name, age = driver_name(driver, reader.by), _age(reader.at - seen_at)
    status = driver_status(row, reader.disclosure, reader.clock, reader.at)
    ride_ids = [str(board_ride.ride.pk) for board_ride in row.rides if not board_ride.is_context]
    return {
        "id": str(driver.pk),
        "at": [float(driver.last_lat), float(driver.last_lng)],
        "heading": driver.last_heading,
        "stale": seen_at < reader.at - FRESH_FOR,
        "name": name,
        "unit": row.unit,
        "status": status,
        "age": age,
        "rides": [ride_id for ride_id in ride_ids if ride_id in drawn_ids],
        "text": ", ".join(part for part in (name, row.unit, status, age) if part),
    }


def _age(age: dt.timedelta) -> str:
    minutes = max(int(age.total_seconds()) // 60, 0)
    if minutes < 1:
        return _("position just now")
    template = ngettext("position %(count)s minute ago", "position %(count)s minutes ago", minutes)
    return template % {"count": minutes}
