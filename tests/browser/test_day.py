"""A facility's day in a real browser: valid in every state, by keyboard, live, and without script."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import exceptions, status_report
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.rides.looks import MINUTE, released
from tests.rides.rides_in import ride_in

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
BASE = "/console/day/"


def _discharge(facility: Facility, name: str, **more: Any) -> Ride:
    rider = factories.RiderFactory.create(facility=facility, first_name=name, last_name="Abernathy")
    factories.AccommodationProfileFactory.create(rider=rider)
    now = timezone.now()
    details = {
        "unit": "4 West",
        "room": "417",
        "unitPhone": "+13125550141",
        "planner": {"name": "Pia Planner", "phone": "+13125550142"},
        "dischargeOrderAt": (now - 95 * MINUTE).isoformat(),
        "checklist": {"orderSigned": True, "belongings": True},
    }
    given: dict[str, Any] = {
        "facility": facility,
        "rider": rider,
        "service_type": "hospital_discharge",
        "discharge": details | more.pop("details", {}),
        "pickup_at": now,
        "will_call": True,
        "pickup_time_kind": "estimated",
        "will_call_expires_at": now + dt.timedelta(hours=9),
    }
    return factories.RideFactory.create(**(given | more))


def _scene(facility: Facility) -> tuple[Ride, Ride]:
    now = timezone.now()
    signed, unsigned = _discharge(facility, "Orla"), _discharge(facility, "Nils", details={"checklist": {}})
    asking = _discharge(facility, "Ada", ready_at=now - 64 * MINUTE, ready_source="phone", promised_pickup_by=now)
    with transaction.atomic():
        said: dict[str, Any] = {
            "details": {"told": ["dispatcher", "planner"]},
            "detected_by": "browser",
            "by": system(),
            "at": now,
        }
        exceptions.open_exception(locked(asking.pk, system()), ExceptionType.NO_DRIVER_AVAILABLE, **said)
    moving = released(now - 20 * MINUTE, facility=facility, pickup_at=now)
    factories.put_driver_on(moving)
    Ride.objects.filter(pk=moving.pk).update(status="en_route", departed_at=now - 5 * MINUTE)
    eta = StatusReport(status=RideStatus.EN_ROUTE, source="driver_app", eta_pickup=now + 47 * MINUTE)
    status_report.change_status(ride_id=moving.pk, report=eta, by=system(), at=now)
    factories.RideFactory.create(facility=facility, pickup_at=now)
    ride_in(RideStatus.COMPLETED, facility=facility, pickup_at=now)
    return signed, unsigned


def test_w2_day_is_worked_through_and_a_second_ready_is_ignored(
    inspector_of: InspectorOf, transactional_db: None
) -> None:
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    pia = factories.UserFactory.create(role=UserRole.PLANNER, name="Pia Planner")
    pia.facilities.add(facility)
    inspector = inspector_of(pia)
    found = inspector.inspect(BASE, name="day-empty")
    signed, unsigned = _scene(facility)
    found += inspector.inspect(BASE, name="day")
    found += inspector.inspect("/console/home/", name="home-planner")

    with inspector.context() as context:
        page, other = context.new_page(), context.new_page()
        for one in (page, other):
            one.goto(inspector.url + BASE)
            expect(one.locator("#live")).to_have_attribute("data-state", "live")

        page.locator(f"#ready-{unsigned.pk}").click()
        expect(page.locator(".error-summary")).to_be_focused()
        expect(page.locator(".error-summary")).to_contain_text("the discharge order is not signed")
        found += faults(page)
        page.locator(f"#tick-{unsigned.pk}-orderSigned").click()
        expect(page.locator(f"#tick-{unsigned.pk}-orderSigned")).to_have_attribute("aria-pressed", "true")

        other.locator(f"#ready-{signed.pk}").focus()  # a part of the page with the focus is not replaced
        page.locator(f"#ready-{signed.pk}").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".error-summary")).to_contain_text("Still open on the checklist: Medication in hand")
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Marked ready. Dispatch is notified.")).to_be_visible()
        expect(page.locator(".day-section.moving")).to_contain_text("Abernathy, Orla")
        found += faults(page)
        version = Ride.objects.get(pk=signed.pk).version

        other.keyboard.press("Enter")
        expect(other.get_by_text("The ride is already marked ready.")).to_be_visible()
        assert Ride.objects.get(pk=signed.pk).version == version

        page.get_by_role("button", name="Another mode").click()
        expect(page.get_by_role("link", name="Say how the rider can ride instead.")).to_be_visible()
        found += faults(page)
        page.get_by_role("button", name="Wait").click()
        expect(page.get_by_text("Answered: wait")).to_be_visible()
        expect(other.get_by_text("Answered: wait")).to_be_visible()

    with inspector.context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(inspector.url + BASE)
        plain.locator(f"#ready-{unsigned.pk}").click()
        plain.get_by_role("button", name="Mark ready anyway").click()
        expect(plain.get_by_text("Marked ready. Dispatch is notified.")).to_be_visible()

    assert Ride.objects.get(pk=unsigned.pk).ready_source == "facility_portal"
    assert found == [], "\n".join(found)


def test_day_of_two_facilities_is_filtered_and_printed(inspector_of: InspectorOf, transactional_db: None) -> None:
    ward, lodge = (factories.FacilityFactory.create(name=name) for name in ("Alder Hospital", "Birch Lodge"))
    pia = factories.UserFactory.create(role=UserRole.PLANNER, name="Pia Planner")
    pia.facilities.set([ward, lodge])
    _scene(ward)
    _discharge(lodge, "Berta")
    inspector = inspector_of(pia)
    found = inspector.inspect(BASE, name="day-of-two")
    found += inspector.inspect(f"{BASE}print/", name="day-for-printing")

    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + BASE)
        expect(page.get_by_role("heading", level=1)).to_contain_text("2 facilities")
        page.get_by_label("Facility").select_option("Birch Lodge")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Birch Lodge")
        assert f"facility={lodge.pk}" in page.url
        page.get_by_label("Facility").select_option("All of mine")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("2 facilities")

        page.get_by_role("link", name="Print").click()
        page.evaluate("() => { window.print = () => { window.__printed = true; }; }")
        page.get_by_role("button", name="Print").press("Enter")
        assert page.evaluate("() => window.__printed") is True
        page.emulate_media(media="print")
        expect(page.locator(".topbar")).to_be_hidden()
        expect(page.get_by_role("button", name="Print")).to_be_hidden()
        for width in (703, 725):  # A4 and Letter at 96 dpi, less the margins
            page.set_viewport_size({"width": width, "height": 1000})
            wide = page.evaluate("() => [...document.querySelectorAll('.paper-rides')].map((one) => one.scrollWidth)")
            assert max(wide) <= width
            size = page.locator(".paper-time").first.evaluate("(cell) => parseFloat(getComputedStyle(cell).fontSize)")
            assert size >= 20

    assert found == [], "\n".join(found)
