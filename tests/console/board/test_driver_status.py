"""The line of a driver's row that says what the driver does now."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from apps.console.board.driver_status import driver_status
from apps.dispatch.queries.board import board
from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Driver, Leave
from apps.rides.models import Ride
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Principal
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)
ZONE = "America/Chicago"
UNDER_WAY = {"departed_at": NOW - 20 * MINUTE}
ARRIVED = {**UNDER_WAY, "arrived_pickup_at": NOW - 10 * MINUTE}


def status_of(driver: Driver, by: Principal) -> str:
    rows = board(Axis(NOW.date(), ZONE), by=by, at=NOW).rows
    row = next(row for row in rows if row.driver == driver)
    return driver_status(row, disclosure_of(by), lambda at: f"{at.astimezone(ZoneInfo(ZONE)):%H:%M}", NOW)


def driver_with_ride(status: str, **reported: Any) -> Driver:
    ride = factories.RideFactory.create(
        pickup_at=NOW - 10 * MINUTE, estimated_minutes=30, dropoff=factories.stop(name="Mercy West", lat=41.95)
    )
    factories.put_driver_on(ride)
    Ride.objects.filter(pk=ride.pk).update(status=status, **reported)
    return Driver.objects.get(rides=ride)


def test_status_of_rider_on_board_says_when_and_where_the_driver_is_free(dispatcher: Principal) -> None:
    driver = driver_with_ride("in_progress", **ARRIVED, boarded_at=NOW - 5 * MINUTE)

    assert status_of(driver, dispatcher).startswith("On board, free 09:")
    assert status_of(driver, dispatcher).endswith("at Mercy West")


def test_status_on_the_way_to_a_pickup_names_its_time(dispatcher: Principal) -> None:
    driver = driver_with_ride("en_route", **UNDER_WAY, eta_pickup_at=NOW + 12 * MINUTE)

    assert status_of(driver, dispatcher).startswith("En route, at ")
    assert status_of(driver, dispatcher).endswith(" 09:12")


def test_status_on_the_way_from_an_unknown_place_has_no_time(dispatcher: Principal) -> None:
    driver = driver_with_ride("en_route", **UNDER_WAY)
    Driver.objects.update(home_base=None)

    assert status_of(driver, dispatcher).startswith("En route to ")


def test_status_at_the_pickup_is_waiting(dispatcher: Principal) -> None:
    assert status_of(driver_with_ride("arrived", **ARRIVED), dispatcher).startswith("Waiting at ")


def test_status_between_rides_names_the_next_pickup(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(pickup_at=NOW + HOUR)
    factories.put_driver_on(ride)
    driver = Driver.objects.get(rides=ride)

    assert status_of(driver, dispatcher) == "Free, next pickup 10:00"


@pytest.mark.parametrize(
    ("begins", "ends", "status"),
    [(-1, 4, "Free"), (1, 4, "Starts at 10:00"), (-4, -1, "Off duty")],
)
def test_status_without_rides_follows_the_shift(dispatcher: Principal, begins: int, ends: int, status: str) -> None:
    shift = factories.ShiftFactory.create(starts_at=NOW + begins * HOUR, ends_at=NOW + ends * HOUR)

    assert status_of(shift.driver, dispatcher) == status


def test_status_on_leave_or_on_a_break(dispatcher: Principal) -> None:
    shift = factories.ShiftFactory.create(starts_at=NOW - HOUR, ends_at=NOW + 4 * HOUR)
    leave = Leave.objects.create(driver=shift.driver, starts_at=NOW - HOUR, ends_at=NOW + HOUR)

    assert status_of(shift.driver, dispatcher) == "Away until 10:00"
    leave.delete()
    Driver.objects.update(on_break=True)
    assert status_of(shift.driver, dispatcher) == "On break"
