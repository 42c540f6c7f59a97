"""The console in Spanish in a real browser: how to select it, and translation of its main pages."""

import datetime as dt
from collections.abc import Callable

import polib
import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from tests import factories, texts
from tests.browser.harness import Inspector, faults, too_wide
from tests.browser.test_day import _scene as day_at
from tests.browser.test_exceptions import _scene as open_exceptions
from tests.dispatch.seeded import seed
from tests.rides.drafts import HOME
from tests.tiers import NIGHTLY

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
PREFERENCES = "/console/preferences/"
# Text of a page: its text nodes and translatable attributes.
SAID = """() => {
  const said = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) said.push(walker.currentNode.data);
  for (const name of ["aria-label", "title", "placeholder", "alt", "data-label"])
    document.querySelectorAll(`[${name}]`).forEach((one) => said.push(one.getAttribute(name)));
  return [document.title.split(" · ")[0], ...said].map((one) => one.trim().replace(/\\s+/g, " "));
}"""


def _english() -> set[str]:
    """Return the English texts that differ in Spanish; without composed texts and names."""
    (path,) = texts.CATALOGUES
    entries = [one for one in polib.pofile(str(path)) if "%" not in one.msgid and not one.msgctxt]
    return {one.msgid for one in entries if len(one.msgid) > 3 and one.msgid != one.msgstr} - {"Home"}


def _left_over(page: Page) -> list[str]:
    return [f"English is left: {one}" for one in sorted(_english() & set(page.evaluate(SAID)))]


def _in_spanish(person: User) -> User:
    person.language = "es"
    person.save(update_fields=["language"])
    return person


def _read(desk: Inspector, paths: dict[str, str]) -> list[str]:
    """Return what is English, or too wide, on pages; nightly also what else is at fault.

    By day the tests of English pages alone let axe examine the same elements.
    """
    errors = []
    with desk.context() as context:
        page = context.new_page()
        for name, path in paths.items():
            page.goto(desk.url + path)
            expect(page.locator("html")).to_have_attribute("lang", "es")
            errors += [f"{name}: {error}" for error in _left_over(page) + (faults if NIGHTLY else too_wide)(page)]
    return errors


def test_language_is_chosen_on_the_preferences_page(inspector_of: InspectorOf, transactional_db: None) -> None:
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk"))
    with desk.context(locale="en-US") as context:
        page = context.new_page()
        page.goto(desk.url + PREFERENCES)
        expect(page.locator("html")).to_have_attribute("lang", "en")

        page.get_by_label("Language").select_option("Español")
        page.get_by_label("12 hours").check()
        page.get_by_role("button", name="Save").click()

        expect(page.get_by_text("Se guardaron sus preferencias.")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "es")
        expect(page.get_by_role("link", name="Tablero de despacho")).to_be_visible()
        expect(page.locator(".clock strong")).to_contain_text("m.")
        page.get_by_label("Idioma").select_option("")
        page.get_by_role("button", name="Guardar").click()
        expect(page.get_by_text("Your preferences are saved.")).to_be_visible()

    with desk.context(locale="es-MX") as context:
        page = context.new_page()
        page.goto(desk.url + PREFERENCES)
        expect(page.get_by_role("heading", level=1)).to_have_text("Preferencias")


def test_sign_in_is_sound_in_spanish(inspector_of: InspectorOf, transactional_db: None) -> None:
    desk = inspector_of(None)
    with desk.context(locale="es-US") as context:
        page = context.new_page()
        page.goto(desk.url)
        expect(page.get_by_role("button", name="Iniciar sesión", exact=True)).to_be_visible()

        assert _left_over(page) == []


@pytest.mark.nightly
def test_pages_of_the_desk_are_sound_in_spanish(inspector_of: InspectorOf, transactional_db: None) -> None:
    desk = inspector_of(_in_spanish(factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")))
    stood = open_exceptions()[0]
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=120, drivers=8, riders=60)
    board = f"/console/board/?day={day.date}"

    found = _read(
        desk,
        {
            "home": "/",
            "preferences": PREFERENCES,
            "board": board,
            "board-list": f"{board}&view=list",
            "exceptions": "/console/exceptions/",
            "exception": f"/console/exceptions/{stood.pk}/",
            "ride": f"/console/rides/{stood.ride_id}/",
            "book": "/console/book/",
            "recurring": "/console/recurring/",
            "drivers": "/console/fleet/drivers/",
            "credentials": "/console/fleet/credentials/",
        },
    )

    assert found == [], "\n".join(found)


def test_pages_of_a_facility_are_sound_in_spanish(inspector_of: InspectorOf, transactional_db: None) -> None:
    facility: Facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    pia = _in_spanish(factories.UserFactory.create(role=UserRole.PLANNER, name="Pia Planner"))
    pia.facilities.add(facility)
    factories.RiderFactory.create(facility=facility, first_name="Grace", last_name="Walsh", home_address=HOME)
    day_at(facility)

    found = _read(inspector_of(pia), {"day": "/console/day/", "book": "/console/book/", "home": "/"})

    assert found == [], "\n".join(found)
