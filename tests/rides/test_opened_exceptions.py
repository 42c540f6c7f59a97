"""Exceptions opened outside transitions (bookings, changes, estimates, distances, reasons), and their resolution.

Time-based exceptions are not included.
"""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Milestone, ReasonCode, Ride, RideException
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, Place
from apps.rides.services import booking, editing
from apps.rides.services import status_report as service
from lib.access import Principal
from tests import factories
from tests.rides.drafts import draft
from tests.rides.rides_in import ARRIVED, ARRIVED_DROPOFF, BOARDED, DEPARTED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, report_to
from tests.rides.traces import events_of, exceptions_of

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)
NOW = factories.NOW
PATIENT = {"unit": "4 West", "unitPhone": "+13125550140", "planner": {"name": "Pat"}}


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    made: Rider = factories.RiderFactory.create(facility=hospital)
    return made


def only(ride: Ride) -> tuple[str, str, str, dict[str, Any]]:
    """Return the only exception of a ride: type, severity, rule and details."""
    found = RideException.objects.get(ride=ride)
    return found.type, found.severity, found.detected_by, found.details


def say(ride: Ride, status: RideStatus, by: Principal, *, at: dt.datetime = AT, **more: Any) -> Ride:
    return service.change_status(ride_id=ride.pk, report=report_to(status, **more), by=by, at=at)


def place(meters: int, *, of: dict[str, Any]) -> Place:
    """Return a place this far north of a stop."""
    return Place(Decimal(str(round(of["lat"] + meters / 111_195, 6))), Decimal(str(of["lng"])))


def test_ride_that_is_booked_beside_another_waits_for_a_decision(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    first = booking.book(draft=draft(hospital, rider), by=dispatcher, at=NOW).ride

    second = booking.book(draft=draft(hospital, rider, allow_duplicate=True), by=dispatcher, at=NOW).ride

    assert only(second) == ("duplicate_ride", "warning", "booking", {"rideIds": [str(first.pk)]})
    assert (second.status, second.version, second.open_exception_count) == ("scheduled", 2, 1)
    assert events_of(second) == ["ride.scheduled", "ride.exception"]
    assert exceptions_of(first) == []
    say(second, RideStatus.CANCELLED, dispatcher, at=NOW, reason_code="duplicate")
    assert RideException.objects.get().status == "open"  # a person resolves it


def test_allowed_duplicate_without_overlap_opens_no_exception(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    back = ReturnLeg(pickup_at=factories.PICKUP + 180 * MINUTE)

    booked = booking.book(draft=draft(hospital, rider, allow_duplicate=True, return_leg=back), by=dispatcher, at=NOW)

    assert booked.return_ride is not None
    assert not RideException.objects.exists()


def test_return_trip_overlapping_a_ride_opens_the_exception(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    later = factories.PICKUP + 180 * MINUTE
    other = booking.book(draft=draft(hospital, rider, pickup_at=later), by=dispatcher, at=NOW).ride
    both = draft(hospital, rider, allow_duplicate=True, return_leg=ReturnLeg(pickup_at=later))

    booked = booking.book(draft=both, by=dispatcher, at=NOW)

    assert booked.return_ride is not None
    assert only(booked.return_ride) == ("duplicate_ride", "warning", "booking", {"rideIds": [str(other.pk)]})
    assert exceptions_of(booked.ride) == []


def test_ride_that_is_moved_beside_another_waits_for_a_decision(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    first = booking.book(draft=draft(hospital, rider), by=dispatcher, at=NOW).ride
    later = draft(hospital, rider, pickup_at=factories.PICKUP + 180 * MINUTE)
    second = booking.book(draft=later, by=dispatcher, at=NOW).ride

    options = editing.EditOptions(allow_duplicate=True)
    editing.edit(ride_id=second.pk, changes={"pickup_at": factories.PICKUP}, options=options, by=dispatcher, at=NOW)

    assert only(second) == ("duplicate_ride", "warning", "amend", {"rideIds": [str(first.pk)]})


def test_request_confirmed_despite_overlap_opens_exception(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    first = booking.book(draft=draft(hospital, rider), by=dispatcher, at=NOW).ride
    request = factories.RideFactory.create(facility=hospital, rider=rider, status="requested", scheduled_at=None)

    say(request, RideStatus.SCHEDULED, dispatcher, at=NOW, override=True, override_reason="Two appointments.")

    assert only(request) == ("duplicate_ride", "warning", "T03", {"rideIds": [str(first.pk)]})


def discharge(hospital: Facility, rider: Rider, accept_by: str | None, **more: Any) -> Any:
    details = PATIENT | {"receiving": {"name": "Rest Haven", "acceptBy": accept_by}}
    return draft(hospital, rider, service_type="hospital_discharge", discharge=details, **more)


def test_discharge_predicted_after_intake_is_flagged_at_booking(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    early = booking.book(draft=discharge(hospital, rider, None), by=dispatcher, at=NOW).ride
    assert early.estimated_minutes == 11
    assert exceptions_of(early) == []

    for accept_by, opened in (("2026-11-20T20:14:00Z", False), ("2026-11-20T20:13:59Z", True)):  # 3 min to get in
        late = discharge(hospital, rider, accept_by, pickup_at=factories.PICKUP)
        editing.edit(ride_id=early.pk, changes={"discharge": late.discharge}, by=dispatcher, at=NOW)
        assert bool(exceptions_of(early)) is opened
    say(early, RideStatus.CANCELLED, dispatcher, at=NOW, reason_code="discharge_cancelled")
    ride = booking.book(draft=discharge(hospital, rider, "2026-11-20T20:00:00Z"), by=dispatcher, at=NOW).ride

    assert only(ride) == ("late_to_appointment", "critical", "booking", {"lateMinutes": 14})
    assert events_of(ride) == ["ride.scheduled", "ride.exception"]


def test_intake_that_waits_longer_settles_it(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    ride = booking.book(draft=discharge(hospital, rider, "2026-11-20T20:00:00Z"), by=dispatcher, at=NOW).ride

    later = {"discharge": {"receiving": {"acceptBy": "2026-11-20T23:00:00Z"}}}
    editing.edit(ride_id=ride.pk, changes=later, by=dispatcher, at=NOW)

    assert exceptions_of(ride) == [("late_to_appointment", "resolved")]


def test_change_of_something_else_leaves_it(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    ride = booking.book(draft=discharge(hospital, rider, "2026-11-20T20:00:00Z"), by=dispatcher, at=NOW).ride

    editing.edit(ride_id=ride.pk, changes={"notes": {"driver": "Ring twice."}}, by=dispatcher, at=NOW)

    assert exceptions_of(ride) == [("late_to_appointment", "open")]


@pytest.mark.parametrize(
    ("service_type", "late", "severity"),
    [("therapy", 0, None), ("therapy", 16, "warning"), ("dialysis", 15, "warning"), ("dialysis", 16, "critical")],
)
def test_eta_missing_the_appointment_is_exception_until_in_time(
    service_type: str, late: int, severity: str | None, dispatcher: Principal
) -> None:
    chair_at = factories.PICKUP + 60 * MINUTE
    ride = ride_in(
        RideStatus.EN_ROUTE, service_type=service_type, appointment_at=chair_at, estimated_minutes=20,
        window_ends_at=chair_at + 60 * MINUTE,
    )  # fmt: skip
    eta = chair_at + (late - 23) * MINUTE  # 3 to get in, 20 to drive

    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=eta)

    if severity is None:
        assert exceptions_of(ride) == []
        return
    assert only(ride) == ("late_to_appointment", severity, "eta", {"lateMinutes": late})
    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=eta - late * MINUTE)
    assert exceptions_of(ride) == [("late_to_appointment", "resolved")]


def test_ride_of_unknown_length_is_not_judged(dispatcher: Principal) -> None:
    late = factories.PICKUP + MINUTE
    ride = ride_in(RideStatus.EN_ROUTE, appointment_at=late, window_ends_at=late + 60 * MINUTE)

    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=late)

    assert exceptions_of(ride) == []


def test_rider_who_is_picked_up_is_expected_by_when_that_was(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS, appointment_at=BOARDED + 20 * MINUTE)

    editing.edit(ride_id=ride.pk, changes={"dropoff": {"lat": 42.05}}, by=dispatcher, at=BOARDED)

    ride.refresh_from_db()
    assert ride.estimated_minutes == 30
    assert only(ride) == ("late_to_appointment", "warning", "amend", {"lateMinutes": 10})


@pytest.mark.parametrize(
    ("reached", "at_the_door", "code"),
    [(0, "resolved", "recovered_on_time"), (1, "open", "recovered_late")],
    ids=["in time", "late"],
)
def test_late_to_appointment_resolves_on_arrival_or_completion(
    reached: int, at_the_door: str, code: str, dispatcher: Principal
) -> None:
    ride = ride_in(RideStatus.EN_ROUTE, appointment_at=ARRIVED_DROPOFF, estimated_minutes=40)
    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=ARRIVED)
    there = ARRIVED_DROPOFF + reached * MINUTE
    road = (
        MilestoneReport(type="arrived_pickup", occurred_at=ARRIVED),
        MilestoneReport(type="boarded", occurred_at=BOARDED),
        MilestoneReport(type="arrived_dropoff", occurred_at=there),
    )

    say(ride, RideStatus.IN_PROGRESS, dispatcher, milestones=road)
    assert exceptions_of(ride) == [("late_to_appointment", at_the_door)]
    say(ride, RideStatus.COMPLETED, dispatcher, occurred_at=DROPPED_OFF)

    late = RideException.objects.get(ride=ride)
    assert (late.status, late.resolution_code) == ("resolved", code)


@pytest.mark.parametrize(("minutes", "opened"), [(31, True), (30, False), (-30, False), (-31, True)])
def test_discharge_that_is_expected_at_another_time_has_slipped(
    minutes: int, opened: bool, hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    ride = booking.book(draft=discharge(hospital, rider, None, will_call=True), by=dispatcher, at=NOW).ride
    moved = (factories.PICKUP + minutes * MINUTE).isoformat().replace("+00:00", "Z")

    editing.edit(ride_id=ride.pk, changes={"discharge": {"expectedReadyAt": moved}}, by=dispatcher, at=NOW)

    assert exceptions_of(ride) == ([("discharge_slipped", "open")] if opened else [])
    if opened:
        assert only(ride) == ("discharge_slipped", "info", "amend", {})
        assert events_of(ride)[-2:] == ["ride.updated", "ride.exception_noted"]


def test_discharge_of_a_patient_who_is_ready_does_not_slip(dispatcher: Principal) -> None:
    ride = ride_in(
        RideStatus.SCHEDULED, will_call=True, pickup_time_kind="estimated", will_call_expires_at=AT, ready_at=NOW,
        ready_source="api", promised_pickup_by=factories.PICKUP, service_type="hospital_discharge",
        discharge=PATIENT | {"expectedReadyAt": "2026-11-20T20:00:00Z"},
    )  # fmt: skip

    later = {"discharge": {"expectedReadyAt": "2026-11-20T22:00:00Z"}}
    editing.edit(ride_id=ride.pk, changes=later, by=dispatcher, at=NOW)

    assert exceptions_of(ride) == []


def test_patient_on_board_has_left_the_hospital(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    ride = ride_in(
        RideStatus.ARRIVED,
        service_type="hospital_discharge",
        discharge=PATIENT | {"expectedReadyAt": "2026-11-20T20:00:00Z"},
    )
    later = {"discharge": {"expectedReadyAt": "2026-11-20T20:40:00Z"}}
    editing.edit(ride_id=ride.pk, changes=later, by=dispatcher, at=ARRIVED)

    say(ride, RideStatus.IN_PROGRESS, dispatcher, occurred_at=BOARDED)

    assert exceptions_of(ride) == [("discharge_slipped", "resolved")]


@pytest.mark.parametrize(("meters", "opened"), [(250, False), (252, True)])
def test_arrival_reported_far_away_opens_address_problem(meters: int, opened: bool, dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)

    say(ride, RideStatus.ARRIVED, dispatcher, occurred_at=ARRIVED, place=place(meters, of=ride.pickup))

    if not opened:
        assert exceptions_of(ride) == []
        return
    type_, severity, rule, details = only(ride)
    assert (type_, severity, rule) == ("address_problem", "warning", "distance")
    assert details == {"stop": "pickup", "milestone": "arrived_pickup", "distanceMeters": 252}
    assert events_of(ride) == ["ride.driver_arrived", "ride.exception"]


def test_stop_whose_place_nobody_knows_is_not_questioned(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE, pickup=factories.stop(lat=None, lng=None))

    say(ride, RideStatus.ARRIVED, dispatcher, occurred_at=ARRIVED, place=place(0, of=ride.dropoff))

    assert Milestone.objects.get(ride=ride, type="arrived_pickup").distance_from_stop_meters is None
    assert exceptions_of(ride) == []


def test_address_that_is_corrected_is_no_problem_any_more(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    say(ride, RideStatus.ARRIVED, dispatcher, occurred_at=ARRIVED, place=place(400, of=ride.pickup))

    editing.edit(ride_id=ride.pk, changes={"dropoff": {"lat": 41.95}}, by=dispatcher, at=AT)
    assert exceptions_of(ride) == [("address_problem", "open")]
    editing.edit(ride_id=ride.pk, changes={"pickup": {"lat": ride.pickup["lat"] + 0.003}}, by=dispatcher, at=AT)

    assert exceptions_of(ride) == [("address_problem", "resolved")]


def test_better_word_on_the_same_moment_settles_it(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    say(ride, RideStatus.ARRIVED, dispatcher, occurred_at=ARRIVED, place=place(400, of=ride.pickup))
    near = place(20, of=ride.pickup)

    say(ride, RideStatus.IN_PROGRESS, dispatcher, occurred_at=BOARDED, place=near)
    assert exceptions_of(ride) == [("address_problem", "open")]
    again = MilestoneReport(type="arrived_pickup", occurred_at=ARRIVED + MINUTE, place=near)
    say(ride, RideStatus.IN_PROGRESS, dispatcher, milestones=(again,))

    assert exceptions_of(ride) == [("address_problem", "resolved")]


def test_drop_off_reported_far_away_stays_open_after_the_ride(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)

    say(ride, RideStatus.COMPLETED, dispatcher, occurred_at=DROPPED_OFF, place=place(900, of=ride.dropoff))

    assert exceptions_of(ride) == [("address_problem", "open")]
    assert only(ride)[3] == {"stop": "dropoff", "milestone": "dropped_off", "distanceMeters": 900}


@pytest.mark.parametrize(
    ("status", "target", "reason", "opened"),
    [
        (RideStatus.ASSIGNED, RideStatus.UNFULFILLED, "vehicle_breakdown", "vehicle_breakdown"),
        (RideStatus.EN_ROUTE, RideStatus.UNFULFILLED, "accident", "accident"),
        (RideStatus.ARRIVED, RideStatus.UNFULFILLED, "vehicle_breakdown", "vehicle_breakdown"),
        (RideStatus.ARRIVED, RideStatus.UNFULFILLED, "crash", "accident"),
        (RideStatus.IN_PROGRESS, RideStatus.UNFULFILLED, "aborted_medical_emergency", "medical_emergency"),
        (RideStatus.IN_PROGRESS, RideStatus.UNFULFILLED, "aborted_safety", "safety_incident"),
        (RideStatus.IN_PROGRESS, RideStatus.UNFULFILLED, "returned_to_origin", None),
        (RideStatus.ARRIVED, RideStatus.UNFULFILLED, "late_rider_left", None),
        (RideStatus.SCHEDULED, RideStatus.UNFULFILLED, "vehicle_breakdown", None),
        (RideStatus.ARRIVED, RideStatus.NO_SHOW, "bad_pickup_details", "address_problem"),
    ],
)
def test_reason_of_an_ending_reports_the_incident(
    status: RideStatus, target: RideStatus, reason: str, opened: str | None, dispatcher: Principal
) -> None:
    ReasonCode.objects.create(reason_list="unfulfilled", code="crash", label="Crash", parent_code="accident")
    ride = ride_in(status)
    tried = (MilestoneReport(type="contact_attempt", occurred_at=BOARDED, contacted="rider"),)

    ended = say(
        ride,
        target,
        dispatcher,
        reason_code=reason,
        rider_location="At Ashland Ave",
        milestones=tried if target is RideStatus.NO_SHOW else (),
    )

    ending = "rider_no_show" if target is RideStatus.NO_SHOW else "ride_unfulfilled"
    assert exceptions_of(ride) == sorted((type_, "open") for type_ in (ending, opened) if type_ is not None)
    if opened in ("vehicle_breakdown", "accident", "medical_emergency", "safety_incident"):
        incident = RideException.objects.get(ride=ride, type=opened)
        counts_as = "accident" if reason == "crash" else reason
        assert (incident.severity, incident.details) == ("critical", {"reasonCode": counts_as})
        assert ended.max_exception_severity == "critical"
        assert events_of(ride)[-3:] == ["ride.unfulfilled", "ride.exception", "ride.exception"]


def test_incident_remains_open_when_ending_is_corrected(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    say(ride, RideStatus.UNFULFILLED, supervisor, reason_code="accident")

    say(ride, RideStatus.EN_ROUTE, supervisor, note="It went on.")

    assert exceptions_of(ride) == [("accident", "open"), ("ride_unfulfilled", "resolved")]
