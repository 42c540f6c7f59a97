"""Evaluation of many rides: changed facility settings, number of queries, and rides whose evaluation fails."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from apps.events.models import Event
from apps.organizations.models import EscalationPolicy, Facility
from apps.riders.models import Rider
from apps.rides import tasks
from apps.rides.models import Ride, RideException
from apps.rides.queries import monitored_rides
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, exception_monitor
from config.celery import TIMETABLE
from lib.access import Principal
from tests import factories
from tests.rides.drafts import draft
from tests.rides.looks import HOUR, MINUTE, NOW, PICKUP, SECOND, WINDOW_END, fresh, released, standing, tick
from tests.rides.rides_in import ride_in
from tests.rides.traces import exceptions_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    made: Rider = factories.RiderFactory.create(facility=hospital)
    return made


def test_shorter_response_of_a_facility_reaches_riders_who_wait(hospital: Facility) -> None:
    ride = released(facility=hospital, status=RideStatus.ASSIGNED)
    tick(NOW)
    assert fresh(ride).next_check_at == NOW + 10 * MINUTE

    Facility.objects.filter(pk=hospital.pk).update(will_call_response_minutes=20)
    tick(NOW + 20 * MINUTE)

    assert standing(ride) == {"will_call_overdue": "warning"}


@pytest.mark.parametrize("named", ["facility", "pickup_facility"])
def test_other_hours_of_a_facility_reach_riders_who_wait(
    named: str, hospital: Facility, rider: Rider, dispatcher: Principal
) -> None:
    back = booking.book(draft=draft(hospital, rider, will_call=True), by=dispatcher, at=NOW).ride
    if named == "pickup_facility":
        Ride.objects.update(facility=factories.FacilityFactory.create())
    tick(NOW)
    assert fresh(back).next_check_at == dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)

    hospital.hours = [{"days": ["fri"], "opens": "06:00", "closes": "17:00"}]
    hospital.save()
    tick(NOW + MINUTE)

    assert fresh(back).next_check_at == dt.datetime(2026, 11, 20, 22, tzinfo=dt.UTC)


def test_other_ladder_reaches_rides_that_wait(hospital: Facility) -> None:
    policy = EscalationPolicy.objects.create(name="Slow", step_minutes=[0, 60, 90, 120, 180])
    hospital.escalation_policy = policy
    hospital.save()
    ride = released(facility=hospital)
    tick(NOW)
    assert fresh(ride).next_check_at == NOW + 30 * MINUTE  # half of the response time

    EscalationPolicy.objects.update(step_minutes=[0, 1, 2, 3, 4])
    tick(NOW + MINUTE)

    assert standing(ride) == {"unassigned_at_risk": "info"}


def test_nothing_is_read_of_rides_while_no_setting_has_changed(
    hospital: Facility, django_assert_num_queries: Any
) -> None:
    tick(NOW)

    with django_assert_num_queries(2 * 3):  # the digests, the due rides; each in a savepoint
        assert tick(NOW) == 0


def test_settings_change_on_locked_ride_is_applied_later(hospital: Facility, monkeypatch: pytest.MonkeyPatch) -> None:
    ride = released(facility=hospital, status=RideStatus.ASSIGNED)
    tick(NOW)
    Facility.objects.update(will_call_response_minutes=20)
    # As if another session had it locked.
    monkeypatch.setattr(
        exception_monitor,
        "_REACH",
        exception_monitor._REACH.replace("FOR NO KEY UPDATE", "AND false FOR NO KEY UPDATE"),
    )
    tick(NOW + MINUTE)
    assert fresh(ride).next_check_at == NOW + 10 * MINUTE
    monkeypatch.undo()

    tick(NOW + 2 * MINUTE)

    assert fresh(ride).next_check_at == NOW + 10 * MINUTE


@pytest.mark.parametrize("count", [1, 3])
def test_look_costs_the_same_for_many(count: int, django_assert_num_queries: Any) -> None:
    for _ in range(count):
        ride_in(RideStatus.ASSIGNED)
    exception_monitor.follow_settings(at=NOW)

    # In two savepoints: digests; then, of the set, rides, facilities, exceptions, five of the drivers' timelines,
    # counters, and two COPYs.
    with django_assert_num_queries(3 + 8 + 5):
        assert tick(WINDOW_END + SECOND) == count

    assert RideException.objects.count() == count


def test_ride_with_unreadable_value_does_not_block_others() -> None:
    broken = ride_in(RideStatus.ASSIGNED, discharge={"receiving": {"acceptBy": "soon"}}, next_check_at=NOW - 48 * HOUR)
    whole = ride_in(RideStatus.ASSIGNED)

    tick(WINDOW_END + SECOND)

    assert exceptions_of(whole) == [("late_pickup", "open")]
    assert exceptions_of(broken) == []
    assert fresh(broken).next_check_at == WINDOW_END + SECOND + 5 * MINUTE


def test_ride_refused_by_the_database_does_not_block_others() -> None:
    broken, whole = ride_in(RideStatus.ASSIGNED), ride_in(RideStatus.ASSIGNED)
    taken = {"subject_type": "ride", "subject_id": broken.pk, "sequence": 2, "type": "ride.updated"}
    Event.objects.create(**taken, occurred_at=NOW, actor="system")  # its next event cannot be written

    assert tick(WINDOW_END + SECOND) == 2

    assert exceptions_of(whole) == [("late_pickup", "open")]
    assert exceptions_of(broken) == []
    assert fresh(broken).next_check_at == WINDOW_END + SECOND + 5 * MINUTE


def test_more_rides_than_a_set_holds_are_looked_at_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exception_monitor, "RIDES_AT_ONCE", 2)
    for _ in range(5):
        ride_in(RideStatus.ASSIGNED)

    assert tick(WINDOW_END + SECOND) == 5

    assert RideException.objects.count() == 5


def test_run_checks_a_limited_number_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exception_monitor, "RIDES_AT_ONCE", 1)
    monkeypatch.setattr(exception_monitor, "SETS", 2)
    for _ in range(3):
        ride_in(RideStatus.ASSIGNED)

    assert [tick(WINDOW_END + SECOND), tick(WINDOW_END + SECOND)] == [2, 1]


def test_failed_ride_no_longer_due_is_not_postponed() -> None:
    ride = ride_in(RideStatus.ASSIGNED)

    def fail() -> None:
        Ride.objects.filter(pk=ride.pk).update(pickup_at=PICKUP)
        raise RuntimeError

    Ride.objects.filter(pk=ride.pk).update(next_check_at=PICKUP)
    exception_monitor._guarded(ride.pk, fail, at=NOW)

    assert fresh(ride).next_check_at == PICKUP


def test_task_watches_on_the_timetable() -> None:
    ride_in(RideStatus.ASSIGNED)

    with time_machine.travel(WINDOW_END + SECOND, tick=False):
        tasks.watch()

    assert RideException.objects.get().opened_at == WINDOW_END + SECOND
    assert TIMETABLE[tasks.watch.name] <= dt.timedelta(seconds=15)
    assert timezone.now() == NOW


def test_ride_without_any_facility_is_watched() -> None:
    ride = ride_in(RideStatus.ASSIGNED, facility=None, pickup=factories.stop(), pickup_facility=None)

    tick(WINDOW_END + SECOND)

    assert standing(ride) == {"late_pickup": "warning"}


def test_facts_are_the_same_from_the_row_and_from_the_database() -> None:
    rides = [
        ride_in(RideStatus.COMPLETED, missing_documents=["driver_attestation"]),
        ride_in(RideStatus.ARRIVED, appointment_at=PICKUP + HOUR, estimated_minutes=20,
                pickup=factories.stop(loadMinutes=7)),
        released(service_type="hospital_discharge", discharge={
            "expectedReadyAt": "2026-11-20T16:00:00Z", "receiving": {"acceptBy": "2026-11-20T22:00:00Z"}}),
        ride_in(RideStatus.REQUESTED, confirm_by=NOW, scheduled_at=None, discharge={"receiving": None}),
    ]  # fmt: skip

    read = {one.id: one.facts for one in monitored_rides.lock_due(at=NOW, most=10)}

    assert read == {ride.pk: monitored_rides.facts_of(fresh(ride)) for ride in rides}
