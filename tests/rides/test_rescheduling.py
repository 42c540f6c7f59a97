"""Checks and limits of moving a ride."""

import datetime as dt
from typing import Any

import pytest
from django.conf import LazySettings

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, editing, status_report
from apps.rides.services.accommodation_change import change_accommodation
from apps.rides.services.edit_checks import ChangeQuestioned
from apps.rides.services.eligibility_checks import Override
from lib.access import Principal
from lib.errors import FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.callers import TokenClient, error_of
from tests.fleet.crew import fit_pair
from tests.rides.drafts import draft
from tests.rides.status_calls import report_to, traces

HOUR = dt.timedelta(hours=1)
NOW = factories.NOW
WEATHER = Override(requested=True, reason="The clinic asked for it.")


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


@pytest.fixture
def ride(hospital: Facility, rider: Rider, planner: Principal) -> Ride:
    return booking.book(draft=draft(hospital, rider), by=planner, at=NOW).ride


def amend(ride: Ride, by: Principal, *, override: Override | None = None, **changes: Any) -> Ride:
    options = editing.EditOptions(override=override or Override())
    return editing.edit(ride_id=ride.pk, changes=changes, options=options, by=by, at=NOW)


def codes_of(refusal: ChangeQuestioned) -> list[tuple[str | None, str, str]]:
    return [(detail.field, detail.code, detail.also["kind"]) for detail in refusal.details]


def test_move_into_the_lead_time_is_asked_about(ride: Ride, hospital: Facility, dispatcher: Principal) -> None:
    Facility.objects.update(lead_time_minutes=180)
    before = traces(ride)

    with pytest.raises(ChangeQuestioned) as refused:
        amend(ride, dispatcher, pickup_at=NOW + 2 * HOUR)
    assert codes_of(refused.value) == [("pickupTime", "lead_time", "soft")]
    assert traces(ride) == before

    amend(ride, dispatcher, pickup_at=NOW + 2 * HOUR, override=WEATHER)

    event, entry = Event.objects.get(sequence=2), AuditEntry.objects.get(action="rides.amend")
    assert (event.type, event.data["overridden"]) == ("ride.rescheduled", ["lead_time"])
    assert (entry.reason, entry.details) == (WEATHER.reason, {"fields": ["pickupTime"], "overridden": ["lead_time"]})


def test_override_takes_the_right_and_a_reason(ride: Ride, planner: Principal, dispatcher: Principal) -> None:
    Facility.objects.update(lead_time_minutes=180)
    before = traces(ride)

    with pytest.raises(ScopeMissing):
        amend(ride, planner, pickup_at=NOW + 2 * HOUR, override=WEATHER)
    with pytest.raises(InvalidInput):
        amend(ride, dispatcher, pickup_at=NOW + 2 * HOUR, override=Override(requested=True))

    assert traces(ride) == before


def test_what_stood_against_the_ride_already_is_not_asked_again(ride: Ride, planner: Principal) -> None:
    Facility.objects.update(lead_time_minutes=600)

    amend(ride, planner, pickup_at=factories.PICKUP + HOUR)
    with pytest.raises(ChangeQuestioned):
        amend(ride, planner, pickup_at=factories.PICKUP)

    assert Ride.objects.get().pickup_at == factories.PICKUP + HOUR


def test_place_outside_the_service_area_is_asked_about(ride: Ride, planner: Principal, settings: LazySettings) -> None:
    settings.SERVICE_AREA = (41.88, -87.63, 25.0)

    with pytest.raises(ChangeQuestioned) as refused:
        amend(ride, planner, dropoff={"addressLine1": "9 Elm St", "lat": 43.04, "lng": -87.91})

    assert codes_of(refused.value) == [("dropoff", "service_area", "soft")]


def test_conflict_of_the_driver_is_listed_and_may_be_overridden(ride: Ride, dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    other = factories.RideFactory.create(pickup_at=factories.PICKUP + 3 * HOUR)
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)
    before = traces(ride)

    with pytest.raises(ChangeQuestioned) as refused:
        amend(ride, dispatcher, pickup_at=other.pickup_at)
    (detail,) = refused.value.details
    assert (detail.code, detail.also) == ("SCHEDULE_CONFLICT", {"kind": "soft", "subjectId": str(other.pk)})
    assert traces(ride) == before

    amend(ride, dispatcher, pickup_at=other.pickup_at, override=WEATHER)
    assert Event.objects.get(subject_id=ride.pk, sequence=2).data["overridden"] == ["SCHEDULE_CONFLICT"]

    amend(ride, dispatcher, pickup_at=other.pickup_at + dt.timedelta(minutes=1))  # the same conflict, already known


def test_every_soft_rule_is_listed_at_once(ride: Ride, dispatcher: Principal) -> None:
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    soon = factories.RideFactory.create(pickup_at=NOW + HOUR)
    factories.put_driver_on(soon, driver=driver, vehicle=vehicle)
    Facility.objects.update(lead_time_minutes=180)

    with pytest.raises(ChangeQuestioned) as refused:
        amend(ride, dispatcher, pickup_at=soon.pickup_at)

    assert [detail.code for detail in refused.value.details] == ["lead_time", "SCHEDULE_CONFLICT"]


def test_legs_of_a_trip_cannot_pass_one_another(hospital: Facility, rider: Rider, planner: Principal) -> None:
    back = ReturnLeg(pickup_at=factories.PICKUP + 3 * HOUR)
    asked = draft(hospital, rider, return_leg=back, appointment_at=factories.PICKUP + HOUR)
    booked = booking.book(draft=asked, by=planner, at=NOW)
    there, home = booked.ride, booked.return_ride
    assert home is not None
    before = (traces(there), traces(home))

    with pytest.raises(FieldRefused) as too_early:
        amend(home, planner, pickup_at=factories.PICKUP + HOUR)
    with pytest.raises(FieldRefused) as too_late:
        amend(there, planner, pickup_at=factories.PICKUP + 4 * HOUR, appointment_at=factories.PICKUP + 5 * HOUR)
    with pytest.raises(FieldRefused) as appointment:
        amend(there, planner, appointment_at=factories.PICKUP + 3 * HOUR)

    named = [[(one.field, one.code) for one in refusal.value.details] for refusal in (too_early, too_late, appointment)]
    assert named == [[("pickupTime", "leg_order")], [("pickupTime", "leg_order")], [("appointmentTime", "leg_order")]]
    assert (traces(there), traces(home)) == before

    amend(home, planner, pickup_at=factories.PICKUP + 2 * HOUR)
    assert Ride.objects.get(pk=home.pk).pickup_at == factories.PICKUP + 2 * HOUR


def test_leg_that_nobody_rode_is_in_nobodys_way(hospital: Facility, rider: Rider, dispatcher: Principal) -> None:
    asked = draft(hospital, rider, return_leg=ReturnLeg(pickup_at=factories.PICKUP + 3 * HOUR))
    booked = booking.book(draft=asked, by=dispatcher, at=NOW)
    assert booked.return_ride is not None
    cancelled = report_to(RideStatus.CANCELLED, reason_code="rider_other_transport")
    status_report.change_status(ride_id=booked.ride.pk, report=cancelled, by=dispatcher, at=NOW)

    amend(booked.return_ride, dispatcher, pickup_at=factories.PICKUP - HOUR)

    assert Ride.objects.get(pk=booked.return_ride.pk).pickup_at == factories.PICKUP - HOUR


def test_request_is_reviewed_again_when_needs_change(hospital: Facility, rider: Rider, planner: Principal) -> None:
    factories.VehicleFactory.create()
    Facility.objects.update(lead_time_minutes=600)
    ride = booking.book(draft=draft(hospital, rider), by=planner, at=NOW).ride
    assert ride.review_reasons == ["lead_time"]
    Facility.objects.update(lead_time_minutes=0)

    change_accommodation(rider_id=rider.pk, needs={"mobility": "stretcher"}, by=planner, at=NOW)
    ride.refresh_from_db()
    assert (ride.status, ride.review_reasons) == ("requested", ["lead_time", "no_fitting_vehicle"])

    change_accommodation(rider_id=rider.pk, needs={"mobility": "ambulatory"}, by=planner, at=NOW)
    ride.refresh_from_db()
    assert ride.review_reasons == ["lead_time"]


def test_api_lists_what_stands_against_a_move(api: TokenClient) -> None:
    ride = factories.RideFactory.create(facility__lead_time_minutes=10_000_000)
    sooner = {"pickupTime": (ride.pickup_at - HOUR).isoformat()}

    error = error_of(api.patch(f"/api/rides/{ride.pk}", sooner))
    assert (error["code"], error["details"][0]["code"]) == ("RULE_VIOLATION", "lead_time")

    override = {"override": True, "overrideReason": "The clinic asked for it."}
    assert api.patch(f"/api/rides/{ride.pk}", sooner | override).status_code == 200
    assert error_of(api.post("/api/rides", override))["code"] == "VALIDATION_ERROR"
