"""Cards of the board's queue."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from apps.console.board.cards import card
from apps.console.board.timeline import Reader
from apps.dispatch.queries.board import BoardRide
from apps.rides.models import Ride
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.factories import NOW
from tests.rides.looks import released

pytestmark = pytest.mark.django_db

WILL_CALL = {
    "will_call": True,
    "pickup_time_kind": "estimated",
    "will_call_expires_at": NOW + dt.timedelta(hours=9),
}


def is_ready(ride: Ride) -> bool:
    reader = Reader(factories.principal(), ZoneInfo("America/Chicago"), NOW)
    return bool(card(BoardRide(ride, slot_of(ride, at=NOW)), reader)["ready"])


def test_assigned_will_call_ride_is_not_ready_before_its_release() -> None:
    ride = factories.RideFactory.create(**WILL_CALL)
    factories.put_driver_on(ride)

    assert not is_ready(Ride.objects.get(pk=ride.pk))


@pytest.mark.parametrize("status", [RideStatus.SCHEDULED, RideStatus.ASSIGNED])
def test_released_will_call_ride_is_ready(status: RideStatus) -> None:
    assert is_ready(released(status=status))


def test_ride_with_a_firm_pickup_time_is_not_ready() -> None:
    assert not is_ready(factories.RideFactory.create())
