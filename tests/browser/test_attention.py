"""Alerts for users who look elsewhere: the count in the title, a sound, a notification."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from lib.scopes import Scope
from tests import factories
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
PATIENCE = 30_000  # milliseconds, on a loaded machine
HOME = "/console/home/"
PREFERENCES = "/console/preferences/"
QUIET = 10_000  # milliseconds between two sounds (attention.js)
# Counts sounds and notifications of a page, shared by all tabs of its browser.
STUBS = """
window.__played = 0;
window.__blocked = false;
window.AudioContext = class {
  currentTime = 0;
  destination = {};
  get state() { return window.__blocked ? "suspended" : "running"; }
  async resume() {}
  createOscillator() {
    return { frequency: {}, connect: (next) => next, start: () => { window.__played += 0.5; }, stop: () => {} };
  }
  createGain() {
    const gain = { setValueAtTime: () => {}, exponentialRampToValueAtTime: () => {} };
    return { gain, connect: (next) => next };
  }
};
window.__shown = [];
window.Notification = class extends EventTarget {
  static permission = window.__permission ?? "granted";
  static async requestPermission() {
    Notification.permission = window.__answer;
    return window.__answer;
  }
  constructor(title, { body, tag, silent }) {
    super();
    window.__shown.push([title, body, tag, silent]);
    window.__last = this;
  }
};
"""
HIDDEN = 'Object.defineProperty(Document.prototype, "hidden", { get: () => true });'


@pytest.fixture
def dana(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, alert_sound=True, alert_notices=True)


@contextmanager
def _window(desk: Inspector) -> Iterator[BrowserContext]:
    with desk.context() as context:
        context.add_init_script(STUBS)
        yield context


def _open(context: BrowserContext, desk: Inspector, path: str = HOME, script: str = "") -> Page:
    page = context.new_page()
    if script:
        page.add_init_script(script)
    page.goto(desk.url + path)
    expect(page.locator("#live")).to_have_text("Live", timeout=PATIENCE)
    return page


def _tell(title: str, severity: str = "warning") -> None:
    told: dict[str, Any] = {"kind": "no_driver", "scope": Scope.RIDES_WRITE, "at": dt.datetime.now(dt.UTC)}
    alerts.raise_alert(key=title, title=title, severity=severity, **told)


def _known(page: Page, count: int) -> None:
    """Wait until the browser has stored which alerts it knows."""
    announced = "() => JSON.parse(localStorage.getItem(`carelane-announced-${live.dataset.person}`) ?? 'null')?.length"
    page.wait_for_function(f"(count) => ({announced})() === count", arg=count, timeout=PATIENCE)


def _played(*pages: Page) -> int:
    return sum(int(page.evaluate("() => window.__played")) for page in pages)


def _shown(*pages: Page) -> list[list[Any]]:
    return [one for page in pages for one in page.evaluate("() => window.__shown")]


def test_title_counts_open_alerts_also_in_hidden_tabs(inspector_of: InspectorOf) -> None:
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    with _window(desk) as context:
        page, hidden = _open(context, desk), _open(context, desk, "/console/board/", HIDDEN)
        expect(page).to_have_title("Home · Carelane")

        _tell("Nobody drives Mrs. Zamora")
        for tab in (page, hidden):
            expect(tab).to_have_title(f"(1) {'Home' if tab is page else 'Dispatch board'} · Carelane", timeout=PATIENCE)
        _tell("Nor Mr. Brooks")
        expect(hidden).to_have_title("(2) Dispatch board · Carelane", timeout=PATIENCE)
        page.reload()
        expect(page).to_have_title("(2) Home · Carelane")
        alerts.resolve("Nor Mr. Brooks", "Nobody drives Mrs. Zamora", at=dt.datetime.now(dt.UTC))
        expect(hidden).to_have_title("Dispatch board · Carelane", timeout=PATIENCE)

        assert (_played(page, hidden), _shown(page, hidden)) == (0, []), "both are off until somebody wants them"


def test_new_alerts_sound_once_per_batch_in_one_tab(inspector_of: InspectorOf, dana: User) -> None:
    _tell("Was open before")
    desk = inspector_of(dana)
    with _window(desk) as context:
        first, second = _open(context, desk), _open(context, desk, "/console/exceptions/")
        _known(first, 1)

        _tell("One", "critical")
        expect(first).to_have_title("(2) Home · Carelane", timeout=PATIENCE)
        first.wait_for_function("() => window.__shown.length === 1", timeout=PATIENCE)
        for number, severity in enumerate(("warning", "warning", "info")):
            _tell(f"More {number}", severity)
        for tab in (first, second):
            expect(tab).to_have_title(f"(5) {'Home' if tab is first else 'Exceptions'} · Carelane", timeout=PATIENCE)
        at_once = (_played(first, second), _shown(first, second))
        first.wait_for_function("() => window.__shown.length === 2", timeout=PATIENCE)
        later = (_played(first, second), _shown(first, second))

        # Another page of the tab has nothing new to announce, nor has the next tab that holds the stream.
        first.goto(f"{desk.url}/console/inbox/")
        expect(second.locator("#live")).to_have_text("Live", timeout=PATIENCE)
        _tell("The last")
        second.wait_for_function("() => window.__shown.length === 1", timeout=PATIENCE)
        again = (_played(first, second), _shown(first, second))
        second.evaluate("() => window.__last.dispatchEvent(new Event('click'))")
        second.wait_for_url("**/console/inbox/")

    one = ["Carelane: 1 new in the inbox", "Critical: 1. Open the inbox", "carelane-alerts", True]
    more = ["Carelane: 3 new in the inbox", "Warning: 2, Info: 1. Open the inbox", "carelane-alerts", True]
    last = ["Carelane: 1 new in the inbox", "Warning: 1. Open the inbox", "carelane-alerts", True]
    assert at_once == (1, [one])
    assert later == (2, [one, more])
    assert again == (1, [last])


@pytest.mark.nightly
def test_sound_is_muted_by_keyboard_and_a_blocked_sound_is_named(inspector_of: InspectorOf, dana: User) -> None:
    desk = inspector_of(dana)
    with _window(desk) as context:
        page = _open(context, desk)
        _known(page, 0)
        page.evaluate("() => { window.__blocked = true; }")
        _tell("Blocked")
        expect(page.locator(".toast.error")).to_contain_text("Click anywhere on this page", timeout=PATIENCE)
        found = faults(page)
        page.evaluate("() => { window.__blocked = false; }")
        page.get_by_role("button", name="Play it").click()
        page.wait_for_function("() => window.__played === 1")

        for said in ("New alerts are silent for 30 minutes.", "New alerts are no longer muted."):
            page.keyboard.press("Control+k")
            page.keyboard.type("new alerts")
            expect(page.locator("#palette [role=option]").first).to_contain_text("new alerts")
            page.keyboard.press("Enter")
            expect(page.locator(".toast").last).to_contain_text(said)
            if "silent" in said:
                page.wait_for_timeout(QUIET)
                _tell("Muted", "critical")
                expect(page).to_have_title("(2) Home · Carelane", timeout=PATIENCE)
                _known(page, 2)
        page.locator("details.account summary").click()
        expect(page.get_by_role("button", name="Mute new alerts for 30 minutes")).to_be_visible()
        found += faults(page)
        muted = (_played(page), len(_shown(page)))

    assert found == []
    assert muted == (1, 1), "what came while it was muted is not told of later"


@pytest.mark.parametrize(
    ("answer", "says"), [("granted", "This browser allows it."), ("denied", "This browser has refused it")]
)
def test_preferences_try_the_sound_and_ask_the_browser(
    inspector_of: InspectorOf, transactional_db: None, answer: str, says: str
) -> None:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    desk = inspector_of(person)
    with _window(desk) as context:
        page = context.new_page()
        page.add_init_script(f"window.__answer = '{answer}'; window.__permission = 'default';")
        page.add_init_script(STUBS)
        page.goto(desk.url + PREFERENCES)
        stand = page.locator("#notices-stand")
        expect(stand).to_have_text("This browser has not been asked yet.")
        page.get_by_role("button", name="Try it").press("Enter")
        page.wait_for_function("() => window.__played === 1")
        page.evaluate("() => { window.__blocked = true; }")
        page.get_by_role("button", name="Try it").press("Enter")
        expect(page.locator("#sound-stand")).to_contain_text("No sound was played.")
        found = faults(page)
        page.get_by_role("button", name="Allow it in this browser").press("Enter")
        expect(stand).to_contain_text(says)
        expect(page.get_by_label("Browser notification")).to_be_focused()
        expect(page.get_by_label("Browser notification")).to_be_checked(checked=answer == "granted")
        page.get_by_label("Browser notification").check()
        page.get_by_label("Sound").check()
        found += faults(page)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Your preferences are saved.")).to_be_visible()

    person.refresh_from_db()
    assert (person.alert_sound, person.alert_notices) == (True, True)
    assert found == [], "\n".join(found)


def test_browser_without_notifications_says_so(inspector_of: InspectorOf, dana: User) -> None:
    desk = inspector_of(dana)
    with desk.context() as context:
        page = context.new_page()
        page.add_init_script("delete window.Notification;")
        page.goto(desk.url + PREFERENCES)
        expect(page.locator("#notices-stand")).to_have_text("This browser has no notifications for this page.")
        expect(page.locator("#allow-notices")).to_be_hidden()
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(desk.url + PREFERENCES)
        assert [page.locator(one).is_visible() for one in ("#try-sound", "#allow-notices", "#mute")] == [False] * 3
