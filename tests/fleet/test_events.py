"""Changes of drivers and vehicles, and their events."""

from typing import Any

import pytest

from apps.events.models import Event
from apps.fleet.models import Driver, Vehicle
from tests import factories
from tests.callers import TokenClient
from tests.fleet.test_api import driver_body, vehicle_body

pytestmark = pytest.mark.django_db


def _events() -> list[Any]:
    columns = ("type", "subject_id", "sequence", "facility_id", "provider_id", "data")
    return list(Event.objects.order_by("id").values_list(*columns))


def test_driver_added_and_changed_is_heard_of_twice(api: TokenClient) -> None:
    driver = api.post("/api/drivers", driver_body()).json()
    api.patch(f"/api/drivers/{driver['id']}", {"firstName": "Nadine"})
    api.patch(f"/api/drivers/{driver['id']}", {"firstName": "Nadine"})

    kept = Driver.objects.get()
    about = (kept.pk, kept.provider_id, {"driverId": driver["id"]})
    assert kept.version == 2
    assert _events() == [
        ("driver.created", about[0], 1, None, *about[1:]),
        ("driver.updated", about[0], 2, None, *about[1:]),
    ]


def test_vehicle_changes_record_three_events(api: TokenClient) -> None:
    vehicle = api.post("/api/vehicles", vehicle_body()).json()
    api.patch(f"/api/vehicles/{vehicle['id']}", {"color": "blue"})
    api.post(f"/api/vehicles/{vehicle['id']}/status", {"status": "maintenance", "reason": "brakes"})
    api.post(f"/api/vehicles/{vehicle['id']}/status", {"status": "maintenance", "reason": "brakes"})

    kept = Vehicle.objects.get()
    about = (kept.pk, kept.provider_id, {"vehicleId": vehicle["id"]})
    assert kept.version == 3
    assert _events() == [
        ("vehicle.created", about[0], 1, None, *about[1:]),
        ("vehicle.updated", about[0], 2, None, *about[1:]),
        ("vehicle.updated", about[0], 3, None, *about[1:]),
    ]


def test_refused_change_is_not_heard_of(api: TokenClient) -> None:
    driver = factories.DriverFactory.create(version=4)

    refused = api.patch(f"/api/drivers/{driver.pk}", {"firstName": "Ana"}, headers={"If-Match": '"3"'})

    assert refused.status_code == 412
    assert Event.objects.count() == 0
