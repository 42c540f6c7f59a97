"""Exception rules of released riders, unreleased will-calls, and later legs."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import EscalationPolicy, Facility
from apps.riders.models import Rider
from apps.rides.labels import note_text
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.exception_types import ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import (
    booking,
    exception_monitor,
    exceptions,
    will_call,
)
from apps.rides.services import status_report as reporting
from lib.access import Principal
from tests import factories
from tests.rides.drafts import dialysis, draft
from tests.rides.looks import HOUR, MINUTE, NOW, PICKUP, SECOND, fresh, released, standing, tick
from tests.rides.status_calls import report_to
from tests.rides.traces import events_of, everything, exceptions_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    made: Rider = factories.RiderFactory.create(facility=hospital)
    return made


def test_will_call_is_counted_from_the_release(dispatcher: Principal, hospital: Facility, rider: Rider) -> None:
    asked = draft(hospital, rider, will_call=True)
    ride = booking.book(draft=asked, by=dispatcher, at=NOW).ride
    tick(NOW)
    will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=PICKUP)
    assert fresh(ride).next_check_at == PICKUP

    seen = {}
    for minutes in (0, 15, 30, 45, 60, 61, 90):
        tick(PICKUP + minutes * MINUTE)
        seen[minutes] = standing(ride)

    assert seen == {
        0: {},
        15: {"unassigned_at_risk": "info"},
        30: {"unassigned_at_risk": "warning", "will_call_overdue": "info"},
        45: {"unassigned_at_risk": "critical", "will_call_overdue": "info"},
        60: {"unassigned_at_risk": "critical", "will_call_overdue": "warning", "no_driver_available": "critical"},
        61: {
            "unassigned_at_risk": "critical",
            "will_call_overdue": "warning",
            "no_driver_available": "critical",
            "late_pickup": "warning",
        },
        90: {
            "unassigned_at_risk": "critical",
            "will_call_overdue": "critical",
            "no_driver_available": "critical",
            "late_pickup": "warning",
        },
    }
    told = RideException.objects.get(type="unassigned_at_risk").details["told"]
    assert told == ["dispatcher", "planner", "supervisor"]


def test_escalation_alerts_planners_supervisors_then_planners(hospital: Facility) -> None:
    ride = released(facility=hospital)
    told = []

    for minutes in (15, 30, 45, 60):
        tick(NOW + minutes * MINUTE)
        told.append([(one.scope, one.severity) for one in Alert.objects.order_by("created_at")])

    planners, supervisors = ("rides:write", "warning"), ("rides:correct", "critical")
    assert told == [
        [],
        [planners],
        [planners, supervisors],
        [planners, supervisors, ("rides:write", "critical")],
    ]
    alert = Alert.objects.order_by("created_at")[0]
    assert (alert.title, alert.facility_id) == ("No driver for a ride that has waited 30 minutes", hospital.pk)
    assert alert.path == f"/console/rides/{ride.pk}/"


def test_missed_escalation_step_still_raises_its_alert() -> None:
    released()

    tick(NOW + 50 * MINUTE)

    assert sorted(Alert.objects.values_list("scope", flat=True)) == ["rides:correct", "rides:write"]


def test_planners_hear_nothing_of_a_ride_of_no_facility() -> None:
    released(facility=None, pickup=factories.stop(), pickup_facility=None)

    tick(NOW + 60 * MINUTE)

    assert list(Alert.objects.values_list("scope", flat=True)) == ["rides:correct"]


def test_ladder_of_the_facility_counts(hospital: Facility) -> None:
    hospital.escalation_policy = EscalationPolicy.objects.create(name="Fast", step_minutes=[0, 2, 4, 6, 8])
    hospital.save()
    ride = released(facility=hospital)

    tick(NOW + 8 * MINUTE)

    assert standing(ride) == {"unassigned_at_risk": "critical", "no_driver_available": "critical"}


def test_driver_closes_what_the_ladder_told(dispatcher: Principal) -> None:
    ride = released()
    tick(NOW + 60 * MINUTE)
    assert Alert.objects.open().count() == 3

    factories.put_driver_on(ride)
    Ride.objects.update(next_check_at=NOW)
    tick(NOW + 61 * MINUTE)

    assert Alert.objects.open().count() == 0
    assert "no_driver_available" not in standing(ride)


def test_person_who_closes_it_closes_what_the_ladder_told(dispatcher: Principal) -> None:
    released()
    tick(NOW + 30 * MINUTE)
    risk = RideException.objects.get(type="unassigned_at_risk")

    exceptions.resolve(exception_id=risk.pk, code=ResolutionCode.HANDLED_ELSEWHERE, by=dispatcher, at=NOW + HOUR)

    assert Alert.objects.open().count() == 0


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR])
def test_what_the_ladder_tells_comes_to_inboxes_within_reach(role: UserRole, hospital: Facility) -> None:
    other = factories.FacilityFactory.create()
    released(facility=hospital), released(facility=other)
    tick(NOW + 45 * MINUTE)
    reach = frozenset({hospital.pk}) if role is UserRole.PLANNER else None

    seen = Alert.objects.visible_to(factories.principal(role, facility_ids=reach))

    count = {UserRole.PLANNER: 1, UserRole.DISPATCHER: 2, UserRole.DISPATCH_SUPERVISOR: 4}[role]
    assert seen.count() == count


def waiting_return(hospital: Facility, rider: Rider, by: Principal) -> tuple[Ride, Ride]:
    """A ride to dialysis and its will-call return."""
    asked = dialysis(hospital, rider, return_leg=ReturnLeg(pickup_at=PICKUP + 6 * HOUR))
    booked = booking.book(draft=asked, by=by, at=NOW)
    assert booked.return_ride is not None
    return booked.ride, booked.return_ride


def deliver(ride: Ride) -> None:
    """Complete the outbound leg."""
    factories.put_driver_on(ride)
    moments = dict.fromkeys(("departed_at", "arrived_pickup_at", "boarded_at", "arrived_dropoff_at"), PICKUP)
    Ride.objects.filter(pk=ride.pk).update(
        status="completed", status_before_end="in_progress", dropped_off_at=PICKUP, **moments
    )


EXPIRES = dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)


def test_w3_delivered_rider_without_release_is_not_forgotten(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    hospital.hours = [{"days": ["fri"], "opens": "06:00", "closes": "22:00"}]
    hospital.save()
    out, back = waiting_return(hospital, rider, dispatcher)
    deliver(out)
    closes_at = dt.datetime(2026, 11, 21, 4, tzinfo=dt.UTC)

    seen = []
    for moment in (closes_at - HOUR - SECOND, closes_at - HOUR, closes_at, EXPIRES - SECOND, EXPIRES):
        tick(moment)
        seen.append(standing(back))

    unactivated = {"will_call_unactivated": "critical"}
    assert seen == [
        {},
        {"will_call_unactivated": "warning"},
        unactivated,
        unactivated,
        {**unactivated, "rider_stranded_risk": "critical"},
    ]
    assert fresh(back).status == "scheduled"
    will_call.mark_ready(ride_id=back.pk, by=dispatcher, at=EXPIRES + MINUTE)
    tick(EXPIRES + MINUTE)
    assert standing(back) == {"rider_stranded_risk": "critical"}  # until aboard


@pytest.mark.parametrize("assigned", [False, True], ids=["without a driver", "with a driver"])
def test_leg_of_rider_who_never_came_is_cancelled_at_day_end(
    assigned: bool, hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    out, back = waiting_return(hospital, rider, dispatcher)
    reporting.change_status(
        ride_id=out.pk, report=report_to(RideStatus.CANCELLED, reason_code="rider_ill"), by=dispatcher, at=NOW
    )
    if assigned:
        factories.put_driver_on(back)
    tick(EXPIRES - SECOND)
    assert fresh(back).status == ("assigned" if assigned else "scheduled")

    tick(EXPIRES)
    ended = everything()
    tick(EXPIRES + SECOND)

    assert everything() == ended
    row = fresh(back)
    assert (row.status, row.reason_code, row.fault, row.ended_by) == (
        "cancelled",
        "will_call_not_used",
        "none",
        "system",
    )
    assert row.next_check_at is None
    assert events_of(back).count("ride.cancelled") == 1
    assert AuditEntry.objects.filter(action="rides.status", subject_id=back.pk).count() == 1
    assert not Assignment.objects.filter(ride=back, status="accepted").exists()


def test_leg_of_rider_possibly_en_route_is_not_cancelled(
    hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    _, back = waiting_return(hospital, rider, dispatcher)

    tick(EXPIRES)

    assert fresh(back).status == "scheduled"
    assert standing(back)["rider_stranded_risk"] == "critical"


def test_leg_released_while_being_ended_continues(
    hospital: Facility, rider: Rider, dispatcher: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    ride = booking.book(draft=draft(hospital, rider, will_call=True), by=dispatcher, at=NOW).ride
    look = exception_monitor._evaluate_due

    def released_meanwhile(**given: Any) -> Any:
        answer = look(**given)
        if fresh(ride).ready_at is None:
            will_call.mark_ready(ride_id=ride.pk, by=dispatcher, at=EXPIRES)
        return answer

    monkeypatch.setattr(exception_monitor, "_evaluate_due", released_meanwhile)
    tick(EXPIRES)

    assert fresh(ride).status == "scheduled"


def test_undecided_later_leg_is_retained_by_default(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    out, back = waiting_return(hospital, rider, dispatcher)
    reporting.change_status(
        ride_id=out.pk, report=report_to(RideStatus.CANCELLED, reason_code="rider_ill"), by=dispatcher, at=NOW
    )
    assert exceptions_of(back) == [("return_leg_at_risk", "open")]

    tick(NOW + 30 * MINUTE - SECOND)
    assert fresh(back).next_check_at == NOW + 30 * MINUTE
    tick(NOW + 30 * MINUTE)

    decided = RideException.objects.get(ride=back)
    assert (decided.status, decided.resolution_code, decided.resolved_by) == ("resolved", "other", "system")
    assert str(note_text(decided.resolution_note)) == "No decision was made in time: the leg is kept."
    assert fresh(back).status == "scheduled"


def test_decision_that_somebody_has_taken_on_is_theirs(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    out, back = waiting_return(hospital, rider, dispatcher)
    reporting.change_status(
        ride_id=out.pk, report=report_to(RideStatus.CANCELLED, reason_code="rider_ill"), by=dispatcher, at=NOW
    )
    exceptions.acknowledge(exception_id=RideException.objects.get(ride=back).pk, by=dispatcher, at=NOW)

    tick(NOW + HOUR)

    assert exceptions_of(back) == [("return_leg_at_risk", "acknowledged")]
