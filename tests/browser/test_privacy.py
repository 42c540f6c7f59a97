"""Privacy mode in a browser: no rider name anywhere in a page, nor in live updates (P16)."""

import datetime as dt
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.services import assignment
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.dispatch.seeded import seed

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
BOARD = "/console/board/"
LAST, FIRST, INITIALS = "Quxwilliams", "Zebedee", "Q., Z."


def _named(text: str) -> bool:
    return LAST in text or FIRST in text


def _switch(page: Page, name: str) -> None:
    """Switch by keyboard: the command palette offers the command on every page."""
    page.keyboard.press("Control+k")
    page.keyboard.type(name)
    expect(page.locator("#palette [role=option]").first).to_contain_text(name)
    page.keyboard.press("Enter")


def test_p16_wall_screen_shows_initials_in_every_part_that_comes(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=120, drivers=8, riders=60)
    Rider.objects.update(last_name=LAST, first_name=FIRST)
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    ride, driver = day.waiting[0], day.drivers[0]
    told: list[str] = []

    def listen(route: Route) -> None:
        answer = route.fetch(max_redirects=0)
        if _named(answer.text()):
            told.append(route.request.url)
        route.fulfill(response=answer)

    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOARD}?day={day.date}")
        assert _named(page.content())
        page.locator(".board-head").get_by_role("button", name="Privacy mode (initials only)").press("Enter")
        expect(page.locator(".privacy-mark")).to_be_visible()
        assert page.url == f"{desk.url}{BOARD}?day={day.date}"
        page.route("**/console/board/**", listen)
        found = faults(page)
        texts = [page.content()]
        expect(page.locator("#live")).to_have_text("Live", timeout=30_000)

        # Another user assigns a driver: the row and the queue are fetched again.
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver.pk,
            vehicle_id=driver.default_vehicle_id
            or Ride.objects.exclude(vehicle=None).values_list("vehicle", flat=True)[0],
            override=True,
            override_reason="A test",
            by=system(),
            at=dt.datetime.now(dt.UTC),
        )
        expect(page.locator(f".driver-row #ride-{ride.pk}")).to_have_count(1, timeout=30_000)
        expect(page.locator(f"#ride-{ride.pk}")).to_contain_text(INITIALS)
        texts.append(page.content())

        page.keyboard.press("q")
        page.keyboard.press("Enter")
        expect(page.locator("#panel h2")).to_have_text("Ride")
        expect(page.locator("#panel")).to_contain_text(INITIALS)
        texts.append(page.content())
        found += faults(page)
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        expect(page.locator("dialog[open] .candidate").first).to_be_visible()
        texts.append(page.content())
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_contain_text("Assigned to")
        texts.append(page.content())
        for path in ("&view=list", "&view=map"):
            page.goto(f"{desk.url}{BOARD}?day={day.date}{path}")
            texts.append(page.content())
        page.goto(f"{desk.url}{BOARD}drivers/{driver.pk}/?day={day.date}")
        texts.append(page.content())
        found += faults(page)
        assert INITIALS in page.content()

        page.unroute_all()
        _switch(page, "Turn privacy mode off")
        expect(page.locator(".privacy-mark")).to_have_count(0)
        by_name = page.content()

    assert [number for number, text in enumerate(texts) if _named(text)] == []
    assert told == []
    assert f"{LAST}, {FIRST}" in by_name
    assert found == [], "\n".join(found)


def test_p16_privacy_mode_works_without_script_across_sessions(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    rider = factories.RiderFactory.create(last_name=LAST, first_name=FIRST)
    factories.RideFactory.create(rider=rider, pickup_at=dt.datetime.now(dt.UTC))
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/preferences/")
        page.locator("main").get_by_role("button", name="Privacy mode (initials only)").click()
        expect(page.get_by_text("Privacy mode is on")).to_be_visible()
        page.goto(desk.url + BOARD)
        first = page.content()
        context.clear_cookies(name="carelane_session")
        context.add_cookies(inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER)).cookies)
        page.reload()
        second = page.content()
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_role("button", name="Privacy mode").click()
        third = page.content()

    assert [_named(text) for text in (first, second, third)] == [False, False, True]
    assert INITIALS in first
