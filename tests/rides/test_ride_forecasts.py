"""The prediction of the driver's day in exceptions and in `etaPickup`."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.fleet.models import Driver, Leave
from apps.rides.models import Ride, RideException
from apps.rides.queries import ride_forecasts
from apps.rides.queries.ride_forecasts import Eta, EtaSource, etas_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exception_monitor
from tests import factories
from tests.callers import TokenClient
from tests.rides.looks import HOUR, MINUTE, NOW, fresh, standing, tick

pytestmark = pytest.mark.django_db


def located(**columns: Any) -> Driver:
    position = {"last_lat": "41.900000", "last_lng": "-87.650000", "last_located_at": NOW}
    driver: Driver = factories.DriverFactory.create(**(position | columns))
    return driver


def driven(driver: Driver, *, pickup_at: dt.datetime = NOW + 30 * MINUTE, **columns: Any) -> Ride:
    window = {"window_starts_at": pickup_at, "window_ends_at": pickup_at + 15 * MINUTE}
    ride = factories.RideFactory.create(pickup_at=pickup_at, **window)
    factories.put_driver_on(ride, driver=driver)
    Ride.objects.filter(pk=ride.pk).update(**columns)
    return fresh(ride)


def away_until(driver: Driver, until: dt.datetime) -> None:
    Leave.objects.filter(driver=driver).delete()
    Leave.objects.create(driver=driver, starts_at=NOW - 10 * MINUTE, ends_at=until)


def test_late_pickup_is_predicted_without_any_report_until_it_recovers() -> None:
    driver = located()
    ride = driven(driver)
    away_until(driver, NOW + HOUR)

    tick(NOW)
    exception = RideException.objects.get()
    assert (exception.type, exception.severity, exception.detected_by) == ("late_pickup_predicted", "warning", "clock")

    away_until(driver, NOW - MINUTE)
    next_check_at = fresh(ride).next_check_at
    assert next_check_at is not None
    assert NOW + MINUTE < next_check_at <= NOW + 10 * MINUTE
    tick(next_check_at)
    exception.refresh_from_db()
    assert (exception.status, exception.resolution_code) == ("resolved", "recovered_on_time")


def test_prediction_ends_when_the_pickup_is_late() -> None:
    driver = located()
    ride = driven(driver)
    away_until(driver, NOW + HOUR)
    tick(NOW)

    tick(ride.window_ends_at + MINUTE)

    assert standing(ride) == {"late_pickup": "warning"}
    assert RideException.objects.get(type="late_pickup_predicted").resolution_code == "handled_elsewhere"


def test_pickups_hours_ahead_are_not_predicted() -> None:
    driver = located()
    ride = driven(driver, pickup_at=NOW + 3 * HOUR)
    away_until(driver, NOW + 4 * HOUR)

    tick(NOW)
    assert (standing(ride), fresh(ride).next_check_at) == ({}, ride.window_ends_at - 2 * HOUR)

    tick(ride.window_ends_at - 2 * HOUR)
    assert standing(ride) == {"late_pickup_predicted": "warning"}


def test_appointment_is_late_by_prediction() -> None:
    driver = located()
    ride = driven(driver, appointment_at=NOW + 70 * MINUTE, estimated_minutes=20)

    tick(NOW)
    assert standing(ride) == {}

    away_until(driver, NOW + 55 * MINUTE)
    tick(NOW + 10 * MINUTE)
    assert standing(ride)["late_to_appointment"] == "warning"


def test_rides_are_judged_by_plan_if_the_prediction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ride = driven(located())

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError

    monkeypatch.setattr(ride_forecasts, "forecasts_of", fail)
    tick(ride.window_ends_at + MINUTE)

    assert standing(ride) == {"late_pickup": "warning"}


@pytest.mark.parametrize("drivers", [1, 3])
def test_monitor_reads_all_timelines_at_once(drivers: int) -> None:
    for _ in range(drivers):
        driver = located()
        for number in range(2):
            driven(driver, pickup_at=NOW + (30 + 20 * number) * MINUTE)
    exception_monitor.follow_settings(at=NOW)

    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert tick(NOW) == 2 * drivers

    # Two savepoints, settings, rides, facilities, exceptions, the next checks; five queries of timelines.
    assert len(captured) == 14


def eta_of(ride: Ride, at: dt.datetime = NOW) -> Eta | None:
    return etas_of([fresh(ride)], at=at).get(ride.pk)


def test_reported_arrival_counts_until_it_has_passed() -> None:
    ride = driven(located(), status=RideStatus.EN_ROUTE, departed_at=NOW, eta_pickup_at=NOW + 40 * MINUTE)

    assert eta_of(ride) == Eta(NOW + 40 * MINUTE, EtaSource.REPORTED)
    later = eta_of(ride, NOW + 41 * MINUTE)
    assert later is not None
    assert later.source is EtaSource.LOCATION_UNKNOWN, "the position is old by then"


def test_predicted_arrival_is_never_in_the_past() -> None:
    ride = driven(located(), pickup_at=NOW - 60 * MINUTE)

    eta = eta_of(ride)

    assert eta is not None
    assert (eta.source, eta.at is not None and eta.at >= NOW) == (EtaSource.PREDICTED, True)


def test_ride_that_nobody_drives_or_that_is_hours_ahead_has_no_arrival() -> None:
    alone = factories.RideFactory.create(pickup_at=NOW)
    ahead = driven(located(), pickup_at=NOW + 3 * HOUR)

    assert (eta_of(alone), eta_of(ahead)) == (None, None)


@pytest.mark.parametrize(
    ("position", "source"), [({}, "predicted"), ({"last_located_at": NOW - HOUR}, "location_unknown")]
)
def test_api_shows_the_expected_arrival_and_its_source(api: TokenClient, position: dict[str, Any], source: str) -> None:
    ride = driven(located(**position))

    single, listed = api.get(f"/api/rides/{ride.pk}"), api.get("/api/rides").json()["data"][0]

    shown = single.json()
    assert shown["etaSource"] == listed["etaSource"] == source
    assert shown["etaPickup"] == listed["etaPickup"]
    assert (shown["etaPickup"] is None) is (source == "location_unknown")
    again = api.get(f"/api/rides/{ride.pk}", headers={"If-None-Match": single.headers["ETag"]})
    assert again.status_code == 200, "it changes without the version"
