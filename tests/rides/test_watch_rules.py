"""Time-based exception rules, each at its boundary: a second before, at it, a second after."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.rules import opening_hours
from apps.rides.rules import timing
from apps.rides.rules.exception_rules import (
    Facts,
    Forecast,
    Terms,
    evaluate,
    expires_at,
    first_check_at,
    settles,
)
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType
from tests.rides.watched_facts import EXPIRES, HOUR, MINUTE, NOON, SECOND, ride, terms, will_call

X = ExceptionType


def found(facts: Facts, at: dt.datetime, *, by: Terms | None = None) -> dict[str, tuple[str, int]]:
    """Return the open exceptions at an instant: severity and level by type."""
    outlook = evaluate(facts, by or terms(), at)
    return {type_.value: (one.severity.value, one.level) for type_, one in outlook.findings.items()}


def at_boundary(
    facts: Facts, type_: str, moment: dt.datetime, *, past: bool, by: Terms | None = None
) -> tuple[Any, Any]:
    """Return the exception of a type before an instant and from it on; `past`: it opens only after the instant."""
    before = [found(facts, when, by=by).get(type_) for when in (moment - SECOND, moment - MINUTE)]
    here, after = (found(facts, when, by=by).get(type_) for when in (moment, moment + SECOND))
    assert before[0] == before[1]
    assert here == (before[0] if past else after)
    next_at = evaluate(facts, by or terms(), moment - SECOND).next_at
    assert next_at == moment + (dt.timedelta(microseconds=1) if past else dt.timedelta(0))
    return before[0], after


INFO, WARNING, CRITICAL = "info", "warning", "critical"


# Each row: a ride, a type, an instant, whether it opens only after it, and the exception before and after.
BOUNDARIES: dict[str, tuple[Facts, str, dt.datetime, bool, Any, Any]] = {
    "late, not arrived": (
        ride("assigned"), "late_pickup", NOON + 15 * MINUTE, True, None, (WARNING, 1),
    ),
    "an hour late": (
        ride("en_route", departed_at=NOON + 40 * MINUTE), "late_pickup", NOON + 75 * MINUTE, False, (WARNING, 1),
        (CRITICAL, 2),
    ),
    "late without a driver": (ride(), "late_pickup", NOON + 15 * MINUTE, True, None, (WARNING, 1)),
    "late after a release": (
        will_call("assigned", ready_at=NOON, promised_pickup_by=NOON + 70 * MINUTE), "late_pickup",
        NOON + 70 * MINUTE, True, None, (WARNING, 1),
    ),
    "half of the response": (
        will_call("assigned", ready_at=NOON), "will_call_overdue", NOON + 30 * MINUTE, False, None, (INFO, 1),
    ),
    "all of the response": (
        will_call("assigned", ready_at=NOON), "will_call_overdue", NOON + 60 * MINUTE, False, (INFO, 1), (WARNING, 2),
    ),
    "half as much again": (
        will_call("en_route", ready_at=NOON, departed_at=NOON + 80 * MINUTE), "will_call_overdue",
        NOON + 90 * MINUTE, False, (WARNING, 2), (CRITICAL, 3),
    ),
    "48 hours without a driver": (ride(), "unassigned_at_risk", NOON - 48 * HOUR, False, None, (INFO, 1)),
    "24 hours without a driver": (ride(), "unassigned_at_risk", NOON - 24 * HOUR, False, (INFO, 1), (WARNING, 2)),
    "2 hours without a driver": (ride(), "unassigned_at_risk", NOON - 2 * HOUR, False, (WARNING, 2), (CRITICAL, 3)),
    "72 hours to dialysis": (
        ride(priority="life_sustaining"), "unassigned_at_risk", NOON - 72 * HOUR, False, None, (INFO, 1),
    ),
    "4 hours to dialysis": (
        ride(priority="life_sustaining"), "unassigned_at_risk", NOON - 4 * HOUR, False, (WARNING, 2), (CRITICAL, 3),
    ),
    "ladder, 15 minutes": (
        will_call(ready_at=NOON), "unassigned_at_risk", NOON + 15 * MINUTE, False, None, (INFO, 1),
    ),
    "ladder, 30 minutes": (
        will_call(ready_at=NOON), "unassigned_at_risk", NOON + 30 * MINUTE, False, (INFO, 1), (WARNING, 2),
    ),
    "ladder, 45 minutes": (
        will_call(ready_at=NOON), "unassigned_at_risk", NOON + 45 * MINUTE, False, (WARNING, 2), (CRITICAL, 3),
    ),
    "ladder, 60 minutes": (
        will_call(ready_at=NOON), "no_driver_available", NOON + 60 * MINUTE, False, None, (CRITICAL, 1),
    ),
    "ladder of a firm discharge": (
        ride(service_type="hospital_discharge"), "unassigned_at_risk", NOON - 45 * MINUTE, False, None, (INFO, 1),
    ),
    "end of the ladder of a firm discharge": (
        ride(service_type="hospital_discharge"), "no_driver_available", NOON, False, None, (CRITICAL, 1),
    ),
    "discharge booked late": (
        ride(service_type="hospital_discharge", scheduled_at=NOON - 20 * MINUTE), "unassigned_at_risk",
        NOON - 5 * MINUTE, False, None, (INFO, 1),
    ),
    "request without an answer": (
        ride("requested", confirm_by=NOON - 3 * HOUR), "unconfirmed_request", NOON - 3 * HOUR, True, None, (WARNING, 1),
    ),
    "too late to drive there": (
        ride("assigned", appointment_at=NOON + HOUR, estimated_minutes=40, load_minutes=5), "late_to_appointment",
        NOON + 15 * MINUTE, True, None, (WARNING, 1),
    ),
    "still getting in": (
        ride("arrived", appointment_at=NOON + HOUR, estimated_minutes=40, load_minutes=5, departed_at=NOON - HOUR,
             arrived_pickup_at=NOON),
        "late_to_appointment", NOON + 20 * MINUTE, True, None, (WARNING, 1),
    ),
    "on the road too long": (
        ride("in_progress", appointment_at=NOON + HOUR, estimated_minutes=40, departed_at=NOON - HOUR,
             arrived_pickup_at=NOON, boarded_at=NOON),
        "late_to_appointment", NOON + HOUR, True, None, (WARNING, 1),
    ),
    "not there, of unknown length": (
        ride("assigned", appointment_at=NOON + HOUR), "late_to_appointment", NOON + HOUR, True, None, (WARNING, 1),
    ),
    "chair lost": (
        ride("assigned", service_type="dialysis", appointment_at=NOON + HOUR, estimated_minutes=40),
        "late_to_appointment", NOON + 35 * MINUTE, True, (WARNING, 1), (CRITICAL, 2),
    ),
    "chair lost by an estimate that was a little late": (
        ride("en_route", service_type="dialysis", appointment_at=NOON + HOUR, estimated_minutes=40,
             departed_at=NOON - HOUR, eta_pickup_at=NOON + 30 * MINUTE),
        "late_to_appointment", NOON + 35 * MINUTE, True, (WARNING, 1), (CRITICAL, 2),
    ),
    "intake closes": (
        ride("assigned", accept_by="2026-11-20T19:00:00Z", estimated_minutes=40), "late_to_appointment",
        NOON + 20 * MINUTE, True, None, (WARNING, 1),
    ),
    "rider not ready": (
        ride("arrived", departed_at=NOON - HOUR, arrived_pickup_at=NOON - 9 * MINUTE), "rider_not_ready",
        NOON + 10 * MINUTE, True, None, (INFO, 1),
    ),
    "rider not ready after a release": (
        will_call("arrived", ready_at=NOON - HOUR, departed_at=NOON - HOUR, arrived_pickup_at=NOON - 9 * MINUTE),
        "rider_not_ready", NOON + MINUTE, True, None, (INFO, 1),
    ),
    "long wait": (
        ride("arrived", departed_at=NOON - HOUR, arrived_pickup_at=NOON + 5 * MINUTE), "excessive_wait",
        NOON + 20 * MINUTE, True, None, (INFO, 1),
    ),
    "an hour on board": (
        ride("in_progress", departed_at=NOON - HOUR, arrived_pickup_at=NOON, boarded_at=NOON, estimated_minutes=25),
        "excessive_ride_time", NOON + 60 * MINUTE, True, None, (INFO, 1),
    ),
    "twice the direct way": (
        ride("in_progress", departed_at=NOON - HOUR, arrived_pickup_at=NOON, boarded_at=NOON, estimated_minutes=45),
        "excessive_ride_time", NOON + 90 * MINUTE, True, None, (INFO, 1),
    ),
    "discharge not ready": (
        will_call(service_type="hospital_discharge", expected_ready_at="2026-11-20T18:00:00Z"), "discharge_slipped",
        NOON, True, None, (INFO, 1),
    ),
    "vehicle does not come": (
        ride("en_route", departed_at=NOON - HOUR), "milestone_gap", NOON + 30 * MINUTE, True, None, (INFO, 1),
    ),
    "vehicle is stuck": (
        ride("en_route", departed_at=NOON - HOUR), "milestone_gap", NOON + 75 * MINUTE, False, (INFO, 1), (WARNING, 2),
    ),
    "vehicle said to come later": (
        ride("en_route", departed_at=NOON - HOUR, eta_pickup_at=NOON + 40 * MINUTE), "milestone_gap",
        NOON + 55 * MINUTE, True, None, (INFO, 1),
    ),
    "arrival at the drop-off does not come": (
        ride("in_progress", departed_at=NOON - HOUR, arrived_pickup_at=NOON, boarded_at=NOON, estimated_minutes=40),
        "milestone_gap", NOON + 55 * MINUTE, True, None, (INFO, 1),
    ),
    "arrival of a ride of unknown length": (
        ride("in_progress", departed_at=NOON - HOUR, arrived_pickup_at=NOON, boarded_at=NOON), "milestone_gap",
        NOON + 45 * MINUTE, True, None, (INFO, 1),
    ),
    "delivery does not come": (
        ride("in_progress", departed_at=NOON - HOUR, arrived_pickup_at=NOON, boarded_at=NOON,
             arrived_dropoff_at=NOON + 20 * MINUTE),
        "milestone_gap", NOON + 80 * MINUTE, False, (INFO, 1), (WARNING, 2),
    ),
    "departure nobody reported": (
        ride("arrived", arrived_pickup_at=NOON), "milestone_gap", NOON + 60 * MINUTE, False, (INFO, 1), (WARNING, 2),
    ),
    "documents are missing": (
        ride("completed", dropped_off_at=NOON, lacks_documentation=True), "missing_documentation",
        NOON + 24 * HOUR, False, None, (INFO, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDARIES)
def test_exception_stands_from_its_moment_on(name: str) -> None:
    facts, type_, moment, past, before, after = BOUNDARIES[name]

    assert at_boundary(facts, type_, moment, past=past) == (before, after)


CLOSING = dt.datetime(2026, 11, 20, 23, tzinfo=dt.UTC)  # 17:00 in Chicago


@pytest.mark.parametrize(
    ("moment", "before", "after"),
    [(CLOSING - HOUR, None, (WARNING, 1)), (CLOSING, (WARNING, 1), (CRITICAL, 2))],
    ids=["an hour before closing", "at closing"],
)
def test_unreleased_leg_is_flagged_before_its_facility_closes(moment: dt.datetime, before: Any, after: Any) -> None:
    by = terms(closes_at=CLOSING)

    assert at_boundary(will_call(), "will_call_unactivated", moment, past=False, by=by) == (before, after)
    assert "will_call_unactivated" not in found(will_call(ready_at=NOON), moment + SECOND, by=by)
    assert "will_call_unactivated" not in found(ride(), moment + SECOND, by=by)


@pytest.mark.parametrize(
    ("day", "utc_hour"),
    [
        (dt.date(2026, 3, 7), 23), (dt.date(2026, 3, 8), 22),  # spring: the clock has changed by then
        (dt.date(2026, 10, 31), 22), (dt.date(2026, 11, 1), 23),  # autumn
    ],
)  # fmt: skip
def test_closing_is_an_hour_of_the_wall_on_both_change_over_days(day: dt.date, utc_hour: int) -> None:
    hours = [{"days": list(opening_hours.DAYS), "opens": "08:00", "closes": "17:00"}]
    closes_at = opening_hours.closing_at(hours, zone="America/Chicago", on=day)
    pickup_at = opening_hours.local_instant(day, dt.time(15), zone="America/Chicago")
    leg = will_call(pickup_at=pickup_at, will_call_expires_at=timing.will_call_expires_at(pickup_at, "America/Chicago"))

    moment = dt.datetime.combine(day, dt.time(utc_hour), tzinfo=dt.UTC)

    assert closes_at == moment
    by = terms(closes_at=closes_at)
    assert at_boundary(leg, "will_call_unactivated", moment, past=False, by=by) == ((WARNING, 1), (CRITICAL, 2))


@pytest.mark.parametrize(
    ("day", "over_at"),
    [
        (dt.date(2026, 3, 8), "2026-03-09T04:59:00Z"), (dt.date(2026, 11, 1), "2026-11-02T05:59:00Z"),
        (dt.date(2026, 11, 20), "2026-11-21T05:59:00Z"),
    ],
)  # fmt: skip
def test_unreleased_leg_ends_a_minute_before_local_midnight(day: dt.date, over_at: str) -> None:
    pickup_at = opening_hours.local_instant(day, dt.time(15), zone="America/Chicago")
    leg = will_call(pickup_at=pickup_at, will_call_expires_at=timing.will_call_expires_at(pickup_at, "America/Chicago"))
    moment = dt.datetime.fromisoformat(over_at)

    assert not evaluate(leg, terms(), moment - SECOND).ends_unused
    assert evaluate(leg, terms(), moment).ends_unused
    brought = terms(was_brought=True)
    assert not evaluate(leg, brought, moment).ends_unused
    assert at_boundary(leg, "rider_stranded_risk", moment, past=False, by=brought) == (None, (CRITICAL, 1))


def test_next_look_is_no_later_than_the_end_of_the_leg() -> None:
    leg = will_call("assigned")

    assert evaluate(leg, terms(), EXPIRES - SECOND).next_at == EXPIRES


def test_rider_who_was_brought_is_in_danger_until_aboard() -> None:
    late = EXPIRES + 5 * MINUTE
    brought = terms(was_brought=True)

    assert found(will_call("assigned", ready_at=late), late, by=brought)["rider_stranded_risk"] == (CRITICAL, 1)
    on_board = will_call("in_progress", ready_at=late, departed_at=late, arrived_pickup_at=late, boarded_at=late)
    assert found(on_board, late, by=brought) == {}
    assert "rider_stranded_risk" not in found(will_call("assigned", ready_at=NOON), late, by=brought)


def test_request_is_not_ended_by_the_clock() -> None:
    leg = will_call("requested")

    assert not evaluate(leg, terms(), NOON + 48 * HOUR).ends_unused


def test_nobody_looks_for_a_driver_before_the_release() -> None:
    assert "unassigned_at_risk" not in found(will_call(), NOON)


def test_ride_with_a_driver_is_not_at_risk() -> None:
    assert found(ride("assigned"), NOON) == {}


def test_request_is_late_as_well() -> None:
    assert found(ride("requested"), NOON + 16 * MINUTE) == {"late_pickup": (WARNING, 1)}


def test_late_eta_is_flagged_at_once_and_counts_from_request() -> None:
    late = ride("en_route", departed_at=NOON - HOUR, eta_pickup_at=NOON + 30 * MINUTE, appointment_at=NOON + HOUR,
                estimated_minutes=40)  # fmt: skip

    finding = evaluate(late, terms(), NOON - HOUR).findings[X.LATE_TO_APPOINTMENT]

    assert (finding.severity, finding.since) == (ExceptionSeverity.WARNING, late.requested_at)


@pytest.mark.parametrize(("late", "severity"), [(0, None), (1, WARNING), (15, WARNING), (16, CRITICAL)])
def test_arrival_at_the_drop_off_says_whether_the_rider_was_late(late: int, severity: str | None) -> None:
    arrived = NOON + HOUR + late * MINUTE
    facts = ride("in_progress", service_type="dialysis", appointment_at=NOON + HOUR, departed_at=NOON, boarded_at=NOON,
                 arrived_pickup_at=NOON, arrived_dropoff_at=arrived, estimated_minutes=55)  # fmt: skip

    assert found(facts, arrived).get("late_to_appointment", (None, 0))[0] == severity


def test_shorter_facility_response_counts_but_not_a_longer_one() -> None:
    leg = will_call("assigned", ready_at=NOON)

    sooner, later = terms(response_minutes=30), terms(response_minutes=120)

    assert found(leg, NOON + 30 * MINUTE, by=sooner) == {"will_call_overdue": (WARNING, 2)}
    assert found(leg, NOON + 60 * MINUTE, by=later) == {"will_call_overdue": (WARNING, 2)}


@pytest.mark.parametrize(
    ("late", "foreseen", "severity"), [(4, False, None), (5, False, WARNING), (1, True, WARNING), (0, True, None)]
)
def test_predicted_lateness_opens_at_five_minutes_and_closes_at_none(
    late: int, foreseen: bool, severity: str | None
) -> None:
    by = terms(forecast=Forecast(NOON + (15 + late) * MINUTE, None), foreseen=foreseen)

    assert found(ride("assigned"), NOON, by=by).get("late_pickup_predicted", (None, 0))[0] == severity
    assert found(ride("assigned"), NOON - 3 * HOUR, by=by) == {}


@pytest.mark.parametrize(("spare", "minutes"), [(-30, 2), (6, 3), (60, 10)])
def test_ride_is_predicted_again_the_sooner_the_closer_it_is_to_being_late(spare: int, minutes: int) -> None:
    by = terms(forecast=Forecast(NOON + (20 - spare) * MINUTE, None))

    assert evaluate(ride("assigned"), by, NOON - HOUR).next_at == NOON - HOUR + minutes * MINUTE


@pytest.mark.parametrize(("arrives", "severity"), [(60, None), (61, WARNING), (76, CRITICAL)])
def test_appointment_is_judged_by_the_predicted_arrival(arrives: int, severity: str | None) -> None:
    facts = ride("assigned", service_type="dialysis", appointment_at=NOON + HOUR, estimated_minutes=90)
    by = terms(forecast=Forecast(NOON, NOON + arrives * MINUTE))

    assert found(facts, NOON, by=by).get("late_to_appointment", (None, 0))[0] == severity


def test_ladder_is_that_of_the_facility() -> None:
    by = terms(ladder=(0, 5, 10, 20, 40), ladder_ahead=40 * MINUTE)

    assert found(will_call(ready_at=NOON), NOON + 40 * MINUTE, by=by) == {
        "unassigned_at_risk": (CRITICAL, 3), "no_driver_available": (CRITICAL, 1), "will_call_overdue": (INFO, 1),
    }  # fmt: skip
    firm = ride(service_type="hospital_discharge")
    assert at_boundary(firm, "unassigned_at_risk", NOON - 35 * MINUTE, past=False, by=by) == (None, (INFO, 1))


def test_driver_who_fell_off_begins_it_anew() -> None:
    facts = ride(status_changed_at=NOON - HOUR)

    assert evaluate(facts, terms(), NOON).findings[X.UNASSIGNED_AT_RISK].since == NOON - HOUR


@pytest.mark.parametrize("status", ["cancelled", "no_show", "unfulfilled", "completed"])
def test_ended_ride_is_not_looked_at_again(status: str) -> None:
    ended = ride(status, dropped_off_at=NOON)

    assert evaluate(ended, terms(), NOON + 48 * HOUR) == ({}, None, False, None)
    assert first_check_at(ended) is None


def test_cleared_findings_are_resolved_except_persistent_types() -> None:
    assert settles(X.LATE_PICKUP, "assigned")
    assert settles(X.MISSING_DOCUMENTATION, "in_progress")
    assert settles(X.MILESTONE_GAP, "in_progress")
    assert not settles(X.MILESTONE_GAP, "completed")
    assert not settles(X.DISCHARGE_SLIPPED, "scheduled")
    assert not settles(X.ACCIDENT, "assigned")


@pytest.mark.parametrize(
    ("facts", "expires"),
    [
        (ride(), NOON + 15 * MINUTE + 4 * HOUR),
        (ride(appointment_at=NOON + HOUR), NOON + 5 * HOUR),
        (ride("completed", status_changed_at=NOON + 2 * HOUR), NOON + 6 * HOUR),
        (ride("cancelled"), NOON + 15 * MINUTE + 4 * HOUR),  # before its pickup: the rider may still need it
        (will_call(), EXPIRES + 4 * HOUR),
    ],
)
def test_exception_expires_after_the_last_promise_or_the_end(facts: Facts, expires: dt.datetime) -> None:
    assert expires_at(X.LATE_PICKUP, facts) == expires


def test_late_ride_is_reported_until_nobody_waits_any_more() -> None:
    assert at_boundary(ride("assigned"), "late_pickup", NOON + 15 * MINUTE + 4 * HOUR, past=False) == (
        (CRITICAL, 2),
        None,
    )


def test_types_that_wait_for_a_person_do_not_expire() -> None:
    waiting = {X.VEHICLE_BREAKDOWN, X.ACCIDENT, X.SAFETY_INCIDENT, X.MEDICAL_EMERGENCY, X.MISSING_DOCUMENTATION}
    of_orders = {
        type_
        for type_ in X
        if type_.startswith(("standing_", "hold_", "holiday_", "authorization_", "rider_hospitalized"))
    }
    ended = ride("completed")

    assert {type_ for type_ in X if expires_at(type_, ended) is None} == waiting | of_orders
    assert expires_at(X.MILESTONE_GAP, ride("en_route")) is None  # so that somebody ends the ride
    assert expires_at(X.MILESTONE_GAP, ended) == NOON + 15 * MINUTE + 24 * HOUR
