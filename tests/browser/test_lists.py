"""Lists in a browser: sorted by column headers, customized, saved as views, and the board filtered."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.dispatch.rules.axis import service_day
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType
from apps.rides.services import exceptions
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.fleet.crew import fit_driver
from tests.webhooks import made

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
DESK = "/console/exceptions/"
DELIVERIES = "/console/developers/deliveries/"
DRIVERS = "/console/fleet/drivers/"
BOARD = "/console/board/"
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def dana(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")


def _open(severity: ExceptionSeverity, minutes: int) -> None:
    now = timezone.now()
    ride = factories.RideFactory.create(pickup_at=now)
    with transaction.atomic():
        exceptions.open_exception(
            locked(ride.pk, system()),
            ExceptionType.LATE_PICKUP,
            by=system(),
            at=now - minutes * MINUTE,
            detected_by="browser",
            severity=severity,
        )


def _ages(page: Page) -> list[str]:
    return page.locator("#exceptions tbody td[data-label='Open for']").all_inner_texts()


@pytest.mark.parametrize("has_script", [True, False])
def test_heads_of_columns_sort_with_and_without_script(inspector_of: InspectorOf, dana: User, has_script: bool) -> None:
    for severity, minutes in ((ExceptionSeverity.CRITICAL, 5), (ExceptionSeverity.INFO, 50)):
        _open(severity, minutes)
    inspector, found = inspector_of(dana), []
    with inspector.context(java_script_enabled=has_script) as context:
        page = context.new_page()
        page.goto(inspector.url + DESK)
        expect(page.locator("th[aria-sort]")).to_have_text("Act by ↑")
        assert [age.split(" ")[0] for age in _ages(page)] == ["5", "50"]

        page.get_by_role("link", name="Open for").click()
        page.wait_for_url("**/?sort=-age")
        expect(page.locator("th[aria-sort=descending]")).to_have_text("Open for ↓")
        assert [age.split(" ")[0] for age in _ages(page)] == ["50", "5"]
        page.get_by_role("link", name="Open for").press("Enter")
        page.wait_for_url("**/?sort=age")
        assert [age.split(" ")[0] for age in _ages(page)] == ["5", "50"]
        if has_script:
            found += faults(page)

        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_text("View options").click()
        page.get_by_label("Order").select_option("harm")
        page.get_by_role("button", name="Arrange").click()
        page.wait_for_url("**/exceptions/?rows=100")
        if has_script:
            page.get_by_text("View options").click()
            found += faults(page)

    assert found == [], "\n".join(found)


def test_search_for_drivers_stays_when_they_are_sorted(inspector_of: InspectorOf, dana: User) -> None:
    for name in ("Adair", "Adams", "Brooks"):
        fit_driver(last_name=name)
    inspector = inspector_of(dana)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + DRIVERS)
        page.get_by_label("Name").first.fill("ada")
        page.get_by_role("button", name="Apply").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Driver", exact=True).click()
        names = page.locator("tbody th a").all_inner_texts()
        found = faults(page)
        assert page.url == inspector.url + DRIVERS, "names have no place in addresses"

    assert [name.partition(",")[0] for name in names] == ["Adams", "Adair"]
    assert found == [], "\n".join(found)


def test_columns_are_chosen_and_stay_so_in_another_browser(inspector_of: InspectorOf, transactional_db: None) -> None:
    person = factories.UserFactory.create(role=UserRole.ADMIN)
    for _ in range(3):
        made.delivery(made.endpoint(), made.event())
    inspector, found = inspector_of(person), []
    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + DELIVERIES)
        page.get_by_text("View options").click()
        page.get_by_label("Attempts").uncheck()
        page.get_by_label("Next attempt").uncheck()
        page.get_by_label("Rows a page").select_option("100")
        found += faults(page)
        page.get_by_role("button", name="Arrange").click()
        page.wait_for_url("**/deliveries/?rows=100")
        expect(page.locator("tbody tr")).to_have_count(3)
        found += faults(page)
    with inspector_of(person).context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(inspector.url + DELIVERIES)
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator("#list-rows")).to_have_value("100")
        heads = [" ".join(head.split()) for head in page.locator("thead th").all_inner_texts()]
        assert heads[1:] == ["Event", "Status", "Endpoint", "Created ↓", "Last result"]

    assert found == [], "\n".join(found)


def test_view_is_shared_with_a_role_renamed_and_removed(inspector_of: InspectorOf, dana: User) -> None:
    _open(ExceptionSeverity.CRITICAL, 5)
    inspector, found = inspector_of(dana), []
    colleague = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    with inspector.context() as context, colleague.context() as elsewhere:
        page, other = context.new_page(), elsewhere.new_page()
        page.goto(f"{inspector.url}{DESK}?severity=critical&sort=-age")
        page.get_by_text("Save this view…").click()
        page.get_by_label("Name").fill("Worst by age")
        page.get_by_label("Who sees it").select_option("role")
        found += faults(page)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".saved-views a[aria-current]")).to_contain_text("Worst by age")
        found += faults(page)

        other.goto(inspector.url + DESK)
        other.get_by_role("link", name="Worst by age").click()
        other.wait_for_url("**/?severity=critical&sort=-age")
        expect(other.get_by_role("link", name="Rename, share or remove")).to_have_count(0)
        found += faults(other)

        page.get_by_role("link", name="Rename, share or remove").click()
        page.get_by_label("Name").fill("Oldest of the worst")
        found += faults(page)
        page.get_by_role("button", name="Save", exact=True).click()
        page.wait_for_url("**/?severity=critical&sort=-age")
        page.get_by_role("link", name="Rename, share or remove").click()
        page.get_by_role("button", name="Remove this view").click()
        expect(page.locator(".messages")).to_contain_text("The view is removed.")
        expect(page.get_by_role("link", name="Oldest of the worst")).to_have_count(0)

    assert found == [], "\n".join(found)


def _wait_until_live(page: Page) -> None:
    """Wait for the live connection: on connecting, the board is fetched again, which closes open panels."""
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_board_of_several_regions_is_narrowed_down_and_stays_so(inspector_of: InspectorOf, dana: User) -> None:
    now = timezone.now()
    # The board shows one service day of its zone: near the end of either, the rides are those of the last minutes.
    zones = ("America/Denver", "America/Chicago")
    ends_soon = any(service_day(now + 30 * MINUTE, zone) != service_day(now, zone) for zone in zones)
    first = now - 45 * MINUTE if ends_soon else now
    ours, theirs = factories.FacilityFactory.create(name="Ours"), factories.FacilityFactory.create(name="Theirs")
    rides: list[Ride] = []
    for facility, zone in zip((ours, theirs), zones, strict=True):
        driven = factories.RideFactory.create(facility=facility, timezone=zone, pickup_at=first + 20 * MINUTE)
        factories.put_driver_on(driven)
        waiting = factories.RideFactory.create(facility=facility, timezone=zone, pickup_at=first + 30 * MINUTE)
        rides += [driven, waiting]
    inspector, found = inspector_of(dana), []
    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url + BOARD)
        expect(page.locator(".driver-row")).to_have_count(2)
        _wait_until_live(page)
        page.get_by_title("Filter").click()
        found += faults(page)
        page.get_by_label("Facility").select_option("Ours")
        page.locator(".board-part").get_by_role("button", name="Apply").click()
        page.wait_for_url(f"**/?facility={ours.pk}*")
        expect(page.locator(".driver-row")).to_have_count(1)
        expect(page.locator("[data-counter=waiting] strong")).to_have_text("1")
        found += faults(page)

        _wait_until_live(page)
        with transaction.atomic():  # a remote change adds no row outside the filter
            exceptions.open_exception(
                locked(rides[2].pk, system()), ExceptionType.LATE_PICKUP, by=system(), at=now, detected_by="browser"
            )
            exceptions.open_exception(
                locked(rides[0].pk, system()),
                ExceptionType.LATE_PICKUP,
                by=system(),
                at=now,
                detected_by="browser",
                severity=ExceptionSeverity.CRITICAL,
            )
        expect(page.locator(".bar.severe")).to_have_count(1)
        expect(page.locator(".driver-row")).to_have_count(1)
        expect(page.locator("[data-counter=waiting] strong")).to_have_text("1")

        page.keyboard.press("]")
        page.wait_for_url(f"**/?day=*facility={ours.pk}")
        page.get_by_role("link", name="List", exact=True).click()
        page.wait_for_url(f"**view=list&facility={ours.pk}")
        found += faults(page)
        page.goto(f"{inspector.url}{BOARD}?zone=America/Denver")
        expect(page.locator(".driver-row")).to_have_count(1)
        _wait_until_live(page)
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_title("Filter").click()
        found += faults(page)
        page.get_by_role("link", name="Time zone: Mountain Time").click()
        expect(page.locator(".driver-row")).to_have_count(2)

    assert found == [], "\n".join(found)
