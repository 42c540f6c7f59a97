"""People change the simulated day: the simulator goes on with what they decided."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest
from django.db.models import Q
from pytest_django import DjangoDbBlocker

from apps.demo import simulator
from apps.demo.loading import DayRange
from apps.fleet.models import Driver
from apps.rides.models import Assignment, Milestone, Ride, RideQuerySet
from apps.rides.queries.candidates import candidates
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import assignment, driver_absence, editing, fleet_changes, status_report
from lib.access import system
from tests.demo.demo_days import loaded

pytestmark = [pytest.mark.django_db, pytest.mark.nightly]
NOW = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)  # a Friday, 8:00 in Chicago
MINUTE = dt.timedelta(minutes=1)
LATER = NOW + 100 * MINUTE
DISPATCHER = system("tests")


@dataclass
class Decisions:
    """What a dispatcher decided at 8:00."""

    reassigned: UUID
    new_driver: UUID
    old_driver: UUID
    edited: UUID
    new_time: dt.datetime
    cancelled: UUID
    absent_driver: UUID
    freed: list[UUID]
    vehicle: UUID
    on_vehicle: list[UUID]
    stranded: UUID


@pytest.fixture(scope="module")
def decisions(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Decisions]:
    with django_db_blocker.unblock(), loaded(NOW, DayRange(past=0, future=0)):
        decisions = decide()
        simulator.play(at=LATER)
        yield decisions


def decide() -> Decisions:
    used: set[UUID] = set()

    def ahead(first: int, last: int) -> RideQuerySet:
        """Return assigned rides that no driver of another decision has."""
        period = (NOW + first * MINUTE, NOW + last * MINUTE)
        rides = Ride.objects.filter(status=RideStatus.ASSIGNED, will_call=False, pickup_at__range=period)
        return rides.filter(leg_sequence=1).exclude(driver_id__in=used).order_by("pickup_at", "pk")

    def decided(ride: Ride) -> Ride:
        assert ride.driver_id is not None
        used.add(ride.driver_id)
        return ride

    moved, row = next(
        (ride, row)
        for ride in ahead(20, 50)
        for row in candidates(ride_id=ride.pk, by=DISPATCHER, at=NOW)
        if row.driver_id != ride.driver_id and row.vehicle_id is not None and not row.violations
    )
    old_driver = decided(moved).driver_id
    used.add(row.driver_id)
    assert old_driver is not None
    assert row.vehicle_id is not None
    assignment.assign(ride_id=moved.pk, driver_id=row.driver_id, vehicle_id=row.vehicle_id, by=DISPATCHER, at=NOW)

    edited = decided(ahead(25, 40)[0])
    new_time = edited.pickup_at + 30 * MINUTE
    no_appointment = {"pickup_at": new_time, "appointment_at": None, "scheduling_anchor": "pickup"}
    editing.edit(ride_id=edited.pk, changes=no_appointment, by=DISPATCHER, at=NOW)

    cancelled = decided(ahead(25, 45)[0])
    report = StatusReport(RideStatus.CANCELLED, "dispatcher_manual", reason_code="rider_request")
    status_report.change_status(ride_id=cancelled.pk, report=report, by=DISPATCHER, at=NOW)

    out = decided(ahead(25, 60)[0])
    assert out.driver_id is not None
    absence = driver_absence.report(driver_id=out.driver_id, reason="sick", by=DISPATCHER, at=NOW)

    on_board = Ride.objects.filter(status=RideStatus.IN_PROGRESS).exclude(driver_id__in=used).order_by("pk")
    next_vehicles = set(ahead(5, 90).values_list("vehicle_id", flat=True))
    stranded = next(ride for ride in on_board if ride.vehicle_id in next_vehicles)
    assert stranded.vehicle_id is not None
    on_vehicle = list(ahead(5, 90).filter(vehicle_id=stranded.vehicle_id).values_list("pk", flat=True))
    fleet_changes.change_vehicle_status(
        vehicle_id=stranded.vehicle_id, to="maintenance", reason="Flat tire", by=DISPATCHER, at=NOW
    )
    return Decisions(
        reassigned=moved.pk,
        new_driver=row.driver_id,
        old_driver=old_driver,
        edited=edited.pk,
        new_time=new_time,
        cancelled=cancelled.pk,
        absent_driver=out.driver_id,
        freed=absence.freed_ids,
        vehicle=stranded.vehicle_id,
        on_vehicle=on_vehicle,
        stranded=stranded.pk,
    )


def test_play_continues_a_reassigned_ride_with_its_new_driver(decisions: Decisions) -> None:
    ride = Ride.objects.get(pk=decisions.reassigned)

    assert ride.arrived_pickup_at is not None
    assert ride.driver_id == decisions.new_driver
    started = Assignment.objects.filter(ride=ride, started_at__isnull=False)
    assert set(started.values_list("driver_id", flat=True)) == {decisions.new_driver}


def test_play_respects_an_edited_time(decisions: Decisions) -> None:
    ride = Ride.objects.get(pk=decisions.edited)

    assert ride.pickup_at == decisions.new_time
    assert ride.arrived_pickup_at is not None
    assert ride.arrived_pickup_at >= decisions.new_time - 15 * MINUTE


def test_play_leaves_a_cancelled_ride_alone(decisions: Decisions) -> None:
    ride = Ride.objects.get(pk=decisions.cancelled)

    assert ride.status == RideStatus.CANCELLED
    assert ride.status_changed_at == NOW
    assert not Milestone.objects.filter(ride=ride).exists()


def test_play_stops_a_driver_who_is_reported_out(decisions: Decisions) -> None:
    assert decisions.freed
    assert not Ride.objects.filter(driver=decisions.absent_driver, departed_at__gte=NOW).exists()
    assert Ride.objects.filter(pk__in=decisions.freed, driver__isnull=False).exists()
    driver = Driver.objects.get(pk=decisions.absent_driver)
    assert driver.last_located_at is None


def test_play_stops_a_vehicle_that_is_out_of_service(decisions: Decisions) -> None:
    stranded = Ride.objects.get(pk=decisions.stranded)
    later = Ride.objects.filter(pk__in=decisions.on_vehicle)

    assert stranded.status == RideStatus.IN_PROGRESS
    assert not Ride.objects.filter(vehicle=decisions.vehicle, departed_at__gte=NOW).exists()
    assert later.exists()
    assert later.filter(~Q(vehicle=decisions.vehicle), departed_at__isnull=False).exists()
