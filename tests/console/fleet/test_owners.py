"""Pages of drivers and vehicles, and driver eligibility."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.console.fleet import owner_views
from apps.events.models import Event
from apps.fleet.models import Driver, Leave, Vehicle
from apps.rides.models import Assignment, Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_driver, fit_pair, fit_vehicle
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

DRIVERS, VEHICLES = "/console/fleet/drivers/", "/console/fleet/vehicles/"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _bound(driver: Driver) -> Client:
    """Log in a fleet admin of the driver's provider."""
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(driver.provider)
    client = Client()
    sign_in(client, person)
    return client


def _given(driver: Driver, **columns: Any) -> Ride:
    ride = factories.RideFactory.create(**columns)
    factories.put_driver_on(ride, driver=driver)
    return ride


def _with_rides() -> tuple[Driver, Ride, Ride, Ride]:
    """Return a driver with a ride ahead, one in progress, and one as attendant."""
    driver, vehicle = fit_pair()
    coming = factories.RideFactory.create(pickup_at=factories.PICKUP + 24 * HOUR)
    factories.put_driver_on(coming, driver=driver, vehicle=vehicle)
    under_way, attended = ride_in(RideStatus.EN_ROUTE), ride_in(RideStatus.ASSIGNED)
    Ride.objects.filter(pk=under_way.pk).update(driver=driver, vehicle=vehicle, provider=driver.provider)
    Ride.objects.filter(pk=attended.pk).update(attendant_ids=[driver.pk], pickup_at=factories.PICKUP + 48 * HOUR)
    return driver, coming, under_way, attended


def _state() -> dict[str, Any]:
    return {
        "drivers": list(Driver.objects.order_by("pk").values()),
        "vehicles": list(Vehicle.objects.order_by("pk").values()),
        "rides": list(Ride.objects.order_by("pk").values()),
        "assignments": list(Assignment.objects.order_by("pk").values()),
        "events": Event.objects.count(),
    }


def _to(driver: Driver, to: str, **given: Any) -> dict[str, Any]:
    return {"to": to, "version": driver.version, "reason": "", **given}


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_need_read_scope_and_forms_write_scope(role: UserRole) -> None:
    driver = fit_driver(provider=factories.TransportProviderFactory.create())
    vehicle = fit_vehicle(provider=driver.provider)
    client = _bound(driver) if role == UserRole.FLEET_ADMIN else visitor(role)
    reads, writes = (scope in SCOPES_OF_USER[role] for scope in (Scope.DRIVERS_READ, Scope.DRIVERS_WRITE))

    seen = [client.get(path).status_code for path in (f"{DRIVERS}{driver.pk}/", f"{VEHICLES}{vehicle.pk}/")]
    form = client.get(f"{DRIVERS}{driver.pk}/activation/").status_code
    assert (seen, form) == ([200 if reads else 403] * 2, 200 if writes else 403)
    if not writes:
        before = _state()
        sent = client.post(f"{DRIVERS}{driver.pk}/activation/", _to(driver, "suspended", reason="x"))
        assert (sent.status_code, _state()) == (403, before)


def test_what_is_out_of_reach_is_not_there_and_stays_as_it_is() -> None:
    ours, theirs = fit_driver(), fit_driver()
    vehicle = fit_vehicle(provider=theirs.provider)
    client, before = _bound(ours), _state()

    paths = [f"{DRIVERS}{theirs.pk}/", f"{VEHICLES}{vehicle.pk}/", f"{DRIVERS}{uuid7()}/", f"{VEHICLES}{uuid7()}/"]
    paths.append(f"{VEHICLES}{vehicle.pk}/status/")
    assert {client.get(path).status_code for path in paths} == {404}
    assert client.post(paths[-1], {"status": "retired", "version": 1}).status_code == 404
    activation = f"{DRIVERS}{theirs.pk}/activation/"
    assert client.get(activation).status_code == 404
    assert client.post(activation, _to(theirs, "suspended", reason="x", release="on")).status_code == 404
    assert _state() == before


def test_a_drivers_page_shows_credentials_shifts_leave_and_rides(desk: Client) -> None:
    driver = fit_driver(last_name="Diaz", first_name="Ada", languages=["es"], email="ada@example.org")
    driver.credentials.filter(type="mvr").update(
        expires_on=dt.date(2026, 11, 22), issuer="Illinois", verified_at=NOW, verified_by="system", blocking=True
    )
    shift = factories.ShiftFactory.create(driver=driver)
    Leave.objects.create(driver=driver, starts_at=NOW + 24 * HOUR, ends_at=NOW + 30 * HOUR, reason="Dentist")
    _given(driver, pickup_at=factories.PICKUP + 72 * HOUR, service_date=dt.date(2026, 11, 23))

    said = text_of(desk.get(f"{DRIVERS}{driver.pk}/"))

    assert f"{driver.provider.name} · Employee · 1 upcoming ride assigned to this driver" in said
    assert "Motor vehicle record required ▲ 2 days left 1 ride at risk Nov 22, 2026 Jan 1, 2024 Illinois" in said
    assert "Illinois Fri, Nov 20, 09:00 Carelane" in said
    assert f"Fri, Nov 20, 07:00 Fri, Nov 20, 17:00 {shift.vehicle.unit_number}" in said
    assert "Sat, Nov 21, 15:00 Dentist" in said
    assert "Wheelchair securement, Passenger assistance" in said
    assert "Add credential: Drug screen , CPR and first aid" in said


def test_a_page_offers_what_can_be_done_by_who_may(desk: Client) -> None:
    driver = fit_driver(activation="suspended", activation_reason="Complaint", activation_changed_at=NOW)
    driver.credentials.all().delete()
    reader = visitor(UserRole.DISPATCHER)
    path = f"{DRIVERS}{driver.pk}/"

    suspended, read = text_of(desk.get(path)), text_of(reader.get(path))
    Driver.objects.update(activation="inactive")
    left = text_of(desk.get(path))
    Driver.objects.update(activation="active")
    active = text_of(desk.get(path))

    offers = ("Activate…", "Suspend…", "Deactivate…", "Add…")
    offered = [[one for one in offers if one in said] for said in (suspended, read, left, active)]
    assert offered == [
        ["Activate…", "Deactivate…", "Add…"], [], ["Activate…", "Add…"], ["Suspend…", "Deactivate…", "Add…"],
    ]  # fmt: skip
    assert "Suspended: Complaint" in suspended
    assert "None planned." in suspended


def test_a_vehicles_page_shows_what_it_is_and_its_credentials(desk: Client) -> None:
    vehicle = fit_vehicle(unit_number="V17", make="Ford", model="Transit", year=2021)

    said = text_of(desk.get(f"{VEHICLES}{vehicle.pk}/"))

    assert "V17 ✓ In service" in said
    assert "Wheelchair van · 0 upcoming rides assigned to this vehicle" in said
    assert "Ford Transit 2021" in said
    assert "standard: 2 ambulatory, 1 wheelchairs, 0 stretchers" in said
    assert "Registration required ✓ Valid Jan 1, 2028" in said


@pytest.mark.parametrize("count", [1, 3])
def test_pages_cost_the_same_queries_however_much_there_is(
    desk: Client, django_assert_num_queries: Any, count: int
) -> None:
    driver = fit_driver()
    for number in range(count):
        starts_at = NOW + number * 24 * HOUR
        factories.ShiftFactory.create(driver=driver, starts_at=starts_at, ends_at=starts_at + 8 * HOUR)
        Leave.objects.create(driver=driver, starts_at=starts_at, ends_at=starts_at + HOUR)
        _given(driver)

    # session and user; driver, credentials, shifts, leave, absences; the board's three; units; rides; the inbox
    with django_assert_num_queries(13):
        desk.get(f"{DRIVERS}{driver.pk}/")
    # session and user; driver, credentials, shifts, leave; rides; audit trail; the inbox
    with django_assert_num_queries(9):
        desk.get(f"{DRIVERS}{driver.pk}/activation/?to=suspended")


def test_suspension_shows_beforehand_which_rides_it_touches(desk: Client) -> None:
    driver, coming, under_way, attended = _with_rides()
    before = _state()

    page = desk.get(f"{DRIVERS}{driver.pk}/activation/?to=suspended")

    assert [(row["ride"].pk, str(row["becomes"])) for row in page.context["rides"]] == [
        (under_way.pk, "In progress: a dispatcher decides"),
        (coming.pk, "Becomes unassigned"),
        (attended.pk, "Attendant on this ride: stays"),
    ]
    assert "3 rides are assigned to this driver" in text_of(page)
    entry = AuditEntry.objects.get(action="drivers.rides")
    assert set(entry.rider_ids) == {ride.rider_id for ride in (coming, under_way, attended)}
    assert _state() == before


def test_many_rides_are_listed_in_part_and_counted_whole(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_views, "MOST_RIDES", 1)
    driver, *_rides = _with_rides()

    said = text_of(desk.get(f"{DRIVERS}{driver.pk}/activation/"))

    assert "3 rides are assigned to this driver Only the next 1 rides are listed." in said


def test_fleet_admin_suspends_without_learning_who_rides() -> None:
    driver, coming, *_others = _with_rides()
    client = _bound(driver)
    path = f"{DRIVERS}{driver.pk}/activation/"

    page = client.get(path)
    done = client.post(path, _to(driver, "suspended", reason="Complaint", release="on"), follow=True)

    coming.refresh_from_db()
    for answer in (page, done):
        body = answer.content.decode()
        assert not any(name in body for name in Ride.objects.values_list("rider__last_name", flat=True))
    assert coming.status == "scheduled"


def test_suspension_releases_rides_in_the_same_step(desk: Client) -> None:
    driver, coming, under_way, attended = _with_rides()

    done = desk.post(
        f"{DRIVERS}{driver.pk}/activation/", _to(driver, "suspended", reason="Complaint", release="on"), follow=True
    )

    driver.refresh_from_db()
    assert (driver.activation, driver.activation_reason, driver.version) == ("suspended", "Complaint", 2)
    assert [Ride.objects.get(pk=ride.pk).status for ride in (coming, under_way, attended)] == [
        "scheduled", "en_route", "assigned",
    ]  # fmt: skip
    assert told(done) == [
        "The driver is suspended. 1 ride is now unassigned.",
        "2 rides are still assigned to the driver: a dispatcher has to review them.",
    ]
    assert done.redirect_chain == [(f"{DRIVERS}{driver.pk}/", 302)]


def test_who_leaves_may_keep_the_rides_until_somebody_looks(desk: Client) -> None:
    driver, coming, *_others = _with_rides()

    desk.post(f"{DRIVERS}{driver.pk}/activation/", _to(driver, "inactive"))

    driver.refresh_from_db()
    coming.refresh_from_db()
    assert (driver.activation, coming.status, coming.driver_id) == ("inactive", "assigned", driver.pk)


def test_refused_suspension_changes_nothing_and_keeps_input(desk: Client) -> None:
    driver, *_rides = _with_rides()
    path, before = f"{DRIVERS}{driver.pk}/activation/", _state()

    silent = desk.post(path, _to(driver, "suspended", release="on"))
    blank = desk.post(path, _to(driver, "suspended", reason="  ", release="on"))
    stale = desk.post(path, _to(driver, "suspended", reason="Complaint", version=9))

    assert {answer.status_code for answer in (silent, blank, stale)} == {422}
    assert silent.context["form"].errors == {"reason": ["This field is required."]}
    assert "Someone else changed it" in text_of(stale)
    assert ">\nComplaint</textarea>" in stale.content.decode()
    assert 'name="version" value="1"' in stale.content.decode()
    assert _state() == before


def test_activation_names_missing_credentials_and_is_refused(desk: Client) -> None:
    driver = fit_driver(activation="pending")
    driver.credentials.filter(type="mvr").delete()
    driver.credentials.filter(type="driver_license").update(expires_on=dt.date(2026, 11, 19))
    path, before = f"{DRIVERS}{driver.pk}/activation/", _state()

    page = desk.get(f"{path}?to=active")
    refused = desk.post(path, _to(driver, "active"))

    assert "Driver's license : Expired Motor vehicle record : Missing" in text_of(page)
    assert refused.status_code == 422
    assert "Required credentials are not valid: see below." in text_of(refused)
    assert _state() == before


def test_driver_with_every_credential_is_activated(desk: Client) -> None:
    driver = fit_driver(activation="pending")
    path = f"{DRIVERS}{driver.pk}/activation/"

    page = desk.get(f"{path}?to=active")
    done = desk.post(path, _to(driver, "active"), follow=True)

    driver.refresh_from_db()
    assert "All required credentials are valid." in text_of(page)
    assert (driver.activation, told(done)) == ("active", ["The driver is active."])


def test_suspension_of_who_has_no_ride_says_so(desk: Client) -> None:
    driver = fit_driver()

    assert "No rides are assigned to this driver." in text_of(desk.get(f"{DRIVERS}{driver.pk}/activation/?to=nonsense"))


def test_a_vehicle_is_taken_off_the_road_with_its_rides_in_sight(desk: Client) -> None:
    driver, vehicle = fit_pair()
    coming, under_way = factories.RideFactory.create(), ride_in(RideStatus.EN_ROUTE)
    factories.put_driver_on(coming, driver=driver, vehicle=vehicle)
    Ride.objects.filter(pk=under_way.pk).update(vehicle=vehicle, pickup_at=NOW)
    path = f"{VEHICLES}{vehicle.pk}/status/"

    page = desk.get(path)
    done = desk.post(path, {"status": "maintenance", "reason": "Brakes", "version": 1}, follow=True)

    assert [(row["ride"].pk, str(row["becomes"])) for row in page.context["rides"]] == [
        (under_way.pk, "In progress: a dispatcher decides"), (coming.pk, "Needs another vehicle"),
    ]  # fmt: skip
    assert set(AuditEntry.objects.get(action="vehicles.rides").rider_ids) == {coming.rider_id, under_way.rider_id}
    vehicle.refresh_from_db()
    coming.refresh_from_db()
    assert (vehicle.status, vehicle.version, coming.vehicle_id) == ("maintenance", 2, vehicle.pk)
    assert AuditEntry.objects.get(action="vehicles.change_status").reason == "Brakes"
    assert told(done) == [
        "The vehicle is now: Maintenance.",
        "2 rides are still assigned to the vehicle: a dispatcher has to review them.",
    ]  # fmt: skip
    back = desk.post(path, {"status": "in_service", "version": 2}, follow=True)
    assert told(back) == ["The vehicle is now: In service."]


def test_refused_change_of_a_vehicle_changes_nothing(desk: Client) -> None:
    vehicle = fit_vehicle()
    path, before = f"{VEHICLES}{vehicle.pk}/status/", _state()

    unknown = desk.post(path, {"status": "sunk", "version": 1})
    stale = desk.post(path, {"status": "retired", "reason": "Rust", "version": 7})

    assert (unknown.status_code, stale.status_code) == (422, 422)
    assert "No rides are assigned to this vehicle." in text_of(unknown)
    assert "Someone else changed it" in text_of(stale)
    assert _state() == before
    assert visitor(UserRole.DISPATCHER).post(path, {"status": "retired", "version": 1}).status_code == 403
    assert _state() == before
