"""Alerts grouped and aged: one row for a late driver with three rides, and nothing about rides that are over."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver, Leave
from apps.rides.models import Ride, RideException
from apps.rides.services import exception_monitor
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
BASE = "/console/exceptions/"
MINUTE = dt.timedelta(minutes=1)


def _ride_of(driver: Driver, pickup_at: dt.datetime, **columns: Any) -> Ride:
    window = {"window_starts_at": pickup_at, "window_ends_at": pickup_at + 15 * MINUTE}
    ride: Ride = factories.RideFactory.create(pickup_at=pickup_at, **window, **columns)
    factories.put_driver_on(ride, driver=driver)
    return ride


def test_late_driver_is_one_alert_and_old_alerts_are_gone(inspector_of: InspectorOf) -> None:
    now = timezone.now()
    position = {"last_lat": "41.900000", "last_lng": "-87.650000", "last_located_at": now}
    driver = factories.DriverFactory.create(first_name="Ana", last_name="Galarza", **position)
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    rides = [_ride_of(driver, now + minutes * MINUTE, facility=facility) for minutes in (20, 30, 40)]
    Leave.objects.create(driver=driver, starts_at=now - MINUTE, ends_at=now + 70 * MINUTE)
    over = _ride_of(factories.DriverFactory.create(), now - 300 * MINUTE, facility=facility)
    by = system()
    exception_monitor.watch(by=by, at=over.window_ends_at + MINUTE)
    assert RideException.objects.unsettled().filter(ride=over, type="late_pickup").exists()
    Ride.objects.update(next_check_at=now)
    exception_monitor.watch(by=by, at=now)
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk"))

    found = inspector.inspect(f"{BASE}?severity=warning", name="alerts-grouped")
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}{BASE}?severity=warning")
        row = page.locator("[data-exception]")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("min late: 3 rides at risk")
        expect(row).to_contain_text("Galarza runs")
        page.keyboard.press("j")
        page.keyboard.press("e")
        expect(row).to_contain_text("You")
        row.get_by_role("link", name="Galarza runs").first.click()
        expect(page.get_by_role("link", name="Move rides to other drivers")).to_be_visible()
        for ride in rides:
            expect(page.locator(f'main a[href$="/console/rides/{ride.pk}/"]').first).to_be_visible()
        found += inspector.inspect(page.url.removeprefix(inspector.url), name="alert-group")
        page.goto(f"{inspector.url}{BASE}history/")
        expect(page.get_by_role("row").filter(has_text="Late pickup").first).to_contain_text("No longer actionable")

    owners = set(RideException.objects.unsettled().filter(ride__in=rides).values_list("status", flat=True))
    assert owners == {"acknowledged"}
    assert found == [], "\n".join(found)
