"""Shifts in a browser: the plan of a week, and one shift planned, changed, ended and repeated."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver, Leave, Shift, Vehicle
from tests import factories
from tests.browser.days import today
from tests.browser.harness import Inspector, faults
from tests.fleet.crew import fit_pair

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
PLAN = "/console/fleet/shifts/"
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)


@pytest.fixture
def sam(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR, name="Sam Supervisor")


def _ride(driver: Driver, vehicle: Vehicle, at: dt.datetime) -> None:
    ride = factories.RideFactory.create(pickup_at=at, service_date=timezone.localtime(at).date())
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)


@pytest.mark.nightly
def test_pages_of_shifts_are_sound_for_each_reader(inspector_of: InspectorOf, sam: User) -> None:
    desk, dana = inspector_of(sam), inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    found = desk.inspect(PLAN, name="shifts-empty")
    provider = factories.TransportProviderFactory.create(name="Lakeshore Transit")
    noon = timezone.now().replace(hour=18, minute=0, second=0, microsecond=0)
    for number in range(12):
        driver, vehicle = fit_pair(provider, last_name=f"Diaz {number:02}", first_name="Ada")
        for day in range(number % 3, 7, 2):
            at = noon + (day - 3) * DAY
            factories.ShiftFactory.create(
                driver=driver, vehicle=vehicle, starts_at=at - (number % 4) * HOUR, ends_at=at + 8 * HOUR
            )
        Leave.objects.create(driver=driver, starts_at=noon + number * DAY, ends_at=noon + (number + 1) * DAY)
    now = timezone.now()
    Shift.objects.filter(starts_at__lt=now, ends_at__gt=now).delete()
    running = factories.ShiftFactory.create(driver=driver, vehicle=vehicle, starts_at=now - HOUR, ends_at=now + HOUR)

    found += desk.inspect(PLAN, name="shifts-week")
    found += dana.inspect(PLAN, name="shifts-week-dispatcher")
    found += desk.inspect(f"{PLAN}new/", name="shift-new")
    found += desk.inspect(f"{PLAN}{running.pk}/", name="shift-running")

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_shift_is_planned_changed_and_planned_once_more(inspector_of: InspectorOf, sam: User, script: bool) -> None:
    driver, vehicle = fit_pair(last_name="Diaz", first_name="Ada")
    vehicle.unit_number = "V17"
    vehicle.save()
    inspector, found = inspector_of(sam), []
    day = today() + 7 * DAY
    with inspector.context(java_script_enabled=script) as context:
        page = context.new_page()

        def state() -> list[str]:
            return faults(page) if script else []

        page.goto(f"{inspector.url}{PLAN}?day={day.isoformat()}")
        page.get_by_role("link", name="Plan a shift of Diaz, Ada").first.click()
        page.get_by_label("From", exact=True).fill("6a")
        page.get_by_label("Until", exact=True).fill("25:00")
        page.get_by_role("button", name="Plan the shift").click()
        expect(page.locator(".error-summary")).to_contain_text("Until: Enter a time such as 14:30")
        found += state()
        page.get_by_label("Until", exact=True).fill("1400")
        page.get_by_role("button", name="Plan the shift").click()
        expect(page.locator(".messages")).to_contain_text("The shift is planned")
        found += state()

        page.get_by_role("link", name="06:00\N{EN DASH}14:00 V17").click()
        shift = Shift.objects.get()
        _ride(driver, vehicle, shift.starts_at + 7 * HOUR)
        page.get_by_label("Until", exact=True).fill("12:00")
        page.get_by_role("button", name="Save the shift").click()
        expect(page.get_by_role("heading", name="1 ride would be outside the driver's shifts")).to_be_visible()
        found += state()
        page.get_by_label("I have reviewed these rides").check()
        _ride(driver, vehicle, shift.starts_at + 6.5 * HOUR)  # meanwhile
        page.get_by_role("button", name="Save the shift").click()
        expect(page.get_by_role("heading", name="2 rides would be outside the driver's shifts")).to_be_visible()
        expect(page.locator(".error-summary")).to_contain_text(
            "More rides would be outside the driver's shifts than you reviewed."
        )
        expect(page.get_by_role("cell", name="Added since your review; stays with the driver")).to_have_count(1)
        expect(page.get_by_label("I have reviewed these rides")).not_to_be_checked()
        found += state()
        page.get_by_label("I have reviewed these rides").check()
        page.get_by_role("button", name="Save the shift").click()
        expect(page.locator(".messages")).to_contain_text("The shift is changed")

        page.get_by_role("link", name="06:00\N{EN DASH}12:00 V17").click()
        page.get_by_role("link", name="With the driver").click()
        page.get_by_label("Day").fill(timezone.localtime(shift.starts_at).date().isoformat())
        page.get_by_role("button", name="Plan the shift").click()
        expect(page.locator(".error-summary")).to_contain_text("The driver is in another shift at that time.")
        found += state()
        page.get_by_label("From", exact=True).fill("13:00")
        page.get_by_label("Until", exact=True).fill("15:00")
        page.get_by_role("button", name="Plan the shift").click()

        page.get_by_role("link", name="13:00\N{EN DASH}15:00 V17").click()
        page.get_by_role("button", name="Cancel the shift").click()
        expect(page.get_by_role("heading", name="1 ride would be outside the driver's shifts")).to_be_visible()
        found += state()
        _ride(driver, vehicle, shift.starts_at + 8 * HOUR)
        page.get_by_role("button", name="Cancel anyway").click()
        expect(page.get_by_role("heading", name="2 rides would be outside the driver's shifts")).to_be_visible()
        expect(page.locator(".error-summary")).to_contain_text(
            "More rides would be outside the driver's shifts than you reviewed."
        )
        found += state()
        page.get_by_role("button", name="Cancel anyway").click()
        expect(page.locator(".messages")).to_contain_text("The shift is canceled.")

    assert Shift.objects.filter(status="planned").count() == 1
    assert found == [], "\n".join(found)


def test_the_plan_opens_by_keys(inspector_of: InspectorOf, sam: User) -> None:
    inspector = inspector_of(sam)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/console/fleet/drivers/")
        page.keyboard.press("g")
        with page.expect_navigation():  # until the scripts that handle keys have loaded
            page.keyboard.press("s")
        expect(page).to_have_url(f"{inspector.url}{PLAN}")
        page.keyboard.press("/")
        expect(page.get_by_label("Week of")).to_be_focused()
