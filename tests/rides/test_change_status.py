"""The complete transition table: every status times every target, permitted as designed or refused without changes."""

import datetime as dt
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Assignment, Ride
from apps.rides.rules.lifecycle import BY_STATUSES, Action, ReasonList, RideStatus
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import status_report as service
from apps.rides.services.guards import GuardFailed
from apps.rides.services.milestones import MilestoneOutOfOrder
from apps.rides.services.status import InvalidTransition
from lib.access import Principal
from lib.errors import DomainError, InvalidInput, NotFound, ScopeMissing, StaleVersion
from tests import factories
from tests.rides.rides_in import ARRIVED, BOARDED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, REASON, complete_report, report_to, traces

ELSEWHERE = {Action.ASSIGN, Action.REASSIGN}


@pytest.mark.parametrize("target", list(RideStatus), ids=str)
@pytest.mark.parametrize("source", list(RideStatus), ids=str)
def test_every_status_pair_follows_design_or_changes_nothing(
    source: RideStatus, target: RideStatus, dispatcher: Principal
) -> None:
    ride = ride_in(source)
    before = traces(ride)
    row = BY_STATUSES.get((source, target))

    if source is target:
        service.change_status(ride_id=ride.pk, report=report_to(target), by=dispatcher, at=AT)
        assert traces(ride) == before
    elif row is None or row.action in ELSEWHERE:
        with pytest.raises((InvalidTransition, InvalidInput, ScopeMissing)):
            service.change_status(ride_id=ride.pk, report=report_to(target), by=dispatcher, at=AT)
        assert traces(ride) == before
    else:
        at = factories.NOW if row.action is Action.CONFIRM else AT  # before the pickup
        changed = service.change_status(ride_id=ride.pk, report=complete_report(source, target), by=dispatcher, at=at)
        events = Event.objects.filter(subject_id=ride.pk).exclude(type__in=["ride.updated", "ride.exception_resolved"])
        opened = [event.type for event in events.order_by("sequence")]
        # T12 skips the departure; T09 gives the ride back after its pickup time; the others report an incident besides.
        also = ["ride.exception"] if row.number in ("T09", "T14", "T19", "T23", "T28") else []
        also += ["ride.exception_noted"] if row.number == "T12" else []
        assert changed.status == target
        assert opened == [*row.events, *also]
        assert sorted(Event.objects.filter(subject_id=ride.pk).values_list("sequence", flat=True)) == list(
            range(2, changed.version + 1)
        )
        assert AuditEntry.objects.count() > before["audit"]


def test_soft_guard_gives_way_to_an_override_with_a_reason(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED, accommodation={"mobility": "wheelchair"})
    report = report_to(RideStatus.IN_PROGRESS, override=True, override_reason="Driver confirmed by phone.")

    changed = service.change_status(ride_id=ride.pk, report=report, by=dispatcher, at=AT)

    event = Event.objects.get(subject_id=ride.pk)
    assert changed.status == "in_progress"
    assert event.data["overridden"] == ["securement_confirmed"]
    assert AuditEntry.objects.get().reason == "Driver confirmed by phone."


def test_override_without_a_reason_is_refused(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED, accommodation={"mobility": "wheelchair"})
    before = traces(ride)

    with pytest.raises(InvalidInput):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.IN_PROGRESS, override=True), by=dispatcher, at=AT
        )

    assert traces(ride) == before


def test_hard_guard_does_not_give_way(dispatcher: Principal) -> None:
    columns = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": AT}
    ride = ride_in(RideStatus.ASSIGNED, **columns)
    report = report_to(RideStatus.EN_ROUTE, override=True, override_reason="We are close by.")

    with pytest.raises(GuardFailed):
        service.change_status(ride_id=ride.pk, report=report, by=dispatcher, at=AT)


@pytest.mark.parametrize(
    ("action_from", "target"),
    [(RideStatus.ASSIGNED, RideStatus.EN_ROUTE), (RideStatus.REQUESTED, RideStatus.SCHEDULED)],
    ids=["depart", "confirm"],
)
def test_planner_cannot_do_the_work_of_others(action_from: RideStatus, target: RideStatus, planner: Principal) -> None:
    ride = ride_in(action_from)
    Ride.objects.filter(pk=ride.pk).update(facility_id=next(iter(planner.facility_ids or ())))
    before = traces(ride)

    with pytest.raises(ScopeMissing):
        service.change_status(ride_id=ride.pk, report=report_to(target), by=planner, at=AT)

    assert traces(ride) == before


def test_ride_of_another_facility_does_not_exist(outsider: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    before = traces(ride)

    with pytest.raises(NotFound):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.CANCELLED, reason_code="weather"), by=outsider, at=AT
        )

    assert traces(ride) == before


def test_stale_version_is_refused(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)

    with pytest.raises(StaleVersion):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.EN_ROUTE), expected_version=7, by=dispatcher, at=AT
        )

    assert Ride.objects.get(pk=ride.pk).status == "assigned"


@pytest.mark.parametrize(
    "reason",
    [
        {"reason_code": ""},
        {"reason_code": "vehicle_breakdown"},
        {"reason_code": "other"},
        {"reason_code": "rider_request", "fault": "provider"},
    ],
    ids=["missing", "of another list", "other without note", "fault judged without note"],
)
def test_cancellation_needs_a_reason_of_its_list(reason: dict[str, Any], dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    before = traces(ride)

    with pytest.raises(InvalidInput):
        service.change_status(ride_id=ride.pk, report=report_to(RideStatus.CANCELLED, **reason), by=dispatcher, at=AT)

    assert traces(ride) == before


@pytest.mark.parametrize(
    ("occurred_at", "why"),
    [
        (AT + dt.timedelta(minutes=3), "in the future"),
        (ARRIVED - dt.timedelta(seconds=1), "before arrived_pickup"),
    ],
)
def test_moment_that_cannot_be_true_is_refused(occurred_at: dt.datetime, why: str, dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    before = traces(ride)

    with pytest.raises(MilestoneOutOfOrder):
        service.change_status(
            ride_id=ride.pk,
            report=report_to(RideStatus.IN_PROGRESS, occurred_at=occurred_at),
            by=dispatcher,
            at=AT,
        )

    assert traces(ride) == before


def test_offline_device_catches_up_in_one_call(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    moments = (
        MilestoneReport(type="departed", occurred_at=ARRIVED - dt.timedelta(minutes=20)),
        MilestoneReport(type="arrived_pickup", occurred_at=ARRIVED),
        MilestoneReport(type="boarded", occurred_at=BOARDED),
        MilestoneReport(type="arrived_dropoff", occurred_at=DROPPED_OFF - dt.timedelta(minutes=6)),
    )

    changed = service.change_status(
        ride_id=ride.pk,
        report=report_to(RideStatus.COMPLETED, occurred_at=DROPPED_OFF, milestones=moments),
        by=dispatcher,
        at=AT,
    )

    types = Event.objects.filter(subject_id=ride.pk).order_by("sequence").values_list("type", flat=True)
    assert list(types) == [
        "ride.driver_en_route",
        "ride.driver_arrived",
        "ride.started",
        "ride.updated",
        "ride.completed",
    ]
    assert (changed.wait_minutes, changed.onboard_minutes) == (4, 32)
    assert changed.arrived_dropoff_at == DROPPED_OFF - dt.timedelta(minutes=6)
    assert Assignment.objects.get(ride=ride).status == "completed"


def test_one_refused_milestone_of_a_batch_leaves_nothing(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    before = traces(ride)
    moments = (
        MilestoneReport(type="departed", occurred_at=ARRIVED),
        MilestoneReport(type="arrived_pickup", occurred_at=ARRIVED - dt.timedelta(minutes=1)),
    )

    with pytest.raises(DomainError):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.ARRIVED, milestones=moments), by=dispatcher, at=AT
        )

    assert traces(ride) == before


def test_delivery_without_an_arrival_counts_the_later_moment(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)

    changed = service.change_status(
        ride_id=ride.pk,
        report=report_to(RideStatus.COMPLETED, occurred_at=DROPPED_OFF),
        by=dispatcher,
        at=AT,
    )

    assert changed.arrived_dropoff_at == changed.dropped_off_at == DROPPED_OFF


@pytest.mark.parametrize(
    ("was", "target"),
    [(RideStatus.SCHEDULED, RideStatus.CANCELLED), (RideStatus.ASSIGNED, RideStatus.EN_ROUTE)],
    ids=["decision", "moment of the road"],
)
def test_nothing_happens_before_there_is_a_ride(was: RideStatus, target: RideStatus, dispatcher: Principal) -> None:
    ride = ride_in(was)
    first = min(ride.requested_at, ride.pickup_at - dt.timedelta(days=1))
    reason = REASON[ReasonList.CANCELLED] if target is RideStatus.CANCELLED else ""
    early = report_to(target, reason_code=reason, occurred_at=first - dt.timedelta(seconds=1))
    before = traces(ride)

    with pytest.raises(MilestoneOutOfOrder) as refused:
        service.change_status(ride_id=ride.pk, report=early, by=dispatcher, at=AT)

    assert refused.value.message == "occurredAt is before the ride was requested."
    assert traces(ride) == before
    just = report_to(target, reason_code=reason, occurred_at=first)
    assert service.change_status(ride_id=ride.pk, report=just, by=dispatcher, at=AT).status_changed_at == first
