"""Deactivated drivers and vehicles, and the effect on their rides."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.fleet.models import Driver, Vehicle
from apps.fleet.services.activation import CredentialsMissing
from apps.rides.models import Assignment, Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import fleet_changes
from lib.access import Principal
from lib.errors import InvalidInput, NotFound
from tests import factories
from tests.callers import TokenClient
from tests.fleet.crew import file_credentials, fit_pair
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOW = factories.NOW


def everything() -> dict[str, Any]:
    return {
        "drivers": list(Driver.objects.order_by("pk").values()),
        "vehicles": list(Vehicle.objects.order_by("pk").values()),
        "rides": list(Ride.objects.order_by("pk").values()),
        "assignments": list(Assignment.objects.order_by("pk").values()),
        "events": Event.objects.count(),
    }


@pytest.fixture
def fleet_admin(db: None) -> Principal:
    return factories.principal(UserRole.FLEET_ADMIN)


def test_activation_names_every_credential_that_lacks(fleet_admin: Principal) -> None:
    driver = factories.DriverFactory.create(activation="pending")
    factories.CredentialFactory.create(driver=driver, type="driver_license", expires_on=dt.date(2026, 11, 19))
    factories.CredentialFactory.create(driver=driver, type="mvr", rejected=True)
    factories.CredentialFactory.create(driver=driver, type="background_check", expires_on=dt.date(2026, 11, 20))
    before = everything()

    with pytest.raises(CredentialsMissing) as refusal:
        fleet_changes.change_activation(driver_id=driver.pk, to="active", reason="", by=fleet_admin, at=NOW)

    assert [(one.also["type"], one.also["status"]) for one in refusal.value.details] == [
        ("driver_license", "expired"),
        ("exclusion_check_oig", "missing"),
        ("mvr", "rejected"),
    ]
    assert everything() == before


def test_day_of_the_credentials_is_the_providers(fleet_admin: Principal) -> None:
    driver = factories.DriverFactory.create(activation="pending")
    file_credentials(driver=driver, expires_on=dt.date(2026, 11, 20))
    late_evening_in_chicago = dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)

    changed = fleet_changes.change_activation(
        driver_id=driver.pk, to="active", reason="", by=fleet_admin, at=late_evening_in_chicago
    )

    assert (changed.driver.activation, changed.driver.version) == ("active", 2)
    midnight = late_evening_in_chicago + dt.timedelta(minutes=1)
    other = factories.DriverFactory.create(activation="pending")
    file_credentials(driver=other, expires_on=dt.date(2026, 11, 20))
    with pytest.raises(CredentialsMissing):
        fleet_changes.change_activation(driver_id=other.pk, to="active", reason="", by=fleet_admin, at=midnight)


def test_activation_is_an_event_of_the_provider(fleet_admin: Principal) -> None:
    driver, _ = fit_pair()

    fleet_changes.change_activation(driver_id=driver.pk, to="suspended", reason="Complaint", by=fleet_admin, at=NOW)

    event = Event.objects.get()
    assert (event.type, event.sequence, event.provider_id) == ("driver.activation_changed", 2, driver.provider_id)
    assert event.data == {"driverId": str(driver.pk), "from": "active", "to": "suspended"}


def test_same_state_again_changes_nothing(fleet_admin: Principal) -> None:
    driver, _ = fit_pair()
    before = everything()

    fleet_changes.change_activation(driver_id=driver.pk, to="active", reason="", by=fleet_admin, at=NOW)

    assert everything() == before


@pytest.mark.parametrize(("to", "reason", "field"), [("suspended", " ", "reason"), ("pending", "", "activation")])
def test_suspension_needs_a_reason_and_nobody_starts_over(
    fleet_admin: Principal, to: str, reason: str, field: str
) -> None:
    driver, _ = fit_pair()
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        fleet_changes.change_activation(driver_id=driver.pk, to=to, reason=reason, by=fleet_admin, at=NOW)

    assert refusal.value.details[0].field == field
    assert everything() == before


def rides_of(driver: Driver, vehicle: Vehicle) -> tuple[Ride, Ride, Ride, Ride]:
    """A future ride, one in progress, one completed, and one with the driver as attendant."""
    coming = factories.RideFactory.create(pickup_at=factories.PICKUP + dt.timedelta(days=1))
    factories.put_driver_on(coming, driver=driver, vehicle=vehicle)
    under_way, over = ride_in(RideStatus.EN_ROUTE), ride_in(RideStatus.COMPLETED)
    for ride in (under_way, over):
        Ride.objects.filter(pk=ride.pk).update(driver=driver, vehicle=vehicle, provider=driver.provider)
    attended = ride_in(RideStatus.ASSIGNED)
    Ride.objects.filter(pk=attended.pk).update(
        attendant_ids=[driver.pk], pickup_at=factories.PICKUP + dt.timedelta(days=2)
    )
    return coming, under_way, over, attended


def test_suspension_lists_rides_and_leaves_them(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    coming, under_way, _, attended = rides_of(driver, vehicle)

    changed = fleet_changes.change_activation(
        driver_id=driver.pk, to="suspended", reason="Complaint", by=fleet_admin, at=NOW
    )

    coming.refresh_from_db()
    assert changed.affected_ride_ids == [under_way.pk, coming.pk, attended.pk]
    assert changed.released_ride_ids == []
    assert coming.status == "assigned"


def test_suspension_releases_rides_not_set_out_on(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    coming, under_way, _, attended = rides_of(driver, vehicle)

    changed = fleet_changes.change_activation(
        driver_id=driver.pk,
        to="suspended",
        reason="Complaint",
        release_future_rides=True,
        by=fleet_admin,
        at=NOW,
    )

    coming.refresh_from_db()
    under_way.refresh_from_db()
    assert changed.released_ride_ids == [coming.pk]
    assert changed.affected_ride_ids == [under_way.pk, coming.pk, attended.pk]
    assert (coming.status, coming.driver_id, under_way.status) == ("scheduled", None, "en_route")
    assert Assignment.objects.get(ride=coming).end_reason == "driver_suspended"
    assert list(Event.objects.order_by("id").values_list("type", flat=True)) == [
        "driver.activation_changed",
        "ride.driver_unassigned",
    ]


def test_refused_suspension_releases_nothing(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    rides_of(driver, vehicle)
    before = everything()

    with pytest.raises(InvalidInput):
        fleet_changes.change_activation(
            driver_id=driver.pk, to="suspended", reason="", release_future_rides=True, by=fleet_admin, at=NOW
        )

    assert everything() == before


def test_rides_out_of_scope_are_released_and_not_listed(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    coming, _, _, _ = rides_of(driver, vehicle)
    elsewhere = dataclasses.replace(fleet_admin, facility_ids=frozenset({uuid.uuid4()}))

    changed = fleet_changes.change_activation(
        driver_id=driver.pk,
        to="suspended",
        reason="Complaint",
        release_future_rides=True,
        by=elsewhere,
        at=NOW,
    )

    coming.refresh_from_db()
    assert (changed.affected_ride_ids, changed.released_ride_ids, coming.status) == ([], [], "scheduled")


def test_outsider_finds_neither_driver_nor_vehicle(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    theirs = dataclasses.replace(fleet_admin, provider_ids=frozenset({uuid.uuid4()}))
    before = everything()

    with pytest.raises(NotFound):
        fleet_changes.change_activation(driver_id=driver.pk, to="suspended", reason="x", by=theirs, at=NOW)
    with pytest.raises(NotFound):
        fleet_changes.change_vehicle_status(vehicle_id=vehicle.pk, to="retired", reason="", by=theirs, at=NOW)

    assert everything() == before


def test_vehicle_out_of_service_lists_its_rides(fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()
    coming, under_way, _, _ = rides_of(driver, vehicle)

    changed = fleet_changes.change_vehicle_status(
        vehicle_id=vehicle.pk, to="maintenance", reason="Brakes", by=fleet_admin, at=NOW
    )
    back = fleet_changes.change_vehicle_status(
        vehicle_id=vehicle.pk, to="in_service", reason="", by=fleet_admin, at=NOW
    )

    assert changed.affected_ride_ids == [under_way.pk, coming.pk]
    assert (back.affected_ride_ids, back.vehicle.version) == ([], 3)


def test_ride_assigned_while_suspending_is_released_too(
    fleet_admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, vehicle = fit_pair()
    listed, missed = factories.RideFactory.create(), factories.RideFactory.create()
    factories.put_driver_on(listed, driver=driver, vehicle=vehicle)
    change, calls = fleet_changes._change, []

    def assign_one_more_first(*args: Any, **kwargs: Any) -> fleet_changes.DriverChange:
        calls.append(args)
        if len(calls) == 1:
            factories.put_driver_on(missed, driver=driver, vehicle=vehicle)
        return change(*args, **kwargs)

    monkeypatch.setattr(fleet_changes, "_change", assign_one_more_first)

    changed = fleet_changes.change_activation(
        driver_id=driver.pk, to="suspended", reason="x", release_future_rides=True, by=fleet_admin, at=NOW
    )

    assert len(calls) == 2
    assert sorted(changed.released_ride_ids) == sorted([listed.pk, missed.pk])
    assert Ride.objects.filter(driver=driver).count() == 0
    assert Event.objects.filter(type="driver.activation_changed").count() == 1


def test_suspension_gives_up_when_rides_keep_coming(fleet_admin: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, vehicle = fit_pair()
    change = fleet_changes._change

    def assign_one_more_first(*args: Any, **kwargs: Any) -> fleet_changes.DriverChange:
        factories.put_driver_on(factories.RideFactory.create(), driver=driver, vehicle=vehicle)
        return change(*args, **kwargs)

    monkeypatch.setattr(fleet_changes, "_change", assign_one_more_first)

    with pytest.raises(fleet_changes.RidesKeepComing):
        fleet_changes.change_activation(
            driver_id=driver.pk, to="suspended", reason="x", release_future_rides=True, by=fleet_admin, at=NOW
        )

    driver.refresh_from_db()
    assert (driver.activation, Event.objects.count()) == ("active", 0)


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/api/drivers/{}/activation", {"activation": "suspended", "reason": "License revoked."}, Driver),
        ("/api/vehicles/{}/status", {"status": "maintenance"}, Vehicle),
    ],
    ids=["driver", "vehicle"],
)
def test_stale_copy_takes_nobody_off_the_road(api: TokenClient, path: str, body: Any, model: Any) -> None:
    fit_pair()
    model.objects.update(version=4)
    url = path.format(model.objects.get().pk)
    before = everything()

    stale = api.post(url, body, headers={"If-Match": '"3"'})

    assert (stale.status_code, stale.json()["error"]["code"], stale["ETag"]) == (412, "PRECONDITION_FAILED", '"4"')
    assert everything() == before
    assert api.post(url, body, headers={"If-Match": '"4"'})["ETag"] == '"5"'
