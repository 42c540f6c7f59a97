"""Edit a ride in a real browser, by keyboard alone: what follows, each choice, and two people at once."""

import datetime as dt
from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from apps.rides.rules.draft import ReturnLeg
from apps.rides.services import booking, editing
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.fleet.crew import fit_pair
from tests.rides.drafts import HOME, draft

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def dana(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")


def _booked() -> Ride:
    """Book a trip with return for the next day at 14:00, whose driver has another ride at 16:00."""
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    rider = factories.RiderFactory.create(facility=facility, home_address=HOME)
    now = timezone.now()
    tomorrow = now.astimezone(ZoneInfo("America/Chicago")) + dt.timedelta(days=1)
    pickup_at = tomorrow.replace(hour=14, minute=0, second=0, microsecond=0).astimezone(dt.UTC)
    asked = draft(facility, rider, pickup_at=pickup_at, return_leg=ReturnLeg(pickup_at=pickup_at + 3 * HOUR))
    ride = booking.book(draft=asked, by=system(), at=now).ride
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    other = factories.RideFactory.create(pickup_at=pickup_at + 2 * HOUR)
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)
    fit_pair()
    return ride


def _focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.name"))


def test_ride_is_edited_by_keyboard_beside_somebody_else(inspector_of: InspectorOf, dana: User) -> None:
    ride = _booked()
    before = ride.pickup_at
    inspector = inspector_of(dana)
    path = f"/console/rides/{ride.pk}/edit/"
    found = inspector.inspect(path, name="ride-edit")
    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + path)
        assert _focused(page) == "clock"

        # Half an hour later: five keys, and the driver still fits.
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("1430")
        expect(page.locator("#ahead")).to_contain_text("The driver still fits.")
        expect(page.locator("#ahead")).to_contain_text("Return trip: 17:00")
        found += faults(page)
        page.keyboard.press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()
        expect(page.locator(".timeline")).to_contain_text("→")
        assert Ride.objects.get(pk=ride.pk).pickup_at == before + HOUR / 2

        # Onto the driver's other ride: the best other driver is preselected.
        page.goto(inspector.url + path)
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("1600")
        expect(page.locator("#crew-reassign")).to_be_checked()
        found += faults(page)
        page.set_viewport_size({"width": 390, "height": 844})
        found += faults(page)

        # Somebody else changes the note and the time meanwhile.
        theirs = {"notes": {"driver": "Back door"}, "pickup_at": before}
        editing.edit(ride_id=ride.pk, changes=theirs, by=system(), at=timezone.now())
        page.locator("[name=clock]").press("Enter")
        expect(page.get_by_role("heading", name="Someone else changed this ride meanwhile")).to_be_visible()
        expect(page.locator("#merge-driver_notes-theirs")).to_be_checked()
        expect(page.locator("#merge-clock-mine")).to_be_checked()
        found += faults(page)
        assert Ride.objects.get(pk=ride.pk).pickup_at == before
        page.locator("[name=clock]").press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()

    changed = Ride.objects.get(pk=ride.pk)
    assert (changed.pickup_at, changed.driver_notes) == (before + 2 * HOUR, "Back door")
    assert changed.driver_id != ride.driver_id
    assert found == [], "\n".join(found)
