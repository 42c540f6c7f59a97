"""The panel of a ride on the board."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver
from apps.rides.models import Milestone, Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exceptions
from lib.access import system
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


@pytest.fixture
def ride() -> Ride:
    """A ride at its pickup since ten minutes."""
    rider = factories.RiderFactory.create(phones=[{"number": "+13125550131", "ext": "27", "kind": "mobile"}])
    ride = factories.RideFactory.create(rider=rider, pickup_at=NOW - 10 * MINUTE, appointment_at=NOW + 60 * MINUTE)
    factories.put_driver_on(ride)
    reported = {"departed_at": NOW - 20 * MINUTE, "arrived_pickup_at": NOW - 10 * MINUTE}
    Ride.objects.filter(pk=ride.pk).update(status="arrived", **reported)
    return Ride.objects.get(pk=ride.pk)


def _call(desk: Client, ride: Ride, **values: Any) -> Any:
    return desk.post(f"/console/board/rides/{ride.pk}/call/", {"version": ride.version, **values}, headers=FRAGMENT)


def test_panel_has_phones_that_dial_addresses_and_history(desk: Client, ride: Ride) -> None:
    driver = Driver.objects.get(rides=ride)

    page = desk.get(f"/console/board/rides/{ride.pk}/", headers=FRAGMENT)

    text, body = text_of(page), page.content.decode()
    assert 'href="tel:+13125550131;ext=27"' in body
    assert f'href="tel:{driver.phone}"' in body
    assert ride.pickup["addressLine1"] in text
    assert "Appointment 10:00" in text
    assert "Log a call to the rider" in text


def test_panel_of_a_late_vehicle_says_promise_and_prediction(desk: Client, ride: Ride) -> None:
    Ride.objects.filter(pk=ride.pk).update(status="en_route", arrived_pickup_at=None, eta_pickup_at=NOW + 25 * MINUTE)

    page = desk.get(f"/console/board/rides/{ride.pk}/", headers=FRAGMENT)

    assert page.context["predicted_at"] == NOW + 25 * MINUTE
    assert page.context["late_minutes"] > 0
    assert "predicted 09:25" in text_of(page)


def test_call_is_logged_as_a_contact_attempt(desk: Client, ride: Ride) -> None:
    answer = _call(desk, ride, contacted="rider")

    assert answer.status_code == 200
    call = Milestone.objects.get(ride=ride, type="contact_attempt")
    assert (call.contacted, call.occurred_at) == ("rider", NOW)


@pytest.mark.parametrize(
    ("values", "status"), [({"contacted": "nobody"}, 422), ({"version": 0, "contacted": "rider"}, 409)]
)
def test_refused_call_is_not_logged(desk: Client, ride: Ride, values: dict[str, Any], status: int) -> None:
    Ride.objects.filter(pk=ride.pk).update(version=7)
    ride.refresh_from_db()

    assert _call(desk, ride, **values).status_code == status
    assert not Milestone.objects.filter(ride=ride, type="contact_attempt").exists()


@pytest.mark.parametrize("status", ["scheduled", "assigned", "en_route"])
def test_call_before_the_arrival_is_logged_and_stays(desk: Client, status: str) -> None:
    ride = ride_in(RideStatus(status))
    body = desk.get(f"/console/board/rides/{ride.pk}/", headers=FRAGMENT).content.decode()

    answer = _call(desk, ride, contacted="facility")

    assert "Log a call to the facility" in body
    assert answer.status_code == 200
    assert Milestone.objects.get(ride=ride, type="contact_attempt").contacted == "facility"
    ride.refresh_from_db()
    if status != "scheduled":
        values = {"version": ride.version, "reason_code": "replanned"}
        assert desk.post(f"/console/board/rides/{ride.pk}/unassign/", values, headers=FRAGMENT).status_code == 200
    assert Milestone.objects.get(ride=ride, type="contact_attempt").voided is False


def test_note_of_an_alert_is_written_in_the_panel(desk: Client, ride: Ride) -> None:
    alert = exceptions.open_exception(ride, ExceptionType.LATE_PICKUP, by=system(), at=NOW, detected_by="test")
    url = f"/console/board/rides/{ride.pk}/"

    done = desk.post(f"{url}alerts/{alert.pk}/", {"version": 1, "note": "The driver called."}, headers=FRAGMENT)
    stale = desk.post(f"{url}alerts/{alert.pk}/", {"version": 1, "note": "x"}, headers=FRAGMENT)
    invalid = desk.post(f"{url}alerts/{alert.pk}/", {"version": 2, "note": "x" * 1001}, headers=FRAGMENT)

    assert (done.status_code, stale.status_code, invalid.status_code) == (200, 409, 422)
    panel = desk.get(url, headers=FRAGMENT)
    assert ">The driver called.</textarea>" in panel.content.decode()
    exceptions.resolve(exception_id=alert.pk, code=ResolutionCode.FALSE_ALARM, by=system(), at=NOW)
    assert desk.post(f"{url}alerts/{alert.pk}/", {"version": 3, "note": "x"}, headers=FRAGMENT).status_code == 409
    assert "Open alerts" not in text_of(desk.get(url, headers=FRAGMENT))


def test_ride_is_linked_with_another_in_the_dialog(desk: Client, ride: Ride) -> None:
    panel, url = f"/console/board/rides/{ride.pk}/", f"/console/board/rides/{ride.pk}/link/"
    assert url not in desk.get(panel, headers=FRAGMENT).content.decode()
    assert desk.get(url, headers=FRAGMENT).status_code == 409
    back = factories.RideFactory.create(rider=ride.rider, pickup_at=NOW + 180 * MINUTE)
    assert f'href="{url}"' in desk.get(panel, headers=FRAGMENT).content.decode()
    offered = desk.get(url, headers=FRAGMENT).context["form"].fields["rides"].choices
    assert [value for value, _label in offered] == [str(back.pk)]

    nothing = desk.post(url, {"version": ride.version}, headers=FRAGMENT)
    done = desk.post(url, {"version": ride.version, "rides": [str(back.pk)]}, headers=FRAGMENT)

    assert (nothing.status_code, list(nothing.context["form"].errors)) == (422, ["rides"])
    assert (done.status_code, "linked as one trip" in done["HX-Trigger"]) == (200, True)
    assert len(set(Ride.objects.values_list("trip_id", flat=True)) - {None}) == 1
    assert not Ride.objects.filter(trip=None).exists()


@pytest.mark.parametrize("status", ["requested", "in_progress"])
def test_call_is_not_offered_at_other_times(desk: Client, status: str) -> None:
    ride = ride_in(RideStatus(status))

    assert "Log a call" not in text_of(desk.get(f"/console/board/rides/{ride.pk}/", headers=FRAGMENT))
