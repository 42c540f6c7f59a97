"""Confirmation of a request: by the current facts, not by those at the request."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, editing
from apps.rides.services import status_report as service
from apps.rides.services.legs import PickupInPast
from lib.access import Principal, system
from lib.errors import FieldRefused, InvalidInput, ScopeMissing
from lib.scopes import Scope
from tests import factories
from tests.callers import TokenClient, error_of
from tests.locks import wait_until_somebody_waits
from tests.rides.drafts import draft
from tests.rides.status_calls import report_to, traces

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def request_(db: None) -> Ride:
    """A requested ride of a facility that reviews every booking."""
    return asked_for()


def asked_for() -> Ride:
    reviewing: Facility = factories.FacilityFactory.create(booking_policy="review")
    rider = factories.RiderFactory.create(facility=reviewing)
    ride = booking.book(draft=draft(reviewing, rider), by=system(), at=factories.NOW).ride
    assert ride.status == "requested"
    return ride


def confirm(ride: Ride, by: Principal, at: dt.datetime = factories.NOW, **more: object) -> Ride:
    return service.change_status(ride_id=ride.pk, report=report_to(RideStatus.SCHEDULED, **more), by=by, at=at)


def another_ride_of(ride: Ride) -> Ride:
    """Book the same rider at the same time elsewhere, without a review."""
    elsewhere = factories.FacilityFactory.create()
    ride.rider.facilities.add(elsewhere)
    beside = draft(elsewhere, ride.rider, allow_duplicate=True)
    return booking.book(draft=beside, by=system(), at=factories.NOW).ride


def test_request_is_promised(request_: Ride, dispatcher: Principal) -> None:
    confirmed = confirm(request_, dispatcher)

    event = Event.objects.get(subject_id=request_.pk, sequence=2)
    assert (confirmed.status, confirmed.review_reasons, confirmed.confirm_by) == ("scheduled", [], None)
    assert (event.type, event.data.get("overridden")) == ("ride.scheduled", None)


def test_request_whose_pickup_has_passed_needs_a_new_time(request_: Ride, dispatcher: Principal) -> None:
    before = traces(request_)
    late = factories.PICKUP + HOUR / 4 + dt.timedelta(seconds=1)

    with pytest.raises(PickupInPast) as refused:
        confirm(request_, dispatcher, at=late)

    assert [(detail.field, detail.code) for detail in refused.value.details] == [("pickupTime", "in_past")]
    assert (
        str(refused.value) == "The pickup time of this request has passed. Change the time, then confirm the request."
    )
    assert traces(request_) == before

    editing.edit(ride_id=request_.pk, changes={"pickup_at": late + HOUR}, by=dispatcher, at=late)
    assert confirm(request_, dispatcher, at=late).status == "scheduled"


def test_request_for_the_last_15_minutes_is_confirmed(request_: Ride, dispatcher: Principal) -> None:
    assert confirm(request_, dispatcher, at=factories.PICKUP + HOUR / 4).status == "scheduled"


def test_request_that_a_hard_rule_forbids_by_now_is_not_promised(request_: Ride, dispatcher: Principal) -> None:
    Ride.objects.update(
        vehicle_type_requested="sedan", accommodation=request_.accommodation | {"mobility": "stretcher"}
    )
    before = traces(request_)

    with pytest.raises(FieldRefused) as refused:
        confirm(request_, dispatcher)

    assert [detail.field for detail in refused.value.details] == ["vehicleTypeRequested"]
    assert traces(request_) == before


def test_rider_who_has_another_ride_by_now_is_asked_about(request_: Ride, dispatcher: Principal) -> None:
    other = another_ride_of(request_)
    before = traces(request_)

    with pytest.raises(booking.OverlappingRide) as refused:
        confirm(request_, dispatcher)
    with pytest.raises(InvalidInput):
        confirm(request_, dispatcher, override=True)
    caller = factories.principal(scopes=dispatcher.scopes - {Scope.RIDES_OVERRIDE})
    with pytest.raises(ScopeMissing):
        confirm(request_, caller, override=True, override_reason="Two appointments.")

    assert refused.value.details[0].also == {"existingId": str(other.pk)}
    assert refused.value.message == "The rider has a ride at this time. Send override to book it anyway."
    assert traces(request_) == before

    confirmed = confirm(request_, dispatcher, override=True, override_reason="Two appointments.")

    event = Event.objects.get(subject_id=request_.pk, type="ride.scheduled")
    entry = AuditEntry.objects.get(action="rides.status")
    assert (confirmed.status, event.data["overridden"]) == ("scheduled", ["duplicate_ride"])
    assert (entry.reason, entry.details["overridden"]) == ("Two appointments.", ["duplicate_ride"])


def test_way_back_does_not_stand_in_the_way_of_the_way_there(request_: Ride, dispatcher: Principal) -> None:
    other = another_ride_of(request_)
    trip = factories.TripFactory.create(rider=request_.rider)
    Ride.objects.filter(pk__in=[request_.pk, other.pk]).update(trip=trip)

    assert confirm(request_, dispatcher).status == "scheduled"


def test_api_refuses_as_a_booking_does(api: TokenClient, now: dt.datetime) -> None:
    ride = asked_for()
    another_ride_of(ride)

    refused = api.post(f"/api/rides/{ride.pk}/status", {"status": "scheduled"})

    assert (refused.status_code, error_of(refused)["code"]) == (409, "DUPLICATE_RIDE")


@pytest.mark.django_db(transaction=True)
def test_request_is_not_confirmed_beside_concurrent_booking() -> None:
    ride = asked_for()

    def confirm_it() -> str:
        try:
            confirm(ride, system())
        except booking.OverlappingRide:
            return "refused"
        finally:
            connection.close()
        return "confirmed"

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            another_ride_of(ride)
            confirming = other.submit(confirm_it)
            wait_until_somebody_waits()
        assert confirming.result(timeout=20) == "refused"

    assert Ride.objects.get(pk=ride.pk).status == "requested"
