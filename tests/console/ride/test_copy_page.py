"""The page that copies a ride."""

import datetime as dt

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from apps.rides.models import Ride
from apps.rides.services import booking
from lib.access import Principal
from tests import factories
from tests.console.visits import text_of, told, visitor
from tests.rides.drafts import HOME, draft
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def ride(hospital: Facility, planner: Principal) -> Ride:
    rider = factories.RiderFactory.create(facility=hospital, home_address=HOME)
    return booking.book(draft=draft(hospital, rider), by=planner, at=factories.NOW).ride


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def page(ride: Ride, query: str = "") -> str:
    return f"/console/rides/{ride.pk}/copy/{query}"


def test_page_offers_the_next_day_at_the_same_time(desk: Client, ride: Ride) -> None:
    assert page(ride) in desk.get(f"/console/rides/{ride.pk}/").content.decode()
    form = desk.get(page(ride)).context["form"]
    assert (form["day"].value(), form["clock"].value()) == (ride.service_date + DAY, "14:00")

    answer = desk.post(page(ride), {"day": str(ride.service_date + DAY), "clock": "14:00"}, follow=True)

    copy = Ride.objects.exclude(pk=ride.pk).get()
    assert answer.redirect_chain == [(f"/console/rides/{copy.pk}/", 302)]
    assert told(answer) == ["The ride is copied. This is the copy."]
    assert (copy.pickup_at, copy.rider_id, copy.pickup) == (ride.pickup_at + DAY, ride.rider_id, ride.pickup)


def test_other_rider_day_time_and_direction_in_one_step(desk: Client, ride: Ride, hospital: Facility) -> None:
    elm = {**HOME, "addressLine1": "9 Elm St"}
    other = factories.RiderFactory.create(facility=hospital, first_name="Orla", last_name="Canary", home_address=elm)
    found = desk.post(page(ride), {"do": "find", "q": "canary"})
    assert f"?rider={other.pk}" in found.content.decode()
    assert "For Canary, Orla" in text_of(desk.get(page(ride, f"?rider={other.pk}")))

    values = {"day": str(ride.service_date + 2 * DAY), "clock": "3:30p", "is_reversed": "on"}
    desk.post(page(ride, f"?rider={other.pk}"), values)

    copy = Ride.objects.get(rider=other)
    assert copy.pickup_at == ride.pickup_at + 2 * DAY + 1.5 * HOUR
    assert (copy.pickup["addressLine1"], copy.dropoff) == ("9 Elm St", ride.pickup)


def test_copy_that_cannot_be_names_its_field_and_books_nothing(desk: Client, ride: Ride) -> None:
    before = traces(ride)
    today = str(ride.service_date)
    for values, name in [
        ({"day": today, "clock": "25:00"}, "clock"),
        ({"day": "", "clock": "14:00"}, "day"),
        ({"day": today, "clock": "08:00"}, "clock"),
        ({"day": today, "clock": "14:00"}, "clock"),
    ]:
        answer = desk.post(page(ride), values)
        assert (answer.status_code, list(answer.context["form"].errors)) == (422, [name]), values
    assert "Book anyway" in text_of(answer)
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}

    anyway = {"day": today, "clock": "14:00", "allow_duplicate": "on"}
    assert desk.post(page(ride), anyway).status_code == 302
    assert Ride.objects.count() == 2


def test_rider_out_of_reach_is_not_found(desk: Client, ride: Ride) -> None:
    assert desk.get(page(ride, f"?rider={ride.pk}")).status_code == 404
    assert visitor(UserRole.AUDITOR).get(page(ride)).status_code == 403
