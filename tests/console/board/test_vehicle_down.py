"""A vehicle is down: other vehicles for its drivers, and the page that chooses them."""

import datetime as dt
import uuid
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.dispatch.queries.spare_vehicles import vehicle_crews
from apps.dispatch.services import vehicle_down
from apps.events.models import Event
from apps.fleet.models import Driver, Shift, Vehicle
from apps.rides.models import Assignment, Ride
from apps.rides.services.eligibility_checks import AssignmentRejected
from lib.access import Principal
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair, fit_vehicle

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def everything() -> dict[str, Any]:
    return {
        "vehicles": list(Vehicle.objects.order_by("pk").values()),
        "shifts": list(Shift.objects.order_by("pk").values()),
        "rides": list(Ride.objects.order_by("pk").values()),
        "events": Event.objects.count(),
    }


def crew() -> tuple[Driver, Vehicle, Shift, Ride]:
    driver, vehicle = fit_pair()
    shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, starts_at=NOW - 2 * HOUR, ends_at=NOW + 8 * HOUR
    )
    ride = factories.RideFactory.create(pickup_at=NOW + 2 * HOUR)
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return driver, vehicle, shift, ride


def down(vehicle: Vehicle) -> str:
    return f"/console/board/vehicles/{vehicle.pk}/down/"


def test_only_free_vehicles_that_fit_are_offered(dispatcher: Principal) -> None:
    driver, vehicle, shift, ride = crew()
    spare = fit_vehicle(provider=driver.provider, unit_number="A1")
    fit_vehicle(provider=driver.provider, status="maintenance")
    fit_vehicle()  # of another provider
    factories.VehicleFactory.create(provider=driver.provider)  # lacks its credentials
    fit_vehicle(provider=driver.provider, capacity={"ambulatory": 0, "wheelchair": 1, "stretcher": 0})
    in_shift, on_ride = fit_vehicle(provider=driver.provider), fit_vehicle(provider=driver.provider)
    colleague = factories.DriverFactory.create(provider=driver.provider)
    factories.ShiftFactory.create(driver=colleague, vehicle=in_shift)
    factories.put_driver_on(factories.RideFactory.create(pickup_at=NOW + HOUR), driver=colleague, vehicle=on_ride)
    under_way = factories.RideFactory.create(pickup_at=NOW - HOUR / 2)
    factories.put_driver_on(under_way, driver=driver, vehicle=vehicle)
    Ride.objects.filter(pk=under_way.pk).update(status="en_route", departed_at=NOW)

    (found,) = vehicle_crews(vehicle, by=dispatcher, at=NOW)

    assert (found.driver.pk, [row.pk for row in found.shifts]) == (driver.pk, [shift.pk])
    assert ([row.pk for row in found.rides], [row.pk for row in found.under_way]) == ([ride.pk], [under_way.pk])
    assert [row.pk for row in found.spares] == [spare.pk]


def test_driver_goes_on_with_the_other_vehicle(desk: Client) -> None:
    driver, vehicle, shift, ride = crew()
    tomorrow = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, starts_at=NOW + 10 * HOUR, ends_at=NOW + 12 * HOUR
    )
    spare = fit_vehicle(provider=driver.provider)
    page = text_of(desk.get(down(vehicle)))

    after = desk.post(down(vehicle), {f"vehicle-{driver.pk}": str(spare.pk), "reason": "Brakes"}, follow=True)

    assert spare.unit_number in page
    assert told(after) == ["The vehicle is out of service.", "1 ride has another vehicle."]
    vehicle.refresh_from_db()
    ride.refresh_from_db()
    assert (vehicle.status, ride.driver_id, ride.vehicle_id) == ("out_of_service", driver.pk, spare.pk)
    assert list(Shift.objects.order_by("starts_at", "ends_at").values_list("vehicle", "starts_at", "ends_at")) == [
        (vehicle.pk, shift.starts_at, NOW),
        (spare.pk, NOW, shift.ends_at),
        (spare.pk, tomorrow.starts_at, tomorrow.ends_at),
    ]
    assert Assignment.objects.get(ride=ride, status="accepted").overridden == []
    assert AuditEntry.objects.get(action="vehicles.change_status").reason == "Brakes"
    assert "No driver has this vehicle today." in text_of(after)


def test_driver_without_a_choice_keeps_rides_and_can_be_reported_out(desk: Client) -> None:
    driver, vehicle, shift, ride = crew()
    other = fit_vehicle()

    after = desk.post(down(vehicle), {f"vehicle-{driver.pk}": str(other.pk)}, follow=True)

    ride.refresh_from_db()
    shift.refresh_from_db()
    assert told(after) == ["The vehicle is out of service."]
    assert (ride.vehicle_id, shift.ends_at) == (vehicle.pk, NOW + 8 * HOUR)
    assert f"/console/board/drivers/{driver.pk}/out/" in after.content.decode()


def test_vehicle_that_does_not_fit_refuses_everything(dispatcher: Principal) -> None:
    driver, vehicle, _, _ = crew()
    unfit = factories.VehicleFactory.create(provider=driver.provider)
    before = everything()

    with pytest.raises(AssignmentRejected):
        vehicle_down.report(
            vehicle_id=vehicle.pk,
            reason="",
            replacements={driver.pk: unfit.pk},
            until=NOW + 14 * HOUR,
            by=dispatcher,
            at=NOW,
        )

    assert everything() == before


def test_two_drivers_are_preselected_two_vehicles(desk: Client) -> None:
    driver, vehicle, _, _ = crew()
    fit_vehicle(provider=driver.provider, unit_number="A1")
    colleague = factories.DriverFactory.create(provider=driver.provider)
    factories.put_driver_on(factories.RideFactory.create(), driver=colleague, vehicle=vehicle)

    page = desk.get(down(vehicle)).content.decode()

    assert page.count(" selected>A1") == 1
    assert page.count('<option value="" selected>') == 1


def test_unknown_vehicle_and_other_roles_are_refused(desk: Client) -> None:
    _, vehicle, _, _ = crew()

    assert desk.get(f"/console/board/vehicles/{uuid.uuid4()}/down/").status_code == 404
    for role in (UserRole.PLANNER, UserRole.FLEET_ADMIN):
        assert visitor(role).get(down(vehicle)).status_code == 403
    assert down(vehicle) in desk.get(f"/console/fleet/vehicles/{vehicle.pk}/").content.decode()
