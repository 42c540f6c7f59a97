"""Figures of a day: equal to those of its board, without loading the board."""

import datetime as dt
from typing import Any

import pytest

from apps.dispatch.queries.board import board
from apps.dispatch.queries.figures import Figures, figures, figures_of
from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal
from tests import factories
from tests.dispatch.seeded import ZONE, seed

pytestmark = pytest.mark.django_db

DAY = dt.date(2026, 11, 21)
AXIS = Axis(DAY, ZONE)
HOUR = dt.timedelta(hours=1)


def _lived(until: dt.datetime) -> None:
    """Advance the day's rides to their likely status: completed, on board, en route; every ninth driver is late."""
    driven = Ride.objects.filter(driver__isnull=False)
    lag: dict[Any, int] = {
        driver_id: 50 if number % 9 == 0 else 0
        for number, driver_id in enumerate(Driver.objects.values_list("pk", flat=True))
    }
    for ride in driven.filter(pickup_at__lt=until):
        arrived_at = ride.pickup_at + dt.timedelta(minutes=lag[ride.driver_id])
        told: dict[str, Any] = {"status": RideStatus.EN_ROUTE, "departed_at": ride.pickup_at - HOUR / 3}
        if arrived_at < until:
            told |= {"status": RideStatus.ARRIVED, "arrived_pickup_at": arrived_at}
        if arrived_at + HOUR / 6 < until:
            told |= {"status": RideStatus.IN_PROGRESS, "boarded_at": arrived_at + HOUR / 6}
        if arrived_at + HOUR < until:
            told |= {
                "status": RideStatus.COMPLETED,
                "dropped_off_at": arrived_at + HOUR,
                "status_before_end": "in_progress",
            }
        Ride.objects.filter(pk=ride.pk).update(**told)


def test_figures_are_those_of_the_board_at_any_hour(dispatcher: Principal) -> None:
    day = seed(DAY)
    seen: list[Figures] = []
    for hours in (0, 6, 14):
        at = AXIS.starts_at + hours * HOUR
        _lived(at)
        Ride.objects.filter(pk__in=[ride.pk for ride in day.will_calls[:hours]]).update(
            ready_at=at, ready_source="phone", promised_pickup_by=at
        )
        for by in (dispatcher, factories.principal(provider_ids=frozenset({day.drivers[0].provider_id}))):
            found = figures(AXIS, by=by, at=at)
            assert found == figures_of(board(AXIS, by=by, at=at))
        seen.append(figures(AXIS, by=dispatcher, at=at))

    assert (seen[0].waiting, seen[0].will_calls) == (47, 12)
    assert [one.will_calls for one in seen] == [12, 6, 0]
    assert sum(seen[2].by_status.values()) == 1500
    # The comparison covers rides in every status, and some late ones at each hour of the day.
    assert {*seen[1].by_status} >= {"scheduled", "assigned", "en_route", "in_progress", "completed"}
    assert 0 < seen[1].late < 1500
    assert seen[1].late != seen[2].late


@pytest.mark.parametrize("rides", [1, 40])
def test_figures_ask_the_same_however_many_rides(
    dispatcher: Principal, rides: int, django_assert_num_queries: Any
) -> None:
    seed(DAY, rides=rides, drivers=5, riders=3)

    with django_assert_num_queries(7):
        figures(AXIS, by=dispatcher, at=AXIS.starts_at)


def test_a_driver_out_of_reach_has_no_lane_and_is_not_counted() -> None:
    """The board shows no row for a ride with a driver of another provider."""
    ride = factories.RideFactory.create(pickup_at=factories.NOW - 2 * HOUR)
    factories.put_driver_on(ride)
    axis = Axis(dt.date(2026, 11, 20), ZONE)
    Ride.objects.filter(pk=ride.pk).update(provider=factories.TransportProviderFactory.create())
    ride.refresh_from_db()
    by = factories.principal(provider_ids=frozenset({ride.provider_id}))

    found = figures(axis, by=by, at=factories.NOW)

    assert found == figures_of(board(axis, by=by, at=factories.NOW))
    assert (found.late, figures(axis, by=factories.principal(), at=factories.NOW).late) == (0, 1)
