"""A pickup as soon as possible is promised by the predicted arrival of the best free driver."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from apps.fleet.models import Driver, Vehicle
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.queries.candidates import candidates
from apps.rides.queries.immediate_pickup import immediate_pickup_at
from apps.rides.rules import timing
from apps.rides.services import booking, booking_preview
from lib.access import Principal
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft

MINUTE = dt.timedelta(minutes=1)
NOW = factories.NOW + dt.timedelta(seconds=20)
ASKED_FOR = NOW.replace(second=0)

pytestmark = pytest.mark.django_db


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def driver_at(lat: str) -> tuple[Driver, Vehicle]:
    """Return a driver on shift until the evening, at this latitude."""
    driver, vehicle = fit_pair(last_lat=lat, last_lng="-87.634000", last_located_at=NOW)
    hours = {"starts_at": NOW - 60 * MINUTE, "ends_at": NOW + 600 * MINUTE}
    factories.ShiftFactory.create(driver=driver, vehicle=vehicle, **hours)
    return driver, vehicle


def booked(hospital: Facility, rider: Rider, by: Principal, **changes: Any) -> Ride:
    asked = draft(hospital, rider, **({"pickup_at": ASKED_FOR} | changes))
    return booking.book(draft=asked, by=by, at=NOW).ride


def test_best_free_driver_makes_the_promise(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    near, _vehicle = driver_at("41.900000")
    driver_at("42.300000")

    ride = booked(hospital, rider, dispatcher)

    first = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)[0]
    assert first.predicted_pickup_at is not None
    assert (first.driver_id, first.late_minutes) == (near.pk, 0)
    assert ride.promised_pickup_by == ride.window_ends_at == timing.promise_of(first.predicted_pickup_at, at=NOW)
    assert NOW < first.predicted_pickup_at <= ride.promised_pickup_by < first.predicted_pickup_at + 5 * MINUTE
    assert (ride.window_starts_at, ride.pickup_at) == (ASKED_FOR + MINUTE, ASKED_FOR)
    assert ride.promised_pickup_by.minute % 5 == 0
    assert ride.promised_pickup_by != ASKED_FOR + 16 * MINUTE  # the minutes of the facility


def test_driver_with_a_rider_on_board_comes_afterwards(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    driver, vehicle = driver_at("41.900000")
    before = booked(hospital, rider, dispatcher).promised_pickup_by
    assert before is not None
    on_board = factories.RideFactory.create(pickup_at=NOW - 10 * MINUTE, dropoff=factories.stop(lat=42.2))
    factories.put_driver_on(on_board, driver=driver, vehicle=vehicle)
    columns = {"status": "in_progress", "boarded_at": NOW - 5 * MINUTE, "arrived_pickup_at": NOW - 8 * MINUTE}
    Ride.objects.filter(pk=on_board.pk).update(estimated_minutes=35, **columns)

    preview = booking_preview.preview(
        draft=draft(hospital, rider, pickup_at=ASKED_FOR), rider=rider, by=dispatcher, at=NOW
    )

    assert preview.is_driver_free is True
    assert preview.promised_by is not None
    assert preview.promised_by >= NOW + 30 * MINUTE > before


@pytest.mark.parametrize("busy_with", ["nothing", "another ride now", "another shift", "the next ride"])
def test_promise_goes_by_the_facility_without_a_free_driver(
    hospital: Facility, rider: Rider, dispatcher: Principal, busy_with: str
) -> None:
    driver, vehicle = driver_at("41.900000")
    if busy_with == "another shift":
        driver.shifts.update(starts_at=NOW + 60 * MINUTE)
    elif busy_with == "another ride now":
        factories.put_driver_on(factories.RideFactory.create(pickup_at=NOW), driver=driver, vehicle=vehicle)
    elif busy_with == "the next ride":
        soon = factories.RideFactory.create(pickup_at=NOW + 30 * MINUTE, pickup=factories.stop(lat=42.4))
        factories.put_driver_on(soon, driver=driver, vehicle=vehicle)

    preview = booking_preview.preview(
        draft=draft(hospital, rider, pickup_at=ASKED_FOR), rider=rider, by=dispatcher, at=NOW
    )
    ride = booked(hospital, rider, dispatcher)

    assert preview.is_driver_free is (busy_with == "nothing")
    assert preview.promised_by == ride.promised_pickup_by
    assert (ride.promised_pickup_by == ASKED_FOR + 16 * MINUTE) is (busy_with != "nothing")


@pytest.mark.parametrize(
    "changes",
    [
        {"pickup_at": ASKED_FOR + 2 * MINUTE},
        {"will_call": True},
        {"scheduling_anchor": "appointment", "appointment_at": NOW + 120 * MINUTE},
    ],
)
def test_other_promises_go_by_the_facility(
    hospital: Facility, rider: Rider, dispatcher: Principal, changes: dict[str, Any]
) -> None:
    without = booked(hospital, rider, dispatcher, allow_duplicate=True, **changes)
    driver_at("41.900000")

    ride = booked(hospital, rider, dispatcher, allow_duplicate=True, **changes)

    assert (ride.promised_pickup_by, ride.window_ends_at) == (without.promised_pickup_by, without.window_ends_at)


def test_rides_in_bulk_go_by_the_facility(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    driver_at("41.900000")

    (result,) = booking.book_many(drafts=[draft(hospital, rider, pickup_at=ASKED_FOR)], by=dispatcher, at=NOW)

    assert isinstance(result, booking.Booked)
    assert result.ride.promised_pickup_by == ASKED_FOR + 16 * MINUTE


@pytest.mark.parametrize("count", [1, 20])
def test_query_count_is_independent_of_driver_count(
    hospital: Facility,
    rider: Rider,
    dispatcher: Principal,
    django_assert_max_num_queries: Callable[..., Any],
    count: int,
) -> None:
    ride = booked(hospital, rider, dispatcher)
    for _ in range(count):
        driver_at("41.900000")

    with django_assert_max_num_queries(11):
        assert immediate_pickup_at(ride, at=NOW) is not None


@pytest.mark.parametrize(
    ("arrives", "promised"),
    [("10:50:20", "10:55:00"), ("10:55:00", "10:55:00"), ("10:55:01", "11:00:00"), ("09:00:00", "10:55:00")],
)
def test_promise_is_rounded_up_and_still_to_come(arrives: str, promised: str) -> None:
    day = "2026-11-20T{}+00:00"

    result = timing.promise_of(
        dt.datetime.fromisoformat(day.format(arrives)), at=dt.datetime.fromisoformat(day.format("10:50:20"))
    )

    assert result == dt.datetime.fromisoformat(day.format(promised))
