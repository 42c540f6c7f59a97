"""Data admin: words of choices as a column has them, and which columns lead to their row."""

import re

import pytest

from apps.accounts.roles import UserRole
from apps.rides.models import Ride, RideException
from tests import factories
from tests.console.admin_pages import address_of, context_of, signed_in_as

pytestmark = pytest.mark.django_db

RIDES = "/admin/rides/ride/"


def test_words_of_choices_begin_with_a_capital_letter_and_can_be_sorted_by() -> None:
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


def test_every_column_that_leads_to_its_row_does() -> None:
    ride = factories.RideFactory.create()
    RideException.objects.create(
        ride=ride,
        rider=ride.rider,
        facility=ride.facility,
        type="late_pickup",
        severity="warning",
        opened_at=factories.NOW,
        opened_by="system",
        detected_by="T1",
        summary="",
        updated_at=factories.NOW,
    )
    client = signed_in_as(UserRole.DISPATCHER)

    page = client.get("/admin/rides/rideexception/").content.decode()

    links = re.findall(r'<t[hd] class="field-(\w+)[^"]*"><a href="/admin/rides/rideexception/', page)
    assert links == ["opened_at", "type"]
