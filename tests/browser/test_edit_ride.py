"""Edit a ride in a real browser, by keyboard alone: what follows, each choice, and two people at once."""

import datetime as dt
from collections.abc import Callable
from typing import Any, Literal
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


def booked(**rider_columns: Any) -> Ride:
    """Book a trip with return for the next day at 14:00, whose driver has another ride at 16:00."""
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    rider = factories.RiderFactory.create(facility=facility, home_address=HOME, **rider_columns)
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
    ride = booked()
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


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {selector}")


def _type_time(page: Page, text: str) -> None:
    assert _focused(page) == "clock"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("choice", "width", "theme"),
    [("keep", 1440, "dark"), ("unassign", 390, "light"), ("reassign", 390, "dark")],
)
def test_driver_in_conflict_is_decided_about_by_keyboard(
    inspector_of: InspectorOf, dana: User, choice: str, width: int, theme: Literal["light", "dark"]
) -> None:
    ride, inspector = booked(), inspector_of(dana)
    before, driver_id = ride.pickup_at, ride.driver_id
    with inspector.context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=theme)
        page.goto(f"{inspector.url}/console/rides/{ride.pk}/edit/")
        _type_time(page, "1600")
        expect(page.locator("#crew-reassign")).to_be_checked()
        _tab_to(page, "[name=crew]")
        for name in {"reassign": [], "unassign": ["ArrowDown"], "keep": ["ArrowDown", "ArrowDown"]}[choice]:
            page.keyboard.press(name)
        expect(page.locator(f"#crew-{choice}")).to_be_checked()
        found = faults(page)
        page.emulate_media(color_scheme=theme)
        if choice == "keep":
            _tab_to(page, "[name=override_reason]")
            page.keyboard.type("The clinic asked for it")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()
        found += faults(page)

    changed = Ride.objects.get(pk=ride.pk)
    assert changed.pickup_at == before + 2 * HOUR
    assert (changed.driver_id == driver_id, changed.driver_id is None) == (choice == "keep", choice == "unassign")
    assert found == [], "\n".join(found)


def test_return_trip_stays_if_unchecked_by_keyboard(inspector_of: InspectorOf, dana: User) -> None:
    ride, inspector = booked(), inspector_of(dana)
    before = ride.pickup_at
    with inspector.context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{inspector.url}/console/rides/{ride.pk}/edit/")
        _type_time(page, "1430")
        expect(page.locator("#ahead")).to_contain_text("Return trip: 17:00")
        _tab_to(page, "[name=move_return][type=checkbox]")
        page.keyboard.press("Space")
        expect(page.locator("[name=move_return][type=checkbox]")).not_to_be_checked()
        found = faults(page)
        page.keyboard.press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()

    times = list(Ride.objects.filter(rider_id=ride.rider_id).order_by("pickup_at").values_list("pickup_at", flat=True))
    assert times == [before + HOUR / 2, before + 3 * HOUR]
    assert found == [], "\n".join(found)


def test_fields_of_two_people_are_decided_one_by_one(inspector_of: InspectorOf, dana: User) -> None:
    ride, inspector = booked(), inspector_of(dana)
    before = ride.pickup_at
    with inspector.context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        page.goto(f"{inspector.url}/console/rides/{ride.pk}/edit/")
        _type_time(page, "1430")
        _tab_to(page, "[name=driver_notes]")
        page.keyboard.type("Front door")
        theirs = {"notes": {"driver": "Back door", "facility": "Call the unit"}, "pickup_at": before + HOUR}
        editing.edit(ride_id=ride.pk, changes=theirs, by=system(), at=timezone.now())
        page.keyboard.press("ControlOrMeta+Enter")
        expect(page.get_by_role("heading", name="Someone else changed this ride meanwhile")).to_be_visible()
        expect(page.locator("#merge-clock-mine")).to_be_checked()
        expect(page.locator("#merge-driver_notes-mine")).to_be_checked()
        expect(page.locator("#merge-facility_notes-theirs")).to_be_checked()
        found = faults(page)
        # Take their time, keep the own note: the arrows choose within a field.
        _tab_to(page, "[name=merge_clock]")
        page.keyboard.press("ArrowUp")
        expect(page.locator("#merge-clock-theirs")).to_be_checked()
        page.keyboard.press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()

    changed = Ride.objects.get(pk=ride.pk)
    assert (changed.pickup_at, changed.driver_notes) == (before + HOUR, "Front door")
    assert changed.facility_notes == "Call the unit"
    assert found == [], "\n".join(found)
