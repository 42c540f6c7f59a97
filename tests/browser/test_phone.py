"""Pages that people use on a phone in one hand: nothing is cut off, and what is pressed is as large as a thumb."""

import datetime as dt
from collections.abc import Callable

import pytest
from playwright.sync_api import ViewportSize, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from tests import factories
from tests.browser.harness import OVERFLOW, Inspector
from tests.browser.test_day import _scene as day_at
from tests.browser.test_exceptions import _scene as open_exceptions
from tests.dispatch.seeded import seed
from tests.rides.drafts import HOME

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
PHONE: ViewportSize = {"width": 390, "height": 844}
# Controls lower than 44 px, or narrower; without links in running text, which WCAG 2.5.5 exempts too, and without marks
# of the map, which lie where the rides are.  A checkbox or radio button counts with its label.
SMALL = """() => [...document.querySelectorAll(
    ":is(main, .topbar) :is(a[href], button, summary, select, textarea, input:not([type=hidden]))")]
  .filter((one) => one.checkVisibility({ opacityProperty: true }) && !one.closest(".visually-hidden, .map-mark"))
  .filter((one) => !(one.tagName === "A" && one.closest("p, dd, td, .contents")))
  .map((one) => [one, (one.matches("[type=checkbox], [type=radio]") ? one.closest(".option, .choice") ?? one : one)])
  .map(([one, box]) => [one, box.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 1 && (width < 43.5 || height < 43.5))
  .map(([one, { width, height }]) => `${Math.round(width)} x ${Math.round(height)}: ${one.outerHTML.slice(0, 120)}`)"""


def _unfit(desk: Inspector, paths: dict[str, str]) -> list[str]:
    """Return what is too small or too wide on pages in a window as wide as a phone."""
    found = []
    with desk.context() as context:
        page = context.new_page()
        page.set_viewport_size(PHONE)
        for name, path in paths.items():
            page.goto(desk.url + path)
            expect(page.locator("h1")).to_have_count(1)
            found += [f"{name}: {small}" for small in page.evaluate(SMALL)]
            if (wide := page.evaluate(OVERFLOW)) > 0:
                found.append(f"{name}: {wide} px too wide")
    return found


def test_pages_of_a_facility_fit_a_thumb(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    facility: Facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    pia = factories.UserFactory.create(role=UserRole.PLANNER, name="Pia Planner")
    pia.facilities.add(facility)
    factories.RiderFactory.create(facility=facility, first_name="Grace", last_name="Walsh", home_address=HOME)
    day_at(facility)

    assert _unfit(inspector_of(pia), {"day": "/console/day/", "book": "/console/book/"}) == []


def test_pages_of_the_desk_fit_a_thumb(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    stood = open_exceptions()[0]
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=60, drivers=6, riders=30)
    paths = {
        "exceptions": "/console/exceptions/",
        "ride": f"/console/rides/{stood.ride_id}/",
        "map": f"/console/board/?day={day.date}&view=map",
    }

    assert _unfit(inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER)), paths) == []
