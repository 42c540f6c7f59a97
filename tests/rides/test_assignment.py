"""Assignment, reassignment, transfer and unassignment: effects, and the unchanged state after a refusal."""

import dataclasses
import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import Place, StatusReport
from apps.rides.services import assignment, status_report
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.guards import GuardFailed
from apps.rides.services.status import InvalidTransition
from lib.access import Principal
from lib.errors import InvalidInput, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope
from tests import factories
from tests.fleet.crew import file_credentials, fit_driver, fit_pair, fit_vehicle
from tests.rides.rides_in import ride_in
from tests.rides.traces import events_of, everything, exceptions_of

pytestmark = pytest.mark.django_db

NOW = factories.NOW
AT_PICKUP = factories.PICKUP + dt.timedelta(minutes=10)


def test_assign_pins_the_pair_on_the_ride(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    driver, vehicle = fit_pair()
    driver.license_number = "D123-4567-8901"
    driver.save(update_fields=["license_number_encrypted"])

    made = assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    ride.refresh_from_db()
    assert (ride.status, ride.version, ride.assignment_id) == ("assigned", 2, made.pk)
    assert (ride.driver_id, ride.vehicle_id, ride.provider_id) == (driver.pk, vehicle.pk, driver.provider_id)
    made.refresh_from_db()
    assert (made.status, made.responded_at, made.sequence) == ("accepted", NOW, 1)
    assert made.driver_name == f"{driver.first_name} {driver.last_name}"
    assert (made.license_number, made.vehicle_plate) == ("D123-4567-8901", vehicle.license_plate)
    assert b"D123" not in bytes(made.license_number_encrypted or b"")
    assert events_of(ride) == ["ride.driver_assigned"]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.rider_ids) == ("rides.assign", ride.pk, [ride.rider_id])


def test_event_names_ids_alone(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    driver, vehicle = fit_pair()

    made = assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    assert Event.objects.get().data == {
        "rideId": str(ride.pk),
        "status": "assigned",
        "previousStatus": "scheduled",
        "pickupTime": "2026-11-20T20:00:00Z",
        "assignmentId": str(made.pk),
        "driverId": str(driver.pk),
        "vehicleId": str(vehicle.pk),
    }


def test_assign_settles_what_a_driver_puts_right(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(open_exception_count=1, max_exception_severity="warning")
    RideException.objects.create(
        ride=ride,
        rider=ride.rider,
        facility=ride.facility,
        type="unassigned_at_risk",
        severity="warning",
        opened_at=NOW,
        opened_by="system",
        detected_by="timer",
        summary="Unassigned at risk",
        updated_at=NOW,
    )
    driver, vehicle = fit_pair()

    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    ride.refresh_from_db()
    assert exceptions_of(ride) == [("unassigned_at_risk", "resolved")]
    assert (ride.open_exception_count, ride.max_exception_severity) == (0, "")
    assert events_of(ride) == ["ride.driver_assigned", "ride.exception_resolved"]


def test_hard_violations_refuse_whatever_is_overridden(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(
        spaces_ambulatory=0,
        spaces_wheelchair=2,
        accommodation={"mobility": "wheelchair", "combinedWeightLb": 900},
    )
    driver, vehicle = fit_pair(activation="suspended", activation_reason="License", qualifications=[])
    before = everything()

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver.pk,
            vehicle_id=vehicle.pk,
            override=True,
            override_reason="No one else",
            by=dispatcher,
            at=NOW,
        )

    assert [(one.code, one.also["kind"], one.also["subjectId"]) for one in refusal.value.details] == [
        ("DRIVER_INACTIVE", "hard", str(driver.pk)),
        ("VEHICLE_NOT_SUITABLE", "hard", str(vehicle.pk)),
        ("VEHICLE_NOT_SUITABLE", "hard", str(vehicle.pk)),
        ("DRIVER_NOT_QUALIFIED", "hard", str(driver.pk)),
    ]
    assert everything() == before


def test_credential_expiring_before_ride_day_refuses_assignment(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    vehicle = fit_vehicle()
    driver = factories.DriverFactory.create(provider=vehicle.provider)
    file_credentials(driver=driver, expires_on=dt.date(2026, 11, 19))
    before = everything()

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    assert [one.code for one in refusal.value.details] == ["CREDENTIAL_INVALID"] * 4
    assert everything() == before


@pytest.fixture
def preferring(db: None) -> Ride:
    """A ride whose rider prefers an absent driver: one soft violation."""
    ride: Ride = factories.RideFactory.create(rider__preferred_driver_ids=[uuid.uuid4()])
    return ride


@pytest.mark.parametrize(
    ("given", "scopes", "refusal"),
    [
        ({}, {Scope.RIDES_OVERRIDE}, AssignmentRejected),
        ({"override": True, "override_reason": "He agreed"}, set(), ScopeMissing),
        ({"override": True, "override_reason": " "}, {Scope.RIDES_OVERRIDE}, InvalidInput),
    ],
)
def test_soft_violation_asks_for_scope_and_reason(
    preferring: Ride, dispatcher: Principal, given: dict[str, Any], scopes: set[str], refusal: type[Exception]
) -> None:
    driver, vehicle = fit_pair()
    caller = dataclasses.replace(dispatcher, scopes=frozenset({Scope.ASSIGNMENTS_WRITE, *scopes}))
    before = everything()

    with pytest.raises(refusal):
        assignment.assign(ride_id=preferring.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, **given, by=caller, at=NOW)

    assert everything() == before


def test_override_is_remembered_with_its_reason(preferring: Ride, dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()

    made = assignment.assign(
        ride_id=preferring.pk,
        driver_id=driver.pk,
        vehicle_id=vehicle.pk,
        override=True,
        override_reason="He agreed",
        by=dispatcher,
        at=NOW,
    )

    made.refresh_from_db()
    assert (made.overridden, made.override_reason) == (["PREFERENCE_UNMET"], "He agreed")
    assert Event.objects.get().data["overridden"] == ["PREFERENCE_UNMET"]


def test_clashing_ride_of_the_driver_is_seen(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    first = factories.RideFactory.create()
    factories.put_driver_on(first, driver=driver, vehicle=vehicle)
    second = factories.RideFactory.create(pickup_at=factories.PICKUP + dt.timedelta(minutes=5))
    before = everything()

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(ride_id=second.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    assert [(one.code, one.also["subjectId"]) for one in refusal.value.details] == [
        ("SCHEDULE_CONFLICT", str(first.pk))
    ]
    assert everything() == before


def test_stale_copy_is_refused(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(version=3)
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(StaleVersion):
        assignment.assign(
            ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, expected_version=2, by=dispatcher, at=NOW
        )

    assert everything() == before


def test_caller_without_the_scope_cannot_assign(planner: Principal) -> None:
    ride = factories.RideFactory.create(facility_id=next(iter(planner.facility_ids or ())))
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(ScopeMissing):
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=planner, at=NOW)

    assert everything() == before


def test_outsider_finds_no_ride(outsider: Principal) -> None:
    ride = factories.RideFactory.create()
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(NotFound):
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=outsider, at=NOW)
    with pytest.raises(NotFound):
        assignment.unassign(ride_id=ride.pk, reason_code="replanned", by=outsider, at=NOW)

    assert everything() == before


def test_fleet_out_of_reach_is_not_there(dispatcher: Principal) -> None:
    mine, theirs = fit_pair(), fit_pair()
    ride = ride_in(RideStatus.ASSIGNED)
    Ride.objects.filter(pk=ride.pk).update(provider=mine[0].provider)
    partner = dataclasses.replace(dispatcher, provider_ids=frozenset({mine[0].provider_id}))
    before = everything()

    for driver, vehicle, field in [(theirs[0], mine[1], "driverId"), (mine[0], theirs[1], "vehicleId")]:
        with pytest.raises(InvalidInput) as refusal:
            assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=partner, at=NOW)
        assert refusal.value.details[0].field == field

    assert everything() == before


@pytest.mark.parametrize("attendants", ["driver", "twice", "nobody"])
def test_each_person_of_a_crew_is_there_once(dispatcher: Principal, attendants: str) -> None:
    ride = factories.RideFactory.create()
    driver, vehicle = fit_pair()
    helper = fit_driver(provider=driver.provider)
    named = {"driver": [driver.pk], "twice": [helper.pk, helper.pk], "nobody": [uuid.uuid4()]}[attendants]
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        assignment.assign(
            ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, attendant_ids=named, by=dispatcher, at=NOW
        )

    assert refusal.value.details[0].field == "attendantIds"
    assert everything() == before


@pytest.mark.parametrize("status", ["requested", "completed", "cancelled", "no_show", "unfulfilled"])
def test_ride_that_is_not_open_takes_no_driver(dispatcher: Principal, status: str) -> None:
    ride = ride_in(RideStatus(status))
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(InvalidTransition):
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    assert everything() == before


def test_reassign_supersedes_in_one_step(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    old = Assignment.objects.get()
    driver, vehicle = fit_pair()

    made = assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    ride.refresh_from_db()
    old.refresh_from_db()
    assert (old.status, old.ended_at, made.sequence, ride.assignment_id) == ("superseded", NOW, 1, made.pk)
    assert events_of(ride) == ["ride.driver_unassigned", "ride.driver_assigned"]
    left, came = Event.objects.order_by("sequence")
    assert (left.provider_id, came.provider_id) == (old.provider_id, driver.provider_id)
    assert left.data["driverId"] == str(old.driver_id)


def test_same_crew_again_changes_nothing(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    driver, vehicle = fit_pair()
    first = assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)
    before = everything()

    again = assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)

    assert again == first
    assert everything() == before


@pytest.mark.parametrize(
    ("status", "voided", "opened"),
    [
        (RideStatus.EN_ROUTE, ["departed"], []),
        (RideStatus.ARRIVED, ["arrived_pickup", "departed"], [("driver_released_late", "resolved")]),
    ],
)
def test_reassign_under_way_voids_the_approach(
    dispatcher: Principal, status: RideStatus, voided: list[str], opened: list[tuple[str, str]]
) -> None:
    ride = ride_in(status)
    driver, vehicle = fit_pair()

    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=AT_PICKUP)

    ride.refresh_from_db()
    assert (ride.status, ride.departed_at, ride.arrived_pickup_at) == ("assigned", None, None)
    assert sorted(Milestone.objects.filter(ride=ride, voided=True).values_list("type", flat=True)) == voided
    assert exceptions_of(ride) == opened


def test_breakdown_at_the_door_stays_open_after_the_swap(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    driver, vehicle = fit_pair()

    assignment.assign(
        ride_id=ride.pk,
        driver_id=driver.pk,
        vehicle_id=vehicle.pk,
        handover=assignment.Handover(reason_code="vehicle_breakdown"),
        by=dispatcher,
        at=AT_PICKUP,
    )

    assert exceptions_of(ride) == [("vehicle_breakdown", "open")]
    assert events_of(ride) == ["ride.driver_unassigned", "ride.driver_assigned", "ride.exception"]


RESCUE = assignment.Handover(
    reason_code="vehicle_breakdown",
    rider_location="Shoulder of I-90 at Addison",
    place=Place(lat=Decimal("41.947000"), lng=Decimal("-87.730000")),
)


def test_transfer_keeps_both_assignments(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    old = Assignment.objects.get()
    driver, vehicle = fit_pair()

    made = assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, handover=RESCUE, by=dispatcher, at=AT_PICKUP
    )

    ride.refresh_from_db()
    old.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.assignment_id) == ("in_progress", driver.pk, made.pk)
    assert (old.status, old.ended_at, old.end_reason) == ("superseded", AT_PICKUP, "vehicle_breakdown")
    assert (made.sequence, made.started_at) == (2, AT_PICKUP)
    assert ride.boarded_at is not None
    assert Milestone.objects.filter(ride=ride, voided=True).count() == 0
    assert exceptions_of(ride) == [("vehicle_breakdown", "open")]
    assert events_of(ride) == ["ride.driver_unassigned", "ride.driver_assigned", "ride.exception"]


@pytest.mark.parametrize(
    ("handover", "refusal"),
    [
        (None, InvalidInput),
        (assignment.Handover(reason_code="other", rider_location="Here"), InvalidInput),
        (assignment.Handover(reason_code="vehicle_breakdown"), GuardFailed),
    ],
)
def test_transfer_asks_why_and_where(
    dispatcher: Principal, handover: assignment.Handover | None, refusal: type[Exception]
) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    driver, vehicle = fit_pair()
    before = everything()

    with pytest.raises(refusal):
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver.pk,
            vehicle_id=vehicle.pk,
            handover=handover,
            by=dispatcher,
            at=AT_PICKUP,
        )

    assert everything() == before


def test_two_people_for_a_stretcher(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(
        spaces_ambulatory=0, spaces_stretcher=1, accommodation={"mobility": "stretcher"}
    )
    provider = factories.TransportProviderFactory.create()
    van = fit_vehicle(provider=provider, type="stretcher_van", capacity={"stretcher": 1, "ambulatory": 1})
    driver = fit_driver(provider=provider, qualifications=["stretcher"])
    helper = fit_driver(provider=provider)

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=van.pk, by=dispatcher, at=NOW)
    assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=van.pk, attendant_ids=[helper.pk], by=dispatcher, at=NOW
    )

    ride.refresh_from_db()
    assert [one.code for one in refusal.value.details] == ["ATTENDANT_REQUIRED"]
    assert ride.attendant_ids == [helper.pk]


def test_attendant_is_not_in_two_places(dispatcher: Principal) -> None:
    provider = factories.TransportProviderFactory.create()
    helper = fit_driver(provider=provider)
    first, second = factories.RideFactory.create(), factories.RideFactory.create()
    (driver, vehicle), (other_driver, other_vehicle) = fit_pair(provider), fit_pair(provider)
    assignment.assign(
        ride_id=first.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, attendant_ids=[helper.pk], by=dispatcher, at=NOW
    )
    before = everything()

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(
            ride_id=second.pk,
            driver_id=other_driver.pk,
            vehicle_id=other_vehicle.pk,
            attendant_ids=[helper.pk],
            by=dispatcher,
            at=NOW,
        )

    assert [str(one.message) for one in refusal.value.details] == ["The attendant has another ride at that time."]
    assert everything() == before


def test_miles_are_split_between_both_vehicles(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    driver, vehicle = fit_pair()
    rescue = dataclasses.replace(RESCUE, miles=Decimal("3.25"))
    assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, handover=rescue, by=dispatcher, at=AT_PICKUP
    )

    status_report.change_status(
        ride_id=ride.pk,
        report=StatusReport(
            status=RideStatus.COMPLETED,
            source="driver_app",
            loaded_miles=Decimal("10.00"),
            loaded_miles_source="gps",
        ),
        by=dispatcher,
        at=AT_PICKUP + dt.timedelta(minutes=40),
    )

    driven = Assignment.objects.order_by("sequence").values_list("status", "miles_attributed")
    assert list(driven) == [("superseded", Decimal("3.25")), ("completed", Decimal("6.75"))]
