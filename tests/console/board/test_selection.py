"""Actions on several rides: each ride succeeds or fails separately."""

import datetime as dt

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from lib.ids import uuid7
from tests import factories
from tests.console.board.test_acting import able
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

SELECTION = "/console/board/selection/"
LIST = "/console/board/?view=list"


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def _rides(count: int) -> list[Ride]:
    return [factories.RideFactory.create(pickup_at=NOW + dt.timedelta(hours=2 + 2 * n)) for n in range(count)]


def _named(*rides: Ride) -> list[str]:
    return [f"{ride.pk}:{ride.version}" for ride in rides]


def test_all_go_to_one_driver_and_back_to_the_page(desk: Client) -> None:
    rides, driver = _rides(2), able()

    answer = desk.post(SELECTION, {"ride": _named(*rides), "driver_id": driver.pk, "back": LIST}, follow=True)

    assert answer.redirect_chain == [(LIST, 302)]
    assert told(answer) == ["2 rides are changed."]
    assert set(Ride.objects.values_list("driver_id", flat=True)) == {driver.pk}


def test_what_refuses_stays_and_says_why_while_the_others_go(desk: Client) -> None:
    fits, stale, stretcher = _rides(3)
    Ride.objects.filter(pk=stretcher.pk).update(spaces_ambulatory=0, spaces_stretcher=1)
    Ride.objects.filter(pk=stale.pk).update(version=7)
    gone = f"{uuid7()}:1"
    driver = able()

    answer = desk.post(SELECTION, {"ride": [*_named(fits, stale, stretcher), gone], "driver_id": driver.pk})

    assert answer.status_code == 422
    said = text_of(answer)
    assert "3 rides were not changed" in said
    assert "1 ride is changed." in said
    assert "The record has changed since it was read." in said
    assert "A second person is needed: a stretcher." in said
    assert "A ride that you cannot open There is no such ride." in said
    by_ride = dict(Ride.objects.values_list("pk", "driver_id"))
    assert by_ride == {fits.pk: driver.pk, stale.pk: None, stretcher.pk: None}


def test_all_lose_their_drivers(desk: Client) -> None:
    rides = _rides(2)
    for ride in rides:
        factories.put_driver_on(ride)

    answer = desk.post(SELECTION, {"ride": _named(*rides), "reason_code": "vehicle_breakdown"}, follow=True)

    assert answer.redirect_chain == [("/console/board/", 302)]
    assert Ride.objects.filter(status="scheduled", driver=None).count() == 2


def test_one_that_cannot_lose_its_driver_stays(desk: Client) -> None:
    (ride,) = _rides(1)
    factories.put_driver_on(ride)

    answer = desk.post(SELECTION, {"ride": _named(ride), "reason_code": "other"})

    assert (answer.status_code, "note is required" in text_of(answer)) == (422, True)
    ride.refresh_from_db()
    assert ride.status == "assigned"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "This field is required."),
        ({"ride": ["1:x"]}, "Select at least one ride."),
        ({"ride": [f"{uuid7()}:1"] * 101}, "At most 100 rides at once."),
        ({"ride": [f"{uuid7()}:1"]}, "Choose a driver, or a reason to unassign."),
        ({"ride": [f"{uuid7()}:1"], "back": "https://elsewhere.example/"}, "Choose a driver"),
        ({"ride": [f"{uuid7()}:1"], "back": "//elsewhere.example/console/board/"}, "Choose a driver"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(desk: Client, given: dict[str, list[str]], says: str) -> None:
    answer = desk.post(SELECTION, given, follow=True)

    assert answer.redirect_chain == [("/console/board/", 302)]
    assert says in told(answer)[0]
