"""Milestones that are reported late, or again with other values: the record is completed, nothing is lost."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import status_report as service
from apps.rides.services.milestones import MilestoneOutOfOrder
from apps.rides.services.status import InvalidTransition
from lib.access import Principal
from lib.errors import InvalidInput, ScopeMissing
from tests import factories
from tests.rides.rides_in import ARRIVED, BOARDED, DEPARTED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, report_to, traces
from tests.rides.traces import events_of

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)


def say(ride: Ride, status: RideStatus, by: Principal, *moments: tuple[str, dt.datetime], **more: Any) -> Ride:
    batch = tuple(MilestoneReport(type=type_, occurred_at=at) for type_, at in moments)
    return service.change_status(ride_id=ride.pk, report=report_to(status, milestones=batch, **more), by=by, at=AT)


def arrived_without_a_departure(by: Principal) -> Ride:
    """A ride whose driver first reported the arrival (T12)."""
    ride = say(ride_in(RideStatus.ASSIGNED), RideStatus.ARRIVED, by, occurred_at=ARRIVED)
    gap = RideException.objects.get(ride=ride)
    assert (gap.type, gap.severity, gap.status) == ("milestone_gap", "info", "open")
    return ride


def counted(ride: Ride, type_: str) -> list[tuple[dt.datetime, bool, bool]]:
    """Return the rows of one milestone: time, edited, voided."""
    rows = Milestone.objects.filter(ride=ride, type=type_).order_by("recorded_at", "pk")
    return list(rows.values_list("occurred_at", "edited", "voided"))


def test_departure_reported_after_arrival_closes_the_gap(dispatcher: Principal) -> None:
    ride = arrived_without_a_departure(dispatcher)
    known = len(events_of(ride))

    after = say(ride, RideStatus.ARRIVED, dispatcher, ("departed", DEPARTED))

    gap = RideException.objects.get(ride=ride)
    event = Event.objects.filter(subject_id=ride.pk, type="ride.updated").get()
    assert (after.status, after.departed_at, after.open_exception_count) == ("arrived", DEPARTED, 0)
    assert (gap.status, gap.resolution_code) == ("resolved", "recovered_late")
    assert events_of(ride)[known:] == ["ride.updated", "ride.exception_resolved"]
    assert (event.occurred_at, event.data["milestone"]) == (DEPARTED, "departed")
    assert counted(ride, "departed") == [(DEPARTED, False, False)]
    assert Assignment.objects.get().started_at == DEPARTED
    assert AuditEntry.objects.filter(action="rides.status").count() == 2


@pytest.mark.parametrize("ended", [RideStatus.COMPLETED, RideStatus.CANCELLED], ids=str)
def test_ended_ride_still_takes_the_departure_that_is_missing(ended: RideStatus, dispatcher: Principal) -> None:
    ride = arrived_without_a_departure(dispatcher)
    if ended is RideStatus.COMPLETED:
        say(ride, ended, dispatcher, ("boarded", BOARDED), occurred_at=DROPPED_OFF)
    else:
        say(ride, ended, dispatcher, reason_code="rider_request")

    after = say(ride, ended, dispatcher, ("departed", DEPARTED))

    assert (after.status, after.departed_at, after.open_exception_count) == (ended, DEPARTED, 0)
    assert Assignment.objects.get().started_at == DEPARTED


def test_arrival_is_set_right_and_the_first_word_is_kept(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    right = factories.PICKUP + MINUTE

    for _ in range(2):  # a device repeats unacknowledged reports
        after = say(ride, RideStatus.IN_PROGRESS, dispatcher, ("arrived_pickup", right))

    assert (after.status, after.arrived_pickup_at, after.wait_minutes) == ("in_progress", right, 3)
    assert counted(ride, "arrived_pickup") == [(ARRIVED, False, True), (right, True, False)]
    assert events_of(ride) == ["ride.updated"]


def test_departure_set_right_on_the_way_moves_nothing_else(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)

    after = say(ride, RideStatus.EN_ROUTE, dispatcher, ("departed", DEPARTED - MINUTE))

    assert (after.status, after.departed_at, after.wait_minutes) == ("en_route", DEPARTED - MINUTE, None)
    assert Assignment.objects.get().started_at == DEPARTED - MINUTE


def test_rescue_vehicle_did_not_set_out_when_the_first_one_did(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    Assignment.objects.update(sequence=2, started_at=BOARDED + MINUTE)

    say(ride, RideStatus.IN_PROGRESS, dispatcher, ("departed", DEPARTED - MINUTE))

    assert Assignment.objects.get().started_at == BOARDED + MINUTE


def test_moment_set_right_stays_between_its_neighbours(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    before = traces(ride)

    for wrong in (("departed", ARRIVED + MINUTE), ("arrived_pickup", BOARDED + MINUTE), ("boarded", ARRIVED - MINUTE)):
        with pytest.raises(MilestoneOutOfOrder):
            say(ride, RideStatus.IN_PROGRESS, dispatcher, wrong)

    assert traces(ride) == before


def test_gap_stays_open_while_something_is_missing(dispatcher: Principal) -> None:
    ride = arrived_without_a_departure(dispatcher)

    say(ride, RideStatus.ARRIVED, dispatcher, ("arrived_pickup", ARRIVED - MINUTE))

    assert RideException.objects.get(ride=ride).status == "open"
    assert Assignment.objects.get().started_at == ARRIVED - MINUTE


def test_ended_ride_keeps_what_is_recorded(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.COMPLETED)
    before = traces(ride)

    with pytest.raises(InvalidInput) as refused:
        say(ride, RideStatus.COMPLETED, dispatcher, ("boarded", BOARDED + MINUTE))

    (detail,) = refused.value.details
    assert (detail.field, detail.code) == ("milestones", "taken")
    assert traces(ride) == before


def test_milestone_never_reached_is_refused_after_the_ending(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.CANCELLED)  # before departure
    before = traces(ride)

    with pytest.raises(InvalidTransition):
        say(ride, RideStatus.CANCELLED, dispatcher, ("departed", DEPARTED))

    assert traces(ride) == before


def test_planner_does_not_set_the_road_right() -> None:
    ride = ride_in(RideStatus.EN_ROUTE)
    planner = factories.principal(UserRole.PLANNER)
    before = traces(ride)

    with pytest.raises(ScopeMissing):
        say(ride, RideStatus.EN_ROUTE, planner, ("departed", DEPARTED - MINUTE))

    assert traces(ride) == before
