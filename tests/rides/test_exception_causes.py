"""Several exceptions with one cause are one: a driver who runs late, and the rides that this puts at risk."""

import datetime as dt
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.rides.models import Ride, RideException
from apps.rides.queries import day_counts, exception_queue
from apps.rides.queries.exception_queue import ExceptionFilter
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import assignment, driver_absence, exceptions
from lib.access import Principal, system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import TokenClient
from tests.rides.looks import HOUR, MINUTE, NOW, standing, tick
from tests.rides.test_ride_forecasts import away_until, driven, located

pytestmark = pytest.mark.django_db


@pytest.fixture
def late() -> tuple[Driver, list[Ride]]:
    """A driver who is away for an hour, with three rides before that at two facilities; the last one is to dialysis."""
    driver = located(last_name="Galarza")
    mercy, brigid = factories.FacilityFactory.create(name="Mercy"), factories.FacilityFactory.create(name="St. Brigid")
    rides = [
        driven(driver, pickup_at=NOW + 20 * MINUTE, facility=mercy),
        driven(driver, pickup_at=NOW + 30 * MINUTE, facility=brigid),
        driven(driver, pickup_at=NOW + 40 * MINUTE, facility=brigid),
    ]
    away_until(driver, NOW + 70 * MINUTE)
    return driver, rides


def queue(by: Principal, **filters: Any) -> list[RideException]:
    return list(exception_queue.queue(ExceptionFilter(**filters), by=by, at=NOW).rows)


def test_desk_shows_one_exception_for_a_late_driver(late: tuple[Driver, list[Ride]], dispatcher: Principal) -> None:
    driver, rides = late
    tick(NOW)

    assert RideException.objects.count() == 3
    assert {row.cause_driver_id for row in RideException.objects.all()} == {driver.pk}
    assert [row.ride_id for row in queue(dispatcher)] == [rides[0].pk]
    assert day_counts.unsettled_exceptions(by=dispatcher) == [("warning", 1)]
    assert all(event.data["exception"]["causeDriverId"] == str(driver.pk) for event in Event.objects.all())


def test_most_severe_ride_stands_for_the_cause(late: tuple[Driver, list[Ride]], dispatcher: Principal) -> None:
    _driver, rides = late
    appointment = {"service_type": "dialysis", "appointment_at": NOW + 60 * MINUTE, "estimated_minutes": 10}
    Ride.objects.filter(pk=rides[2].pk).update(**appointment)

    tick(NOW)

    assert [row.ride_id for row in queue(dispatcher)] == [rides[2].pk]
    assert exception_queue.open_critical(by=dispatcher).count() == 1
    assert [row.ride_id for row in queue(dispatcher, severity="warning")] == [rides[0].pk]


def test_planner_sees_the_rides_of_the_own_facility_alone(late: tuple[Driver, list[Ride]], api_as: Any) -> None:
    _driver, rides = late
    tick(NOW)
    planner = api_as(facility_ids=[rides[1].facility_id])

    (shown,) = planner.get("/api/ride-exceptions").json()["data"]

    assert (shown["rideId"], shown["rideIds"]) == (str(rides[1].pk), [str(rides[1].pk), str(rides[2].pk)])


def test_api_lists_one_with_all_rides(late: tuple[Driver, list[Ride]], api: TokenClient) -> None:
    driver, rides = late
    tick(NOW)

    (shown,) = api.get("/api/ride-exceptions").json()["data"]
    of_ride = api.get("/api/ride-exceptions", {"rideId": str(rides[2].pk)}).json()["data"]

    assert (shown["causeDriverId"], shown["rideIds"]) == (str(driver.pk), [str(ride.pk) for ride in rides])
    assert [row["rideId"] for row in of_ride] == [str(rides[2].pk)]


def test_acknowledging_one_claims_all_and_closing_closes_all(
    late: tuple[Driver, list[Ride]], dispatcher: Principal
) -> None:
    tick(NOW)
    (head,) = queue(dispatcher)

    exceptions.acknowledge(exception_id=head.pk, by=dispatcher, at=NOW)
    assert set(RideException.objects.values_list("status", "owner_id")) == {("acknowledged", dispatcher.id)}

    exceptions.write_note(exception_id=head.pk, note="Tire changed, on the way.", by=dispatcher, at=NOW)
    assert set(RideException.objects.values_list("note", flat=True)) == {"Tire changed, on the way."}

    exceptions.snooze(exception_id=head.pk, until=NOW + HOUR, by=dispatcher, at=NOW)
    assert queue(dispatcher) == []

    exceptions.resolve(exception_id=head.pk, code=ResolutionCode.HANDLED_ELSEWHERE, by=dispatcher, at=NOW)
    assert not RideException.objects.unsettled().exists()
    assert set(Ride.objects.values_list("open_exception_count", flat=True)) == {0}
    tick(NOW + MINUTE)
    assert not RideException.objects.unsettled().exists(), "a person has closed them"


def test_person_closes_nothing_more_severe_than_what_was_shown(
    late: tuple[Driver, list[Ride]], dispatcher: Principal
) -> None:
    tick(NOW)
    (head,) = queue(dispatcher)
    worse = RideException.objects.exclude(pk=head.pk).order_by("pk")[0]
    RideException.objects.filter(pk=worse.pk).update(severity="critical")

    exceptions.resolve(exception_id=head.pk, code=ResolutionCode.HANDLED_ELSEWHERE, by=dispatcher, at=NOW)

    assert [row.pk for row in RideException.objects.unsettled()] == [worse.pk]


def test_others_remain_when_the_first_ride_is_reassigned(
    late: tuple[Driver, list[Ride]], dispatcher: Principal
) -> None:
    _driver, rides = late
    tick(NOW)

    assignment.unassign(ride_id=rides[0].pk, reason_code="running_late", by=dispatcher, at=NOW + MINUTE)
    tick(NOW + MINUTE)

    assert "late_pickup_predicted" not in standing(rides[0])
    shown = {row.ride_id: row.cause_driver_id for row in queue(dispatcher)}
    assert shown[rides[1].pk] is not None
    assert rides[2].pk not in shown


def test_desk_names_the_driver_the_lateness_and_the_rides(late: tuple[Driver, list[Ride]], client: Client) -> None:
    tick(NOW)
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))

    page = client.get("/console/exceptions/").content.decode()
    assert page.count("data-exception=") == 1
    assert re.search(r"Galarza runs \d+ min late: 3 rides at risk", page)
    assert "and 2 others" in page

    one = client.get(f"/console/exceptions/{RideException.objects.order_by('ride__pickup_at')[0].pk}/").content.decode()
    assert one.count("/console/rides/") >= 3
    assert "Move rides to other drivers" in one


def test_driver_who_is_out_is_the_cause_of_rides_without_a_driver(dispatcher: Principal, client: Client) -> None:
    driver = located(last_name="Galarza")
    for minutes in (20, 40):
        driven(driver, pickup_at=NOW + minutes * MINUTE)
    driver_absence.report(driver_id=driver.pk, reason="sick", by=dispatcher, at=NOW)

    tick(NOW)

    (head,) = queue(dispatcher)
    assert (head.type, head.severity, head.cause_driver_id) == ("unassigned_at_risk", "critical", driver.pk)
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    assert "Galarza is out: 2 rides without a driver" in client.get("/console/exceptions/").content.decode()
    assert "Move rides to other drivers" not in client.get(f"/console/exceptions/{head.pk}/").content.decode()


@pytest.mark.parametrize("drivers", [1, 3])
def test_queue_costs_the_same_for_many_causes(drivers: int, client: Client) -> None:
    for _ in range(drivers):
        driver = located()
        for number in range(2):
            driven(driver, pickup_at=NOW + (20 + number) * MINUTE)
        away_until(driver, NOW + HOUR)
    tick(NOW)
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    client.get("/console/exceptions/list/")

    with CaptureQueriesContext(connection) as captured:
        page = client.get("/console/exceptions/list/").content.decode()

    assert page.count("data-exception=") == drivers
    assert len(captured) <= 16


def test_appointment_that_was_booked_too_tightly_is_no_fault_of_the_driver(hospital: Facility) -> None:
    ride = driven(located(), appointment_at=NOW + 40 * MINUTE, estimated_minutes=40, facility=hospital)

    tick(NOW)

    exception = RideException.objects.get(ride=ride)
    assert (exception.type, exception.cause_driver_id) == ("late_to_appointment", None)


@pytest.fixture
def hospital() -> Facility:
    made: Facility = factories.FacilityFactory.create()
    return made


def test_cause_changes_with_the_driver(late: tuple[Driver, list[Ride]]) -> None:
    _driver, rides = late
    tick(NOW)
    other = located()
    Ride.objects.filter(pk=rides[1].pk).update(driver=other, next_check_at=NOW)
    away_until(other, NOW + 70 * MINUTE)

    tick(NOW + dt.timedelta(seconds=1))

    assert RideException.objects.unsettled().get(ride=rides[1]).cause_driver_id == other.pk


@pytest.fixture
def unassigned(dispatcher: Principal) -> Ride:
    """A ride without a driver that is late, whose time for finding a driver has run out."""
    ride: Ride = factories.RideFactory.create(pickup_at=NOW - HOUR)
    for type_, severity in (
        (ExceptionType.UNASSIGNED_AT_RISK, ExceptionSeverity.WARNING),
        (ExceptionType.NO_DRIVER_AVAILABLE, ExceptionSeverity.CRITICAL),
        (ExceptionType.LATE_PICKUP, ExceptionSeverity.CRITICAL),
        (ExceptionType.ADDRESS_PROBLEM, ExceptionSeverity.WARNING),
    ):
        open_one(ride, type_, severity)
    return ride


def open_one(ride: Ride, type_: ExceptionType, severity: ExceptionSeverity) -> RideException:
    return exceptions.open_exception(
        Ride.objects.get(pk=ride.pk), type_, by=system(), at=NOW, detected_by="system", severity=severity
    )


def test_ride_without_driver_is_one_exception(unassigned: Ride, dispatcher: Principal) -> None:
    shown = {row.type for row in queue(dispatcher)}

    assert shown == {ExceptionType.NO_DRIVER_AVAILABLE, ExceptionType.ADDRESS_PROBLEM}
    assert dict(day_counts.unsettled_exceptions(by=dispatcher)) == {"critical": 1, "warning": 1}
    assert [row.type for row in queue(dispatcher, type="late_pickup")] == ["late_pickup"]


def test_exceptions_of_a_ride_with_a_driver_are_listed_each(unassigned: Ride, dispatcher: Principal) -> None:
    factories.put_driver_on(unassigned)

    assert len(queue(dispatcher)) == 4


def test_acknowledging_a_ride_without_driver_includes_its_other_exceptions(
    unassigned: Ride, dispatcher: Principal
) -> None:
    first = RideException.objects.get(type=ExceptionType.NO_DRIVER_AVAILABLE)

    exceptions.acknowledge(exception_id=first.pk, by=dispatcher, at=NOW)

    left = RideException.objects.filter(status="open").values_list("type", flat=True)
    assert list(left) == [ExceptionType.ADDRESS_PROBLEM]


def test_desk_names_the_other_exceptions_of_a_ride_without_driver(unassigned: Ride, client: Client) -> None:
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    with CaptureQueriesContext(connection) as few:
        body = client.get("/console/exceptions/").content.decode()

    assert "Also: Late pickup, Unassigned" in body
    for _ in range(3):
        other = factories.RideFactory.create(pickup_at=NOW - HOUR)
        open_one(other, ExceptionType.NO_DRIVER_AVAILABLE, ExceptionSeverity.CRITICAL)
        open_one(other, ExceptionType.LATE_PICKUP, ExceptionSeverity.CRITICAL)
    with CaptureQueriesContext(connection) as many:
        client.get("/console/exceptions/")
    assert len(many) == len(few)
