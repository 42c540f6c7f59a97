"""Time that a ride occupies its driver and vehicle: the drive, boarding and leaving."""

import datetime as dt
from typing import Any

import pytest

from apps.rides.queries.ride_needs import needs_of, slot_of
from apps.rides.rules.lifecycle import RideStatus
from lib.travel.places import Place
from tests import factories
from tests.rides.rides_in import BOARDED, ride_in

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)
# The rider's own minutes: 8 to board, 9 to leave.
SLOW = {"mobility": "wheelchair", "loadMinutes": 8, "unloadMinutes": 9}


@pytest.mark.parametrize(
    ("pickup", "dropoff", "load", "unload"),
    [
        ({}, {}, 8, 9),
        ({"loadMinutes": 20}, {}, 20, 9),
        ({}, {"loadMinutes": 25}, 8, 25),
        ({"loadMinutes": 0}, {}, 0, 9),
    ],
    ids=["the rider's", "a pickup that takes long", "a drop-off that takes long", "a pickup that takes none"],
)
def test_minutes_of_a_stop_stand_for_those_of_the_rider(
    pickup: dict[str, Any], dropoff: dict[str, Any], load: int, unload: int
) -> None:
    stops = {"pickup": factories.stop(**pickup), "dropoff": factories.stop(**dropoff)}
    ride = ride_in(RideStatus.ASSIGNED, accommodation=SLOW, estimated_minutes=30, **stops)

    slot = slot_of(ride, at=factories.NOW)

    assert (slot.load_minutes, slot.unload_minutes) == (load, unload)
    assert slot.span.ends_at - slot.span.starts_at == (load + 30 + unload) * MINUTE


@pytest.mark.parametrize(
    ("status", "overdue"), [(RideStatus.SCHEDULED, True), (RideStatus.EN_ROUTE, True), (RideStatus.IN_PROGRESS, False)]
)
def test_overdue_ride_begins_now_until_the_vehicle_is_there(status: RideStatus, overdue: bool) -> None:
    ride = ride_in(status, estimated_minutes=30, accommodation={})
    at = ride.pickup_at + 40 * MINUTE

    needs, before = needs_of(ride, at=at), needs_of(ride, at=ride.pickup_at)

    assert (needs.overdue, before.overdue) == (overdue, False)
    assert (needs.slot.span.starts_at == at) is overdue
    assert needs.slot.latest_pickup_at == before.slot.latest_pickup_at


def test_rider_on_board_unloads_in_minutes_of_the_stop() -> None:
    dropoff = factories.stop(loadMinutes=25)
    ride = ride_in(RideStatus.IN_PROGRESS, accommodation=SLOW, estimated_minutes=30, dropoff=dropoff)

    assert slot_of(ride, at=BOARDED).span.ends_at == BOARDED + 55 * MINUTE


def test_rider_transferred_en_route_boards_in_own_minutes() -> None:
    stops = {"pickup": factories.stop(loadMinutes=20), "dropoff": factories.stop(loadMinutes=25)}
    ride = ride_in(RideStatus.IN_PROGRESS, accommodation=SLOW, **stops)

    slot = needs_of(ride, at=BOARDED, picked_up_at=Place(41.88, -87.63)).slot

    assert (slot.load_minutes, slot.unload_minutes) == (8, 25)
