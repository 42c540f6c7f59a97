"""What every page has to pass in a real browser (console.md, section 5).

`Inspector.inspect(page, "name")` is the whole of it; pages that come later call it too.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Page

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
WIDTHS = (320, 390, 1440)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# Runs before anything of the page: keeps what the content policy refused and who listens for clicks.
WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
window.__clickable = new Set();
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (type === "click" && this instanceof Element) window.__clickable.add(this);
  return listen.call(this, type, ...rest);
};
"""

# Elements that do something when clicked, that are shown, and that Tab never reaches.
UNREACHABLE = """() => [...window.__clickable, ...document.querySelectorAll("[hx-get], [hx-post], [role=button]")]
  .filter((element) => (element.getAttribute("hx-trigger") ?? "click").includes("click"))
  .filter((element) => element.isConnected && element.checkVisibility() && element !== document.body)
  .filter((element) => !element.matches("form, label, details, table, tr, td, ul, main") && element.tabIndex < 0)
  // One of a group that has one stop of Tab together: arrows go to the others.
  .filter((element) => !element.parentElement.querySelector(":scope > [role=button][tabindex='0']"))
  .map((element) => element.outerHTML.slice(0, 120))"""

LANDMARKS = """() => ({h1: document.querySelectorAll("h1").length, main: document.querySelectorAll("main").length})"""
OVERFLOW = "() => document.documentElement.scrollWidth - window.innerWidth"
# The share of the window that the content of a page takes.
CONTENT_SHARE = """() => (document.querySelector("main #content") ?? document.querySelector("main"))
  .getBoundingClientRect().width / window.innerWidth"""


@dataclass
class Inspector:
    """Opens pages and collects what is wrong with them.  Findings are texts; a good page has none."""

    browser: Browser
    url: str
    cookies: list[Any]
    pictures: Path | None = None

    def inspect(self, path: str, *, name: str, status: int = 200) -> list[str]:
        """Open a page in both themes and at every width; say all that is wrong with it."""
        found: list[str] = []
        with self.context() as context:
            page = context.new_page()
            heard = _listen(page)
            response = page.goto(self.url + path, wait_until="load")
            if response is None or response.status != status:
                found.append(f"{name}: answered {response and response.status}, not {status}")
            found += [f"{name}: {finding}" for finding in _judge(page, heard, status)]
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                found += [f"{name} {theme}: {finding}" for finding in axe(page)]
                found += [f"{name} {theme}: {finding}" for finding in self._measure(page, f"{name}-{theme}")]
        return found

    def context(self, **options: Any) -> BrowserContext:
        context = self.browser.new_context(
            color_scheme="light", reduced_motion="reduce", viewport={"width": 1440, "height": 900}, **options
        )
        context.add_cookies(self.cookies)
        context.add_init_script(WATCH)
        return context

    def content_share(self, path: str) -> float:
        """Measure how much of a 1440 px window the content takes, 0 to 1."""
        with self.context() as context:
            page = context.new_page()
            page.goto(self.url + path, wait_until="load")
            return float(page.evaluate(CONTENT_SHARE))

    def _measure(self, page: Page, name: str) -> list[str]:
        found = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            overflow = page.evaluate(OVERFLOW)
            if overflow > 0:
                found.append(f"{overflow} px too wide at {width}")
            self._photograph(page, f"{name}-{width}")
        return found

    def _photograph(self, page: Page, name: str) -> None:
        if self.pictures is not None:
            self.pictures.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=self.pictures / f"{name}.png", full_page=True)


def _judge(page: Page, heard: list[str], status: int) -> list[str]:
    # axe raises policy violations of its own, so this comes before it (console.md 3.11).
    expected = "Failed to load resource" if status >= 400 else "\0"
    found = [f"console says {text}" for text in heard if expected not in text]
    found += [f"policy refused {text}" for text in page.evaluate("() => window.__violations")]
    found += [f"has {n} {tag}" for tag, n in page.evaluate(LANDMARKS).items() if n != 1]
    return found + [f"Tab never reaches {html}" for html in page.evaluate(UNREACHABLE)]


def _listen(page: Page) -> list[str]:
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    return heard


def axe(page: Page) -> list[str]:
    """Say what axe finds against WCAG 2.0 to 2.2, A and AA, in the state the page is in."""
    session = page.context.new_cdp_session(page)
    if not page.evaluate("() => 'axe' in window"):
        session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    # What passes is not asked for: to describe every node that does takes time on large pages.
    run = f"axe.run(document, {{runOnly: {STANDARDS!r}, resultTypes: ['violations']}})"
    run += ".then((found) => JSON.stringify(found.violations.map("
    run += "(rule) => `${rule.id}: ${rule.nodes.length} x ${rule.nodes[0].html.slice(0, 160)} | "
    run += "${(rule.nodes[0].any[0] || rule.nodes[0].all[0] || {message: ''}).message}`)))"
    answer = session.send("Runtime.evaluate", {"expression": run, "awaitPromise": True, "returnByValue": True})
    if "exceptionDetails" in answer:
        return [f"axe failed: {answer['exceptionDetails']}"]
    return [f"axe {finding}" for finding in json.loads(answer["result"]["value"])]
