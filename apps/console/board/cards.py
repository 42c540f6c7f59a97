"""Template contexts of a ride: a card of the queue, and a row of a list."""

from typing import Any

from apps.console.board import labels
from apps.console.board.timeline import Reader
from apps.dispatch.queries.board import BoardRide, DriverRow
from apps.riders.labels import rider_name
from apps.rides.labels import driver_name
from apps.rides.models.ride import Priority


def card(board_ride: BoardRide, reader: Reader) -> dict[str, Any]:
    """Return the context of a card.  Names and places are limited to what the reader may see."""
    ride = board_ride.ride
    mark, mobility = labels.kind_of(ride)
    return {
        "board_ride": board_ride,
        "ride": ride,
        "state": labels.state_of(ride),
        "name": rider_name(ride.rider, reader.by),
        "clock": reader.clock(board_ride.slot.span.starts_at),
        "mark": mark,
        "mobility": mobility,
        "route": labels.route_label(ride, reader.disclosure),
        "late": labels.lateness(board_ride),
        "reason": labels.reason_of_waiting(board_ride),
        "service": labels.service(ride),
        "ready": ride.ready_at is not None,  # only will-call rides have it
        "life_sustaining": ride.priority == Priority.LIFE_SUSTAINING,
        "severe": ride.max_exception_severity == "critical",
    }


def row(board_ride: BoardRide, driver_row: DriverRow | None, reader: Reader) -> dict[str, Any]:
    """Return the context of a list row: a card with status label, and driver and unit unless `driver_row` is None."""
    return {
        **card(board_ride, reader),
        "state_label": labels.STATES[labels.state_of(board_ride.ride)],
        "driver": driver_name(driver_row.driver, reader.by) if driver_row else "",
        "unit": driver_row.unit if driver_row else "",
    }
