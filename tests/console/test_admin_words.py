"""Data admin: labels of choices in columns, and the columns that link to their row."""

import re

import pytest

from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.console.admin_pages import address_of, context_of, signed_in_as
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

RIDES = "/admin/rides/ride/"
TABLES = ("ride", "milestone", "rideexception")


def test_choice_labels_are_capitalized_and_sortable() -> None:
    ride = factories.RideFactory.create(service_type="pharmacy_stop")
    factories.RideFactory.create(service_type="appointment")
    client = signed_in_as(UserRole.DISPATCHER)

    listed, shown = client.get(RIDES), client.get(address_of(Ride, "change", ride.pk)).content.decode()
    by_service = client.get(RIDES, {"o": "3"})

    page = listed.content.decode()
    assert '<td class="field-service_type">Pharmacy stop</td>' in page
    assert ">Pharmacy stop</a>" in "".join(page.split("\n"))  # the filter
    assert "pharmacy stop" not in page
    assert "Pharmacy stop" in shown
    assert [row.service_type for row in context_of(by_service)["cl"].result_list] == ["appointment", "pharmacy_stop"]


def test_rides_are_called_what_their_own_pages_call_them() -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)
    _open_exception(ride, "milestone_gap")
    client = signed_in_as(UserRole.DISPATCHER)

    rides, milestones, exceptions = (client.get(f"/admin/rides/{table}/").content.decode() for table in TABLES)
    shown = client.get(address_of(Ride, "change", ride.pk)).content.decode()
    home = client.get("/console/home/").content.decode()

    assert _of_column(rides, "status") == ["On board"]
    assert _of_column(milestones, "type") == ["On board", "Arrived at the pickup", "Driver departed"]
    assert _of_column(milestones, "source") == ["Driver&#x27;s app"] * 3
    assert _of_column(exceptions, "type") == ["Missing timestamp"]
    assert _filters(rides)[:11] == [
        "All",
        "Requested",
        "Scheduled",
        "Assigned",
        "En route",
        "Arrived at pickup",
        "On board",
        "Completed",
        "Canceled",
        "No-show",
        "Missed trip",
    ]
    assert "Missing timestamp" in _filters(exceptions)
    assert "Entered manually" in _filters(milestones)
    for page in (rides, milestones, exceptions, shown, home):
        assert not re.search("in progress|milestone gap|>boarded", page, re.IGNORECASE)
    assert all(words in shown for words in ("On board", "Missing timestamp"))
    assert "<span>On board</span><strong>1</strong>" in home


def test_boxes_to_tick_begin_with_a_capital_letter() -> None:
    driver = factories.DriverFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    page = client.get(address_of(type(driver), "change", driver.pk)).content.decode()

    said = [text.strip() for text in re.findall(r'<input type="checkbox" name="qualifications"[^>]*>([^<]+)<', page)]
    assert said
    assert [text for text in said if not text[0].isupper()] == []


def test_every_column_that_leads_to_its_row_does() -> None:
    ride = factories.RideFactory.create()
    _open_exception(ride, "late_pickup")
    client = signed_in_as(UserRole.DISPATCHER)

    page = client.get("/admin/rides/rideexception/").content.decode()

    links = re.findall(r'<t[hd] class="field-(\w+)[^"]*"><a href="/admin/rides/rideexception/', page)
    assert links == ["opened_at", "type"]


def _open_exception(ride: Ride, kind: str) -> None:
    RideException.objects.create(
        ride=ride,
        rider=ride.rider,
        facility=ride.facility,
        type=kind,
        severity="warning",
        opened_at=factories.NOW,
        opened_by="system",
        detected_by="T1",
        summary="",
        updated_at=factories.NOW,
    )


def _of_column(page: str, column: str) -> list[str]:
    """Return the texts of a column of a list, row by row."""
    cells = re.findall(rf'<t[hd] class="field-{column}[^"]*">(.*?)</t[hd]>', page)
    return [re.sub("<[^>]+>", "", cell) for cell in cells]


def _filters(page: str) -> list[str]:
    """Return the choices of the filters beside a list."""
    beside = page[page.index('id="changelist-filter"') :]
    return [text.strip() for text in re.findall(r"<a href=[^>]*>([^<]+)</a>", beside)]
