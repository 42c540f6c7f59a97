"""Rides that are linked as legs of a trip, and unlinked."""

import datetime as dt
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride, Trip
from apps.rides.rules.draft import ReturnLeg
from apps.rides.services import booking, trips
from lib.access import Principal
from lib.errors import FieldRefused, InvalidInput, NotFound
from tests import factories
from tests.callers import TokenClient, error_of
from tests.rides.drafts import HOME, dialysis, draft

HOUR = dt.timedelta(hours=1)
NOW = factories.NOW


@pytest.fixture
def rider(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital)


@pytest.fixture
def rides(hospital: Facility, rider: Rider, planner: Principal) -> list[Ride]:
    """Book three rides of a rider on one day."""
    starts = [factories.PICKUP + hours * HOUR for hours in (0, 2, 4)]
    return [booking.book(draft=draft(hospital, rider, pickup_at=at), by=planner, at=NOW).ride for at in starts]


def state() -> list[Any]:
    return [list(Ride.objects.order_by("pk").values()), Event.objects.count(), Trip.objects.count()]


def test_rides_become_legs_in_the_order_of_their_times(rides: list[Ride], planner: Principal) -> None:
    first, second, third = rides

    trips.link(ride_ids=[third.pk, first.pk, second.pk], by=planner, at=NOW)

    legs = list(Ride.objects.order_by("leg_sequence").values_list("pk", "leg_type", "leg_sequence"))
    assert legs == [(first.pk, "outbound", 1), (second.pk, "intermediate", 2), (third.pk, "return", 3)]
    assert Trip.objects.get().rides.count() == 3
    event = Event.objects.get(subject_id=second.pk, sequence=2)
    assert (event.type, event.data["changed"]) == ("ride.updated", ["tripId", "legType", "legSequence"])
    assert AuditEntry.objects.filter(action="rides.link").count() == 3


def test_return_on_the_next_day_is_a_leg_of_the_trip(hospital: Facility, rider: Rider, planner: Principal) -> None:
    starts = [factories.PICKUP + hours * HOUR for hours in (24, 0)]
    back, there = [booking.book(draft=draft(hospital, rider, pickup_at=at), by=planner, at=NOW).ride for at in starts]

    legs = trips.link(ride_ids=[back.pk, there.pk], by=planner, at=NOW)

    assert [(leg.pk, leg.leg_type) for leg in legs] == [(there.pk, "outbound"), (back.pk, "return")]
    assert Trip.objects.get().service_date == there.service_date


def test_unlinked_legs_stand_alone_again(rides: list[Ride], planner: Principal) -> None:
    first, second, third = trips.link(ride_ids=[ride.pk for ride in rides], by=planner, at=NOW)
    assert first.trip_id is not None

    trips.unlink(trip_id=first.trip_id, ride_id=second.pk, by=planner, at=NOW)
    assert set(Ride.objects.filter(trip=None).values_list("pk", flat=True)) == {second.pk}
    trips.unlink(trip_id=first.trip_id, ride_id=third.pk, by=planner, at=NOW)

    assert not Ride.objects.exclude(trip=None, leg_type="one_way", leg_sequence=1).exists()
    with pytest.raises(NotFound):
        trips.unlink(trip_id=first.trip_id, ride_id=third.pk, by=planner, at=NOW)


def test_return_from_dialysis_stays_a_return_without_chair_time(
    hospital: Facility, rider: Rider, planner: Principal
) -> None:
    back = ReturnLeg(pickup_at=factories.PICKUP + 5 * HOUR)
    booked = booking.book(draft=dialysis(hospital, rider, return_leg=back), by=planner, at=NOW)
    assert booked.return_ride is not None
    assert booked.ride.trip_id is not None

    trips.unlink(trip_id=booked.ride.trip_id, ride_id=booked.return_ride.pk, by=planner, at=NOW)

    assert sorted(Ride.objects.filter(trip=None).values_list("leg_type", flat=True)) == ["one_way", "return"]


def test_rides_that_do_not_belong_together_are_named(
    rides: list[Ride], hospital: Facility, rider: Rider, planner: Principal, outsider: Principal
) -> None:
    first, second, third = rides
    stranger = factories.RiderFactory.create(facility=hospital)
    other_rider = booking.book(draft=draft(hospital, stranger), by=planner, at=NOW).ride
    tomorrow = draft(hospital, rider, pickup_at=factories.PICKUP + 48 * HOUR, dropoff=HOME)
    other_day = booking.book(draft=tomorrow, by=planner, at=NOW).ride
    trips.link(ride_ids=[second.pk, third.pk], by=planner, at=NOW)
    ended = factories.RideFactory.create(facility=hospital, rider=rider)
    Ride.objects.filter(pk=ended.pk).update(
        status="unfulfilled", status_before_end="scheduled", reason_code="other", fault="none", ended_by="system"
    )
    before = state()

    for other, code in [(other_rider, "other_rider"), (other_day, "other_day"), (second, "linked"), (ended, "ended")]:
        with pytest.raises(FieldRefused) as refused:
            trips.link(ride_ids=[first.pk, other.pk], by=planner, at=NOW)
        assert [(detail.field, detail.code) for detail in refused.value.details] == [("rideIds[1]", code)]
    for ids in ([first.pk], [first.pk, first.pk], [first.pk, stranger.pk]):
        with pytest.raises(InvalidInput):
            trips.link(ride_ids=ids, by=planner, at=NOW)
    with pytest.raises(InvalidInput):
        trips.link(ride_ids=[first.pk, other_day.pk], by=outsider, at=NOW)
    with pytest.raises(NotFound):
        trips.unlink(trip_id=Trip.objects.get().pk, ride_id=second.pk, by=outsider, at=NOW)
    Ride.objects.filter(pk=first.pk).update(appointment_at=factories.PICKUP + 25 * HOUR)
    same_day = booking.book(
        draft=draft(hospital, rider, pickup_at=factories.PICKUP - 2 * HOUR), by=planner, at=NOW
    ).ride
    Ride.objects.filter(pk=same_day.pk).update(appointment_at=factories.PICKUP + HOUR)
    with pytest.raises(InvalidInput) as order:
        trips.link(ride_ids=[same_day.pk, first.pk], by=planner, at=NOW)
    assert order.value.details[0].code == "leg_order"
    assert Trip.objects.count() == before[2]


def test_ended_leg_stays_in_its_trip(rides: list[Ride], planner: Principal) -> None:
    legs = trips.link(ride_ids=[ride.pk for ride in rides[:2]], by=planner, at=NOW)
    Ride.objects.filter(pk=legs[0].pk).update(
        status="unfulfilled", status_before_end="scheduled", reason_code="other", fault="none", ended_by="system"
    )

    trip_id = legs[0].trip_id
    assert trip_id is not None
    with pytest.raises(InvalidInput):
        trips.unlink(trip_id=trip_id, ride_id=legs[0].pk, by=planner, at=NOW)

    assert Ride.objects.get(pk=legs[0].pk).trip_id is not None


def test_api_links_and_unlinks(api: TokenClient, rides: list[Ride]) -> None:
    ids = [str(ride.pk) for ride in rides[:2]]

    linked = api.post("/api/trips", {"rideIds": ids}, format="json")

    assert linked.status_code == 201
    trip = Trip.objects.get()
    assert linked.json() == {
        "id": str(trip.pk),
        "riderId": str(trip.rider_id),
        "serviceDate": "2026-11-20",
        "rideIds": ids,
    }
    assert error_of(api.post("/api/trips", {"rideIds": ids}, format="json"))["details"][0]["code"] == "linked"
    assert api.delete(f"/api/trips/{trip.pk}/rides/{ids[0]}").status_code == 204
    assert not Ride.objects.exclude(trip=None).exists()
