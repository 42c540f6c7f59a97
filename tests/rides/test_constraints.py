"""Database constraints of rides and related rows, whichever code writes."""

from typing import Any

import pytest

from apps.rides.models import Assignment, Milestone, ReasonCode, Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exceptions
from lib.access import Principal
from tests.factories import NOW
from tests.refused import constraint_against
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"status_before_end": "lost"}, "ride_status_before_end_known"),
        ({"occurrence_state": "odd"}, "ride_occurrence_state_known"),
        ({"service_type": "dialysis", "appointment_at": None}, "ride_to_dialysis_has_chair_time"),
    ],
)
def test_ride_that_could_not_be_read_is_refused(columns: dict[str, Any], constraint: str) -> None:
    ride = ride_in(RideStatus.SCHEDULED)

    assert constraint_against(Ride.objects.filter(pk=ride.pk), columns) == constraint


def test_way_back_from_dialysis_needs_no_chair_time() -> None:
    ride = ride_in(RideStatus.SCHEDULED)

    columns = {"service_type": "dialysis", "leg_type": "return", "appointment_at": None}

    assert Ride.objects.filter(pk=ride.pk).update(**columns) == 1


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"contacted": "neighbour"}, "milestone_contacted_known"),
        ({"lat": 41, "lng": None}, "milestone_place_whole"),
    ],
)
def test_milestone_that_says_half_is_refused(columns: dict[str, Any], constraint: str) -> None:
    ride = ride_in(RideStatus.ARRIVED)

    assert constraint_against(Milestone.objects.filter(ride=ride), columns) == constraint


def test_offer_without_a_deadline_is_refused() -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    offered = {"status": "offered", "respond_by": None}

    assert constraint_against(Assignment.objects.filter(ride=ride), offered) == "assignment_offer_has_deadline"


def test_exception_is_settled_by_a_known_code_alone(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    exceptions.open_exception(ride, ExceptionType.ADDRESS_PROBLEM, by=dispatcher, at=NOW, detected_by="test")
    settled = {"status": "resolved", "resolved_at": NOW, "resolution_code": "gone"}

    assert constraint_against(RideException.objects.all(), settled) == "exception_resolution_code_known"


@pytest.mark.parametrize(("reasons", "parent"), [("cancelled", "snow"), ("no_show", "weather")])
def test_added_reason_counts_as_one_of_its_own_list(reasons: str, parent: str) -> None:
    ReasonCode.objects.create(reason_list="cancelled", code="snow", label="Snow", parent_code="weather")

    wrong = {"reason_list": reasons, "parent_code": parent}

    assert constraint_against(ReasonCode.objects.all(), wrong) == "reason_code_parent_known"
