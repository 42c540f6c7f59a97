"""Present state of drivers, as the prediction of their day reads it."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.fleet.models import Driver, Leave
from apps.organizations.models import HomeBase
from apps.rides.models import Ride
from apps.rides.queries.driver_timelines import driver_timelines, predicted_arrivals_of
from apps.rides.rules.driver_timeline import UNKNOWN_LOCATION, Location, LocationSource
from apps.rides.rules.lifecycle import RideStatus
from lib.travel.places import Place
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db
MINUTE = dt.timedelta(minutes=1)


def located(minutes_ago: int) -> Driver:
    return factories.DriverFactory.create(
        last_lat="41.900000", last_lng="-87.650000", last_located_at=NOW - minutes_ago * MINUTE
    )


def driven(driver: Driver, **columns: Any) -> Ride:
    """Return a ride of this driver; the columns are written after the assignment."""
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride, driver=driver)
    Ride.objects.filter(pk=ride.pk).update(**columns)
    return Ride.objects.get(pk=ride.pk)


def location_of(driver: Driver) -> Location:
    return driver_timelines([driver.pk], at=NOW)[driver.pk].location


def test_fresh_position_is_the_location() -> None:
    assert location_of(located(4)) == Location(Place(41.9, -87.65), LocationSource.POSITION)


def test_position_older_than_five_minutes_does_not_count() -> None:
    assert location_of(located(6)) == UNKNOWN_LOCATION


def test_last_stop_is_the_location_without_a_position() -> None:
    driver = located(6)
    ride = driven(
        driver,
        pickup_at=NOW - 60 * MINUTE,
        status=RideStatus.COMPLETED,
        status_before_end=RideStatus.IN_PROGRESS,
        arrived_pickup_at=NOW - 60 * MINUTE,
        boarded_at=NOW - 55 * MINUTE,
        dropped_off_at=NOW - 30 * MINUTE,
    )

    location = location_of(driver)

    assert location.source is LocationSource.LAST_STOP
    assert location.place == Place(ride.dropoff["lat"], ride.dropoff["lng"])


def test_stop_after_the_position_is_newer() -> None:
    driver = located(4)
    driven(driver, status=RideStatus.ARRIVED, pickup_at=NOW, arrived_pickup_at=NOW - MINUTE)

    assert location_of(driver).source is LocationSource.LAST_STOP


def test_location_names_no_address_of_a_rider() -> None:
    driver = factories.DriverFactory.create()
    home = {"name": "Grace Walsh", "addressLine1": "1418 N Wood St", "city": "Chicago", "lat": 41.9, "lng": -87.6}
    driven(driver, status=RideStatus.ARRIVED, pickup=home, arrived_pickup_at=NOW - MINUTE)

    assert location_of(driver).label == "Chicago"


def test_home_base_is_the_location_of_a_driver_who_begins() -> None:
    driver = factories.DriverFactory.create()
    base = HomeBase.objects.create(provider=driver.provider, name="North garage", lat="41.95", lng="-87.70")
    Driver.objects.filter(pk=driver.pk).update(home_base=base)

    assert location_of(driver) == Location(Place(41.95, -87.7), LocationSource.HOME_BASE, "North garage")


def test_unreleased_will_call_past_its_estimate_holds_up_nothing() -> None:
    driver = located(1)
    will_call = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": NOW + 300 * MINUTE}
    late = driven(driver, **will_call, promised_pickup_by=None, pickup_at=NOW - 60 * MINUTE)
    following = driven(driver, pickup_at=NOW + 10 * MINUTE)

    assert [row.ride_id for row in driver_timelines([driver.pk], at=NOW)[driver.pk].rides] == [following.pk]
    assert late.pk not in predicted_arrivals_of([late, following], at=NOW)


def test_leave_holds_up_the_next_pickup() -> None:
    driver = located(1)
    ride = driven(driver, pickup_at=NOW)
    Leave.objects.create(driver=driver, starts_at=NOW - 10 * MINUTE, ends_at=NOW + 50 * MINUTE)

    assert predicted_arrivals_of([ride], at=NOW)[ride.pk] >= NOW + 50 * MINUTE


def test_queries_do_not_grow_with_drivers() -> None:
    counts = []
    for number in (1, 3):
        drivers = [located(1) for _ in range(number)]
        for driver in drivers:
            driven(driver)
        with CaptureQueriesContext(connection) as queries:
            driver_timelines([driver.pk for driver in drivers], at=NOW)
        counts.append(len(queries))

    assert counts == [5, 5]
