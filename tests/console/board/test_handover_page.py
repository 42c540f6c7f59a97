"""The handover to the next dispatcher: what it shows, and the sign-off."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.dispatch.models import Handover
from apps.dispatch.queries.handover import handover_facts
from apps.dispatch.services import vehicle_down
from apps.fleet.models import Leave
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import assignment, driver_absence, exceptions
from lib.access import Principal, system
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

PAGE, ZONE = "/console/handover/", "America/Chicago"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def ride_at(pickup_at: dt.datetime, **columns: Any) -> Ride:
    ride: Ride = factories.RideFactory.create(pickup_at=pickup_at, **columns)
    return ride


def test_facts_hold_what_is_out_at_risk_and_waiting(dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    reported = driver_absence.report(driver_id=driver.pk, reason="sick", by=dispatcher, at=NOW)
    on_leave, _ = fit_pair()
    leave = Leave.objects.create(driver=on_leave, starts_at=NOW + HOUR, ends_at=NOW + 3 * HOUR)
    Leave.objects.create(driver=on_leave, starts_at=NOW + 13 * HOUR, ends_at=NOW + 14 * HOUR)
    broken = factories.VehicleFactory.create(status="maintenance")
    factories.VehicleFactory.create(status="retired")
    soon, _later = ride_at(NOW + HOUR), ride_at(NOW + 3 * HOUR)
    late, in_time = ride_at(NOW - HOUR), ride_at(NOW + 1.5 * HOUR)
    for ride in (late, in_time):
        factories.put_driver_on(ride)
    will_call = ride_at(NOW + HOUR, will_call=True, pickup_time_kind="estimated", will_call_expires_at=NOW + 9 * HOUR)

    facts = handover_facts(ZONE, by=dispatcher, at=NOW)

    assert [row.pk for row in facts.absences] == [reported.leave.pk, leave.pk]
    assert [row.pk for row in facts.vehicles] == [broken.pk]
    assert [risky.board_ride.ride.pk for risky in facts.at_risk] == [late.pk, soon.pk]
    assert [risky.row is None for risky in facts.at_risk] == [False, True]
    assert [each.ride.pk for each in facts.will_calls] == [will_call.pk]


def test_changes_are_counted_since_the_last_sign_off(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    ride = ride_at(NOW + 3 * HOUR)
    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    before = handover_facts(ZONE, by=dispatcher, at=NOW)
    Handover.objects.create(signed_at=NOW + HOUR, signed_by="system")
    after = handover_facts(ZONE, by=dispatcher, at=NOW + 2 * HOUR)
    next_week = handover_facts(ZONE, by=dispatcher, at=NOW + 7 * 24 * HOUR)

    assert (before.since, before.changes) == (NOW - 8 * HOUR, {"ride.driver_assigned": 1})
    assert (after.since, after.changes) == (NOW + HOUR, {})
    assert next_week.since == NOW + 6 * 24 * HOUR


def test_page_shows_alerts_with_owner_and_is_audited(desk: Client) -> None:
    ride = ride_at(NOW + HOUR, dispatcher_notes="Call the daughter first.")
    alert = exceptions.open_exception(ride, ExceptionType.UNASSIGNED_AT_RISK, by=system(), at=NOW, detected_by="test")
    owner = factories.UserFactory.create(name="Robin Owner")
    type(alert).objects.filter(pk=alert.pk).update(owner=owner, note="The driver called.")

    page = text_of(desk.get(PAGE))

    assert "Open alerts (1)" in page
    assert "Robin Owner" in page
    assert "Note: The driver called. Note of the ride: Call the daughter first." in page
    assert "Promises at risk in the next two hours (1)" in page
    assert AuditEntry.objects.get(action="dispatch.handover").rider_ids == [ride.rider_id]


def test_page_says_why_a_vehicle_is_out(desk: Client, dispatcher: Principal) -> None:
    _, vehicle = fit_pair()
    vehicle_down.report(
        vehicle_id=vehicle.pk, reason="accident", note="Rear bumper.", replacements={}, by=dispatcher, at=NOW
    )

    assert "Out of service · Accident : Rear bumper., Fri, Nov 20, 09:00" in text_of(desk.get(PAGE))


def test_sign_off_is_recorded_and_shown_to_the_next(desk: Client) -> None:
    signed = desk.post(PAGE, {"note": "Elevator at St. Brigid is out."}, follow=True)

    handover = Handover.objects.get()
    assert told(signed) == ["Signed off. The next dispatcher sees your note here."]
    assert (handover.note, handover.signed_at) == ("Elevator at St. Brigid is out.", NOW)
    assert handover.signed_by.startswith("user:")
    assert AuditEntry.objects.filter(action="dispatch.hand_over", subject_id=handover.pk).exists()
    assert "Note from the last dispatcher Elevator at St. Brigid is out. Pat Example" in text_of(
        visitor(UserRole.DISPATCH_SUPERVISOR).get(PAGE)
    )


def test_sign_offs_are_read_in_the_admin_and_not_changed(desk: Client) -> None:
    handover = Handover.objects.create(note="Elevator is out.", signed_at=NOW, signed_by="system")
    page = f"/admin/dispatch/handover/{handover.pk}/change/"

    record = desk.get(page)

    assert "Elevator is out." in record.content.decode()
    assert AuditEntry.objects.filter(action="handovers.read").count() == 1
    assert desk.post(page, {"note": "Changed"}).status_code == 403
    assert desk.get("/admin/dispatch/handover/add/").status_code == 403
    assert visitor(UserRole.ADMIN).get("/admin/dispatch/handover/").status_code == 403
    assert Handover.objects.get().note == "Elevator is out."


def test_note_that_is_too_long_is_refused(desk: Client) -> None:
    page = desk.post(PAGE, {"note": "x" * 2001})

    assert (page.status_code, Handover.objects.count()) == (422, 0)
    assert "2000" in text_of(page)


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.ANALYST, UserRole.ADMIN])
def test_only_dispatchers_see_the_handover(role: UserRole) -> None:
    assert visitor(role).get(PAGE).status_code == 403


@pytest.mark.parametrize("count", [1, 3])
def test_handover_asks_the_same_however_many(desk: Client, django_assert_max_num_queries: Any, count: int) -> None:
    for number in range(count):
        ride = ride_at(NOW + HOUR + number * HOUR / 4)
        exceptions.open_exception(ride, ExceptionType.UNASSIGNED_AT_RISK, by=system(), at=NOW, detected_by="test")
        late = ride_at(NOW - HOUR)
        factories.put_driver_on(late)
        driver_absence.report(driver_id=fit_pair()[0].pk, reason="sick", by=system(), at=NOW)
        Handover.objects.create(signed_at=NOW, signed_by="system")

    with django_assert_max_num_queries(32):
        desk.get(PAGE)
