"""Points of the board's map: pickups and drop-offs of rides, last positions of drivers, and facilities."""

import datetime as dt
from typing import Any, Final

from django.utils.translation import gettext as _

from apps.console.board import labels
from apps.console.board.timeline import Reader
from apps.dispatch.queries.board import Board, BoardRide, DriverRow
from apps.organizations.models import Facility
from apps.riders.labels import rider_name
from apps.rides.labels import driver_name

SEEN_WITHIN: Final = dt.timedelta(hours=2)  # an older position does not tell where the driver is now
Point = dict[str, Any]


def points(day_board: Board, reader: Reader) -> dict[str, list[Point]]:
    """Return the points of a day for the map script, with coordinates in degrees.  One query.

    Leaves out rides, drivers and facilities without coordinates, and drivers without a position in `SEEN_WITHIN`.
    """
    driven = (board_ride for row in day_board.rows for board_ride in row.rides if not board_ride.is_context)
    in_time = sorted([*day_board.waiting, *driven], key=_begins)
    return {
        "rides": [point for board_ride in in_time if (point := _ride(board_ride, reader))],
        "drivers": [point for row in day_board.rows if (point := _driver(row, reader))],
        "facilities": [{"at": [float(lat), float(lng)], "text": name} for name, lat, lng in _facilities(reader)],
    }


def _begins(board_ride: BoardRide) -> tuple[dt.datetime, str]:
    return board_ride.slot.span.starts_at, str(board_ride.ride.pk)


def _facilities(reader: Reader) -> list[tuple[str, Any, Any]]:
    rows = Facility.objects.visible_to(reader.by).filter(active=True, lat__isnull=False, lng__isnull=False)
    return list(rows.order_by("name").values_list("name", "lat", "lng"))


def _ride(board_ride: BoardRide, reader: Reader) -> Point | None:
    begin, end = board_ride.slot.pickup, board_ride.slot.dropoff
    if begin is None:
        return None
    ride, state = board_ride.ride, labels.state_of(board_ride.ride)
    text_parts = [
        f"{reader.clock(board_ride.slot.span.starts_at)} {rider_name(ride.rider, reader.by)}",
        labels.route_label(ride, reader.disclosure),
        str(labels.STATES[state]),
        labels.lateness(board_ride),
    ]
    return {
        "id": str(ride.pk),
        "at": [begin.lat, begin.lng],
        "to": [end.lat, end.lng] if end else None,
        "state": state,
        "late": board_ride.late > 0,
        "url": f"{reader.page}{ride.pk}/",
        "assign": f"{reader.page}{ride.pk}/assign/" if ride.status in labels.ASSIGNABLE else "",
        "text": ", ".join(part for part in text_parts if part),
    }


def _driver(row: DriverRow, reader: Reader) -> Point | None:
    driver = row.driver
    seen_at = driver.last_located_at
    if driver.last_lat is None or driver.last_lng is None or seen_at is None or seen_at < reader.at - SEEN_WITHIN:
        return None
    text = _("%(name)s, %(unit)s, seen %(clock)s") % {
        "name": driver_name(driver, reader.by),
        "unit": row.unit,
        "clock": reader.clock(seen_at),
    }
    return {"at": [float(driver.last_lat), float(driver.last_lng)], "text": text}
