"""Rides that have taken place are recorded without a promise, without exceptions, and outside of predictions."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from apps.dispatch.queries import suggestions
from apps.dispatch.rules.axis import Axis
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException
from apps.rides.queries.candidates import candidates
from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.rules.timeliness import late_minutes
from apps.rides.services import assignment, booking, copying, editing, status_report
from lib.access import Principal
from lib.errors import FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.looks import tick

HOUR = dt.timedelta(hours=1)
NOW = factories.NOW
THIS_MORNING = NOW - 2 * HOUR

pytestmark = pytest.mark.django_db


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


def recorded(hospital: Facility, rider: Rider, by: Principal, **changes: Any) -> Ride:
    """Record a ride of two hours ago."""
    return booking.book(
        draft=draft(hospital, rider, **({"pickup_at": THIS_MORNING, "after_the_fact": True} | changes)), by=by, at=NOW
    ).ride


@pytest.mark.parametrize("hours_ago", [0, 2, 72])
def test_recorded_ride_has_no_promise(hospital: Facility, rider: Rider, supervisor: Principal, hours_ago: int) -> None:
    hospital.booking_policy = "review"
    hospital.save()
    pickup_at = NOW - hours_ago * HOUR

    recorded(hospital, rider, supervisor, pickup_at=pickup_at, appointment_at=pickup_at + HOUR / 60)

    ride = Ride.objects.get()
    assert (ride.after_the_fact, ride.status, ride.review_reasons) == (True, "scheduled", [])
    assert (ride.window_starts_at, ride.window_ends_at, ride.promised_pickup_by) == (pickup_at, pickup_at, None)
    assert (ride.next_check_at, late_minutes(ride, NOW), RideException.objects.count()) == (None, None, 0)
    assert Event.objects.get().data["afterTheFact"] is True


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"pickup_at": NOW - 72 * HOUR - dt.timedelta(seconds=1)}, "pickupTime", "in_past"),
        ({"pickup_at": NOW + dt.timedelta(seconds=1)}, "pickupTime", "invalid"),
        ({"will_call": True}, "willCall", "invalid"),
    ],
)
def test_ride_is_recorded_of_the_last_72_hours(
    hospital: Facility, rider: Rider, supervisor: Principal, changes: dict[str, Any], field: str, code: str
) -> None:
    with pytest.raises(FieldRefused) as refusal:
        recorded(hospital, rider, supervisor, **changes)

    assert [(detail.field, detail.code) for detail in refusal.value.details] == [(field, code)]
    assert (Ride.objects.count(), Event.objects.count()) == (0, 0)


def test_recording_needs_a_dispatcher_or_the_right_to_correct(
    hospital: Facility, rider: Rider, planner: Principal, dispatcher: Principal
) -> None:
    token = dataclasses.replace(dispatcher, kind="token")
    for by in (planner, token):
        with pytest.raises(ScopeMissing):
            recorded(hospital, rider, by)

    assert (Ride.objects.count(), Event.objects.count()) == (0, 0)


def test_return_leg_is_recorded_only_if_it_has_passed(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    recorded(hospital, rider, supervisor, return_leg=ReturnLeg(pickup_at=NOW - HOUR))
    recorded(hospital, rider, supervisor, pickup_at=NOW - 9 * HOUR, return_leg=ReturnLeg(pickup_at=NOW + 9 * HOUR))

    legs = Ride.objects.filter(leg_type="return").order_by("pickup_at")
    assert [(leg.after_the_fact, leg.promised_pickup_by is None) for leg in legs] == [(True, True), (False, False)]


def test_no_exception_opens_as_time_passes(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    ride = recorded(hospital, rider, supervisor)
    Ride.objects.update(next_check_at=NOW)

    assert tick(NOW + HOUR) == 1

    assert RideException.objects.count() == 0
    assert Ride.objects.get(pk=ride.pk).next_check_at is None


def test_overlapping_recorded_ride_opens_no_exception(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    booking.book(draft=draft(hospital, rider, pickup_at=NOW), by=supervisor, at=NOW)
    with pytest.raises(booking.OverlappingRide):
        recorded(hospital, rider, supervisor, pickup_at=NOW)

    recorded(hospital, rider, supervisor, pickup_at=NOW, allow_duplicate=True)

    assert not RideException.objects.filter(type="duplicate_ride").exists()


def test_change_keeps_the_mark(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    ride = recorded(hospital, rider, supervisor)
    earlier = NOW - 30 * HOUR

    edited = editing.edit(ride_id=ride.pk, changes={"pickup_at": earlier}, by=supervisor, at=NOW)
    with pytest.raises(FieldRefused) as refusal:
        editing.edit(ride_id=ride.pk, changes={"pickup_at": NOW + HOUR}, by=supervisor, at=NOW)

    assert (edited.after_the_fact, edited.pickup_at, edited.promised_pickup_by) == (True, earlier, None)
    assert edited.window_ends_at == earlier
    assert [detail.field for detail in refusal.value.details] == ["pickupTime"]


def test_copy_is_booked_as_usual(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    ride = recorded(hospital, rider, supervisor)
    request = copying.CopyRequest(pickup_at=NOW + 5 * HOUR)

    copy = copying.copy_ride(ride_id=ride.pk, request=request, by=supervisor, at=NOW)

    assert (copy.after_the_fact, copy.promised_pickup_by is None) == (False, False)


def test_nothing_is_predicted_of_a_recorded_ride(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    driver, vehicle = fit_pair(last_lat="41.9", last_lng="-87.65", last_located_at=NOW)
    ride = recorded(hospital, rider, supervisor)

    (candidate,) = candidates(ride_id=ride.pk, by=supervisor, at=NOW)
    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=supervisor, at=NOW)

    assert (candidate.driver_id, candidate.refused, candidate.predicted_pickup_at) == (driver.pk, False, None)
    assert (candidate.late_minutes, [reason.code for reason in candidate.reasons]) == (None, ["larger_vehicle"])
    assert driver_timelines([driver.pk], at=NOW)[driver.pk].rides == ()


def test_no_driver_is_suggested_for_a_recorded_ride(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    ride = booking.book(draft=draft(hospital, rider), by=supervisor, at=NOW).ride
    recorded(hospital, rider, supervisor)

    preview = suggestions.preview(Axis(NOW.date(), "America/Chicago"), by=supervisor, at=NOW)

    assert list(preview.rides) == [ride.pk]


def test_recorded_ride_is_offered_to_nobody(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    driver, vehicle = fit_pair(employment="contractor")
    ride = recorded(hospital, rider, supervisor)

    with pytest.raises(InvalidInput) as refusal:
        assignment.assign(
            ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, offer=True, by=supervisor, at=NOW
        )

    assert [detail.field for detail in refusal.value.details] == ["offer"]


def test_recorded_ride_is_completed_with_its_own_times(hospital: Facility, rider: Rider, supervisor: Principal) -> None:
    driver, vehicle = fit_pair()
    ride = recorded(hospital, rider, supervisor, pickup_at=NOW - 50 * HOUR)
    assignment.assign(ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, by=supervisor, at=NOW)

    steps = (RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS, RideStatus.COMPLETED)
    for number, status in enumerate(steps):
        report = StatusReport(status=status, source="dispatcher_manual", occurred_at=ride.pickup_at + number * HOUR / 3)
        status_report.change_status(ride_id=ride.pk, report=report, by=supervisor, at=NOW)

    done = Ride.objects.get(pk=ride.pk)
    assert (done.status, done.dropped_off_at) == ("completed", ride.pickup_at + HOUR)
    assert (RideException.objects.count(), done.next_check_at) == (0, None)
