"""Warning before an idle session ends."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.sessions import LAST_ACTIVE_AT
from tests import factories
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]
FORM = "/admin/organizations/facility/add/"


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))


def _rest(desk: Inspector, minutes: float) -> None:
    """Make the session idle for this long, by the server's clock."""
    session = SessionStore(session_key=desk.cookies[0]["value"])
    session[LAST_ACTIVE_AT] = time.time() - minutes * 60
    session.save()


def _last_active(desk: Inspector) -> Any:
    return SessionStore(session_key=desk.cookies[0]["value"])[LAST_ACTIVE_AT]


def test_u3_idle_warning_is_answered_by_keyboard_and_input_stays(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(desk.url + FORM)
        page.locator("#id_name").fill("St. Brigid")
        before = page.locator("#idle").is_visible()
        _rest(desk, 13.1)
        page.clock.fast_forward("13:06")
        expect(page.locator("#idle")).to_be_visible()
        told = page.locator("#idle [role=timer]").inner_text()
        findings = faults(page)
        page.keyboard.press("Enter")
        page.clock.run_for(2000)
        expect(page.locator("#idle")).to_be_hidden()

        assert before is False
        assert told.startswith("1:")
        assert findings == []
        assert page.locator("#id_name").input_value() == "St. Brigid"
        assert time.time() - _last_active(desk) < 60


def test_escape_stays_signed_in_too(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _rest(desk, 13.1)
        page.clock.fast_forward("13:06")
        expect(page.locator("#idle")).to_be_visible()
        page.keyboard.press("Escape")
        page.clock.run_for(2000)
        expect(page.locator("#idle")).to_be_hidden()

        assert time.time() - _last_active(desk) < 60


def test_tab_at_rest_does_not_warn_while_another_is_used(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _rest(desk, 3)
        rested = _last_active(desk)
        with page.expect_response("**/accounts/session/") as asked:
            page.clock.fast_forward("13:06")

        assert asked.value.json()["secondsLeft"] > 120
        expect(page.locator("#idle")).to_be_hidden()
        assert _last_active(desk) == rested, "asking in the background keeps nothing alive"


def test_page_is_left_when_the_session_has_ended(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(desk.url + FORM)
        _rest(desk, 16)
        page.clock.fast_forward("15:01")
        page.wait_for_url("**/accounts/login/?next=/admin/**")
