"""Copies of rides."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import booking, legs
from apps.rides.services.copying import CopyRequest, copy_ride
from lib.access import Principal
from lib.errors import InvalidInput, NotFound
from tests import factories
from tests.callers import TokenClient, error_of
from tests.rides.drafts import HOME, dialysis, draft

HOUR = dt.timedelta(hours=1)
NEXT_DAY = factories.PICKUP.date() + dt.timedelta(days=1)


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital, home_address=HOME)


@pytest.fixture
def ride(hospital: Facility, rider: Rider, planner: Principal) -> Ride:
    with_code = draft(
        hospital,
        rider,
        dropoff={**HOME, "accessCode": "1234#"},
        appointment_at=factories.PICKUP + HOUR,
        companions={"escorts": 1},
        accommodation={"oxygen": {"uses": True}},
    )
    return booking.book(draft=with_code, by=planner, at=factories.NOW).ride


def copy(ride: Ride, by: Principal, **parts: Any) -> Ride:
    return copy_ride(ride_id=ride.pk, request=CopyRequest(**parts), by=by, at=factories.NOW)


def test_copy_on_another_day_keeps_local_times_needs_and_door_code(ride: Ride, planner: Principal) -> None:
    other = copy(ride, planner, day=NEXT_DAY)

    assert (other.pickup_at, other.appointment_at) == (ride.pickup_at + 24 * HOUR, factories.PICKUP + 25 * HOUR)
    assert (other.rider_id, other.companions, other.facility_id) == (ride.rider_id, {"escorts": 1}, ride.facility_id)
    assert other.accommodation["oxygen"]["uses"] is True
    assert legs.opened_access(other.dropoff_access) == {"accessCode": "1234#"}
    after_the_clocks = copy(ride, planner, day=dt.date(2027, 3, 15))
    assert after_the_clocks.pickup_at.hour == ride.pickup_at.hour - 1


def test_copy_at_another_time_moves_the_appointment_along(ride: Ride, planner: Principal) -> None:
    other = copy(ride, planner, pickup_at=ride.pickup_at + 48 * HOUR)

    assert other.appointment_at == factories.PICKUP + 49 * HOUR


def test_copy_for_another_rider_goes_to_their_home_without_the_code(
    ride: Ride, hospital: Facility, planner: Principal
) -> None:
    home = {**HOME, "addressLine1": "9 Elm St"}
    second = factories.RiderFactory.create(facility=hospital, home_address=home)

    other = copy(ride, planner, rider_id=second.pk)

    assert (other.rider_id, other.pickup_at) == (second.pk, ride.pickup_at)
    assert (other.dropoff["addressLine1"], other.dropoff_access) == ("9 Elm St", "")
    assert not other.accommodation["oxygen"].get("uses")


def test_reversed_copy_has_no_appointment_and_no_treatment(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    there = booking.book(draft=dialysis(hospital, rider), by=planner, at=factories.NOW).ride

    back = copy(there, planner, is_reversed=True, pickup_at=there.pickup_at + 6 * HOUR)

    assert (back.pickup["facilityId"], back.dropoff["addressLine1"]) == (str(hospital.pk), HOME["addressLine1"])
    assert (back.service_type, back.appointment_at, back.dialysis, back.leg_type) == ("other", None, None, "one_way")


def test_refused_copy_books_nothing(ride: Ride, planner: Principal, outsider: Principal) -> None:
    with pytest.raises(InvalidInput) as nothing:
        copy(ride, planner)
    with pytest.raises(booking.OverlappingRide):
        copy(ride, planner, is_reversed=True)
    with pytest.raises(NotFound):
        copy(ride, outsider, day=NEXT_DAY)
    Ride.objects.filter(pk=ride.pk).update(pickup_at=ride.pickup_at.replace(hour=8, minute=30), appointment_at=None)
    with pytest.raises(InvalidInput) as no_such_time:
        copy(ride, planner, day=dt.date(2027, 3, 14))

    assert [refusal.value.details[0].field for refusal in (nothing, no_such_time)] == ["date", "date"]
    assert Ride.objects.count() == 1


def test_api_copies_once_per_key(api: TokenClient, ride: Ride) -> None:
    path, body, key = f"/api/rides/{ride.pk}/copy", {"date": NEXT_DAY.isoformat()}, {"Idempotency-Key": "copy-1"}

    first, second = (api.post(path, body, format="json", headers=key) for _ in range(2))

    assert (first.status_code, first.json()["id"]) == (201, second.json()["id"])
    assert first.headers["Location"] == f"/api/rides/{first.json()['id']}"
    assert Ride.objects.count() == 2
    assert error_of(api.post(path, {}, format="json"))["details"][0]["field"] == "date"
