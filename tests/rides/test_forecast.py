"""Forecast of a driver's arrivals of a day, and of late rides."""

from uuid import UUID

from apps.rides.rules.forecast import Leg, arrivals, lateness
from tests.factories import NOW
from tests.rides.slots import HERE, MINUTE, THERE, slot


def _late(*legs: Leg) -> list[int]:
    found = lateness(legs, NOW)
    return [found.get(leg.slot.ride_id, 0) for leg in legs]


def test_a_ride_that_nothing_holds_up_is_in_time() -> None:
    assert _late(Leg(slot(10, 40)), Leg(slot(60, 90))) == [0, 0]


def test_nobody_arrives_before_now() -> None:
    assert _late(Leg(slot(-40, -10))) == [25]


def test_what_the_driver_told_counts() -> None:
    assert _late(Leg(slot(10, 40), eta_at=NOW + 32 * MINUTE)) == [7]


def test_lateness_goes_on_to_the_rides_that_follow() -> None:
    """The first ride ends at 60 instead of 30; the second is late, the third has slack."""
    legs = [
        Leg(slot(0, 30), eta_at=NOW + 30 * MINUTE),
        Leg(slot(35, 55, window=5)),
        Leg(slot(120, 150)),
    ]

    assert _late(*legs) == [15, 20, 0]


def test_the_drive_between_rides_takes_its_time() -> None:
    legs = [Leg(slot(0, 30, dropoff=HERE), at_pickup=True), Leg(slot(35, 60, pickup=THERE, window=0))]

    (first, second) = _late(*legs)

    assert first == 0
    assert 15 <= second <= 20


def test_arrived_driver_is_not_late_and_ended_ride_is_ignored() -> None:
    over, there = Leg(slot(-90, -60), ended=True), Leg(slot(-30, 5), at_pickup=True)

    assert _late(over, there) == [0, 0]


def test_rides_sharing_the_vehicle_do_not_delay_each_other() -> None:
    legs = [Leg(slot(0, 60, dropoff=THERE)), Leg(slot(20, 70))]

    assert _late(*legs) == [0, 0]


def test_a_place_that_is_not_known_holds_nobody_up() -> None:
    legs = [Leg(slot(0, 60, dropoff=None)), Leg(slot(60, 90, window=0))]

    assert _late(*legs) == [0, 0]


def test_lateness_is_told_by_ride() -> None:
    leg = Leg(slot(-40, -10))

    found: dict[UUID, int] = lateness([leg], NOW)

    assert found == {leg.slot.ride_id: 25}


def test_arrivals_are_told_of_what_is_still_to_come() -> None:
    over, there = Leg(slot(-90, -60), ended=True), Leg(slot(-10, 20), at_pickup=True)
    told, after = Leg(slot(30, 50), eta_at=NOW + 45 * MINUTE), Leg(slot(55, 70))

    found = arrivals([over, there, told, after], NOW)

    assert found == {told.slot.ride_id: NOW + 45 * MINUTE, after.slot.ride_id: NOW + 65 * MINUTE}
