"""Preferred drivers of a standing order: first among the candidates of its rides."""

from typing import Any

import pytest

from apps.recurring.models import StandingOrder
from apps.recurring.services import edit_order
from apps.rides.models import Ride
from apps.rides.queries.ride_needs import needs_of
from lib.access import system
from tests import factories
from tests.factories import NOW
from tests.recurring import cast

pytestmark = pytest.mark.django_db


def _preferred(order: StandingOrder) -> set[Any]:
    rides = Ride.objects.filter(standing_order_id=order.pk).select_related("rider")
    return {needs_of(ride, at=NOW).preferred_driver_ids for ride in rides}


def test_rides_prefer_drivers_of_order_and_of_rider() -> None:
    of_order, of_rider = factories.DriverFactory.create_batch(2)
    rider = factories.RiderFactory.create(preferred_driver_ids=[of_rider.pk])

    order = cast.order(rider=rider, preferred_driver_ids=(of_order.pk,))

    assert _preferred(order) == {frozenset({of_order.pk, of_rider.pk})}


def test_preferred_driver_change_reaches_booked_not_ended_rides() -> None:
    old, new = factories.DriverFactory.create_batch(2)
    order = cast.order(preferred_driver_ids=(old.pk,))
    gone = cast.rides(order)[0]
    ended = {"reason_code": "rider_ill", "fault": "none", "ended_by": "user", "status_before_end": "scheduled"}
    Ride.objects.filter(pk=gone.pk).update(status="no_show", **ended)
    versions = set(Ride.objects.values_list("version"))

    edit_order.change(order_id=order.pk, columns={"preferred_driver_ids": [new.pk]}, by=system(), at=NOW)

    kept = {ride.pk: ride.preferred_driver_ids for ride in cast.rides(order)}
    assert kept.pop(gone.pk) == [old.pk]
    assert set(map(tuple, kept.values())) == {(new.pk,)}
    assert set(Ride.objects.values_list("version")) == versions


def test_rides_of_orders_without_a_preference_have_their_riders() -> None:
    assert _preferred(cast.order()) == {frozenset()}
