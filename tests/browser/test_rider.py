"""Rider's page in a real browser, and the way to it by keyboard when a rider calls."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.browser.harness import Inspector
from tests.browser.test_edit_ride import booked

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]


def _ride() -> Ride:
    """Create a rider with something in every section of the page; return the next ride."""
    home = factories.stop(name="", addressLine1="1418 N Wood St", unit="2B", instructions="Side gate")
    rider: Rider = factories.RiderFactory.create(
        first_name="Ernest",
        last_name="Kettleworth",
        date_of_birth=dt.date(1945, 4, 27),
        phones=[
            {"number": "+13125550131", "ext": "2725", "kind": "work"},
            {"number": "+13125550130", "ext": "", "kind": "mobile"},
        ],
        home_address=home,
        emergency_contact={"name": "Emil Kettleworth", "phone": "+13125550133", "relation": "brother"},
        excluded_driver_ids=[factories.DriverFactory.create(last_name="Never").pk],
        status="on_hold",
        status_reason="Away",
    )
    factories.AccommodationProfileFactory.create(
        rider=rider, mobility="wheelchair", oxygen_uses=True, home_steps=12, driver_notes="Knock loudly."
    )
    now = timezone.now()
    hours = (3, 27, 51, -20 * 24)
    soon, *_others, past = (
        factories.RideFactory.create(rider=rider, pickup_at=now + dt.timedelta(hours=count)) for count in hours
    )
    factories.put_driver_on(soon)
    factories.put_driver_on(past)
    delivered = {"status": "completed", "status_before_end": "in_progress", "boarded_at": past.pickup_at}
    Ride.objects.filter(pk=past.pk).update(
        **delivered, dropped_off_at=past.pickup_at, missing_documents=["pickup_signature"]
    )
    return soon


def test_pages_of_a_rider_are_sound(inspector_of: InspectorOf) -> None:
    ride = _ride()
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))

    found = inspector.inspect(f"/console/riders/{ride.rider_id}/", name="rider-page")
    found += inspector.inspect(f"/console/riders/{ride.rider_id}/edit/", name="rider-edit")
    found += inspector.inspect(f"/console/riders/{ride.rider_id}/needs/", name="rider-needs")
    found += inspector.inspect(f"/console/riders/{ride.rider_id}/stay/", name="rider-stay")

    assert found == [], "\n".join(found)


def test_caller_is_found_and_next_ride_moved_by_keyboard(inspector_of: InspectorOf) -> None:
    """From the call to the ride half an hour later: at most 12 keys."""
    ride = booked(first_name="Ernest", last_name="Kettleworth")
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    with inspector.context() as context:
        page, keys = context.new_page(), 0

        def press(*names: str) -> None:
            nonlocal keys
            for name in names:
                keys += 1
                page.keyboard.press(name)

        page.goto(f"{inspector.url}/console/home/")
        press("Control+k", *"ket")
        expect(page.locator("#palette [role=option][aria-selected=true]")).to_contain_text("Kettleworth, Ernest")
        press("Enter")
        page.wait_for_url(f"**/console/riders/{ride.rider_id}/")
        expect(page.locator(".next-link")).to_be_focused()
        expect(page.locator(".next-ride")).to_contain_text("14:00")
        press("Tab", "Enter")
        page.wait_for_url(f"**/console/rides/{ride.pk}/edit/")
        expect(page.locator("[name=clock]")).to_be_focused()
        press(*"1430")
        expect(page.locator("#ahead")).to_contain_text("The driver still fits.")
        press("Enter")
        expect(page.get_by_text("The ride is changed.")).to_be_visible()

        assert keys <= 12
        assert Ride.objects.get(pk=ride.pk).pickup_at == ride.pickup_at + dt.timedelta(minutes=30)
        page.goto(f"{inspector.url}/console/riders/{ride.rider_id}/")
        expect(page.locator(".next-link")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/console/rides/{ride.pk}/")
