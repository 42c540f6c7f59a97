"""Live pages, and their messages when the connection is lost."""

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.events import services
from lib.access import system
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.events.test_feed import wait_until_settled
from tests.serving import free_port, serving

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
PATIENCE = 30_000  # milliseconds, on a loaded machine
COLLECT = """
window.__told = [];
document.addEventListener("carelane:changes", ({ detail }) => window.__told.push(detail));
"""
HAS_HEARD = "(id) => window.__told.some((one) => one.changes.some((change) => change.id === id))"


class Machine:
    """The service, which can be stopped and restarted at the same address."""

    def __init__(self) -> None:
        self.port = str(free_port())
        self.url = ""
        self._running = ExitStack()

    def start(self) -> None:
        self.url = self._running.enter_context(serving(port=self.port))

    def stop(self) -> None:
        self._running.close()


@pytest.fixture
def machine(transactional_db: None) -> Iterator[Machine]:
    found = Machine()
    found.start()
    yield found
    found.stop()


@pytest.fixture
def service(machine: Machine) -> str:
    return machine.url


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))


@contextmanager
def _window(desk: Inspector) -> Iterator[BrowserContext]:
    with desk.context() as context:
        context.add_init_script(COLLECT)
        yield context


def _open(context: BrowserContext, desk: Inspector) -> Page:
    page = context.new_page()
    page.goto(f"{desk.url}/console/home/")
    return page


def _is_live(page: Page) -> None:
    expect(page.locator("#live")).to_have_text("Live", timeout=PATIENCE)


def _happen() -> str:
    ride = uuid7()
    event: dict[str, Any] = {"type": "ride.scheduled", "subject_type": "ride", "subject_id": ride, "sequence": 1}
    services.record(**event, occurred_at=dt.datetime.now(dt.UTC), by=system())
    return str(ride)


def test_b2_change_of_another_process_shows_within_a_second(desk: Inspector) -> None:
    with _window(desk) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _is_live(page)
        findings, took = faults(page), []
        for _ in range(5):
            began = time.perf_counter()
            page.wait_for_function(HAS_HEARD, arg=_happen(), timeout=PATIENCE)
            took.append(time.perf_counter() - began)
        factories.RideFactory.create(pickup_at=dt.datetime.now(dt.UTC))
        _happen()
        expect(page.locator("#day h2").first).to_have_text("1 ride today", timeout=PATIENCE)
        page.locator("#day a.tile").first.focus()
        factories.RideFactory.create(pickup_at=dt.datetime.now(dt.UTC))
        page.wait_for_function(HAS_HEARD, arg=_happen(), timeout=PATIENCE)
        page.clock.run_for(3000)  # a part is fetched at most every two seconds
        page.evaluate("() => fetch('/').then((answer) => answer.text())")  # would have arrived before this answer
        held, focused = page.locator("#day h2").first.inner_text(), page.evaluate("document.activeElement.className")
        page.locator("#main").focus()
        expect(page.locator("#day h2").first).to_have_text("2 rides today", timeout=PATIENCE)

        assert findings == []
        assert sorted(took)[2] < 1
        assert (held, focused.split()[0]) == ("1 ride today", "tile"), "nothing moves under a person's hands"


@pytest.mark.nightly
def test_b9_page_shows_a_lost_server_and_reloads_when_it_is_back(desk: Inspector, machine: Machine) -> None:
    with _window(desk) as context:
        page = _open(context, desk)
        _is_live(page)
        machine.stop()
        expect(page.locator("#live")).to_have_text("Reconnecting", timeout=PATIENCE)
        findings = faults(page)
        factories.RideFactory.create(pickup_at=dt.datetime.now(dt.UTC))
        machine.start()
        _is_live(page)
        expect(page.locator("#day h2").first).to_have_text("1 ride today", timeout=PATIENCE)

        assert findings == []
        assert page.evaluate("() => window.__told.some((one) => one.resync)")


@pytest.mark.nightly
def test_b10_ten_tabs_share_one_stream_and_another_takes_it_over(desk: Inspector) -> None:
    with _window(desk) as context:
        streaming: list[Page] = []
        context.on(
            "request", lambda one: streaming.append(one.frame.page) if one.resource_type == "eventsource" else None
        )
        tabs = [_open(context, desk) for _ in range(10)]
        for tab in tabs:
            _is_live(tab)
        ride = _happen()
        for tab in tabs:
            tab.wait_for_function(HAS_HEARD, arg=ride, timeout=PATIENCE)
        opened = list(streaming)
        tabs.remove(opened[0])
        opened[0].close()
        began = time.perf_counter()
        ride = _happen()
        told = f"(id) => ({HAS_HEARD})(id) || window.__told.some((one) => one.resync)"  # before or after the handover
        for tab in tabs:
            tab.wait_for_function(told, arg=ride, timeout=PATIENCE)
        took = time.perf_counter() - began

        assert len(opened) == 1
        assert len(streaming) == 2
        assert took < 3
        assert [tab.locator("#live").inner_text() for tab in tabs] == ["Live"] * 9


def test_page_asks_where_there_is_no_stream(desk: Inspector) -> None:
    with _window(desk) as context:
        context.route("**/console/live/", lambda route: route.fulfill(status=204))  # the answer under WSGI
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _is_live(page)
        ride = _happen()
        wait_until_settled()
        page.clock.run_for(6000)
        page.wait_for_function(HAS_HEARD, arg=ride, timeout=PATIENCE)

        assert page.locator("#live").inner_text() == "Live"


def test_stale_page_says_since_when_by_the_clock_of_its_place(desk: Inspector) -> None:
    with _window(desk) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _is_live(page)
        known = [dt.datetime.now(ZoneInfo("America/Chicago")) - dt.timedelta(minutes=ago) for ago in (1, 0)]

        def lost(route: Route) -> None:
            route.abort()

        context.route("**/console/live/**", lost)
        page.clock.fast_forward("00:46")  # longest silence of a stream
        expect(page.locator("#live")).to_have_text("Reconnecting", timeout=PATIENCE)
        page.clock.fast_forward("00:36")
        expect(page.locator("#live")).to_have_attribute("data-state", "stale", timeout=PATIENCE)
        said = page.locator("#live").inner_text()
        heard = page.locator("#announced").inner_text()
        findings = faults(page)
        context.unroute("**/console/live/**")
        page.clock.run_for(6000)
        _is_live(page)

        assert said in {f"Stale since {moment:%H:%M}" for moment in known}
        assert heard == said
        assert findings == []
        expect(page.locator("#announced")).to_have_text("Live")


def test_page_is_left_when_somebody_signs_out_elsewhere(desk: Inspector) -> None:
    with _window(desk) as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}/console/home/")
        _is_live(page)
        context.clear_cookies()
        page.clock.fast_forward("00:46")

        expect(page).to_have_url(re.compile("/accounts/login/"))


def _tell(title: str) -> None:
    """Raise an alert for dispatchers, as services do."""
    told: dict[str, Any] = {"kind": "no_driver", "severity": "critical", "scope": Scope.RIDES_WRITE}
    alerts.raise_alert(key=title, title=title, at=dt.datetime.now(dt.UTC), **told)


@pytest.mark.nightly
@pytest.mark.parametrize("streams", [True, False])
def test_inbox_follows_in_every_session(inspector_of: InspectorOf, streams: bool) -> None:
    desks = [inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER)) for _ in range(2)]
    outsider = inspector_of(factories.UserFactory.create(role=UserRole.AUDITOR))
    with _window(desks[0]) as first, _window(desks[1]) as second, _window(outsider) as third:
        for context in (first, second, third):
            if not streams:
                context.route("**/console/live/", lambda route: route.fulfill(status=204))
        home, inbox, other = first.new_page(), second.new_page(), third.new_page()
        home.goto(f"{desks[0].url}/console/home/")
        inbox.goto(f"{desks[1].url}/console/inbox/")
        other.goto(f"{outsider.url}/console/home/")
        for page in (home, inbox, other):
            _is_live(page)
        expect(home.locator("#inbox-bell .count")).to_have_count(0)
        began = time.perf_counter()
        _tell("No driver for a ride that has waited 30 minutes")
        expect(home.locator("#inbox-bell .count")).to_have_text("1", timeout=PATIENCE)
        took = time.perf_counter() - began
        expect(home.locator("#inbox-count .count")).to_contain_text("1", timeout=PATIENCE)
        expect(inbox.locator("#alerts h2").first).to_contain_text("waited 30 minutes", timeout=PATIENCE)
        heard = home.locator("#announced").inner_text()
        findings = faults(home) + faults(inbox)
        inbox.get_by_role("button", name="Mark as handled").click()
        expect(home.locator("#inbox-bell .count")).to_have_count(0, timeout=PATIENCE)
        expect(inbox.locator("#alerts")).to_contain_text("Nothing needs your attention.")
        told = other.evaluate(
            "() => window.__told.flatMap((one) => one.changes).filter((one) => one.subject === 'alert')"
        )

    assert findings == []
    assert " ".join(heard.split()) == "1 open alert in the inbox"
    assert told == [], "who has no inbox hears of no alert"
    assert not streams or took < 1
