"""Requests that come in during a simulated day."""

import datetime as dt

import pytest

from apps.demo import same_day, simulator
from apps.demo.dice import local
from apps.demo.loading import SEED, DayRange
from apps.rides.models import Ride
from tests.demo.demo_days import loaded

pytestmark = pytest.mark.django_db
NOON = dt.datetime(2026, 11, 20, 18, 0, tzinfo=dt.UTC)  # a Friday
DAY = NOON.date()


def test_requests_of_a_day_are_the_same_for_the_same_seed() -> None:
    requests = same_day.requests_of(SEED, DAY)

    assert requests == same_day.requests_of(SEED, DAY)
    assert requests != same_day.requests_of(SEED + 1, DAY)
    assert {request.kind for request in requests} == {"ready_now", "ready_later", "return"}
    assert all(request.at <= request.pickup_at for request in requests)
    assert {local(request.pickup_at).date() for request in requests} == {DAY}


@pytest.mark.untraced
def test_requests_are_booked_once_and_as_a_hospital_would() -> None:
    until = NOON + dt.timedelta(hours=4)
    period = {"requested_at__gte": NOON, "requested_at__lt": until}
    with loaded(NOON, DayRange(past=0, future=0)):
        staff = simulator.read_world(SEED, NOON, until).staff
        booked = same_day.book(SEED, NOON, until, staff=staff)
        again = same_day.book(SEED, NOON, until, staff=staff)
        rides = list(Ride.objects.filter(**period).select_related("pickup_facility").order_by("requested_at"))

    due = [each for each in same_day.requests_of(SEED, DAY) if NOON.timestamp() <= each.at < until.timestamp()]
    assert booked == len(rides) == len(due) > 3
    assert again == 0
    assert len({ride.rider_id for ride in rides}) == len(rides)
    for ride in rides:
        assert ride.pickup_facility is not None
        is_discharge = ride.service_type == "hospital_discharge"
        assert ride.pickup_facility.kind == ("hospital" if is_discharge else "clinic")
        assert ride.pickup_at >= ride.requested_at
        assert bool(ride.discharge) is is_discharge
    assert any(ride.pickup_at == ride.requested_at for ride in rides)
