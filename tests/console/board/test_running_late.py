"""A late driver: what moving the next rides to others would save."""

import datetime as dt
import re
import uuid
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.dispatch.queries.running_late import movable_rides
from apps.fleet.models import Driver
from apps.rides.models import Ride
from lib.access import Principal
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
HERE: dict[str, Any] = {"last_lat": "41.907100", "last_lng": "-87.672200", "last_located_at": NOW}


def late_driver() -> tuple[Driver, list[Ride]]:
    """A driver who should have left an hour ago, and has another ride soon."""
    driver, vehicle = fit_pair(**HERE)
    rides = [factories.RideFactory.create(pickup_at=at, estimated_minutes=40) for at in (NOW - HOUR, NOW + HOUR / 4)]
    for ride in rides:
        factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    return driver, rides


def test_moving_a_ride_saves_minutes_of_the_others(dispatcher: Principal) -> None:
    driver, (overdue, following) = late_driver()
    substitute, _ = fit_pair(**HERE)

    first, second = movable_rides(driver, by=dispatcher, at=NOW)

    assert (first.ride.pk, second.ride.pk) == (overdue.pk, following.pk)
    assert first.late_minutes >= 30
    # Without the overdue ride, the following one is in time; the overdue one gains nothing by moving the following.
    assert first.saved_minutes == second.late_minutes > 0
    assert second.saved_minutes == 0
    assert first.best is not None
    assert first.best.driver_id == substitute.pk


def test_driver_in_time_has_nothing_to_move(dispatcher: Principal) -> None:
    driver, vehicle = fit_pair(**HERE)
    factories.put_driver_on(factories.RideFactory.create(), driver=driver, vehicle=vehicle)

    assert movable_rides(driver, by=dispatcher, at=NOW) == []


def test_page_reassigns_a_ride_of_the_late_driver() -> None:
    driver, (_, following) = late_driver()
    desk, path = visitor(UserRole.DISPATCHER), f"/console/board/drivers/{driver.pk}/late/"
    assert "No driver without conflicts" in text_of(desk.get(path))
    substitute, _ = fit_pair(**HERE)

    page = desk.get(path)
    (value,) = re.findall(rf'name="one" value="({following.pk}:[^"]+)"', page.content.decode())
    after = desk.post("/console/board/suggestions/accept/", {"one": value, "again": path}, follow=True)

    assert after.redirect_chain == [(path, 302)]
    assert told(after) == ["1 ride is assigned."]
    following.refresh_from_db()
    assert following.driver_id == substitute.pk


def test_page_is_offered_in_the_day_of_a_late_driver_to_dispatchers() -> None:
    driver, _ = late_driver()
    desk, path = visitor(UserRole.DISPATCHER), f"/console/board/drivers/{driver.pk}/late/"

    assert path in desk.get(f"/console/board/drivers/{driver.pk}/").content.decode()
    assert desk.get(f"/console/board/drivers/{uuid.uuid4()}/late/").status_code == 404
    assert visitor(UserRole.FLEET_ADMIN).get(path).status_code == 403
