"""Events of the services contain everything that figures need: after each step the rollups equal the rows."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.events.models import EventQuerySet
from apps.organizations.models import Facility
from apps.reporting.models import MetricsRow
from apps.reporting.rules.rollup_sql import Grain
from apps.reporting.services import rollup_check, rollups
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import (
    assignment,
    booking,
    editing,
    exceptions,
    status_report,
    will_call,
)
from apps.rides.services.status import locked
from lib.access import Principal, system
from tests import factories
from tests.factories import NOW, PICKUP
from tests.rides.drafts import draft

BY = system()
MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat events as settled inside the transaction of a test."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)


def differing() -> list[Any]:
    return list(rollup_check.differing_days(first=PICKUP.date() - DAY, last=PICKUP.date() + 2 * DAY))


def reported(ride: Ride, status: RideStatus, at: dt.datetime, **more: Any) -> None:
    said = StatusReport(status=status, source="driver_app", occurred_at=at, **more)
    status_report.change_status(ride_id=ride.pk, report=said, by=BY, at=at)


def crew(ride: Ride) -> dict[str, Any]:
    driver = factories.DriverFactory.create()
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    factories.file_credentials(driver, vehicle)
    return {"ride_id": ride.pk, "driver_id": driver.pk, "vehicle_id": vehicle.pk}


def journey(hospital: Facility, supervisor: Principal) -> Iterator[Callable[[], Any]]:
    rider = factories.RiderFactory.create(facility=hospital)
    found: list[Ride] = []
    later = PICKUP + DAY
    yield lambda: found.append(booking.book(draft=draft(hospital, rider, will_call=True), by=BY, at=NOW).ride)
    (ride,) = found
    yield lambda: editing.edit(ride_id=ride.pk, changes={"pickup_at": later}, by=BY, at=NOW)
    yield lambda: assignment.assign(**crew(ride), override=True, override_reason="It is so.", by=BY, at=NOW)
    yield lambda: will_call.mark_ready(ride_id=ride.pk, ready_source="phone", by=BY, at=later)
    yield lambda: exceptions.open_exception(
        locked(ride.pk, BY), ExceptionType.VEHICLE_BREAKDOWN, by=BY, at=later, detected_by="test"
    )
    broken = ride.exceptions.get(type=ExceptionType.VEHICLE_BREAKDOWN)
    yield lambda: exceptions.acknowledge(exception_id=broken.pk, by=supervisor, at=later + MINUTE)
    yield lambda: exceptions.resolve(
        exception_id=broken.pk, code=ResolutionCode.OTHER, note="Mended.", by=supervisor, at=later + 2 * MINUTE
    )
    yield lambda: reported(ride, RideStatus.EN_ROUTE, later + 3 * MINUTE)
    yield lambda: reported(ride, RideStatus.ARRIVED, later + 20 * MINUTE)
    yield lambda: reported(ride, RideStatus.IN_PROGRESS, later + 25 * MINUTE)
    dropped = (MilestoneReport("arrived_dropoff", later + 50 * MINUTE),)
    yield lambda: reported(ride, RideStatus.COMPLETED, later + 55 * MINUTE, milestones=dropped)
    yield lambda: status_report.change_status(
        ride_id=ride.pk,
        report=StatusReport(status=RideStatus.IN_PROGRESS, source="dispatcher_manual", note="Too soon."),
        by=supervisor,
        at=later + 60 * MINUTE,
    )


def test_every_step_is_in_the_figures_and_each_was_told(hospital: Facility, supervisor: Principal) -> None:
    rollups.refresh(by=BY, at=NOW)
    steps = []

    for step in journey(hospital, supervisor):
        step()
        changed = differing() != []
        rollups.refresh(by=BY, at=NOW)
        steps.append((changed, differing()))

    # Each step changes a figure; a departure changes only the count of statuses.
    assert steps == [(True, [])] * 12


def test_figures_go_on_when_a_ride_was_removed_by_hand(hospital: Facility) -> None:
    rollups.refresh(by=BY, at=NOW)
    gone = booking.book(draft=draft(hospital, factories.RiderFactory.create(facility=hospital)), by=BY, at=NOW).ride
    Ride.objects.filter(pk=gone.pk).delete()
    booking.book(draft=draft(hospital, factories.RiderFactory.create(facility=hospital)), by=BY, at=NOW)

    rollups.refresh(by=BY, at=NOW)

    assert differing() == []
    assert MetricsRow.objects.filter(grain=Grain.FACILITY, service_date=PICKUP.date()).count() == 1
