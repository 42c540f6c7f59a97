"""Counts of a day on the board: of a board that was read already, or without reading a whole board."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from apps.dispatch.queries.board import (
    Board,
    BoardRide,
    awaits_release,
    by_status,
    driven,
    is_predicted,
    rides_of,
    waiting_of,
)
from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import SLOT_COLUMNS
from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.rules.lifecycle import OPEN
from lib.access import Principal

# Columns that delays are computed from.
_COLUMNS: Final = (*SLOT_COLUMNS, "eta_pickup_at")


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of rides without a driver, of unreleased will-calls, of late rides, and of rides predicted to be late."""

    waiting: int
    will_calls: int
    late: int
    at_risk: int
    by_status: Mapping[str, int]  # rides of the whole day


def figures_of(whole_board: Board) -> Figures:
    """Count the rides of a board or of a filtered board."""
    assigned = (board_ride for row in whole_board.rows for board_ride in row.rides if not board_ride.is_context)
    return _figures(whole_board.waiting, assigned, whole_board.counts)


def figures(axis: Axis, *, by: Principal, at: datetime) -> Figures:
    """Count the rides of a day as on its board.  Seven queries; ended rides are not read."""
    day = rides_of(axis, by)
    # A driver who is not visible to the caller has no row.
    in_reach = Q(driver=None) | Q(driver__in=Driver.objects.visible_to(by))
    rides = list(day.filter(in_reach, status__in=sorted(OPEN)).only(*_COLUMNS))
    of_driver: dict[UUID, list[Ride]] = defaultdict(list)
    for ride in rides:
        if ride.driver_id is not None:
            of_driver[ride.driver_id].append(ride)
    timelines = driver_timelines(of_driver, at=at, until=axis.ends_at) if is_predicted(axis, at) else {}
    assigned = (
        board_ride
        for driver_id, driver_rides in of_driver.items()
        for board_ride in driven(driver_rides, timelines.get(driver_id), at)[0]
    )
    return _figures(waiting_of(rides, at), assigned, by_status(day))


def _figures(waiting: Iterable[BoardRide], assigned: Iterable[BoardRide], counts: Mapping[str, int]) -> Figures:
    waits, will_calls = [], 0
    for board_ride in waiting:
        if awaits_release(board_ride.ride):
            will_calls += 1
        else:
            waits.append(board_ride)
    delayed = Counter(board_ride.is_late for board_ride in (*waits, *assigned) if board_ride.late)
    return Figures(
        waiting=len(waits), will_calls=will_calls, late=delayed[True], at_risk=delayed[False], by_status=counts
    )
