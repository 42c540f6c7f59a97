"""The board's map in Chromium: time until it is drawn, and frames while a person drags it.

400 rides with a pickup and a drop-off each, and 45 vehicles with recent positions, over the demo's base map.
"""

import datetime as dt
import os
import random
import statistics
from typing import Final

from django.db import connections
from playwright.sync_api import Browser, CDPSession, Page

from apps.fleet.models import Driver
from apps.rides.models import Ride
from tests import factories
from tests.bench import ROOT
from tests.bench.board import chromium_with_assets, page_of, serving
from tests.bench.live import cookie
from tests.bench.servers import on_server_core
from tests.bench.table import Figure
from tests.dispatch.seeded import seed

RIDES: Final = 400
VEHICLES: Final = 45
LOADS: Final = 5
DRAGS: Final = ((300, 120), (-320, -60), (60, 200), (-40, -260))  # pixels right and down
STEPS: Final = 40  # pointer moves of each drag
_SETTLES: Final = 1500  # milliseconds after opening and zooming: frames of these are not those of dragging
# The time at which all tiles in view have been painted and all marks are in place.
_DRAWN: Final = """
const look = () => {
  const tiles = document.querySelectorAll("#map .leaflet-tile");
  const waits = [...tiles].some((one) => !one.classList.contains("leaflet-tile-loaded"));
  if (!tiles.length || waits || !document.querySelector("#map .map-mark.vehicle")) return requestAnimationFrame(look);
  requestAnimationFrame(() => (window.__drawn = performance.now()));
};
requestAnimationFrame(look);
"""
_RECORD: Final = """() => {
  window.__frames = [];
  const next = (at) => { window.__frames.push(at); window.__recording = requestAnimationFrame(next); };
  window.__recording = requestAnimationFrame(next);
}"""
_FRAMES: Final = """() => {
  cancelAnimationFrame(window.__recording);
  return window.__frames.slice(1).map((at, index) => at - window.__frames[index]);
}"""


def drawing() -> list[Figure]:
    """Open the map with an empty browser cache, then drag it, as a whole and two zoom levels further in."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright runs an event loop in this thread
    date = dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1)
    _spread(seed(date, rides=RIDES, drivers=VEHICLES, riders=300).drivers)
    signed_in = cookie()
    path = f"/console/board/?day={date}&view=map"
    tiles = {"MAP_TILES": str(ROOT / "apps" / "demo" / "city.pmtiles")}
    with chromium_with_assets() as (browser, variables), serving(on_server_core(), variables | tiles) as url:
        took, blocked = zip(*(_load(browser, url, signed_in, path) for _ in range(LOADS + 1)), strict=True)
        frames, work = {}, {}
        for zoom in (0, 2):
            frames[zoom], work[zoom] = _drag(browser, url, signed_in, path, zoom=zoom)
    connections.close_all()
    medians = {zoom: statistics.median(times) for zoom, times in frames.items()}
    slowest = {zoom: statistics.quantiles(times, n=20)[-1] for zoom, times in frames.items()}
    # The first load warms the server up, and does not count.
    loads = f"{min(took[1:]):.0f} to {max(took[1:]):.0f} ms, {statistics.median(blocked[1:]):.0f} ms blocked"
    drags = f"whole city {medians[0]:.1f} ms, closer {medians[2]:.1f} ms"
    drags += f"; 95th percentiles {slowest[0]:.0f} and {slowest[2]:.0f} ms"
    drags += f"; processor time of the page {work[0]:.1f} and {work[2]:.1f} ms a frame"
    shape = f"{RIDES} rides, {VEHICLES} vehicles"
    return [
        Figure("map_drawn", statistics.median(took[1:]), f"{loads}; {shape}"),
        Figure("map_frame", max(medians.values()), f"{drags}, {sum(map(len, frames.values()))} frames; {shape}"),
    ]


def _spread(drivers: list[Driver]) -> None:
    """Give every ride a pickup and every driver a recent position of their own, within the demo's city."""
    dice = random.Random(20261126)

    def at() -> tuple[float, float]:
        return 41.84 + dice.random() * 0.14, -87.78 + dice.random() * 0.14

    rides = list(Ride.objects.all())
    for ride in rides:
        lat, lng = at()
        ride.pickup = factories.stop(lat=lat, lng=lng)
    Ride.objects.bulk_update(rides, ["pickup"])
    for driver in drivers:
        driver.last_lat, driver.last_lng = (f"{value:.6f}" for value in at())
        driver.last_located_at, driver.last_heading = dt.datetime.now(tz=dt.UTC), dice.randrange(360)
    Driver.objects.bulk_update(drivers, ["last_lat", "last_lng", "last_located_at", "last_heading"])


def _load(browser: Browser, url: str, signed_in: str, path: str) -> tuple[float, float]:
    """Return the milliseconds until the map was drawn, and those that tasks blocked the page beyond 50 ms each."""
    with page_of(browser, url, signed_in) as page:
        _open(page, url + path)
        return float(page.evaluate("() => window.__drawn")), float(page.evaluate("() => window.__blocked"))


def _drag(browser: Browser, url: str, signed_in: str, path: str, *, zoom: int) -> tuple[list[float], float]:
    """Drag the map, `zoom` levels further in than it opens.

    Returns the milliseconds between frames, and the milliseconds of processor time that the page used for each.
    """
    with page_of(browser, url, signed_in) as page:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        _open(page, url + path)
        page.wait_for_timeout(_SETTLES)
        for _level in range(zoom):
            page.locator(".leaflet-control-zoom-in").click()
            page.wait_for_timeout(_SETTLES)
        box = page.locator("#map").bounding_box()
        assert box is not None
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        before = _worked(session)
        page.evaluate(_RECORD)
        for right, down in DRAGS:
            page.mouse.move(*middle)
            page.mouse.down()
            page.mouse.move(middle[0] + right, middle[1] + down, steps=STEPS)
            page.mouse.up()
        frames = [float(one) for one in page.evaluate(_FRAMES)]
        return frames, (_worked(session) - before) * 1000 / len(frames)


def _worked(session: CDPSession) -> float:
    """Return the processor seconds of the page's main thread."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def _open(page: Page, address: str) -> None:
    page.add_init_script(_DRAWN)
    answer = page.goto(address, wait_until="load")
    assert answer is not None, address
    assert answer.status == 200, answer.status
    page.wait_for_function("() => window.__drawn > 0")
