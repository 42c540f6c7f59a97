"""First use in a browser: the setup checklist on an admin's home page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.webhooks.made import endpoint

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]


def test_first_use_leads_from_step_to_step_and_folds_away(inspector_of: InspectorOf, transactional_db: None) -> None:
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))
    with inspector.context() as context:
        page = context.new_page()
        setup = page.locator("#setup")
        next_step = setup.locator("[aria-current=step]")

        page.goto(f"{inspector.url}/console/home/")
        expect(setup.get_by_role("heading", name="Before the first ride")).to_be_visible()
        expect(next_step).to_contain_text("A facility with an entrance and a contact")
        found = faults(page)
        next_step.get_by_role("link", name="Add a facility").click()
        expect(page).to_have_url(f"{inspector.url}/admin/organizations/facility/add/")

        facility = factories.FacilityFactory.create()
        factories.EntranceFactory.create(facility=facility)
        factories.ContactFactory.create(facility=facility)
        page.goto(f"{inspector.url}/console/home/")
        expect(next_step).to_contain_text("A transport provider")
        shift = factories.ShiftFactory.create()
        page.reload()
        expect(next_step).to_contain_text("A vehicle that may be on the road")
        next_step.get_by_role("link", name="Add credentials").click()
        expect(page).to_have_url(f"{inspector.url}/console/fleet/credentials/?of=vehicles")

        factories.file_credentials(shift.driver, shift.vehicle)
        factories.UserFactory.create(role=UserRole.DISPATCHER)
        factories.UserFactory.create(role=UserRole.PLANNER).facilities.add(facility)
        page.goto(f"{inspector.url}/console/home/")
        expect(setup).not_to_have_attribute("open", "")
        expect(setup.locator("li").first).to_be_hidden()
        found += faults(page)
        setup.locator("summary").press("Enter")
        expect(setup.get_by_role("link", name="Create a token")).to_be_visible()
        found += faults(page)

        endpoint()
        page.reload()
        setup.locator("summary").click()
        expect(setup.get_by_text("Mail", exact=True)).to_be_visible()
        expect(setup.get_by_role("link", name="Create a token")).to_have_count(0)

    assert found == [], "\n".join(found)
