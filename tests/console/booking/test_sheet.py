"""Bookings from a spreadsheet: all or none; every row's errors are shown before anything is stored."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.console.booking.desk import BOOK
from tests.console.visits import text_of, told, visitor
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db
SHEET = f"{BOOK}batch/"
HEAD = "rider,reason,day,time,from,to,note\n"
TOMORROW = "2026-11-21"


@pytest.fixture(autouse=True)
def orla(hospital: Facility, grace: Rider) -> Rider:
    """A rider besides Grace; both have an MRN."""
    found = factories.RiderFactory.create(facility=hospital, first_name="Orla", last_name="Doe", home_address=HOME)
    for rider, mrn in ((grace, "E1"), (found, "E2")):
        ExternalId.objects.create(subject_type="rider", subject_id=rider.pk, system="epic", value=mrn)
    return found


def _send(desk: Client, rows: str, **more: Any) -> Any:
    facility = Facility.objects.get(name="Riverbend General").pk
    return desk.post(SHEET, {"facility": str(facility), "rows": HEAD + rows, **more}, follow=True)


def test_sheet_is_looked_at_and_then_booked(desk: Client, grace: Rider, orla: Rider) -> None:
    rows = f"E1,appointment,{TOMORROW},14:30,,,Ring twice.\nE2,other,{TOMORROW},2p,facility,home,\n"

    looked = _send(desk, rows)

    assert (looked.status_code, Ride.objects.count()) == (200, 0)
    assert "2 Walsh, Grace E1 2026-11-21 14:30 ready 3 Doe, Orla E2 2026-11-21 2p ready" in text_of(looked)
    assert AuditEntry.objects.get(action="riders.search").rider_ids == sorted([grace.pk, orla.pk])

    booked = _send(desk, rows, book="1")

    assert told(booked) == ["2 bookings are made."]
    assert Ride.objects.filter(rider=grace).count() == 2  # and the return leg
    ride = Ride.objects.get(rider=orla)
    assert (ride.service_type, ride.pickup["name"]) == ("other", "Riverbend General")
    assert Ride.objects.get(rider=grace, leg_sequence=1).driver_notes == "Ring twice."


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f",appointment,{TOMORROW},1430,,,", "There is no rider with this id."),
        (f"E9,appointment,{TOMORROW},1430,,,", "There is no rider with this id."),
        (
            f"E1,holiday,{TOMORROW},1430,,,",
            "The reason is one of these: discharge, appointment, transfer,",
        ),
        (f"E1,appointment,{TOMORROW},25:00,,,", "Time: Enter a time such as 14:30, 2:30p, +45 or now."),
        ("E1,appointment,soon,1430,,,", "Day: Enter a valid date."),
        (f"E1,appointment,{TOMORROW},1430,the moon,,", "Pickup: Select a valid choice."),
        ("E1,other,2026-11-20,08:30,home,facility,", "Time: Time has passed. Enter a time that is still to come."),
        ("E1,other,2026-11-18,1430,home,facility,", "Time: Time has passed. Enter a time that is still to come."),
        (f"E1,discharge,{TOMORROW},1430,,,", "Unit: Required for a discharge."),
    ],
)
def test_row_that_is_wrong_says_why_and_nothing_is_booked(desk: Client, row: str, said: str) -> None:
    response = _send(desk, f"E2,appointment,{TOMORROW},1430,,,\n{row}\n", book="1")

    assert (response.status_code, Ride.objects.count()) == (422, 0)
    assert said in text_of(response)
    assert response.context["form"].errors == {"rows": ["1 row has errors."]}
    assert row in text_of(response)


def test_rider_of_two_is_asked_for_by_another_id(desk: Client, orla: Rider) -> None:
    ExternalId.objects.create(subject_type="rider", subject_id=orla.pk, system="cerner", value="E1")

    assert "Several riders have this id." in text_of(_send(desk, f"E1,appointment,{TOMORROW},1430,,,\n"))


def test_ride_beside_another_is_refused(desk: Client) -> None:
    rows = f"E1,other,{TOMORROW},1430,home,facility,\n"
    _send(desk, rows, book="1")

    again = _send(desk, rows, book="1")
    twice = _send(desk, f"E2,other,{TOMORROW},1430,home,facility,\nE2,other,{TOMORROW},1440,home,facility,\n", book="1")

    assert "The rider has a ride at this time." in text_of(again)
    assert "Nothing is booked: The rider has a ride at this time" in text_of(twice)
    assert Ride.objects.count() == 1


@pytest.mark.parametrize(
    ("sent", "field", "said"),
    [
        ({"rows": ""}, "rows", "There are no rows."),
        ({"rows": "name,day\nGrace,2026-11-21\n"}, "rows", "Columns missing in the first row: rider, time."),
        ({"rows": HEAD + "E1,,,,,,\n" * 101}, "rows", "At most 100 rows at a time."),
        ({"file": SimpleUploadedFile("a.csv", b"\xff\xfe\x00")}, "file", "The file is not UTF-8 text."),
        ({"file": SimpleUploadedFile("a.csv", b"x" * 100_001)}, "file", "The file is too large."),
    ],
)
def test_what_is_no_sheet_is_refused(desk: Client, sent: dict[str, Any], field: str, said: str) -> None:
    facility = Facility.objects.get(name="Riverbend General").pk

    response = desk.post(SHEET, {"facility": str(facility), **sent})

    assert (response.status_code, response.context["form"].errors) == (422, {field: [said]})
    assert Ride.objects.count() == 0


def test_file_stands_in_the_field_when_it_was_read(desk: Client) -> None:
    rows = HEAD + f"E1,other,{TOMORROW},1430,home,facility,\n"

    response = _send(desk, "", file=SimpleUploadedFile("a.csv", b"\xef\xbb\xbf" + rows.encode()))

    assert response.status_code == 200
    assert f"E1,other,{TOMORROW},1430,home,facility," in response.content.decode()


def test_sheet_opens_to_those_who_book(desk: Client) -> None:
    assert desk.get(SHEET).status_code == 200
    assert visitor(UserRole.DISPATCHER).get(f"{SHEET}?facility=").status_code == 200
    assert visitor(UserRole.AUDITOR).get(SHEET).status_code == 403
    assert desk.get(f"{SHEET}?facility={factories.FacilityFactory.create().pk}").status_code == 404


def test_rider_out_of_reach_is_nobody(desk: Client, grace: Rider) -> None:
    grace.facilities.clear()

    assert "There is no rider with this id." in text_of(_send(desk, f"E1,appointment,{TOMORROW},1430,,,\n"))
