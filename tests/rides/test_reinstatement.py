"""Canceled rides that are reinstated, and riders handed over to another driver."""

import datetime as dt
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Assignment, Ride, RideLock
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, booking, corrections, legs, reinstatement, status_report
from apps.rides.services.status import InvalidTransition
from lib.access import Principal
from lib.errors import ScopeMissing, StaleVersion
from lib.ids import uuid7
from tests import factories
from tests.callers import TokenClient, error_of
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import report_to, traces

NOW = factories.NOW
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def ride(hospital: Facility, planner: Principal) -> Ride:
    rider: Rider = factories.RiderFactory.create(facility=hospital)
    return booking.book(draft=draft(hospital, rider), by=planner, at=NOW).ride


@pytest.fixture
def driver(ride: Ride) -> Driver:
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return driver


def cancel(ride: Ride, by: Principal) -> None:
    report = report_to(RideStatus.CANCELLED, reason_code="rider_request")
    status_report.change_status(ride_id=ride.pk, report=report, by=by, at=NOW)


def reinstate(ride: Ride, by: Principal, at: dt.datetime = NOW, **more: Any) -> Ride:
    return reinstatement.reinstate(ride_id=ride.pk, by=by, at=at, **more)


def test_driver_who_is_still_free_is_assigned_again(ride: Ride, driver: Driver, planner: Principal) -> None:
    cancel(ride, planner)

    reinstate(ride, planner)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.reason_code, ride.status_before_end) == ("assigned", driver.pk, "", "")
    types = Event.objects.filter(subject_id=ride.pk).order_by("sequence").values_list("type", flat=True)
    assert list(types)[-2:] == ["ride.corrected", "ride.driver_assigned"]
    event = Event.objects.get(type="ride.corrected")
    assert (event.data["endedAs"], event.data["reasonCode"]) == ("cancelled", "rider_request")
    entry = AuditEntry.objects.filter(action="rides.status").latest("at")
    assert (entry.details["from"], entry.details["to"]) == ("cancelled", "assigned")


def test_driver_with_another_ride_is_not(ride: Ride, driver: Driver, planner: Principal) -> None:
    cancel(ride, planner)
    other = factories.RideFactory.create()
    factories.put_driver_on(other, driver=driver, vehicle=driver.default_vehicle)

    reinstate(ride, planner)

    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.assignment_id) == ("scheduled", None, None)
    assert Assignment.objects.get(ride=ride).status == "released"


def test_ride_without_driver_waits_again_up_to_15_minutes_after_its_pickup(ride: Ride, planner: Principal) -> None:
    cancel(ride, planner)
    before = traces(ride)

    with pytest.raises(legs.PickupInPast) as late:
        reinstate(ride, planner, at=ride.pickup_at + 16 * MINUTE)
    assert late.value.details[0].field == "pickupTime"
    assert traces(ride) == before

    reinstate(ride, planner, at=ride.pickup_at + 15 * MINUTE)
    assert Ride.objects.get(pk=ride.pk).status == "scheduled"


def test_request_becomes_a_request_again(hospital: Facility, planner: Principal) -> None:
    Facility.objects.update(lead_time_minutes=600)
    rider = factories.RiderFactory.create(facility=hospital)
    ride = booking.book(draft=draft(hospital, rider), by=planner, at=NOW).ride
    cancel(ride, planner)

    assert reinstate(ride, planner).status == "requested"


def test_refused_reinstatement_changes_nothing(ride: Ride, planner: Principal, dispatcher: Principal) -> None:
    with pytest.raises(InvalidTransition):
        reinstate(ride, planner)
    cancel(ride, planner)
    assert ride.facility is not None
    booking.book(draft=draft(ride.facility, ride.rider), by=planner, at=NOW)
    before = traces(ride)

    with pytest.raises(StaleVersion):
        reinstate(ride, planner, expected_version=1)
    with pytest.raises(booking.OverlappingRide):
        reinstate(ride, planner)
    with pytest.raises(ScopeMissing):
        reinstate(ride, factories.principal(scopes=frozenset()))
    RideLock.objects.create(ride=ride, export_id=uuid7(), locked_at=NOW)
    with pytest.raises(corrections.LockedByExport):
        reinstate(ride, dispatcher, allow_duplicate=True)
    assert traces(ride) == before

    RideLock.objects.all().delete()
    reinstate(ride, dispatcher, allow_duplicate=True)
    assert ride.exceptions.get().type == "duplicate_ride"


def test_api_reinstates(api: TokenClient, ride: Ride, planner: Principal) -> None:
    path = f"/api/rides/{ride.pk}/reinstate"
    assert error_of(api.post(path, {}, format="json"))["code"] == "INVALID_TRANSITION"
    cancel(ride, planner)

    answer = api.post(path, {}, format="json")

    assert (answer.status_code, answer.json()["status"], answer.json()["outcome"]["reasonCode"]) == (
        200,
        "scheduled",
        None,
    )


def test_handover_keeps_the_times_of_both_drivers(api: TokenClient, dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    driver, vehicle = fit_pair()
    path = f"/api/rides/{ride.pk}/handover"
    body = {"driverId": str(driver.pk), "vehicleId": str(vehicle.pk), "reasonCode": "driver_ill"}
    before = traces(ride)

    nowhere = error_of(api.post(path, body, format="json"))
    assert nowhere["code"] == "TRANSITION_GUARD_FAILED"
    assert traces(ride) == before

    answer = api.post(path, {**body, "riderLocation": "Austin Blvd", "override": True, "overrideReason": "Ill."})
    assert (answer.status_code, answer.json()["driverId"]) == (200, str(driver.pk))
    first, second = Assignment.objects.filter(ride=ride).order_by("sequence")
    assert (first.status, first.ended_at, first.end_reason) == ("superseded", second.started_at, "driver_ill")
    assert (second.status, second.sequence) == ("accepted", 2)

    waiting = ride_in(RideStatus.ASSIGNED)
    with pytest.raises(InvalidTransition):
        assignment.hand_over(ride_id=waiting.pk, by=dispatcher, at=NOW, driver_id=driver.pk, vehicle_id=vehicle.pk)
