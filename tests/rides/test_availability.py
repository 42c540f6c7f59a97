"""Number of available vehicles for a ride: with enough spaces, on duty throughout, without another ride."""

import datetime as dt
from typing import Any

import pytest

from apps.riders.rules.accommodation import complete
from apps.rides.models import Ride
from apps.rides.queries.availability import Availability, availability
from tests import factories
from tests.factories import PICKUP

pytestmark = pytest.mark.django_db
MINUTE = dt.timedelta(minutes=1)
COLUMNS: dict[str, Any] = {
    "pickup_at": PICKUP,
    "estimated_minutes": 40,
    "spaces_ambulatory": 0,
    "spaces_wheelchair": 1,
    "spaces_stretcher": 0,
    "accommodation": complete({"mobility": "wheelchair"}),
}


def _shift(**columns: Any) -> Any:
    vehicle = factories.VehicleFactory.create(**columns.pop("vehicle", {}))
    driver = factories.DriverFactory.create(provider=vehicle.provider)
    return factories.ShiftFactory.create(driver=driver, vehicle=vehicle, **columns)


def test_vehicle_on_shift_with_the_places_is_free() -> None:
    _shift()

    assert availability(COLUMNS) == Availability(on_shift=1, free=1)


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "cancelled"},
        {"starts_at": PICKUP + MINUTE},
        {"ends_at": PICKUP + 39 * MINUTE},
        {"vehicle": {"status": "maintenance"}},
        {"vehicle": {"capacity": {"ambulatory": 3, "wheelchair": 0, "stretcher": 0}}},
    ],
)
def test_vehicle_that_cannot_take_the_ride_does_not_count(columns: dict[str, Any]) -> None:
    _shift(**columns)

    assert availability(COLUMNS) == Availability(on_shift=0, free=0)


def test_bariatric_rider_takes_a_vehicle_for_them() -> None:
    _shift()
    _shift(vehicle={"bariatric": True})
    needs = {"accommodation": complete({"mobility": "wheelchair", "riderWeightLb": 420})}

    assert availability(COLUMNS | needs) == Availability(on_shift=1, free=1)


@pytest.mark.parametrize(
    ("pickup_at", "free"),
    [(PICKUP, 0), (PICKUP - 29 * MINUTE, 0), (PICKUP - 30 * MINUTE, 1), (PICKUP + 40 * MINUTE, 1)],
)
def test_vehicle_with_a_ride_then_is_not_free(pickup_at: dt.datetime, free: int) -> None:
    shift = _shift()
    ride = factories.RideFactory.create(facility=factories.FacilityFactory.create(), pickup_at=pickup_at)
    factories.put_driver_on(ride, driver=shift.driver, vehicle=shift.vehicle)

    assert availability(COLUMNS) == Availability(on_shift=1, free=free)


def test_ride_that_was_called_off_keeps_no_vehicle_busy() -> None:
    shift = _shift()
    ride = factories.RideFactory.create(facility=factories.FacilityFactory.create(), pickup_at=PICKUP)
    factories.put_driver_on(ride, driver=shift.driver, vehicle=shift.vehicle)
    ended = {"status_before_end": "assigned", "reason_code": "other", "fault": "rider", "ended_by": "system"}
    Ride.objects.update(status="cancelled", cancellation_timing="advance", **ended)

    assert availability(COLUMNS) == Availability(on_shift=1, free=1)
