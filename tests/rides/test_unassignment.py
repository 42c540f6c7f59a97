"""Unassignment: times, reasons, and the exceptions that it opens."""

import datetime as dt
from typing import Any

import pytest

from apps.events.models import Event
from apps.rides.models import Assignment
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment
from apps.rides.services.status import InvalidTransition
from lib.access import Principal
from lib.errors import InvalidInput
from tests import factories
from tests.rides.rides_in import ride_in
from tests.rides.traces import events_of, everything, exceptions_of

pytestmark = pytest.mark.django_db

NOW = factories.NOW


@pytest.mark.parametrize(
    ("before_pickup", "opened"),
    [
        (dt.timedelta(hours=4), []),
        (dt.timedelta(hours=4, seconds=-1), [("driver_released_late", "open")]),
    ],
)
def test_release_is_late_within_four_hours(
    dispatcher: Principal, before_pickup: dt.timedelta, opened: list[tuple[str, str]]
) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    old = Assignment.objects.get()
    at = factories.PICKUP - before_pickup

    assignment.unassign(ride_id=ride.pk, reason_code="driver_ill", by=dispatcher, at=at)

    ride.refresh_from_db()
    old.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.vehicle_id, ride.provider_id) == ("scheduled", None, None, None)
    assert (old.status, old.ended_at, old.end_reason) == ("released", at, "driver_ill")
    assert exceptions_of(ride) == opened
    assert events_of(ride) == ["ride.driver_unassigned", *(["ride.exception"] if opened else [])]
    assert Event.objects.order_by("sequence")[0].provider_id == old.provider_id


@pytest.mark.parametrize(
    ("status", "reason", "opened"),
    [
        (RideStatus.EN_ROUTE, "running_late", "driver_released_late"),
        (RideStatus.EN_ROUTE, "accident", "accident"),
        (RideStatus.ARRIVED, "vehicle_breakdown", "vehicle_breakdown"),
        (RideStatus.ARRIVED, "accommodation_mismatch", "accommodation_mismatch"),
    ],
)
def test_release_under_way_always_opens_an_exception(
    dispatcher: Principal, status: RideStatus, reason: str, opened: str
) -> None:
    ride = ride_in(status)

    assignment.unassign(ride_id=ride.pk, reason_code=reason, by=dispatcher, at=NOW - dt.timedelta(days=2))

    ride.refresh_from_db()
    assert (ride.status, ride.departed_at, ride.arrived_pickup_at) == ("scheduled", None, None)
    assert exceptions_of(ride) == [(opened, "open")]


@pytest.mark.parametrize(
    ("status", "given", "refusal"),
    [
        (RideStatus.ASSIGNED, {"reason_code": ""}, InvalidInput),
        (RideStatus.ASSIGNED, {"reason_code": "boredom"}, InvalidInput),
        (RideStatus.ASSIGNED, {"reason_code": "other"}, InvalidInput),
        (RideStatus.ARRIVED, {"reason_code": "running_late"}, InvalidInput),
        (RideStatus.IN_PROGRESS, {"reason_code": "accident"}, InvalidTransition),
        (RideStatus.COMPLETED, {"reason_code": "replanned"}, InvalidTransition),
    ],
)
def test_release_without_ground_changes_nothing(
    dispatcher: Principal, status: RideStatus, given: dict[str, Any], refusal: type[Exception]
) -> None:
    ride = ride_in(status)
    before = everything()

    with pytest.raises(refusal):
        assignment.unassign(ride_id=ride.pk, **given, by=dispatcher, at=NOW)

    assert everything() == before


def test_release_of_a_waiting_ride_changes_nothing(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create()
    before = everything()

    assignment.unassign(ride_id=ride.pk, reason_code="replanned", by=dispatcher, at=NOW)

    assert everything() == before
