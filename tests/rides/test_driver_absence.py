"""A driver who is reported out: shifts, freed rides, and undo."""

import dataclasses
import datetime as dt
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver, Leave, Shift, Vehicle
from apps.fleet.services import drivers, shifts
from apps.fleet.services.absences import AbsenceOver, AlreadyAbsent, ShiftChangedSince
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.queries.candidates import candidates
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, driver_absence, exceptions, fleet_changes
from apps.rides.services.driver_absence import FreedRidesChanged, ReportedAbsence
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.offers import accept
from lib.access import Principal, system
from lib.errors import InvalidInput, NotFound
from tests import factories
from tests.fleet.crew import fit_pair
from tests.locks import wait_until_somebody_waits
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOW, PICKUP = factories.NOW, factories.PICKUP
HOUR = dt.timedelta(hours=1)
DAY_ENDS = dt.datetime(2026, 11, 21, 10, tzinfo=dt.UTC)  # 04:00 in Chicago


def everything() -> dict[str, Any]:
    return {
        "drivers": list(Driver.objects.order_by("pk").values()),
        "leave": list(Leave.objects.order_by("pk").values()),
        "shifts": list(Shift.objects.order_by("pk").values()),
        "rides": list(Ride.objects.order_by("pk").values()),
        "assignments": list(Assignment.objects.order_by("pk").values()),
        "events": Event.objects.count(),
        "audit": AuditEntry.objects.count(),
    }


def ride_of(driver: Driver, vehicle: Vehicle, pickup_at: dt.datetime = PICKUP, **columns: Any) -> Ride:
    ride: Ride = factories.RideFactory.create(pickup_at=pickup_at, **columns)
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return ride


def shift_of(driver: Driver, vehicle: Vehicle, starts_at: dt.datetime, ends_at: dt.datetime) -> Shift:
    shift: Shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, provider=driver.provider, starts_at=starts_at, ends_at=ends_at
    )
    return shift


def report(driver: Driver, by: Principal, **options: Any) -> ReportedAbsence:
    return driver_absence.report(**{"driver_id": driver.pk, "reason": "sick", "by": by, "at": NOW, **options})


def test_sick_driver_loses_shift_and_rides_until_day_ends(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    shift = shift_of(driver, vehicle, NOW - HOUR, NOW + 9 * HOUR)
    later, soon = ride_of(driver, vehicle), ride_of(driver, vehicle, NOW + HOUR)
    tomorrow = ride_of(driver, vehicle, PICKUP + 24 * HOUR)

    reported = report(driver, dispatcher, note="Called in.")

    leave = Leave.objects.get()
    shift.refresh_from_db()
    assert (leave.starts_at, leave.ends_at, leave.absence, leave.reason) == (NOW, DAY_ENDS, "sick", "Called in.")
    assert (leave.reported_at, leave.reported_by) == (NOW, dispatcher.actor)
    assert (shift.ends_at, shift.status, shift.version) == (NOW, "planned", 2)
    assert [(change.shift.pk, change.effect) for change in reported.shifts] == [(shift.pk, "ended")]
    assert reported.freed_ids == [soon.pk, later.pk]
    assert (reported.handover_ids, reported.attended_ids) == ([], [])
    assert list(Ride.objects.filter(driver=driver).values_list("pk", flat=True)) == [tomorrow.pk]
    assert set(Assignment.objects.filter(status="released").values_list("end_reason", flat=True)) == {"driver_ill"}
    assert list(Event.objects.order_by("id").values_list("type", flat=True)) == [
        "driver.updated",
        "ride.driver_unassigned",
        "ride.exception",
        "ride.driver_unassigned",
    ]
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {
        "shifts.amend",
        "drivers.report_absence",
        "rides.unassign",
    }


@pytest.mark.parametrize(
    ("starts", "ends", "before", "after"),
    [
        (0, 8, (-1, 6), (-1, 0, "planned")),
        (0, 8, (1, 6), (1, 6, "cancelled")),
        (0, 8, (0, 9), (8, 9, "planned")),
        (0, 8, (-1, 9), (-1, 9, "planned")),
        (2, 4, (4, 9), (4, 9, "planned")),
    ],
    ids=["ended", "removed", "starts later", "around", "after"],
)
def test_shift_is_cut_where_the_absence_meets_it(
    dispatcher: Principal, starts: int, ends: int, before: tuple[int, int], after: tuple[int, int, str]
) -> None:
    driver, vehicle = fit_pair()
    shift = shift_of(driver, vehicle, NOW + before[0] * HOUR, NOW + before[1] * HOUR)

    reported = report(driver, dispatcher, starts_at=NOW + starts * HOUR, ends_at=NOW + ends * HOUR)

    changed = Shift.objects.get()
    assert (changed.starts_at, changed.ends_at, changed.status) == (
        NOW + after[0] * HOUR,
        NOW + after[1] * HOUR,
        after[2],
    )
    assert len(reported.shifts) == changed.version - shift.version


def test_night_shift_across_the_change_of_day_sets_the_end(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    shift_of(driver, vehicle, DAY_ENDS - 5 * HOUR, DAY_ENDS + 3 * HOUR)

    before_midnight = report(driver, dispatcher, starts_at=DAY_ENDS - 6 * HOUR)
    after_four = driver_absence.report(driver_id=fit_pair()[0].pk, reason="other", by=dispatcher, at=DAY_ENDS - HOUR)

    assert before_midnight.leave.ends_at == DAY_ENDS + 3 * HOUR
    assert after_four.leave.ends_at == DAY_ENDS


def test_overdue_ride_is_freed_and_ride_before_a_later_start_stays(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    overdue = ride_of(driver, vehicle, NOW - HOUR)
    other_driver, other_vehicle = fit_pair()
    before, across = (
        ride_of(other_driver, other_vehicle, NOW + HOUR),
        ride_of(other_driver, other_vehicle, NOW + 3 * HOUR - dt.timedelta(minutes=5)),
    )

    no_show = report(driver, dispatcher, reason="no_show", starts_at=NOW - 2 * HOUR)
    later = report(other_driver, dispatcher, reason="left_early", starts_at=NOW + 3 * HOUR)

    assert no_show.freed_ids == [overdue.pk]
    assert later.freed_ids == [across.pk]
    before.refresh_from_db()
    assert before.driver_id == other_driver.pk
    assert set(Assignment.objects.filter(status="released").values_list("end_reason", flat=True)) == {"driver_absent"}


def test_rides_under_way_and_attended_ones_are_listed(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    on_board = ride_in(RideStatus.IN_PROGRESS, pickup_at=NOW - HOUR)
    en_route = ride_in(RideStatus.EN_ROUTE, pickup_at=NOW + HOUR)
    attended = ride_in(RideStatus.ASSIGNED)
    Ride.objects.filter(pk__in=[on_board.pk, en_route.pk]).update(
        driver=driver, vehicle=vehicle, provider=driver.provider
    )
    Ride.objects.filter(pk=attended.pk).update(attendant_ids=[driver.pk])
    before = list(Ride.objects.order_by("pk").values())

    reported = report(driver, dispatcher)

    assert reported.handover_ids == [on_board.pk, en_route.pk]
    assert (reported.freed_ids, reported.attended_ids) == ([], [attended.pk])
    assert list(Ride.objects.order_by("pk").values()) == before


def test_absent_driver_is_on_leave_for_assignments(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    ride = ride_of(driver, vehicle)
    report(driver, dispatcher)

    (candidate,) = candidates(ride_id=ride.pk, by=dispatcher, at=NOW)

    assert [violation.code.value for violation in candidate.violations] == ["OUTSIDE_SHIFT"]
    with pytest.raises(AssignmentRejected):
        assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=dispatcher, at=NOW)


def test_open_offers_to_the_driver_are_withdrawn(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair(employment="contractor")
    today, tomorrow = (factories.RideFactory.create(pickup_at=PICKUP + hours * HOUR) for hours in (0, 24))
    crew: dict[str, Any] = {"driver_id": driver.pk, "vehicle_id": vehicle.pk}
    for ride in (today, tomorrow):
        assignment.assign(ride_id=ride.pk, **crew, offer=True, by=dispatcher, at=NOW)

    reported = report(driver, dispatcher)

    offers = Assignment.objects.order_by("ride__pickup_at")
    assert list(offers.values_list("status", "end_reason", "ended_at")) == [
        ("expired", "driver_absent", NOW),
        ("offered", "", None),
    ]
    assert (reported.withdrawn_ids, reported.freed_ids) == ([today.pk], [])
    assert list(RideException.objects.values_list("ride", "type", "detected_by")) == [
        (today.pk, "assignment_declined", "offer_driver_absent")
    ]
    assert AuditEntry.objects.filter(action="rides.withdraw_offer", subject_id=today.pk).count() == 1
    with pytest.raises(NotFound):
        accept(ride_id=today.pk, by=dispatcher, at=NOW)


def test_change_of_planned_leave_keeps_the_absence(dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    report(driver, dispatcher)
    planned = {"starts_at": NOW + 48 * HOUR, "ends_at": NOW + 72 * HOUR, "reason": "Vacation"}

    drivers.amend(driver_id=driver.pk, changes={"leave": [planned]}, expected_version=None, by=system(), at=NOW)

    assert list(Leave.objects.order_by("starts_at").values_list("absence", "reason")) == [
        ("sick", ""),
        ("", "Vacation"),
    ]


@pytest.mark.parametrize(
    ("starts_at", "ends_at", "field"),
    [
        (NOW - 25 * HOUR, None, "from"),
        (NOW + 2 * HOUR, NOW + HOUR, "to"),
        (NOW - 2 * HOUR, NOW, "to"),
        (NOW, NOW + dt.timedelta(days=32), "to"),
    ],
    ids=["long ago", "backwards", "over", "too long"],
)
def test_period_that_makes_no_sense_changes_nothing(
    dispatcher: Principal, starts_at: dt.datetime, ends_at: dt.datetime | None, field: str
) -> None:
    driver, vehicle = fit_pair()
    ride_of(driver, vehicle)
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        report(driver, dispatcher, starts_at=starts_at, ends_at=ends_at)

    assert refusal.value.details[0].field == field
    assert everything() == before


def test_second_absence_in_the_same_period_is_refused(dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    report(driver, dispatcher)
    before = everything()

    with pytest.raises(AlreadyAbsent):
        report(driver, dispatcher, reason="other", starts_at=NOW + HOUR)

    assert everything() == before


def test_outsider_finds_neither_driver_nor_absence(dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    reported = report(driver, dispatcher)
    outsider = dataclasses.replace(dispatcher, provider_ids=frozenset({uuid.uuid4()}))
    before = everything()

    with pytest.raises(NotFound):
        report(driver, outsider, starts_at=NOW + 48 * HOUR)
    with pytest.raises(NotFound):
        driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=outsider, at=NOW)
    with pytest.raises(NotFound):  # of another driver
        driver_absence.undo(driver_id=fit_pair()[0].pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW)

    assert everything()["leave"] == before["leave"]


def test_rides_out_of_scope_are_freed_and_not_listed(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    ride = ride_of(driver, vehicle)
    elsewhere = dataclasses.replace(dispatcher, facility_ids=frozenset({uuid.uuid4()}))

    reported = report(driver, elsewhere)
    ride.refresh_from_db()
    assert (reported.freed_ids, ride.status) == ([], "scheduled")

    undone = driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=elsewhere, at=NOW)
    ride.refresh_from_db()
    assert (undone.ride_ids, ride.driver_id) == ([], driver.pk)


def test_undo_gives_shifts_and_rides_back(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    running = shift_of(driver, vehicle, NOW - HOUR, NOW + 3 * HOUR)
    removed = shift_of(driver, vehicle, NOW + 4 * HOUR, NOW + 9 * HOUR)
    first, second = ride_of(driver, vehicle, NOW + HOUR), ride_of(driver, vehicle, NOW + 5 * HOUR)
    Assignment.objects.filter(ride=second).update(method="auto")
    reported = report(driver, dispatcher)
    exceptions.open_exception(
        Ride.objects.get(pk=first.pk), ExceptionType.UNASSIGNED_AT_RISK, by=system(), at=NOW, detected_by="test"
    )

    undone = driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW + HOUR / 4)

    assert Leave.objects.count() == 0
    assert [shift.pk for shift in undone.shifts] == [running.pk, removed.pk]
    assert list(Shift.objects.order_by("starts_at").values_list("starts_at", "ends_at", "status")) == [
        (NOW - HOUR, NOW + 3 * HOUR, "planned"),
        (NOW + 4 * HOUR, NOW + 9 * HOUR, "planned"),
    ]
    assert undone.ride_ids == [first.pk, second.pk]
    assert set(Ride.objects.values_list("status", "driver", "vehicle")) == {("assigned", driver.pk, vehicle.pk)}
    accepted = Assignment.objects.filter(status="accepted").order_by("ride__pickup_at")
    assert list(accepted.values_list("method", "overridden")) == [("manual", []), ("auto", [])]
    assert AuditEntry.objects.filter(action="drivers.undo_absence").count() == 1


def test_undo_is_refused_once_a_freed_ride_has_changed(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    shift = shift_of(driver, vehicle, NOW - HOUR, NOW + 9 * HOUR)
    changed, unchanged = ride_of(driver, vehicle, NOW + HOUR), ride_of(driver, vehicle)
    reported = report(driver, dispatcher)
    other_driver, other_vehicle = fit_pair()
    assignment.assign(ride_id=changed.pk, driver_id=other_driver.pk, vehicle_id=other_vehicle.pk, by=dispatcher, at=NOW)
    before = everything()

    with pytest.raises(FreedRidesChanged) as refusal:
        driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW)

    assert [detail.also["rideId"] for detail in refusal.value.details] == [str(changed.pk)]
    assert "without the rides" in str(refusal.value)
    assert everything() == before

    undone = driver_absence.undo(
        driver_id=driver.pk, absence_id=reported.leave.pk, without_rides=True, by=dispatcher, at=NOW
    )
    unchanged.refresh_from_db()
    shift.refresh_from_db()
    assert ([row.pk for row in undone.shifts], undone.ride_ids) == ([shift.pk], [])
    assert (unchanged.status, shift.ends_at, Leave.objects.count()) == ("scheduled", NOW + 9 * HOUR, 0)


@pytest.mark.parametrize("how", ["vehicle", "version"])
def test_undo_is_refused_if_the_shift_cannot_be_given_back(dispatcher: Principal, how: str) -> None:
    driver, vehicle = fit_pair()
    shift = shift_of(driver, vehicle, NOW - HOUR, NOW + 9 * HOUR)
    reported = report(driver, dispatcher)
    if how == "vehicle":
        substitute, _ = fit_pair(provider=driver.provider)
        shift_of(substitute, vehicle, NOW + HOUR, NOW + 4 * HOUR)
    else:
        ends_at = {"ends_at": NOW + HOUR}
        shifts.amend(shift_id=shift.pk, changes=ends_at, expected_version=None, by=system(), at=NOW)
    before = everything()

    with pytest.raises(ShiftChangedSince):
        driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW)

    assert everything() == before
    undone = driver_absence.undo(
        driver_id=driver.pk, absence_id=reported.leave.pk, without_rides=True, by=dispatcher, at=NOW
    )
    assert (undone.shifts, Leave.objects.count()) == ([], 0)


def test_undo_overrides_only_what_may_be_overridden(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    shift_of(driver, vehicle, NOW - HOUR, NOW + HOUR)
    ride = ride_of(driver, vehicle)  # after the shift
    reported = report(driver, dispatcher)
    fleet_admin = factories.principal(UserRole.FLEET_ADMIN)
    fleet_changes.change_activation(driver_id=driver.pk, to="suspended", reason="x", by=fleet_admin, at=NOW)
    before = everything()

    with pytest.raises(AssignmentRejected):
        driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW)

    assert everything() == before
    fleet_changes.change_activation(driver_id=driver.pk, to="active", reason="", by=fleet_admin, at=NOW)
    driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=NOW)
    accepted = Assignment.objects.get(ride=ride, status="accepted")
    assert accepted.overridden == ["OUTSIDE_SHIFT"]
    assert accepted.override_reason == "The absence of the driver was undone."


def test_absence_that_has_ended_cannot_be_undone(dispatcher: Principal) -> None:
    driver, _ = fit_pair()
    reported = report(driver, dispatcher)
    before = everything()

    with pytest.raises(AbsenceOver):
        driver_absence.undo(driver_id=driver.pk, absence_id=reported.leave.pk, by=dispatcher, at=DAY_ENDS)

    assert everything() == before


def test_report_gives_up_when_rides_keep_coming(dispatcher: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, vehicle = fit_pair()
    lock = drivers.locked_driver

    def assign_another_first(*args: Any) -> Driver:
        ride_of(driver, vehicle)
        return lock(*args)

    monkeypatch.setattr(drivers, "locked_driver", assign_another_first)

    with pytest.raises(fleet_changes.RidesKeepComing):
        report(driver, dispatcher)

    assert (Leave.objects.count(), Event.objects.count()) == (0, 0)


def ride_assigned_beside_report(*, offer: bool) -> Ride:
    """Report a driver out while an assignment or offer to the driver has not committed; return the ride."""
    driver, vehicle = fit_pair(employment="contractor")
    ride: Ride = factories.RideFactory.create()

    def report_out() -> None:
        try:
            report(driver, system())
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            crew: dict[str, Any] = {"driver_id": driver.pk, "vehicle_id": vehicle.pk}
            assignment.assign(ride_id=ride.pk, **crew, offer=offer, by=system(), at=NOW)
            reporting = other.submit(report_out)
            wait_until_somebody_waits()
        reporting.result()
    ride.refresh_from_db()
    return ride


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("offer", "ended"), [(False, "released"), (True, "expired")], ids=["assigned", "offered"])
def test_ride_assigned_or_offered_at_the_same_time_is_freed_too(offer: bool, ended: str) -> None:
    ride = ride_assigned_beside_report(offer=offer)

    assert (ride.status, ride.driver_id) == ("scheduled", None)
    assert Assignment.objects.get().status == ended


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("offer", "status"), [(False, "accepted"), (True, "offered")], ids=["assigned", "offered"])
def test_without_second_look_absent_driver_has_a_ride(
    monkeypatch: pytest.MonkeyPatch, offer: bool, status: str
) -> None:
    """The control of the test above."""
    monkeypatch.setattr(driver_absence, "_require_all_locked", lambda *args: None)

    ride = ride_assigned_beside_report(offer=offer)

    assert (ride.assignments.get().status, Leave.objects.get().driver_id) == (status, ride.assignments.get().driver_id)
