"""Validity of the orders that `make bench` measures: otherwise only a run of it would reveal errors."""

import pytest

from apps.recurring.models import Occurrence
from apps.recurring.services import generate_rides
from apps.rides.models import Ride, RideException
from lib.access import system
from tests.factories import NOW
from tests.recurring import many

ORDERS = 40


@pytest.mark.django_db
def test_every_benchmark_order_is_booked_without_review() -> None:
    many.make(ORDERS, at=NOW)

    assert generate_rides.generate(by=system(), at=NOW) == ORDERS

    legs = ORDERS * 24
    assert Occurrence.objects.filter(decision="generated").count() == Occurrence.objects.count() == legs
    assert Ride.objects.filter(status="scheduled", review_reasons=[]).count() == Ride.objects.count() == legs
    assert not RideException.objects.exists()
