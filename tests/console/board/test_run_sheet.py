"""Run sheet of a driver's day as PDF."""

import datetime as dt
import sys
from io import BytesIO
from typing import Any, cast

import pytest
from django.test import Client
from pypdf import PdfReader

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.rides.models import Ride
from apps.rides.services import legs
from lib import pdf
from tests import factories, pango
from tests.console.visits import told, visitor
from tests.factories import NOW

pango.needed()

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def _address(ride: Ride, day: str = "") -> str:
    return f"/console/board/drivers/{ride.driver_id}/run-sheet.pdf{day}"


def _pdf(client: Client, ride: Ride) -> PdfReader:
    answer = client.get(_address(ride))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/pdf")
    return PdfReader(BytesIO(answer.content))


def _text(pdf: PdfReader) -> str:
    return " ".join(" ".join(page.extract_text() for page in pdf.pages).split())


def test_sheet_lists_rides_in_order_is_tagged_and_audited(desk: Client) -> None:
    driver = factories.DriverFactory.create()
    vehicle = factories.VehicleFactory.create(provider=driver.provider)
    rides = [factories.RideFactory.create(pickup_at=NOW + hours * HOUR) for hours in (5, 1, 3)]
    for ride in rides:
        factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    factories.put_driver_on(factories.RideFactory.create())

    pdf = _pdf(desk, rides[0])

    text = _text(pdf)
    names = [text.index(ride.rider.last_name) for ride in (rides[1], rides[2], rides[0])]
    assert names == sorted(names)
    assert "3 rides" in text
    assert "Made Fri, Nov 20, 2026, 09:00 for person" in text
    assert "1 / 1" in text
    root = cast(Any, pdf.trailer["/Root"])
    assert root["/MarkInfo"]["/Marked"]
    assert b"pdfuaid:part" in root["/Metadata"].get_data()
    row = AuditEntry.objects.get(action="rides.run_sheet")
    assert (row.subject_id, set(row.rider_ids)) == (driver.pk, {ride.rider_id for ride in rides})


def test_a_ride_says_whom_to_ask_for_and_what_opens_the_door(desk: Client) -> None:
    ride = factories.RideFactory.create(
        will_call=True,
        pickup_time_kind="estimated",
        will_call_expires_at=NOW + 9 * HOUR,
        appointment_at=NOW + 6 * HOUR,
        driver_notes="Ring twice",
        pickup=factories.stop(
            name="Hospital", entranceText="Dock", unit="4W", room="12", steps=3, instructions="Call first",
            contact={"name": "Desk", "phone": "+13125550140", "ext": "", "role": ""},
        ),
    )  # fmt: skip
    factories.put_driver_on(ride)
    legs.seal_access(ride, pickup={"accessCode": "4711"}, dropoff=None)
    ride.save()

    text = _text(_pdf(desk, ride))

    for said in (
        "Will-call: wait for dispatch", "due 15:00", "Dock, Unit 4W, Room 12, 3 steps", "Call first",
        "Desk (312) 555-0140", "Door code 4711", "Ring twice", "(312) 555-0111",
    ):  # fmt: skip
        assert said in text


def test_discharge_shows_entrance_and_meeting_point(desk: Client) -> None:
    ride = factories.RideFactory.create()
    front, ambulances = (
        factories.EntranceFactory.create(facility=ride.facility, name=name) for name in ("Front", "Bay 2")
    )
    ride.pickup |= {"facilityId": str(ride.facility_id), "entranceId": str(front.pk), "entranceText": "Front"}
    ride.discharge = {"pickupEntranceId": str(ambulances.pk), "unit": "4 West", "room": "417", "meetAt": "unit_desk"}
    ride.save()
    factories.put_driver_on(ride)

    text = _text(_pdf(desk, ride))

    assert "Bay 2, Unit 4 West, Room 417, Meet at: The unit desk" in text
    assert "Front" not in text


def test_a_free_day_has_no_sheet(desk: Client) -> None:
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride)

    assert desk.get(_address(ride, "?day=2026-12-24")).status_code == 404
    assert visitor(UserRole.PLANNER).get(_address(ride)).status_code == 403


def test_without_pango_it_is_said_and_nothing_breaks(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ride = factories.RideFactory.create()
    factories.put_driver_on(ride)

    class Without:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(), *sys.meta_path])
    answer = desk.get(_address(ride), follow=True)

    assert "need Pango, which is not installed on the server" in told(answer)[0]
    assert not AuditEntry.objects.filter(action="rides.run_sheet").exists()


def test_pdf_document_fetches_nothing(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="refers to no other file"):
        pdf._nothing("file:///etc/passwd")
