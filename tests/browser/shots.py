"""Screenshots of every page, as each role of the demo sees it: light, dark and on a phone.

    python -m tests.browser.shots [role,...]    which is `make shots ONLY=role,...`

Follows the links of the running `make run` service, or of one that it starts, and takes one screenshot of each kind of
page: the first order represents all orders.  Writes var/shots/<role>/, and an index.html.
"""

import contextlib
import html
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.browser import chromium

ROOT: Final = Path(__file__).resolve().parents[2]
VAR: Final = ROOT / "var"
SHOTS: Final = VAR / "shots"
PATIENCE: Final = 300  # seconds until the service runs, on a machine that has to download a database first
MOST_PAGES: Final = 120  # per role
# Parts of an address that identify one of many rows: ids, dates, numbers.
_ONE_OF_MANY: Final = re.compile(r"(?<=/)([0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d|\d+)(?=/|$)")
_NOT_OPENED: Final = re.compile(r"/(logout|static|api|v1|calendars)/|\.(ics|csv|json|pdf)$")
_LINKS: Final = """() => [...document.querySelectorAll("a[href]")]
  .filter((link) => link.origin === location.origin && !link.hash && !link.download)
  .filter((link) => !link.search || link.pathname.startsWith("/console/"))
  .map((link) => link.pathname + link.search)"""
_LOOKS: Final = (("light", "light", 1440), ("dark", "dark", 1440), ("phone", "light", 390))


def main(only: str = "") -> int:
    """Take the screenshots; return 1 if there is no browser, or if a role has no user."""
    if chromium.find() is None:
        _say("Chromium is not installed (set CHROMIUM to its path).")
        return 1
    wanted = set(filter(None, only.split(",")))
    with _service() as told, sync_playwright() as playwright:
        roles = {each["role"].replace(" ", "-"): each for each in told["signIns"]}
        if unknown := wanted - roles.keys():
            _say(f"Nobody is {', '.join(sorted(unknown))}; there are {', '.join(roles)}.")
            return 1
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--disable-background-networking"]
        )
        for role in sorted(wanted or roles):
            shutil.rmtree(SHOTS / role, ignore_errors=True)
            taken = sum(1 for _ in _walk(browser, told["url"], roles[role], SHOTS / role))
            _say(f"{role}: {taken} pages")
        browser.close()
    _write_index()
    _say(f"Look at {SHOTS / 'index.html'}")
    return 0


@contextmanager
def _service() -> Iterator[dict[str, Any]]:
    """Return the running service, or start one; yields its demo logins."""
    if (told := _told()) is not None:
        yield told
        return
    process = subprocess.Popen([sys.executable, "-m", "lib.local_run.run"], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        give_up = time.monotonic() + PATIENCE
        while (told := _told()) is None and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.5)
        if told is None:
            raise SystemExit("The service did not start; `make run` says why.")
        yield told
    finally:
        process.terminate()
        process.wait(60)


def _told() -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        told: dict[str, Any] = json.loads((VAR / "demo.json").read_text())
        urllib.request.urlopen(f"{told['url']}/accounts/login/", timeout=5).close()  # noqa: S310  # our own address
        return told
    return None


def _walk(browser: Browser, url: str, person: dict[str, str], folder: Path) -> Iterator[str]:
    """Open one page of each kind that is reachable, breadth first, and save screenshots of it."""
    folder.mkdir(parents=True)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{url}/accounts/login/")
    page.locator("[name=login]").fill(person["email"])
    page.locator("[name=password]").fill(person["password"])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_load_state()
    waiting, asked, known = deque(["/"]), deque[str](), {"/"}
    for _ in range(MOST_PAGES):
        if not waiting and not asked:
            break
        path = (waiting or asked).popleft()  # pages before their query variants
        with contextlib.suppress(Error):  # a download instead of a page
            response = page.goto(url + path)
            if response is None or "text/html" not in response.headers.get("content-type", ""):
                continue
            for link in page.evaluate(_LINKS):
                kind = _kind(link)
                if kind not in known and not _NOT_OPENED.search(link):
                    known.add(kind)
                    (asked if "?" in link else waiting).append(link)
            _photograph(page, folder / (re.sub(r"\W+", "-", _kind(path)).strip("-") or "home"))
            yield path
    context.close()


def _kind(link: str) -> str:
    """Return the kind of a page: its address without ids, with the names of its query parameters, not their values."""
    path, _, asked = link.partition("?")
    names = sorted(one.partition("=")[0] for one in asked.split("&") if one)
    return "?".join([_ONE_OF_MANY.sub("one", path), *names])


def _photograph(page: Page, name: Path) -> None:
    for look, theme, width in _LOOKS:
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=name.with_name(f"{name.name}-{look}.png"), full_page=True)
    page.set_viewport_size({"width": 1440, "height": 900})


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _write_index() -> None:
    """Write an index of all screenshots, a row for each page."""
    looks = [look for look, *_ in _LOOKS]
    rows = []
    for light in sorted(SHOTS.glob("*/*-light.png")):
        name = light.relative_to(SHOTS).as_posix().removesuffix("-light.png")
        cells = "".join(f'<td><a href="{name}-{look}.png"><img src="{name}-{look}.png"></a></td>' for look in looks)
        rows.append(f"<tr><th>{html.escape(name)}</th>{cells}</tr>")
    style = "img { max-width: 30em; max-height: 24em } th { text-align: start; vertical-align: top }"
    (SHOTS / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>Screens</title><style>{style}</style>'
        f"<table>{''.join(rows)}</table>\n"
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
