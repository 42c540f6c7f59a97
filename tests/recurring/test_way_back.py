"""A return leg added to one-way rides: both legs are linked as if booked together."""

import datetime as dt

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.recurring.services import edit_order
from apps.rides.models import Ride, Trip
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import booking, status_report
from lib.access import system
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, both

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("mode", ["will_call", "scheduled"])
def test_way_back_that_is_added_joins_the_way_there(mode: str) -> None:
    order = cast.order(of={"return_mode": "none"})
    assert set(Ride.objects.values_list("leg_type", "leg_sequence")) == {("one_way", 1)}
    assert not Trip.objects.exists()

    edit_order.change(order_id=order.pk, terms={"return_mode": mode}, by=system(), at=NOW)

    assert cast.live(order) == both(DATES)
    assert Trip.objects.count() == len(DATES)
    for trip in Trip.objects.all():
        there, back = Ride.objects.filter(trip=trip).order_by("pickup_at")
        assert (there.leg_type, there.leg_sequence) == ("outbound", 1)
        assert (back.leg_type, back.leg_sequence) == ("return", 2)
        assert trip.service_date == there.service_date == back.service_date
        assert trip.rider_id == there.rider_id


def test_ride_that_becomes_the_way_there_tells_of_it_once() -> None:
    order = cast.order(of={"return_mode": "none"}, end_date=DATES[0])
    (ride,) = cast.rides(order)

    first = booking.trip_of(ride_id=ride.pk, by=system(), at=NOW)
    again = booking.trip_of(ride_id=ride.pk, by=system(), at=NOW)

    assert first == again == Trip.objects.get().pk
    told = Event.objects.get(subject_id=ride.pk, type="ride.updated")
    assert (told.sequence, told.data["changed"]) == (2, ["tripId", "legType"])
    assert AuditEntry.objects.filter(action="rides.amend", subject_id=ride.pk).count() == 1


def test_way_back_of_a_day_that_was_called_off_there_rides_alone() -> None:
    order = cast.order(of={"return_mode": "none"}, start_date=DATES[0], end_date=DATES[0])
    said = StatusReport(RideStatus.CANCELLED, source="phone", reason_code="rider_other_transport")
    status_report.change_status(ride_id=Ride.objects.get().pk, report=said, by=system(), at=NOW)

    edit_order.change(order_id=order.pk, terms={"return_mode": "will_call"}, by=system(), at=NOW)

    (back,) = Ride.objects.exclude(status="cancelled")
    assert (back.leg_type, back.trip_id) == ("return", None)
    assert back.pickup_at == dt.datetime(2026, 11, 23, 21, tzinfo=dt.UTC)
