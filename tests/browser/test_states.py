"""Pages in the states that user actions create: axe on load misses content that opens later."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from tests import factories
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]


def _as(inspector_of: InspectorOf, role: UserRole) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=role))


def _tab_until(page: Page, selector: str) -> bool:
    """Press Tab until an element has the focus; return False if the page ends first."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return True
    return False


def test_sign_in_by_keyboard_and_out_again(inspector_of: InspectorOf) -> None:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    person.set_password("a heron stands in the canal")
    person.save()
    inspector = inspector_of(None)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/rides/ride/")
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill("a heron stands in the canal")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{inspector.url}/admin/rides/ride/")
        heading = page.get_by_role("heading", level=1).inner_text()
        page.goto(inspector.url)
        page.locator("details.account summary").click()
        opened = faults(page)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{inspector.url}/accounts/login/")
        page.goto(inspector.url)

        assert heading == "Rides"
        assert opened == []
        assert "/accounts/login/" in page.url


def test_sessions_fit_on_a_phone_with_any_user_agent(inspector_of: InspectorOf) -> None:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    person.set_password("a heron stands in the canal")
    person.save()
    inspector = inspector_of(None)

    with inspector.context(user_agent="Mozilla/5.0 Canarybrowser/" + "1" * 60) as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{inspector.url}/accounts/login/?next=/accounts/sessions/")
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill("a heron stands in the canal")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{inspector.url}/accounts/sessions/")

        expect(page.get_by_text("Canarybrowser")).to_be_visible()
        assert faults(page) == []


def test_refused_sign_in_says_so_where_readers_find_it(inspector_of: InspectorOf) -> None:
    inspector = inspector_of(None)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/accounts/login/")
        page.get_by_label("Email").fill("nobody@example.org")
        page.get_by_label("Password").fill("not the heron at all")
        page.get_by_role("button", name="Sign in", exact=True).click()

        expect(page.locator(".errorlist")).to_contain_text("not correct")
        assert faults(page) == []


def test_theme_is_switched_by_keyboard_and_kept(inspector_of: InspectorOf) -> None:
    inspector = _as(inspector_of, UserRole.DISPATCHER)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(inspector.url)
        reached = _tab_until(page, ".theme-toggle")
        page.keyboard.press("Enter")
        page.goto(f"{inspector.url}/admin/")
        theme = page.evaluate("() => document.documentElement.dataset.theme")
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")

        assert reached
        assert (theme, ground) == ("dark", "rgb(15, 20, 25)")


def test_contents_open_on_a_phone(inspector_of: InspectorOf) -> None:
    inspector = _as(inspector_of, UserRole.DISPATCHER)

    with inspector.context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(inspector.url)
        hidden = page.locator("#contents").is_visible()
        page.get_by_role("button", name="Contents").click()
        expect(page.locator("#contents")).to_be_visible()

        assert hidden is False
        assert page.get_by_role("button", name="Contents").get_attribute("aria-expanded") == "true"
        assert faults(page) == []


def test_skip_link_leads_to_the_content(inspector_of: InspectorOf) -> None:
    inspector = _as(inspector_of, UserRole.DISPATCHER)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")

        assert page.evaluate("() => document.activeElement.id") == "main"


def test_facility_is_edited_with_a_new_entrance(inspector_of: InspectorOf) -> None:
    facility = factories.FacilityFactory.create()
    inspector = _as(inspector_of, UserRole.ADMIN)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/organizations/facility/{facility.pk}/change/")
        page.get_by_text("Add another Entrance").click()
        page.locator("#id_entrances-0-name").fill("North door")
        unfolded = faults(page)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".message.success")).to_contain_text("was changed successfully")

        assert unfolded == []
        assert faults(page) == []
    assert Facility.objects.get().entrances.get().name == "North door"


def test_form_that_is_refused_shows_its_errors(inspector_of: InspectorOf) -> None:
    inspector = _as(inspector_of, UserRole.ADMIN)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/organizations/facility/add/")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".errornote")).to_be_visible()

        assert faults(page) == []


def test_buttons_of_a_person_are_reached_and_pressed_by_keyboard(inspector_of: InspectorOf) -> None:
    person = factories.UserFactory.create()
    inspector = _as(inspector_of, UserRole.ADMIN)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/accounts/user/{person.pk}/change/")
        reached = _tab_until(page, ".record-buttons details:nth-of-type(3) summary")
        page.keyboard.press("Enter")
        opened = faults(page)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".message.success")).to_contain_text("Sessions ended: 0.")

        assert reached
        assert opened == []


def test_search_leaves_no_name_in_the_address(inspector_of: InspectorOf) -> None:
    rider = factories.RiderFactory.create()
    inspector = _as(inspector_of, UserRole.DISPATCHER)

    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/admin/riders/rider/")
        page.get_by_role("searchbox").fill(rider.last_name)
        page.keyboard.press("Enter")
        expect(page.get_by_text("1 result")).to_be_visible()

        assert rider.last_name not in page.url
        assert rider.last_name not in page.title()
        assert faults(page) == []
