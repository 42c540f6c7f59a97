"""`/vehicles/{id}/outages`: other vehicles for the drivers of a vehicle that is down, and undo."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.fleet.models import Driver, Shift, Vehicle, VehicleOutage
from apps.rides.models import Ride
from tests import factories
from tests.callers import TokenClient, error_of
from tests.fleet.crew import fit_pair, fit_vehicle

pytestmark = pytest.mark.django_db

NOW, PICKUP = factories.NOW, factories.PICKUP
HOUR = dt.timedelta(hours=1)


def crew() -> tuple[Driver, Vehicle, Shift, Ride]:
    driver, vehicle = fit_pair()
    shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, provider=driver.provider, starts_at=NOW - HOUR, ends_at=NOW + 9 * HOUR
    )
    ride = factories.RideFactory.create(pickup_at=PICKUP)
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return driver, vehicle, shift, ride


def test_drivers_get_the_first_vehicle_that_fits_and_the_others_lose_rides(api: TokenClient) -> None:
    driver, vehicle, _, ride = crew()
    colleague, _ = fit_pair(provider=driver.provider)
    second = factories.RideFactory.create(pickup_at=PICKUP + HOUR)
    factories.put_driver_on(second, driver=colleague, vehicle=vehicle)
    Vehicle.objects.exclude(pk=vehicle.pk).update(status="maintenance")
    spare = fit_vehicle(provider=driver.provider)
    body = {"to": "2026-11-20T23:00:00Z", "reason": "breakdown", "note": "Lift"}
    headers = {"Idempotency-Key": "outage-1"}

    response = api.post(f"/api/vehicles/{vehicle.pk}/outages", body, headers=headers)

    outage = VehicleOutage.objects.get()
    answer = response.json()
    freed = answer.pop("freedRides")
    assert (response.status_code, answer) == (
        201,
        {
            "id": str(outage.pk),
            "from": "2026-11-20T15:00:00Z",
            "to": "2026-11-20T23:00:00Z",
            "reason": "breakdown",
            "movedRides": [{"rideId": str(row.pk), "vehicleId": str(spare.pk)} for row in (ride,)],
            "handoverRideIds": [],
        },
    )
    assert [row["rideId"] for row in freed] == [str(second.pk)]
    vehicle.refresh_from_db()
    assert (vehicle.status, outage.note) == ("out_of_service", "Lift")
    again = api.post(f"/api/vehicles/{vehicle.pk}/outages", body, headers=headers)
    assert (again.json()["id"], VehicleOutage.objects.count()) == (str(outage.pk), 1)


def test_deleting_an_outage_gives_everything_back(api: TokenClient) -> None:
    driver, vehicle, shift, ride = crew()
    outage = api.post(f"/api/vehicles/{vehicle.pk}/outages", {"reason": "accident", "otherVehicles": []}).json()
    assert [row["rideId"] for row in outage["freedRides"]] == [str(ride.pk)]
    path = f"/api/vehicles/{vehicle.pk}/outages/{outage['id']}"

    undone = api.delete(path)

    ride.refresh_from_db()
    vehicle.refresh_from_db()
    assert (undone.status_code, undone.json()) == (200, {"shifts": [], "rideIds": [str(ride.pk)]})
    assert (ride.driver_id, ride.vehicle_id, vehicle.status) == (driver.pk, vehicle.pk, "in_service")
    assert error_of(api.delete(path))["code"] == "NOT_FOUND"
    assert Shift.objects.get().pk == shift.pk


def test_changed_ride_keeps_the_outage_until_it_ends_without_rides(api: TokenClient) -> None:
    _, vehicle, _, ride = crew()
    outage = api.post(f"/api/vehicles/{vehicle.pk}/outages", {"reason": "other", "otherVehicles": []}).json()
    other_driver, other_vehicle = fit_pair()
    named = {"driverId": str(other_driver.pk), "vehicleId": str(other_vehicle.pk)}
    assert api.put(f"/api/rides/{ride.pk}/assignment", named).status_code == 200
    path = f"/api/vehicles/{vehicle.pk}/outages/{outage['id']}"

    error = error_of(api.delete(path))

    assert (error["code"], [detail["rideId"] for detail in error["details"]]) == (
        "ASSIGNMENT_CONFLICT",
        [str(ride.pk)],
    )
    assert VehicleOutage.objects.count() == 1
    assert api.delete(f"{path}?withoutRides=true").json() == {"shifts": [], "rideIds": []}
    assert VehicleOutage.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "reason"),
        ({"reason": "tired"}, "reason"),
        ({"reason": "other", "from": "2026-11-19T10:00:00Z"}, "from"),
        ({"reason": "other", "from": "2026-11-20T16:00:00Z"}, "from"),
        ({"reason": "other", "to": "2026-11-20T14:00:00Z"}, "to"),
        ({"reason": "other", "to": "2026-12-28T14:00:00Z"}, "to"),
        ({"reason": "other", "note": "x" * 101}, "note"),
        ({"reason": "other", "otherVehicles": [{"driverId": "x"}]}, "otherVehicles[0].driverId"),
    ],
)
def test_invalid_outage_names_the_field_and_changes_nothing(api: TokenClient, body: Any, field: str) -> None:
    _, vehicle, _, _ = crew()

    error = error_of(api.post(f"/api/vehicles/{vehicle.pk}/outages", body))

    assert (error["code"], error["details"][0]["field"]) == ("VALIDATION_ERROR", field)
    vehicle.refresh_from_db()
    assert (vehicle.status, VehicleOutage.objects.count(), Ride.objects.get().status) == ("in_service", 0, "assigned")


def test_partner_reports_only_vehicles_of_its_provider(api_as: Callable[..., TokenClient]) -> None:
    driver, vehicle, _, _ = crew()
    _, foreign = fit_pair()
    partner = api_as(TokenRole.DISPATCH_PARTNER, provider_ids=[driver.provider_id])

    own = partner.post(f"/api/vehicles/{vehicle.pk}/outages", {"reason": "other"})
    other = partner.post(f"/api/vehicles/{foreign.pk}/outages", {"reason": "other"})
    unknown = partner.post(f"/api/vehicles/{uuid.uuid4()}/outages", {"reason": "other", "otherVehicles": []})

    assert own.status_code == 201
    assert [error_of(response)["code"] for response in (other, unknown)] == ["NOT_FOUND", "NOT_FOUND"]
    assert VehicleOutage.objects.get().vehicle_id == vehicle.pk
