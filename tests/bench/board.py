"""Measurements of the dispatch board: load time, size, candidates and suggestions, and delay of others' changes.

A day of 1,500 rides and 80 drivers, nearly all of them still to come: as many bars as a day can have.
"""

import asyncio
import datetime as dt
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psutil
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, sync_playwright

from apps.dispatch.rules.axis import Axis
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Chosen
from apps.fleet.models import Activation, Driver
from apps.rides.models import Ride
from lib.access import system
from tests import factories
from tests.bench import ROOT
from tests.bench.live import cookie, open_all
from tests.bench.servers import free_port, on_other_core, on_server_core, wait_until_answering
from tests.bench.table import Figure
from tests.browser import chromium
from tests.dispatch.seeded import ZONE, SeededDay, seed
from tests.live.reading import Reader

LOADS: Final = 5
STREAMS: Final = 200
CHANGES: Final = 20
SLOWED: Final = 4
SHEET: Final = 40  # rides of a driver's day
CANDIDATES: Final = 40  # rides whose candidates are requested
FLEET: Final = 38  # drivers of the suggestions
OK: Final = 200
# Largest contentful paint, and the time of tasks beyond 50 ms, as the browser measures them.
_WATCH: Final = """
window.__lcp = 0; window.__blocked = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => (window.__lcp = one.startTime)))
  .observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((one) => (window.__blocked += one.duration - 50)))
  .observe({type: "longtask", buffered: true});
"""


def standing() -> list[Figure]:
    """Load the board with an empty cache, at full and at reduced speed; time external changes until they appear."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright runs an event loop in this thread
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1))
    signed_in = cookie()
    answered = _answers(day, signed_in)
    with (
        chromium_with_assets() as (browser, variables),
        serving(on_server_core(), variables) as first,
        serving(on_other_core(), variables) as second,
    ):
        plain = [_load(browser, first, signed_in, day) for _ in range(LOADS)]
        slow = [_load(browser, first, signed_in, day, slowed=SLOWED) for _ in range(LOADS)]
        opened = _opens(browser, first, signed_in, day)
        shown = _changes(browser, first, second, signed_in, day)
    connections.close_all()
    return [
        Figure("board_lcp", _median(plain, "lcp"), _spread(plain, "lcp")),
        Figure("board_ttfb", _median(plain, "ttfb"), _spread(plain, "ttfb")),
        Figure("board_lcp_slowed", _median(slow, "lcp"), _spread(slow, "lcp")),
        Figure("board_blocked", _median(plain, "blocked"), _spread(plain, "blocked")),
        Figure(
            "board_assets",
            _median(plain, "assets"),
            f"the page {_median(plain, 'page'):.0f} kB, which a proxy compresses",
        ),
        opened,
        shown,
        *answered,
    ]


def _answers(day: SeededDay, signed_in: str) -> list[Figure]:
    """Request candidates, and suggestions for a smaller fleet, in this process; all drivers have their credentials."""
    for driver in Driver.objects.select_related("default_vehicle"):
        if driver.default_vehicle is not None:
            factories.file_credentials(driver, driver.default_vehicle)
    client = Client()
    name, _, value = signed_in.partition("=")
    client.cookies[name] = value
    board = "/console/board/"
    ranked = _Times()
    for ride in [day.waiting[0], *day.waiting[:CANDIDATES]]:  # the first request loads code, and does not count
        ranked.measure(client, f"{board}rides/{ride.pk}/assign/", headers={"HX-Request": "true"})
    fleet = [driver.pk for driver in day.drivers[:FLEET]]
    others = Driver.objects.exclude(pk__in=fleet)
    others.update(activation=Activation.INACTIVE)
    suggested = _Times()
    for _round in range(LOADS + 1):
        answer = suggested.measure(client, f"{board}suggestions/?day={day.date}")
    others.update(activation=Activation.ACTIVE)
    rides = answer.content.count(b'<th scope="row"')
    return [
        Figure("candidates_p95", ranked.p95, f"{ranked.summary}; the assign dialog, {len(day.drivers)} drivers"),
        Figure("suggestions", suggested.median, f"{suggested.summary}; {FLEET} drivers, {rides} rides"),
    ]


class _Times:
    """Wall and processor time of requests in milliseconds, without the first."""

    def __init__(self) -> None:
        self._wall: list[float] = []
        self._cpu: list[float] = []

    def measure(self, client: Client, url: str, **options: Any) -> Any:
        began, used = time.perf_counter(), time.process_time()
        answer = client.get(url, **options)
        self._cpu.append((time.process_time() - used) * 1000)
        self._wall.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == OK, answer.status_code
        return answer

    @property
    def p95(self) -> float:
        ordered = sorted(self._wall[1:])
        return ordered[int(len(ordered) * 0.95) - 1]

    @property
    def median(self) -> float:
        return statistics.median(self._wall[1:])

    @property
    def summary(self) -> str:
        return f"median {self.median:.0f} ms, of these {statistics.median(self._cpu[1:]):.0f} ms CPU of Python"


def sheet() -> list[Figure]:
    """Render the run sheet of 40 rides, in this process; the first run loads the library and does not count."""
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=60, drivers=4, riders=60)
    driver = day.drivers[-1]
    begins = Axis(day.date, ZONE).starts_at
    for number, ride in enumerate(Ride.objects.filter(driver=driver)):
        at = begins + dt.timedelta(minutes=30 + 25 * number) if number < SHEET else begins - dt.timedelta(days=1)
        Ride.objects.filter(pk=ride.pk).update(pickup_at=at)
    client = Client()
    name, _, value = cookie().partition("=")
    client.cookies[name] = value
    took = []
    for _round in range(LOADS + 1):
        began = time.perf_counter()
        answer = client.get(f"/console/board/drivers/{driver.pk}/run-sheet.pdf?day={day.date}")
        took.append((time.perf_counter() - began) * 1000)
        assert answer["Content-Type"] == "application/pdf", answer.status_code
    median = statistics.median(took[1:])
    made_of = f"{len(answer.content) / 1000:.0f} kB, {SHEET} rides; the first one {took[0]:.0f} ms"
    return [Figure("run_sheet", median, made_of)]


def _load(browser: Browser, url: str, signed_in: str, day: SeededDay, *, slowed: int = 1) -> dict[str, float]:
    """Open the board with an empty browser cache; return milliseconds, and kilobytes transferred."""
    with page_of(browser, url, signed_in) as page:
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
        kinds: dict[str, str] = {}
        weight = {"assets": 0.0, "page": 0.0}

        def came(event: dict[str, Any]) -> None:
            kind = "page" if kinds.get(event["requestId"]) == "Document" else "assets"
            weight[kind] += event["encodedDataLength"] / 1000

        session.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
        session.on("Network.loadingFinished", came)
        page.goto(f"{url}/console/board/?day={day.date}", wait_until="load")
        page.wait_for_timeout(1500 * slowed)
        found = {name: float(page.evaluate(f"() => window.__{name}")) for name in ("lcp", "blocked")}
        answered = "() => performance.getEntriesByType('navigation')[0].responseStart"
        found["ttfb"] = float(page.evaluate(answered))
    return found | weight


def _opens(browser: Browser, url: str, signed_in: str, day: SeededDay) -> Figure:
    """Time opening a ride's page by the link of the board's panel, until it has loaded, and going back."""
    ride, took = day.waiting[0], []
    with page_of(browser, url, signed_in) as page:
        page.goto(f"{url}/console/board/?day={day.date}", wait_until="load")
        page.locator(f"#ride-{ride.pk}").click()
        for _round in range(LOADS + 1):  # the first one fetches the assets, and does not count
            page.get_by_role("link", name="Open the ride").click()
            page.wait_for_url(f"**/console/rides/{ride.pk}/")
            told = "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
            page.wait_for_function(f"() => ({told})() > 0")
            took.append(float(page.evaluate(told)))
            page.go_back()
            page.wait_for_selector("[data-zoom]")
    made_of = f"{min(took[1:]):.0f} to {max(took[1:]):.0f} ms; the first one {took[0]:.0f} ms"
    return Figure("ride_page_opens", statistics.median(took[1:]), made_of)


def _changes(browser: Browser, first: str, second: str, signed_in: str, day: SeededDay) -> Figure:
    """Assign waiting rides in this process; time each until a page of the second server shows it."""
    streams = _Streams([first, second], signed_in)
    arrivals = []
    with streams, page_of(browser, second, signed_in) as page:
        page.goto(f"{second}/console/board/?day={day.date}", wait_until="load")
        page.wait_for_selector("#live[data-state=live]")
        for number in range(CHANGES):
            ride, driver = day.waiting[number], day.drivers[number % 3]
            began = time.perf_counter()
            planning.assign(
                chosen=Chosen(ride.pk, Ride.objects.values_list("version", flat=True).get(pk=ride.pk)),
                driver_id=driver.pk,
                override_reason="measured",
                by=system(),
                at=dt.datetime.now(tz=dt.UTC),
            )
            page.wait_for_selector(f"#driver-row-{driver.pk} #ride-{ride.pk}", state="attached")
            arrivals.append((time.perf_counter() - began) * 1000)
    arrivals.sort()
    p95, median = arrivals[int(len(arrivals) * 0.95) - 1], statistics.median(arrivals)
    made_of = f"median {median:.0f} ms with the change itself; {CHANGES} changes, {STREAMS} streams, two processes"
    return Figure("board_change_p95", p95, made_of)


class _Streams:
    """Streams that are open besides the page, half of them at each server."""

    def __init__(self, urls: list[str], signed_in: str) -> None:
        self._readers = [Reader(urls[number % 2], signed_in) for number in range(STREAMS)]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(open_all(self._readers), self._loop).result()
        for reader in self._readers:
            asyncio.run_coroutine_threadsafe(self._drain(reader), self._loop)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @staticmethod
    async def _drain(reader: Reader) -> None:
        while True:
            await reader.next()


@contextmanager
def chromium_with_assets() -> Iterator[tuple[Browser, dict[str, str]]]:
    """Start Chromium and collect static files; yields it, and the environment of a service that serves the files."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        variables = {**os.environ, "STATIC_MANIFEST": "true", "VAR_DIR": folder}
        collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(collect, cwd=ROOT, env=variables, check=True)
        browser = playwright.chromium.launch(
            executable_path=chromium.find_whole(), args=["--no-sandbox", "--disable-background-networking"]
        )
        try:
            yield browser, variables
        finally:
            browser.close()


@contextmanager
def page_of(browser: Browser, url: str, signed_in: str) -> Iterator[Page]:
    """Open a page as a logged-in user with an empty browser cache."""
    name, _, value = signed_in.partition("=")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": name, "value": value, "url": url}])
    context.add_init_script(_WATCH)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def serving(core: list[str], variables: dict[str, str]) -> Iterator[str]:
    """Run the service under uvicorn; yields its address."""
    port = free_port()
    command = [*core, sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    command += ["--lifespan", "off", "--log-level", "error", "--timeout-graceful-shutdown", "1"]
    variables = variables | {"BASE_URL": f"http://127.0.0.1:{port}"}
    process = psutil.Popen(command, cwd=ROOT, env=variables, stderr=subprocess.DEVNULL)
    try:
        wait_until_answering(f"http://127.0.0.1:{port}/api/health/live", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _median(loads: list[dict[str, float]], name: str) -> float:
    return statistics.median(load[name] for load in loads)


def _spread(loads: list[dict[str, float]], name: str) -> str:
    values = sorted(load[name] for load in loads)
    return f"{values[0]:.0f} to {values[-1]:.0f} ms in {len(values)} cold loads"
