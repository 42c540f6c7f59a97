"""Ride page: how much each role sees of it, and its history with the source of each entry."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.rides.models import Milestone, ReasonCode, Ride
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import (
    booking,
    exceptions,
    legs,
    status_report,
    will_call,
)
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, visitor
from tests.factories import NOW, PICKUP
from tests.rides.drafts import draft
from tests.rides.rides_in import ARRIVED, ride_in

pytestmark = pytest.mark.django_db

TOLD: dict[str, Any] = {"by": system(), "at": NOW}


def page_of(ride: Ride, more: str = "") -> str:
    return f"/console/rides/{ride.pk}/{more}"


def _bound(role: UserRole, **places: Any) -> Client:
    person = factories.UserFactory.create(role=role)
    for name, rows in places.items():
        getattr(person, name).set(rows)
    client = Client()
    sign_in(client, person)
    return client


def _full_ride(**more: Any) -> Ride:
    """Create a discharge with restricted texts in every field."""
    facility = factories.FacilityFactory.create()
    door = factories.EntranceFactory.create(facility=facility, name="North door")
    factories.ContactFactory.create(facility=facility, name="Nina Nurse")
    rider = factories.RiderFactory.create(facility=facility, first_name="Orla", last_name="Canary")
    ride = factories.RideFactory.create(
        facility=facility,
        rider=rider,
        rider_known_to_facility=False,
        client_reference="REF-17",
        driver_notes="Ring twice",
        dispatcher_notes="Pays late",
        facility_notes="Wear a mask",
        requested_by={"name": "Ria Requests", "phone": "+13125550150"},
        pickup=factories.stop(
            name="Hospital",
            facilityId=str(facility.pk),
            entranceId=str(door.pk),
            unit="4 West",
            room="417",
            steps=3,
            instructions="Behind the fountain",
            contact={"name": "Dora Desk", "phone": "+13125550151", "role": "desk", "ext": "7"},
        ),
        **more,
    )
    legs.seal_access(ride, pickup={"accessCode": "4711#"}, dropoff=None)
    ride.save()
    return ride


def test_dispatchers_see_all_of_a_ride() -> None:
    ride = _full_ride()

    seen = text_of(visitor(UserRole.DISPATCHER).get(page_of(ride)))

    for said in (
        "Canary, Orla",
        "Unassigned",
        "Fri, Nov 20, 2026, 14:00 CT",
        "REF-17",
        "North door",
        "Unit 4 West, Room 417",
        "4711#",
        "Behind the fountain",
        "Nina Nurse",
        "Dora Desk",
        "Ria Requests",
        "Ring twice",
        "Pays late",
        "Wear a mask",
        "(312) 555-0111",
    ):
        assert said in seen, said


def test_a_door_whose_name_was_said_is_named_once() -> None:
    ride = _full_ride()
    ride.pickup["entranceText"] = "North door"
    ride.save()

    assert text_of(visitor(UserRole.DISPATCHER).get(page_of(ride))).count("North door") == 1


def test_planners_see_neither_dispatchers_notes_nor_door_codes() -> None:
    ride = _full_ride()
    planner = _bound(UserRole.PLANNER, facilities=[ride.facility])

    seen = text_of(planner.get(page_of(ride)))

    assert "Canary, Orla" in seen
    assert "Ring twice" in seen
    assert "Pays late" not in seen
    assert "4711#" not in seen


def test_providers_and_analysts_see_no_names_and_no_doors() -> None:
    ride = _full_ride()
    assignment = factories.put_driver_on(ride)
    fleet = _bound(UserRole.FLEET_ADMIN, providers=[assignment.provider])

    for client in (fleet, visitor(UserRole.ANALYST)):
        response = client.get(page_of(ride))
        seen = text_of(response)
        assert response.status_code == 200
        for hidden in ("Canary", "REF-17", "North door", "417", "4711", "Nina", "Dora", "Ria", "Ring", "Pays", "+1312"):
            assert hidden not in seen, hidden
        assert f"Rider …{str(ride.rider_id)[-4:]}" in seen
        assert "Actions" not in seen


def test_title_and_addresses_name_nobody() -> None:
    ride = _full_ride()

    page = visitor(UserRole.DISPATCHER).get(page_of(ride)).content.decode()

    title = page.partition("<title>")[2].partition("</title>")[0]
    assert title == "Ride on Fri, Nov 20, 2026, 14:00 CT · Carelane"


def test_ride_out_of_reach_is_404_and_role_without_rides_403() -> None:
    ride = factories.RideFactory.create()
    elsewhere = factories.FacilityFactory.create()

    assert _bound(UserRole.PLANNER, facilities=[elsewhere]).get(page_of(ride)).status_code == 404
    assert _bound(UserRole.FLEET_ADMIN).get(page_of(ride)).status_code == 404
    assert visitor(UserRole.ADMIN).get(page_of(ride)).status_code == 403


def test_each_look_leaves_a_row_and_auditors_see_who_looked() -> None:
    ride = factories.RideFactory.create()
    person = factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")
    client = Client()
    sign_in(client, person)

    client.get(page_of(ride))

    row = AuditEntry.objects.get(subject_id=ride.pk)
    assert (row.action, row.rider_ids, row.phi, row.actor) == (
        "rides.read",
        [ride.rider_id],
        "full",
        f"user:{person.pk}",
    )
    seen = text_of(visitor(UserRole.AUDITOR).get(page_of(ride)))
    assert "Access history Dana Desk" in seen
    assert "Access history" not in text_of(client.get(page_of(ride)))


def test_timeline_tells_each_moment_with_its_provenance() -> None:
    facility = factories.FacilityFactory.create()
    person = factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")
    dana = factories.principal(UserRole.DISPATCHER, id=person.pk)
    rider = factories.RiderFactory.create(facility=facility)
    ride = booking.book(draft=draft(facility, rider), by=system(), at=NOW).ride
    factories.put_driver_on(ride)
    said = MilestoneReport(type="departed", occurred_at=NOW - dt.timedelta(minutes=9), note="Left the base")
    for moment in (said, MilestoneReport(type="departed", occurred_at=NOW - dt.timedelta(minutes=5))):
        status_report.change_status(
            ride_id=ride.pk,
            report=StatusReport(status=RideStatus.EN_ROUTE, source="dispatcher_manual", milestones=(moment,)),
            by=dana,
            at=NOW,
        )
    ReasonCode.objects.create(reason_list="cancelled", code="flood", label="The river rose", parent_code="weather")
    ended = StatusReport(status=RideStatus.CANCELLED, source="dispatcher_manual", reason_code="flood")
    status_report.change_status(ride_id=ride.pk, report=ended, by=dana, at=NOW)

    seen = text_of(visitor(UserRole.DISPATCHER).get(page_of(ride)))

    assert "Driver departed corrected Dana Desk, entered manually, recorded" in seen
    assert "Driver departed voided by a later entry Dana Desk, entered manually" in seen
    assert "Left the base" in seen
    assert "; The river rose; fault: none; late" in seen
    assert "Booked Carelane, recorded" in seen
    assert "Ended The river rose, fault: none, late; by Dana Desk" in seen


def test_timeline_says_what_was_opened_changed_and_overridden() -> None:
    ride = factories.RideFactory.create(will_call=True, pickup_time_kind="estimated", will_call_expires_at=PICKUP)
    will_call.mark_ready(ride_id=ride.pk, ready_source="phone", **TOLD)
    will_call.retract_ready(ride_id=ride.pk, **TOLD)
    exceptions.open_exception(locked(ride.pk, system()), ExceptionType.ADDRESS_PROBLEM, detected_by="test", **TOLD)

    seen = text_of(visitor(UserRole.DISPATCHER).get(page_of(ride)))

    assert "Will-call, not ready yet" in seen
    assert "; Address needs review, warning" in seen
    assert "; changed: ready time" in seen
    assert "Address needs review ○ Open" in seen
    assert "Call the rider or the facility, and correct the address" in seen


def test_moments_say_distance_and_who_was_called() -> None:
    ride = ride_in(RideStatus.ARRIVED)
    Milestone.objects.filter(ride=ride, type="arrived_pickup").update(distance_from_stop_meters=40)
    Milestone.objects.create(
        ride=ride, type="contact_attempt", occurred_at=ARRIVED, source="sms", actor="token:x", contacted="rider"
    )

    seen = text_of(visitor(UserRole.DISPATCHER).get(page_of(ride)))

    assert "driver's app" in seen
    assert "40 m from the stop" in seen
    assert "API, text message" in seen
    assert "called: the rider" in seen


def test_linked_legs_in_reach_lead_to_their_pages() -> None:
    facility = factories.FacilityFactory.create()
    trip = factories.TripFactory.create()
    there, back = (
        factories.RideFactory.create(facility=facility, trip=trip, leg_sequence=number, leg_type=leg)
        for number, leg in ((1, "outbound"), (2, "return"))
    )
    other = factories.RideFactory.create(trip=trip, leg_sequence=3, leg_type="intermediate")

    page = _bound(UserRole.PLANNER, facilities=[facility]).get(page_of(there)).content.decode()

    assert page_of(back) in page
    assert page_of(other) not in page


def test_assignment_history_shows_drivers_and_release_reason() -> None:
    ride = ride_in(RideStatus.CANCELLED)

    dispatch = text_of(visitor(UserRole.DISPATCHER).get(page_of(ride)))
    planner = text_of(_bound(UserRole.PLANNER, facilities=[ride.facility]).get(page_of(ride)))

    assert "Unassigned" in dispatch
    assert "by Carelane; ended" in dispatch
    assert "completed" in planner


def _grown(facility: Facility, many: int) -> Ride:
    trip = factories.TripFactory.create()
    ride = ride_in(
        RideStatus.ARRIVED,
        facility=facility,
        trip=trip,
        pickup=factories.stop(facilityId=str(facility.pk), entranceId=str(facility.pk)),
    )
    for number in range(many):
        factories.RideFactory.create(facility=facility, trip=trip, leg_sequence=number + 2)
        factories.ContactFactory.create(facility=facility)
        Milestone.objects.create(
            ride=ride, type="contact_attempt", occurred_at=ARRIVED, source="sms", actor=f"user:{facility.pk}"
        )
    for type_ in (ExceptionType.ADDRESS_PROBLEM, ExceptionType.RIDER_NOT_READY, ExceptionType.EXCESSIVE_WAIT)[:many]:
        exceptions.open_exception(locked(ride.pk, system()), type_, detected_by="test", **TOLD)
    return ride


@pytest.mark.parametrize("many", [1, 3])
def test_page_takes_as_many_queries_however_much_has_happened(
    many: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ride = _grown(factories.FacilityFactory.create(), many)
    client = visitor(UserRole.DISPATCHER)
    client.get(page_of(ride))

    with django_assert_num_queries(15):
        client.get(page_of(ride))
