"""Ride page in a real browser: valid in every state, during navigation, and when it is stale."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import (
    booking,
    editing,
    exceptions,
    legs,
    status_report,
)
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.rides.drafts import HOME, draft
from tests.rides.rides_in import ride_in

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]


@pytest.fixture
def dana(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")


def _path(ride: Ride) -> str:
    return f"/console/rides/{ride.pk}/"


def _told(by: User | None = None) -> dict[str, Any]:
    caller = system() if by is None else factories.principal(UserRole.DISPATCHER, id=by.pk)
    return {"by": caller, "at": timezone.now()}


def _ride(dana: User) -> Ride:
    """A discharge in progress with everything that a page can show: texts, crew, and an exception."""
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    factories.ContactFactory.create(facility=facility)
    rider = factories.RiderFactory.create(
        facility=facility, first_name="Orla", last_name="Abernathy", home_address=HOME
    )
    at = timezone.now()
    asked = draft(
        facility,
        rider,
        pickup_at=at + dt.timedelta(minutes=40),
        service_type="hospital_discharge",
        discharge={
            "unit": "4 West",
            "unitPhone": "+13125550141",
            "planner": {"name": "Pia Planner", "phone": "+13125550142"},
            "checklist": {"orderSigned": True},
        },
    )
    ride = booking.book(draft=asked, by=system(), at=at).ride
    written = {"driver": "Ring twice.", "dispatcher": "Asked for a quiet driver.", "facility": ""}
    legs.seal_access(ride, pickup=None, dropoff={"accessCode": "4711#"})
    ride.save(update_fields=["dropoff_access_encrypted"])
    editing.edit(ride_id=ride.pk, changes={"notes": written}, **_told(dana))
    factories.put_driver_on(ride)
    for minutes in (9, 6):
        moment = MilestoneReport(type="departed", occurred_at=at - dt.timedelta(minutes=minutes))
        said = StatusReport(status=RideStatus.EN_ROUTE, source="dispatcher_manual", milestones=(moment,))
        status_report.change_status(ride_id=ride.pk, report=said, **_told(dana))
    with transaction.atomic():
        at_door = locked(ride.pk, system())
        exceptions.open_exception(at_door, ExceptionType.ADDRESS_PROBLEM, detected_by="browser", **_told())
    return Ride.objects.get(pk=ride.pk)


@pytest.mark.nightly
def test_ride_pages_are_sound_for_each_reader(inspector_of: InspectorOf, dana: User) -> None:
    ride = _ride(dana)
    planner, auditor, fleet = (
        factories.UserFactory.create(role=role) for role in (UserRole.PLANNER, UserRole.AUDITOR, UserRole.FLEET_ADMIN)
    )
    assert ride.facility is not None
    assert ride.provider is not None
    planner.facilities.add(ride.facility)
    fleet.providers.add(ride.provider)

    asking = factories.RideFactory.create(facility=ride.facility, pickup_at=timezone.now())
    with transaction.atomic():
        told = {"details": {"told": ["dispatcher", "planner"]}, "detected_by": "browser", **_told()}
        exceptions.open_exception(locked(asking.pk, system()), ExceptionType.NO_DRIVER_AVAILABLE, **told)

    found = inspector_of(dana).inspect(_path(ride), name="ride")
    found += inspector_of(planner).inspect(_path(asking), name="ride-asking")
    found += inspector_of(dana).inspect(_path(ride_in(RideStatus.CANCELLED)), name="ride-cancelled")
    found += inspector_of(auditor).inspect(_path(ride), name="ride-auditor")
    found += inspector_of(fleet).inspect(_path(ride), name="ride-provider")

    assert found == [], "\n".join(found)


def test_r1_url_of_a_report_can_be_shared_and_back_returns(inspector_of: InspectorOf, dana: User) -> None:
    first = _ride(dana)
    inspector = inspector_of(dana)
    with inspector.context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 700})
        page.goto(inspector.url + "/console/home/")
        page.evaluate("() => window.scrollTo(0, document.body.scrollHeight / 2)")
        was = page.evaluate("() => window.scrollY")
        page.goto(inspector.url + _path(first))
        expect(page.get_by_role("heading", level=1)).to_contain_text("Abernathy, Orla")
        page.go_back()
        page.wait_for_function(f"() => Math.abs(window.scrollY - {was}) < 5")

    assert was > 100


def test_r2_cancel_needs_a_reason_and_shows_user_and_time(inspector_of: InspectorOf, dana: User) -> None:
    ride = _ride(dana)
    inspector, found = inspector_of(dana), []
    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + _path(ride))
        page.get_by_text("Cancel…").click()
        found += faults(page)
        page.get_by_role("button", name="Cancel the ride").click()
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        page.get_by_role("link", name="Reason: This field is required.").click()
        expect(page.locator("#cancel_reason_code")).to_be_focused()

        editing.edit(ride_id=ride.pk, changes={"notes": {"driver": "Back door"}}, **_told(dana))
        page.locator("#cancel_reason_code").select_option("rider_hospitalized")
        page.get_by_role("button", name="Cancel the ride").click()
        expect(page.get_by_role("heading", name="What changed since you opened the page")).to_be_visible()
        found += faults(page)
        assert Ride.objects.get(pk=ride.pk).status == "en_route"

        page.get_by_role("button", name="Cancel the ride").click()
        expect(page.get_by_text("The ride is canceled.")).to_be_visible()
        line = page.locator(".timeline li.event").filter(has_text="Canceled")
        expect(line).to_contain_text("Dana Desk")
        expect(line.locator("time")).to_have_count(1)
        found += faults(page)

    assert Ride.objects.get(pk=ride.pk).status == "cancelled"
    assert found == [], "\n".join(found)
