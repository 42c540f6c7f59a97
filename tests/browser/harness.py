"""Checks that every page must pass in a real browser, in every state that a test brings it into.

`Inspector.inspect("/path/", name="page")` opens a page and returns its faults; `faults(page)` returns those of a page
in its current state; an error that a page reports while a context is open fails the test when the context is closed.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
PATIENCE: Final = 60_000  # milliseconds that a page may take to show expected content, on a busy machine
WIDTHS = (320, 390, 1440)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
STANDARDS: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The color rules of these standards: the dark theme differs from the light one only in colors.
COLOURS: Final = ["color-contrast", "link-in-text-block"]

# Runs before the page's own scripts: reports violations of the content policy, and records click listeners.  axe
# violates the policy itself, which is not a fault of the page.
WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  if (!window.__judging)
    window.__refused(`policy refused ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
});
window.__clickable = new Set();
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (type === "click" && this instanceof Element) window.__clickable.add(this);
  return listen.call(this, type, ...rest);
};
"""

# Visible elements that react to clicks and that Tab never reaches.
UNREACHABLE = """() => [...window.__clickable, ...document.querySelectorAll("[hx-get], [hx-post], [role=button]")]
  .filter((element) => (element.getAttribute("hx-trigger") ?? "click").includes("click"))
  .filter((element) => element.isConnected && element.checkVisibility() && element !== document.body)
  // They listen for what is in them, or keep clicks from what is below them.
  .filter((element) => !element.matches("form, label, details, dialog, table, tr, td, ul, main, .leaflet-popup"))
  // A chart tells a pointer what its table says; clicks do nothing there.
  .filter((element) => !element.matches(".chart > div"))
  .filter((element) => element.tabIndex < 0)
  // One of a group that has one stop of Tab together: arrows go to the others.
  .filter((element) => !element.parentElement.querySelector(":scope > [role=button][tabindex='0']"))
  .map((element) => element.outerHTML.slice(0, 120))"""

LANDMARKS = """() => ({h1: document.querySelectorAll("h1").length, main: document.querySelectorAll("main").length})"""
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
# Makes each word of a page 40 % longer, as translations may be; codes, times and numbers stay.  Returns how many texts
# have changed.  SHORTEN takes that back, except in texts that scripts have changed meanwhile.
LENGTHEN = """() => {
  const longer = (text) => text.replace(/\\p{L}{3,}/gu, (word) => word + word.slice(0, Math.round(word.length * 0.4)));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  window.__texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, before = node.data, after = longer(before);
    if (before !== after && !node.parentElement.closest("script, style, pre, code, textarea"))
      window.__texts.push({ node, before, after });
  }
  window.__texts.forEach((one) => (one.node.data = one.after));
  return window.__texts.length;
}"""
SHORTEN = "() => window.__texts.forEach(({node, before, after}) => node.data === after && (node.data = before))"
# Share of the window width that the content of a page takes.
CONTENT_SHARE = """() => (document.querySelector("main #content") ?? document.querySelector("main"))
  .getBoundingClientRect().width / window.innerWidth"""


@dataclass
class Heard:
    """Errors reported by pages.  A 4xx answer, or none, to a page or script is not an error: the test checks it."""

    said: list[tuple[str, str]] = field(default_factory=list)  # a text, and the address that it concerns
    refused: set[str] = field(default_factory=set)

    def complaints(self) -> list[str]:
        return [text for text, url in self.said if not (text.startswith("Failed to load") and url in self.refused)]

    def forget(self) -> None:
        self.said.clear()
        self.refused.clear()

    def listen(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("response", self._response)
        context.on("requestfailed", self._note)
        context.on("weberror", lambda error: self.said.append((f"page broke: {error.error}", "")))
        context.expose_function("__refused", lambda text: self.said.append((text, "")))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.said.append((message.text, message.location["url"]))

    def _response(self, response: Response) -> None:
        if 400 <= response.status < 500:
            self._note(response.request)

    def _note(self, request: Request) -> None:
        if request.resource_type in {"document", "fetch", "xhr", "eventsource"}:
            self.refused.add(request.url)


Window = tuple[BrowserContext, Heard]


@dataclass
class Inspector:
    """Opens pages and collects their faults.  Faults are texts; a good page has none."""

    browser: Browser
    url: str
    cookies: list[Any]
    open_until_end: Callable[[AbstractContextManager[Window]], Window]  # closes it at the end of the test
    pictures: Path | None = None
    window: Window | None = None

    def inspect(self, path: str, *, name: str, status: int = 200) -> list[str]:
        """Open a page in both themes and at every width; return all faults.

        All pages that one inspector inspects share a window, and so the browser's cache of static files.
        """
        if self.window is None:
            self.window = self.open_until_end(self._opened())
        context, heard = self.window
        heard.forget()
        page = context.new_page()
        response = page.goto(self.url + path, wait_until="load")
        errors = faults(page)
        if response is None or response.status != status:
            errors.append(f"answered {response and response.status}, not {status}")
        self._photograph(page, name)
        page.close()
        return [f"{name}: {error}" for error in errors + heard.complaints()]

    @contextmanager
    def context(self, **options: Any) -> Iterator[BrowserContext]:
        """Open a window of a logged-in user; errors that its pages report meanwhile fail the test."""
        with self._opened(**options) as (context, heard):
            yield context
            complaints = heard.complaints()
            assert not complaints, "\n".join(complaints)

    @contextmanager
    def _opened(self, **options: Any) -> Iterator[Window]:
        heard = Heard()
        with self.browser.new_context(
            color_scheme="light", reduced_motion="reduce", viewport={"width": 1440, "height": 900}, **options
        ) as context:
            context.set_default_timeout(PATIENCE)
            context.add_cookies(self.cookies)
            context.add_init_script(WATCH)
            heard.listen(context)
            yield context, heard

    def content_share(self, path: str) -> float:
        """Return the share of a 1440 px window that the content takes, 0 to 1."""
        with self.context() as context:
            page = context.new_page()
            page.goto(self.url + path, wait_until="load")
            return float(page.evaluate(CONTENT_SHARE))

    def _photograph(self, page: Page, name: str) -> None:
        if self.pictures is None:
            return
        self.pictures.mkdir(parents=True, exist_ok=True)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                page.screenshot(path=self.pictures / f"{name}-{theme}-{width}.png", full_page=True)


def faults(page: Page) -> list[str]:
    """Return the faults of a page in its current state: landmarks, Tab, every width, and axe in both themes."""
    found = [f"has {n} {tag}" for tag, n in page.evaluate(LANDMARKS).items() if n != 1]
    found += [f"Tab never reaches {html}" for html in page.evaluate(UNREACHABLE)]
    found += [f"axe {finding}" for finding in _axe(page, {"type": "tag", "values": STANDARDS})]
    page.emulate_media(color_scheme="dark")
    found += [f"axe, dark: {finding}" for finding in _axe(page, {"type": "rule", "values": COLOURS})]
    page.emulate_media(color_scheme="light")
    found += too_wide(page)
    return found


def too_wide(page: Page) -> list[str]:
    """Return the widths at which a page has to be scrolled sideways, with texts 40 % longer than they are."""
    errors, size = [], page.viewport_size
    if page.evaluate(LENGTHEN) == 0:
        errors.append("no text is on the page")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        overflow = page.evaluate(OVERFLOW)
        errors += [f"{overflow} px too wide at {width}"] if overflow > 0 else []
    page.evaluate(SHORTEN)
    if size is not None:
        page.set_viewport_size(size)
    return errors


def _axe(page: Page, only: dict[str, Any]) -> list[str]:
    """Return the violations that axe finds by these rules."""
    session = page.context.new_cdp_session(page)
    if not page.evaluate("() => 'axe' in window"):
        session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    # Passing nodes are not requested: their description takes time on large pages.
    options = json.dumps({"runOnly": only, "resultTypes": ["violations"], "preload": False})
    run = f"window.__judging = true; axe.run(document, {options})"
    run += ".then((found) => JSON.stringify(found.violations.map("
    run += "(rule) => `${rule.id}: ${rule.nodes.length} x ${rule.nodes[0].html.slice(0, 160)} | "
    run += "${(rule.nodes[0].any[0] || rule.nodes[0].all[0] || {message: ''}).message}`)))"
    run += ".finally(() => { window.__judging = false; })"
    answer = session.send("Runtime.evaluate", {"expression": run, "awaitPromise": True, "returnByValue": True})
    session.detach()
    if "exceptionDetails" in answer:
        return [f"failed: {answer['exceptionDetails']}"]
    return list(json.loads(answer["result"]["value"]))
