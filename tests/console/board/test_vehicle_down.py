"""A vehicle is down: other vehicles for its drivers, and the page that chooses them."""

import datetime as dt
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.dispatch.queries.spare_vehicles import vehicle_crews
from apps.dispatch.services import vehicle_down
from apps.events.models import Event
from apps.fleet.models import Driver, Shift, Vehicle, VehicleOutage
from apps.fleet.services.outages import OutageOver, OutageShiftsChanged
from apps.rides.models import Assignment, Ride
from apps.rides.services import assignment
from apps.rides.services.eligibility_checks import AssignmentRejected
from lib.access import Principal, system
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair, fit_vehicle
from tests.locks import wait_until_somebody_waits

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

    after = desk.post(
        down(vehicle), {f"vehicle-{driver.pk}": str(spare.pk), "reason": "breakdown", "note": "Brakes"}, follow=True
    )

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


def test_rides_without_another_vehicle_wait_for_a_driver(desk: Client) -> None:
    driver, vehicle, shift, ride = crew()
    other = fit_vehicle()
    under_way = factories.RideFactory.create(pickup_at=NOW - HOUR / 2)
    factories.put_driver_on(under_way, driver=driver, vehicle=vehicle)
    Ride.objects.filter(pk=under_way.pk).update(status="en_route", departed_at=NOW)

    after = desk.post(down(vehicle), {f"vehicle-{driver.pk}": str(other.pk), "reason": "breakdown"}, follow=True)

    ride.refresh_from_db()
    under_way.refresh_from_db()
    shift.refresh_from_db()
    assert told(after) == ["The vehicle is out of service.", "1 ride waits for a driver."]
    assert (ride.status, ride.driver_id, shift.ends_at) == ("scheduled", None, NOW + 8 * HOUR)
    assert (under_way.status, under_way.vehicle_id) == ("en_route", vehicle.pk)
    assert "1 ride waits for a driver." in text_of(after)
    assert f"/console/board/drivers/{driver.pk}/out/" in after.content.decode()
    board = desk.get("/console/board/")
    assert [card["ride"].pk for card in board.context["queue"]] == [ride.pk]
    assert "Vehicle down, no eligible driver: vehicle out of service (1)" in text_of(board)
    assert desk.post(f"{down(vehicle)}{VehicleOutage.objects.get().pk}/undo/").status_code == 302
    assert "Vehicle down" not in text_of(desk.get("/console/board/"))


def state() -> list[Any]:
    """Return what an undo brings back: shifts that are planned, and who has which ride and vehicle."""
    return [
        list(Vehicle.objects.order_by("pk").values_list("pk", "status")),
        list(
            Shift.objects.filter(status="planned")
            .order_by("pk")
            .values_list("pk", "vehicle", "starts_at", "ends_at", "break_starts_at", "break_ends_at")
        ),
        list(Ride.objects.order_by("pk").values_list("pk", "status", "driver", "vehicle")),
    ]


def crew_with_shifts_and_rides() -> tuple[Driver, Vehicle, dict[uuid.UUID, uuid.UUID]]:
    """Return a driver with a running and a later shift, another driver without a spare vehicle, and the choices."""
    driver, vehicle, shift, _ = crew()
    pause = {"break_starts_at": NOW + 3 * HOUR, "break_ends_at": NOW + 4 * HOUR}
    Shift.objects.filter(pk=shift.pk).update(**pause)
    factories.ShiftFactory.create(driver=driver, vehicle=vehicle, starts_at=NOW + 10 * HOUR, ends_at=NOW + 12 * HOUR)
    colleague, _ = fit_pair(provider=driver.provider)
    factories.put_driver_on(factories.RideFactory.create(pickup_at=NOW + 9 * HOUR), driver=colleague, vehicle=vehicle)
    return driver, vehicle, {driver.pk: fit_vehicle(provider=driver.provider).pk}


def test_undo_gives_vehicle_shifts_and_rides_back(desk: Client) -> None:
    driver, vehicle, chosen = crew_with_shifts_and_rides()
    before = state()
    form = {f"vehicle-{driver_id}": str(spare_id) for driver_id, spare_id in chosen.items()}
    page = desk.post(down(vehicle), {**form, "reason": "breakdown"}, follow=True)
    outage = VehicleOutage.objects.get()
    assert told(page)[1:] == ["1 ride has another vehicle.", "1 ride waits for a driver."]
    assert state() != before
    assert Shift.objects.get(break_starts_at__isnull=False).starts_at == NOW

    undone = desk.post(f"{down(vehicle)}{outage.pk}/undo/", follow=True)

    assert told(undone) == ["The vehicle is back in service, with 2 rides."]
    assert state() == before
    assert VehicleOutage.objects.count() == 0
    assert AuditEntry.objects.filter(action="vehicles.undo_outage").count() == 1
    assert desk.post(f"{down(vehicle)}{outage.pk}/undo/").status_code == 404
    assert Shift.objects.filter(driver=driver, status="cancelled").count() == 1


def test_undo_is_refused_once_a_ride_has_changed(desk: Client, dispatcher: Principal) -> None:
    driver, vehicle, chosen = crew_with_shifts_and_rides()
    reported = vehicle_down.report(vehicle_id=vehicle.pk, replacements=chosen, by=dispatcher, at=NOW)
    (freed_id,) = reported.freed_ids
    other_driver, other_vehicle = fit_pair()
    assignment.assign(ride_id=freed_id, driver_id=other_driver.pk, vehicle_id=other_vehicle.pk, by=dispatcher, at=NOW)
    before = everything()

    refused = desk.post(f"{down(vehicle)}{reported.outage.pk}/undo/", follow=True)

    assert "have changed since" in told(refused)[0]
    assert "Put back without the rides" in text_of(refused)
    assert everything() == before
    desk.post(f"{down(vehicle)}{reported.outage.pk}/undo/", {"without_rides": "on"})
    vehicle.refresh_from_db()
    assert (vehicle.status, Ride.objects.get(pk=freed_id).driver_id) == ("in_service", other_driver.pk)
    assert set(Ride.objects.filter(driver=driver).values_list("vehicle", flat=True)) == set(chosen.values())


def test_undo_is_refused_if_the_vehicle_has_another_driver(dispatcher: Principal) -> None:
    _, vehicle, chosen = crew_with_shifts_and_rides()
    reported = vehicle_down.report(vehicle_id=vehicle.pk, replacements=chosen, by=dispatcher, at=NOW)
    substitute, _ = fit_pair(provider=vehicle.provider)
    factories.ShiftFactory.create(
        driver=substitute, vehicle=vehicle, starts_at=NOW + 11 * HOUR, ends_at=NOW + 13 * HOUR
    )
    before = everything()

    with pytest.raises(OutageShiftsChanged):
        vehicle_down.undo(vehicle_id=vehicle.pk, outage_id=reported.outage.pk, by=dispatcher, at=NOW)

    assert everything() == before
    undone = vehicle_down.undo(
        vehicle_id=vehicle.pk, outage_id=reported.outage.pk, without_rides=True, by=dispatcher, at=NOW
    )
    assert ([shift.ends_at for shift in undone.shifts], undone.ride_ids) == ([NOW + 8 * HOUR], [])


def test_outage_that_has_ended_cannot_be_undone(dispatcher: Principal) -> None:
    _, vehicle, chosen = crew_with_shifts_and_rides()
    reported = vehicle_down.report(vehicle_id=vehicle.pk, replacements=chosen, by=dispatcher, at=NOW)
    before = everything()

    with pytest.raises(OutageOver):
        vehicle_down.undo(
            vehicle_id=vehicle.pk, outage_id=reported.outage.pk, by=dispatcher, at=reported.outage.ends_at
        )

    assert everything() == before


def ride_assigned_beside_report() -> Ride:
    """Report a vehicle down while an assignment with it has not committed; return the ride."""
    driver, vehicle = fit_pair()
    ride: Ride = factories.RideFactory.create()

    def report_down() -> None:
        try:
            vehicle_down.report(vehicle_id=vehicle.pk, replacements={}, by=system(), at=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=system(), at=NOW)
            reporting = other.submit(report_down)
            wait_until_somebody_waits()
        reporting.result()
    ride.refresh_from_db()
    return ride


@pytest.mark.django_db(transaction=True)
def test_ride_assigned_at_the_same_time_loses_the_vehicle_too() -> None:
    assert ride_assigned_beside_report().status == "scheduled"


@pytest.mark.django_db(transaction=True)
def test_without_second_look_a_ride_keeps_the_broken_vehicle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setattr(vehicle_down, "_require_all_locked", lambda *args: None)

    assert ride_assigned_beside_report().status == "assigned"


def test_vehicle_that_does_not_fit_refuses_everything(dispatcher: Principal) -> None:
    driver, vehicle, _, _ = crew()
    unfit = factories.VehicleFactory.create(provider=driver.provider)
    before = everything()

    with pytest.raises(AssignmentRejected):
        vehicle_down.report(
            vehicle_id=vehicle.pk,
            replacements={driver.pk: unfit.pk},
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
