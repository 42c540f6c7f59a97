"""A day on the board: rows, unassigned rides, and data scope."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.dispatch.queries.board import board, driver_ids_of
from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Driver, Leave
from apps.rides.models import Ride
from apps.rides.rules.facts import Span
from lib.access import Principal
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

AXIS = Axis(dt.date(2026, 11, 20), "America/Chicago")
HOUR = dt.timedelta(hours=1)
QUERIES = 8


def _driven(driver: Driver, **columns: Any) -> Ride:
    ride = factories.RideFactory.create(**columns)
    factories.put_driver_on(ride, driver=driver, vehicle=factories.VehicleFactory.create(provider=driver.provider))
    return ride


def test_rides_with_a_driver_lie_in_lanes_and_the_others_wait(dispatcher: Principal) -> None:
    driver = factories.DriverFactory.create()
    later, sooner = _driven(driver, pickup_at=NOW + 3 * HOUR), _driven(driver, pickup_at=NOW + HOUR)
    waiting = factories.RideFactory.create()

    found = board(AXIS, by=dispatcher, at=NOW)

    assert [[one.ride.pk for one in row.rides] for row in found.rows] == [[sooner.pk, later.pk]]
    assert [one.ride.pk for one in found.waiting] == [waiting.pk]
    assert found.counts == {"assigned": 2, "scheduled": 1}
    assert found.rider_ids == {sooner.rider_id, later.rider_id, waiting.rider_id}


def test_another_day_and_what_was_cancelled_are_left_out(dispatcher: Principal) -> None:
    factories.RideFactory.create(pickup_at=AXIS.ends_at)
    factories.RideFactory.create(pickup_at=AXIS.starts_at - dt.timedelta(seconds=1))
    factories.RideFactory.create(
        status="cancelled", status_before_end="scheduled", reason_code="rider_request", fault="rider",
        ended_by="system", cancellation_timing="advance",
    )  # fmt: skip

    found = board(AXIS, by=dispatcher, at=NOW)

    assert (found.rows, found.waiting) == ((), ())


def test_driver_on_shift_has_row_without_ride_others_do_not(dispatcher: Principal) -> None:
    works = factories.ShiftFactory.create()
    factories.ShiftFactory.create(starts_at=AXIS.ends_at, ends_at=AXIS.ends_at + HOUR)
    factories.ShiftFactory.create(driver=factories.DriverFactory.create(activation="inactive"))
    factories.ShiftFactory.create(status="cancelled")
    factories.DriverFactory.create()

    (row,) = board(AXIS, by=dispatcher, at=NOW).rows

    assert row.driver == works.driver
    assert row.duty == (Span(works.starts_at, works.ends_at),)
    assert (row.unit, row.vehicle_id) == (works.vehicle.unit_number, works.vehicle_id)
    assert (row.rides, row.ended, row.leave, row.next_at) == ((), (), (), None)


def test_row_shows_vehicle_of_current_or_next_shift_or_default(
    dispatcher: Principal,
) -> None:
    driver = factories.DriverFactory.create()
    early = factories.ShiftFactory.create(driver=driver, starts_at=NOW - 4 * HOUR, ends_at=NOW - 2 * HOUR)
    late = factories.ShiftFactory.create(driver=driver, starts_at=NOW + HOUR, ends_at=NOW + 2 * HOUR)

    def unit(at: dt.datetime) -> str:
        return board(AXIS, by=dispatcher, at=at).rows[0].unit

    assert unit(NOW - 3 * HOUR) == early.vehicle.unit_number
    assert unit(NOW) == late.vehicle.unit_number
    assert unit(NOW + 3 * HOUR) == late.vehicle.unit_number
    without = factories.DriverFactory.create(default_vehicle=factories.VehicleFactory.create())
    _driven(without)
    shown = {row.driver: row.unit for row in board(AXIS, by=dispatcher, at=NOW).rows}
    assert without.default_vehicle is not None
    assert shown[without] == without.default_vehicle.unit_number


def test_leave_is_shown(dispatcher: Principal) -> None:
    shift = factories.ShiftFactory.create()
    Leave.objects.create(driver=shift.driver, starts_at=NOW, ends_at=NOW + HOUR)

    (row,) = board(AXIS, by=dispatcher, at=NOW).rows

    assert row.leave == (Span(NOW, NOW + HOUR),)


def test_rows_sort_by_next_ride_and_idle_drivers_come_last(dispatcher: Principal) -> None:
    second, first, idle = (factories.DriverFactory.create() for _ in range(3))
    _driven(second, pickup_at=NOW + 2 * HOUR)
    _driven(first, pickup_at=NOW + HOUR)
    factories.ShiftFactory.create(driver=idle)

    assert [row.driver for row in board(AXIS, by=dispatcher, at=NOW).rows] == [first, second, idle]


def test_what_is_over_is_a_stretch_of_the_lane(dispatcher: Principal) -> None:
    driver = factories.DriverFactory.create()
    ride = _driven(driver, pickup_at=NOW - 2 * HOUR)
    Ride.objects.filter(pk=ride.pk).update(
        status="completed", status_before_end="in_progress", departed_at=NOW - 2 * HOUR,
        arrived_pickup_at=NOW - 2 * HOUR, boarded_at=NOW - 2 * HOUR, arrived_dropoff_at=NOW - HOUR,
        dropped_off_at=NOW - HOUR,
    )  # fmt: skip

    (row,) = board(AXIS, by=dispatcher, at=NOW).rows

    assert row.rides == ()
    assert [ended.span for ended in row.ended] == [Span(NOW - 2 * HOUR, NOW - HOUR)]


def test_broken_promises_are_told_from_foreseen_ones(dispatcher: Principal) -> None:
    driver = factories.DriverFactory.create()
    broken = _driven(driver, pickup_at=NOW - HOUR)
    foreseen = _driven(driver, pickup_at=NOW - dt.timedelta(minutes=10))
    waits = factories.RideFactory.create(pickup_at=NOW - dt.timedelta(minutes=15, seconds=20))

    found = board(AXIS, by=dispatcher, at=NOW)

    delays = {one.ride.pk: (one.late, one.is_late) for one in found.rows[0].rides}
    assert delays[broken.pk] == (45, True)
    assert delays[foreseen.pk][0] > 0
    assert not delays[foreseen.pk][1]
    assert [(one.ride.pk, one.late, one.is_late) for one in found.waiting] == [(waits.pk, 1, True)]


def test_a_part_has_the_lanes_asked_for_and_all_that_waits(dispatcher: Principal) -> None:
    asked, other = factories.DriverFactory.create(), factories.DriverFactory.create()
    ride = _driven(asked)
    _driven(other)
    waiting = factories.RideFactory.create()

    found = board(AXIS, by=dispatcher, at=NOW, driver_ids={asked.pk})

    assert [row.driver for row in found.rows] == [asked]
    assert [one.ride.pk for one in found.waiting] == [waiting.pk]
    assert found.counts == {"assigned": 2, "scheduled": 1}
    assert driver_ids_of([ride.pk, waiting.pk], by=dispatcher) == {asked.pk}


def test_rides_out_of_reach_are_not_there() -> None:
    mine, theirs = factories.RideFactory.create(), factories.RideFactory.create()
    factories.put_driver_on(theirs)
    assert mine.facility is not None
    by = factories.principal(UserRole.DISPATCHER, facility_ids=frozenset({mine.facility.pk}))

    found = board(AXIS, by=by, at=NOW)

    assert (len(found.rows), [one.ride.pk for one in found.waiting]) == (0, [mine.pk])
    assert driver_ids_of([theirs.pk], by=by) == set()


@pytest.mark.parametrize("count", [1, 3])
def test_a_day_costs_the_same_queries_however_many_rides(
    dispatcher: Principal, django_assert_num_queries: Any, count: int
) -> None:
    for _ in range(count):
        _driven(factories.DriverFactory.create())
        factories.RideFactory.create()
        factories.ShiftFactory.create()

    with django_assert_num_queries(QUERIES):
        found = board(AXIS, by=dispatcher, at=NOW)

    assert (len(found.rows), len(found.waiting)) == (2 * count, count)


def test_waiting_rides_are_sorted_by_harm(dispatcher: Principal) -> None:
    upcoming = factories.RideFactory.create(pickup_at=NOW + HOUR)
    late = factories.RideFactory.create(pickup_at=NOW - 3 * HOUR)
    dialysis = factories.RideFactory.create(pickup_at=NOW - 2 * HOUR, priority="life_sustaining")
    later = factories.RideFactory.create(pickup_at=NOW + 2 * HOUR, priority="life_sustaining")

    waiting = [waiting_ride.ride for waiting_ride in board(AXIS, by=dispatcher, at=NOW).waiting]

    assert waiting == [dialysis, late, upcoming, later]
