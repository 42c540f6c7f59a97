"""Repeated, backdated and follow-up reports: batches sent again, contact attempts, outcomes, audit trail."""

import datetime as dt
from decimal import Decimal

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import Fault
from apps.rides.rules.status_report import MilestoneReport, Place, StatusReport
from apps.rides.services import assignment
from apps.rides.services import status_report as service
from apps.rides.services.booking import RiderNotBookable
from apps.rides.services.guards import GuardFailed
from apps.rides.services.milestones import MilestoneOutOfOrder
from lib.access import Principal
from lib.errors import ScopeMissing
from tests import factories
from tests.rides.rides_in import ARRIVED, BOARDED, DEPARTED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, report_to, traces

pytestmark = pytest.mark.django_db


def test_ending_cannot_predate_milestones_of_the_ride(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    before = traces(ride)
    backdated = report_to(
        RideStatus.CANCELLED, reason_code="rider_request", occurred_at=DEPARTED - dt.timedelta(days=1)
    )

    with pytest.raises(MilestoneOutOfOrder):
        service.change_status(ride_id=ride.pk, report=backdated, by=dispatcher, at=AT)

    assert traces(ride) == before


@pytest.mark.parametrize(
    ("source", "seen_before", "lat"),
    [
        ("driver_app", None, "41.900000"),
        ("integration", ARRIVED - dt.timedelta(minutes=1), "41.900000"),
        ("driver_app", ARRIVED + dt.timedelta(minutes=1), "41.500000"),
        ("dispatcher_manual", None, None),
    ],
    ids=["first", "later", "earlier than known", "not a device"],
)
def test_last_device_location_becomes_the_driver_location(
    source: str, seen_before: dt.datetime | None, lat: str | None, dispatcher: Principal
) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    if seen_before is not None:
        Driver.objects.update(last_lat="41.500000", last_lng="-87.500000", last_located_at=seen_before)
    left = MilestoneReport(type="departed", occurred_at=DEPARTED, place=Place(Decimal("41.8"), Decimal("-87.8")))
    there = Place(Decimal("41.9"), Decimal("-87.9"))
    report = StatusReport(
        status=RideStatus.ARRIVED, source=source, occurred_at=ARRIVED, place=there, milestones=(left,)
    )

    service.change_status(ride_id=ride.pk, report=report, by=dispatcher, at=AT)

    driver = Driver.objects.get()
    assert (driver.last_lat, driver.version) == (None if lat is None else Decimal(lat), 1)


def test_suspended_driver_does_not_depart(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    Driver.objects.update(activation="suspended", activation_reason="Under review.")
    before = traces(ride)

    with pytest.raises(GuardFailed) as refused:
        service.change_status(ride_id=ride.pk, report=report_to(RideStatus.EN_ROUTE), by=dispatcher, at=AT)

    assert [str(detail.text) for detail in refused.value.details] == [
        "Not valid today: driver (suspended). Assign another driver or vehicle."
    ]
    assert traces(ride) == before


def test_planner_does_not_judge_whose_doing_it_was() -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    planner = factories.principal(UserRole.PLANNER)
    before = traces(ride)
    judged = report_to(RideStatus.CANCELLED, reason_code="rider_request", fault=Fault.PROVIDER, note="Too slow.")

    with pytest.raises(ScopeMissing):
        service.change_status(ride_id=ride.pk, report=judged, by=planner, at=AT)

    assert traces(ride) == before


def test_request_of_a_rider_who_has_died_is_not_confirmed(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.REQUESTED, rider__status="deceased")
    before = traces(ride)

    with pytest.raises(RiderNotBookable):
        service.change_status(ride_id=ride.pk, report=report_to(RideStatus.SCHEDULED), by=dispatcher, at=AT)

    assert traces(ride) == before


def test_status_report_that_unassigns_leaves_one_audit_row(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)

    service.change_status(
        ride_id=ride.pk, report=report_to(RideStatus.SCHEDULED, reason_code="vehicle_breakdown"), by=dispatcher, at=AT
    )

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.details["to"], entry.details["reasonCode"]) == (
        "rides.status",
        "scheduled",
        "vehicle_breakdown",
    )


@pytest.mark.parametrize("target", [RideStatus.ARRIVED, RideStatus.COMPLETED, RideStatus.NO_SHOW], ids=str)
def test_batch_that_is_sent_again_changes_nothing(target: RideStatus, dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    moments = [
        MilestoneReport(type="departed", occurred_at=ARRIVED - dt.timedelta(minutes=20)),
        MilestoneReport(type="arrived_pickup", occurred_at=ARRIVED),
        MilestoneReport(type="contact_attempt", occurred_at=BOARDED, contacted="rider"),
    ]
    if target is RideStatus.COMPLETED:
        moments.append(MilestoneReport(type="boarded", occurred_at=BOARDED))
        moments.append(MilestoneReport(type="arrived_dropoff", occurred_at=DROPPED_OFF))
    reason = "rider_unreachable" if target is RideStatus.NO_SHOW else ""
    report = report_to(target, reason_code=reason, milestones=tuple(moments))
    service.change_status(ride_id=ride.pk, report=report, by=dispatcher, at=AT)
    before = traces(ride)

    again = service.change_status(ride_id=ride.pk, report=report, by=dispatcher, at=AT + dt.timedelta(minutes=1))

    assert again.status == target
    assert traces(ride) == before


def test_attempts_of_the_driver_before_do_not_make_a_no_show(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    tried = MilestoneReport(type="contact_attempt", occurred_at=ARRIVED, contacted="rider")
    service.change_status(
        ride_id=ride.pk, report=report_to(RideStatus.ARRIVED, milestones=(tried,)), by=dispatcher, at=AT
    )
    driver_id, vehicle_id = ride.driver_id, ride.vehicle_id
    assert driver_id is not None
    assert vehicle_id is not None
    service.change_status(
        ride_id=ride.pk, report=report_to(RideStatus.SCHEDULED, reason_code="vehicle_breakdown"), by=dispatcher, at=AT
    )
    assignment.assign(ride_id=ride.pk, driver_id=driver_id, vehicle_id=vehicle_id, by=dispatcher, at=AT)
    arrived = report_to(RideStatus.ARRIVED, occurred_at=ARRIVED)
    service.change_status(ride_id=ride.pk, report=arrived, by=dispatcher, at=AT)
    before = traces(ride)

    with pytest.raises(GuardFailed) as refused:
        service.change_status(
            ride_id=ride.pk,
            report=report_to(RideStatus.NO_SHOW, reason_code="rider_unreachable"),
            by=dispatcher,
            at=AT,
        )

    assert [detail.code for detail in refused.value.details] == ["contact_attempted"]
    assert traces(ride) == before
