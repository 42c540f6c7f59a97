"""References to other records on pages of /admin/: a name for users who may open them, and only then a link."""

from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Credential, Driver
from apps.organizations.models import Facility
from apps.rides.models import Assignment, Ride, Trip
from lib.dates import plain_day
from tests import factories
from tests.console.admin_pages import address_of, signed_in_as

pytestmark = pytest.mark.django_db


def _body(client: Any, url: str) -> str:
    """Return the text of a page below its contents."""
    page: str = client.get(url).content.decode()
    return page.split("<main")[1]


def _assignment() -> Assignment:
    ride = factories.RideFactory.create(pickup_at=factories.NOW)
    return factories.put_driver_on(ride)


def test_list_of_assignments_says_which_ride_and_who_drives_what() -> None:
    assignment = _assignment()
    driver, ride = assignment.driver, assignment.ride
    client = signed_in_as(UserRole.DISPATCHER)

    page = _body(client, address_of(Assignment, "changelist"))

    assert f"{driver.first_name} {driver.last_name}" in page
    assert f">{assignment.vehicle.unit_number}<" in page
    assert f"09:00 CT</time>, {ride.facility}" in page
    assert str(driver.pk) not in page
    assert str(ride.pk) not in page


def test_planner_reads_the_first_name_of_a_driver_and_no_link() -> None:
    assignment = _assignment()
    client = signed_in_as(UserRole.PLANNER, facilities=[assignment.ride.facility])

    page = _body(client, address_of(Assignment, "change", assignment.pk))

    assert f'<div class="readonly">{assignment.driver.first_name}</div>' in page
    assert assignment.driver.last_name not in page
    assert str(assignment.driver_id) not in page
    assert address_of(Ride, "change", assignment.ride_id) in page


def test_dispatcher_follows_a_ride_to_its_driver() -> None:
    assignment = _assignment()
    driver = assignment.driver
    client = signed_in_as(UserRole.DISPATCHER)

    page = _body(client, address_of(Ride, "change", assignment.ride_id))

    link = address_of(Driver, "change", driver.pk)
    assert f'<a href="{link}">{driver.first_name} {driver.last_name}</a>' in page


@pytest.mark.parametrize(("role", "named"), [(UserRole.DISPATCHER, True), (UserRole.AUDITOR, False)])
def test_ride_names_its_rider_to_those_who_open_riders(role: UserRole, named: bool) -> None:
    ride = factories.RideFactory.create()
    client = signed_in_as(role)

    page = _body(client, address_of(Ride, "change", ride.pk))

    assert (f"{ride.rider.last_name}, {ride.rider.first_name}" in page) is named
    assert (f"rider {ride.rider_id}<" in page) is not named


def test_ride_without_facility_is_named_by_time_trip_by_day() -> None:
    ride = factories.RideFactory.create(pickup_at=factories.NOW)
    ride.trip = Trip.objects.create(rider=ride.rider, service_date=ride.service_date)
    ride.facility = None
    ride.save()
    assignment = factories.put_driver_on(ride)
    client = signed_in_as(UserRole.DISPATCHER)

    called = _body(client, address_of(Assignment, "change", assignment.pk))
    page = _body(client, address_of(Ride, "change", ride.pk))

    assert "09:00 CT</time></a>" in called
    assert f'{address_of(Trip, "change", ride.trip_id)}">{plain_day(ride.service_date)}</a>' in page


def test_credential_of_a_driver_names_only_the_driver() -> None:
    driver = factories.DriverFactory.create()
    factories.CredentialFactory.create(driver=driver)
    client = signed_in_as(UserRole.FLEET_ADMIN, providers=[driver.provider])

    page = _body(client, address_of(Credential, "changelist"))

    assert f'field-driver">{driver.first_name} {driver.last_name}<' in page
    assert 'field-vehicle">-<' in page


@pytest.mark.parametrize("count", [1, 3])
def test_list_of_assignments_asks_the_same_however_many(django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        _assignment()
    client = signed_in_as(UserRole.DISPATCHER)

    with django_assert_num_queries(6):  # session, user, inbox, count, rows, audit
        client.get(address_of(Assignment, "changelist"))


def test_hours_are_text_for_readers_and_a_field_for_editors() -> None:
    facility = factories.FacilityFactory.create(hours=[{"days": ["sat"], "opens": "06:00", "closes": "11:00"}])
    url = address_of(Facility, "change", facility.pk)

    read = _body(signed_in_as(UserRole.DISPATCHER), url)
    changed = _body(signed_in_as(UserRole.ADMIN), url)

    assert '<div class="readonly">Sat, 06:00 to 11:00</div>' in read
    assert 'name="hours"' in changed
    assert "Sat, 06:00" not in changed
