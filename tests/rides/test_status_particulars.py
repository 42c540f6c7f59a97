"""Details of the status call: refused data, data taken as reported, and data that may follow later."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.audit.models import AuditEntry
from apps.fleet.models import Leave
from apps.rides.models import Assignment, Milestone, ReasonCode, Ride
from apps.rides.queries import ride_needs
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import (
    assignment,
    exceptions,
    milestones,
    offers,
    will_call,
)
from apps.rides.services import status_report as service
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.guards import GuardFailed
from apps.rides.services.status import InvalidTransition
from lib.access import Principal, system
from lib.errors import DomainError, InvalidInput, ScopeMissing
from lib.scopes import Scope
from tests import factories
from tests.callers import TokenClient
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import BOARDED, DEPARTED, ride_in
from tests.rides.status_calls import AT, report_to, traces

pytestmark = pytest.mark.django_db


def refusal_of(ride: Ride, kind: type[DomainError], by: Principal, /, status: RideStatus, **said: Any) -> DomainError:
    """Report a status that is refused, and check that nothing changed."""
    before = traces(ride)
    with pytest.raises(kind) as refusal:
        service.change_status(ride_id=ride.pk, report=report_to(status, **said), by=by, at=AT)
    assert traces(ride) == before
    return refusal.value


def test_reason_of_the_operator_counts_as_the_one_it_stands_for(dispatcher: Principal) -> None:
    ReasonCode.objects.create(reason_list="cancelled", code="snow", label="Snow", parent_code="weather")
    ride = ride_in(RideStatus.ASSIGNED)

    ended = service.change_status(
        ride_id=ride.pk, report=report_to(RideStatus.CANCELLED, reason_code="snow"), by=dispatcher, at=AT
    )

    assert (ended.status, ended.reason_code, ended.fault) == ("cancelled", "snow", "none")


@pytest.mark.parametrize(
    ("status", "reason"),
    [(RideStatus.ASSIGNED, "aborted_safety"), (RideStatus.IN_PROGRESS, "no_driver_available")],
    ids=["nobody on board", "rider on board"],
)
def test_ride_is_aborted_with_the_rider_on_board_alone(status: RideStatus, reason: str, dispatcher: Principal) -> None:
    ride = ride_in(status)

    refusal = refusal_of(ride, InvalidInput, dispatcher, RideStatus.UNFULFILLED, reason_code=reason)

    assert (refusal.details[0].field, refusal.details[0].code) == ("reasonCode", "not_here")


@pytest.mark.parametrize("status", [RideStatus.ASSIGNED, RideStatus.EN_ROUTE, RideStatus.ARRIVED], ids=str)
@pytest.mark.parametrize("reason", ["authorization_missing", "weather_suspension", "late_notice"])
def test_ride_with_driver_fails_only_for_provider_reasons(
    reason: str, status: RideStatus, dispatcher: Principal
) -> None:
    ReasonCode.objects.create(
        reason_list="unfulfilled", code="late_notice", label="Late notice", parent_code="insufficient_notice"
    )
    ride = ride_in(status)

    refusal = refusal_of(ride, InvalidInput, dispatcher, RideStatus.UNFULFILLED, reason_code=reason)

    assert (refusal.details[0].field, refusal.details[0].code) == ("reasonCode", "not_here")


def test_ride_without_a_driver_fails_for_any_reason_of_the_list(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)

    failed = service.change_status(
        ride_id=ride.pk,
        report=report_to(RideStatus.UNFULFILLED, reason_code="authorization_missing"),
        by=dispatcher,
        at=AT,
    )

    assert (failed.status, failed.reason_code, failed.fault) == ("unfulfilled", "authorization_missing", "payer")


def test_override_is_for_those_who_may(dispatcher: Principal) -> None:
    caller = factories.principal(scopes=dispatcher.scopes - {Scope.RIDES_OVERRIDE})
    ride = ride_in(RideStatus.ARRIVED, accommodation={"mobility": "wheelchair"})
    asked = {"override": True, "override_reason": "Driver confirmed by phone."}

    refusal = refusal_of(ride, ScopeMissing, caller, RideStatus.IN_PROGRESS, **asked)

    assert refusal.details[0].also == {"requiredScope": Scope.RIDES_OVERRIDE}


@pytest.mark.parametrize(
    ("rule", "odometer_required", "signed", "odometer", "refused"),
    [
        ("pickup", False, False, None, True),
        ("both", False, True, None, False),
        ("dropoff", True, False, None, True),
        ("dropoff", True, False, "100.0", False),
        ("none", False, False, None, False),
    ],
)
def test_payer_wants_proof_before_the_ride_begins(
    rule: str, odometer_required: bool, signed: bool, odometer: str | None, refused: bool, dispatcher: Principal
) -> None:
    payer = factories.PayerFactory.create(signature_rule=rule, odometer_required=odometer_required)
    ride = ride_in(RideStatus.ARRIVED, payer=payer)
    signature = {"stop": "pickup", "signer": "rider", "name": "Orla", "at": None}
    said: dict[str, Any] = {
        "occurred_at": BOARDED,
        "signatures": (signature,) if signed else (),
        "odometer": odometer,
    }

    if refused:
        refusal = refusal_of(ride, GuardFailed, dispatcher, RideStatus.IN_PROGRESS, **said)
        assert refusal.details[0].code == "pickup_proof"
    else:
        changed = service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.IN_PROGRESS, **said), by=dispatcher, at=AT
        )
        assert changed.status == "in_progress"


@pytest.mark.parametrize(
    ("kind", "status", "moment"),
    [
        (InvalidInput, RideStatus.ASSIGNED, MilestoneReport(type="ready", occurred_at=DEPARTED)),
        (InvalidTransition, RideStatus.ASSIGNED, MilestoneReport(type="handoff", occurred_at=DEPARTED)),
        (InvalidTransition, RideStatus.REQUESTED, MilestoneReport(type="contact_attempt", occurred_at=DEPARTED)),
        (InvalidTransition, RideStatus.IN_PROGRESS, MilestoneReport(type="contact_attempt", occurred_at=BOARDED)),
    ],
    ids=["release", "hand-over before the drive", "call about a request", "call about a rider on board"],
)
def test_moment_that_does_not_belong_here_is_refused(
    kind: type[DomainError], status: RideStatus, moment: MilestoneReport, dispatcher: Principal
) -> None:
    refusal_of(ride_in(status), kind, dispatcher, status, milestones=(moment,))


def test_moment_after_a_later_one_is_refused() -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    late = BOARDED + dt.timedelta(seconds=1)

    with pytest.raises(milestones.MilestoneOutOfOrder, match="after boarded"):
        milestones.check_order(ride, Milestone.Type.ARRIVED_PICKUP, late, at=AT)


def test_fault_judged_otherwise_is_taken_from_the_call(api: TokenClient) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    body = {
        "status": "cancelled",
        "reasonCode": "rider_request",
        "fault": "facility",
        "note": "The unit called.",
        "occurredAt": "2026-11-20T15:00:00Z",
    }

    response = api.post(f"/api/rides/{ride.pk}/status", body)

    assert response.status_code == 200, response.json()
    assert Ride.objects.get().fault == "facility"


def test_retracted_release_restores_appointment_window(dispatcher: Principal) -> None:
    pickup_at, chair_at = factories.PICKUP, factories.PICKUP + dt.timedelta(hours=1)
    ride = ride_in(
        RideStatus.SCHEDULED,
        will_call=True,
        pickup_time_kind="estimated",
        will_call_expires_at=factories.NOW + dt.timedelta(hours=20),
        appointment_at=chair_at,
        scheduling_anchor="appointment",
        estimated_minutes=50,
    )
    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=factories.NOW)

    will_call.retract_ready(ride_id=ride.pk, by=dispatcher, at=factories.NOW + dt.timedelta(minutes=5))

    ride.refresh_from_db()
    assert ride.ready_at is None
    assert ride.window_starts_at < ride.window_ends_at < pickup_at + dt.timedelta(minutes=15)


def test_repeated_acknowledge_shows_exception_and_audits_a_read(api: TokenClient) -> None:
    ride = factories.RideFactory.create()
    late = exceptions.open_exception(ride, ExceptionType.LATE_PICKUP, by=system(), at=factories.NOW, detected_by="test")
    url = f"/api/ride-exceptions/{late.pk}/acknowledge"
    first = api.post(url)

    again = api.post(url)

    assert (again.status_code, again.content) == (200, first.content)
    entries = AuditEntry.objects.filter(rider_ids=[ride.rider_id]).order_by("at", "id")
    assert [entry.request_id for entry in entries] == [one.headers["X-Request-Id"] for one in (first, again)]


def test_driver_on_leave_is_not_assigned(dispatcher: Principal) -> None:
    ride, (driver, vehicle) = factories.RideFactory.create(), fit_pair()
    Leave.objects.create(driver=driver, starts_at=factories.NOW, ends_at=factories.PICKUP + dt.timedelta(minutes=1))

    with pytest.raises(AssignmentRejected) as refusal:
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=factories.NOW)

    assert [str(detail.text) for detail in refusal.value.details] == ["The driver is on leave at that time."]
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    ("stop", "steps"),
    [({}, 14), ({"elevator": True}, 0), ({"stairEquipment": "ramp"}, 0)],
    ids=["stairs", "lift", "ramp"],
)
def test_steps_count_where_nothing_leads_round_them(stop: dict[str, Any], steps: int) -> None:
    assert ride_needs._steps_at({"steps": 14, **stop}, 0) == steps


@pytest.mark.django_db(transaction=True)
def test_due_offer_on_a_locked_ride_waits_for_the_next_run() -> None:
    ride, (driver, vehicle) = factories.RideFactory.create(), fit_pair(employment="contractor")
    offer = assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, offer=True, by=system(), at=factories.NOW
    )
    at = factories.NOW + dt.timedelta(hours=1)

    def expire() -> int:
        try:
            return offers.expire_due(by=system(), at=at)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            Ride.objects.select_for_update().get(pk=ride.pk)
            meanwhile = other.submit(expire).result(timeout=20)
        afterwards = other.submit(expire).result(timeout=20)

    offer.refresh_from_db()
    assert (meanwhile, afterwards, offer.status) == (0, 1, "expired")


@pytest.mark.parametrize(
    ("was", "target", "text"),
    [
        (RideStatus.IN_PROGRESS, "unassign", "The rider is already on board. Hand the ride over to another driver"),
        (RideStatus.IN_PROGRESS, "cancelled", "The rider is already on board. Hand the ride over to another driver"),
        (RideStatus.REQUESTED, "assigned", "This ride is only requested. Confirm it first."),
        (RideStatus.SCHEDULED, "en_route", "This ride is unassigned. Assign a driver first."),
        (RideStatus.EN_ROUTE, "no_show", "The vehicle is not at the pickup yet. Log its arrival first."),
        (RideStatus.ARRIVED, "en_route", "The status cannot change from arrived back to en route. Correct the logged"),
        (RideStatus.ASSIGNED, "assign", "The ride has a driver already. Reassign it, or unassign the driver first."),
        (RideStatus.ASSIGNED, "handover", "No rider is on board. Assign another driver instead."),
        (RideStatus.CANCELLED, "assigned", "The ride is canceled. Reinstate it, or book another ride."),
        (RideStatus.COMPLETED, "cancelled", "The ride is completed. To change that, correct its ending."),
    ],
)
def test_refused_transition_says_what_to_do_next(was: RideStatus, target: str, text: str) -> None:
    assert str(InvalidTransition(was, target)).startswith(text)
