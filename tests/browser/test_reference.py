"""API reference: Swagger UI shows every operation under the strict content policy."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from lib.api.document import document
from tests.browser.harness import Inspector

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]


def test_reference_shows_operations_within_policy(inspector_of: InspectorOf) -> None:
    inspector = inspector_of(None)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/docs/api")

        webhooks = len(document()["webhooks"])
        expect(page.locator(".opblock")).to_have_count(webhooks, timeout=60_000)
        count = 0
        for group in page.locator("h3.opblock-tag").all():  # one at a time, as readers open them
            group.click()
            expect(group).to_have_attribute("data-is-open", "true")
            count += page.locator(".opblock").count() - webhooks
            group.click()
            expect(page.locator(".opblock")).to_have_count(webhooks)

    assert count == sum(map(len, document()["paths"].values()))


def test_reference_opens_a_linked_operation(inspector_of: InspectorOf) -> None:
    inspector = inspector_of(None)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/docs/api#/rides/ridesCreate")

        expect(page.locator("#operations-rides-ridesCreate")).to_contain_text("clientReference", timeout=60_000)
