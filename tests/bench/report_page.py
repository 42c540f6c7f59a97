"""The overview of 90 days in Chromium, over a quarter of a million rides in that time.

`BENCH_PAGE_RIDES` reduces the data for a quick run: rides of two years, of which an eighth is in the 90 days.
"""

import os
import statistics
from typing import Final

from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from tests.accounts.signed_in import sign_in
from tests.bench import reports
from tests.bench.board import chromium_with_assets, page_of, serving
from tests.bench.servers import on_server_core
from tests.bench.table import Figure

RIDES: Final = int(os.environ.get("BENCH_PAGE_RIDES", "2100000"))
LOADS: Final = 20  # five are enough for a median, not for a 95th percentile
# Until layout and script have finished, which includes drawing the chart of a figure.
_TOOK: Final = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"


def opening() -> list[Figure]:
    """Open the overview and one figure with its chart, each with an empty browser cache."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright runs an event loop in this thread
    reports.prepare(RIDES)
    within = Ride.objects.filter(service_date__range=(reports.FIRST, reports.LAST)).count()
    asked = f"?from={reports.FIRST}&to={reports.LAST}"
    signed_in = _cookie()
    with chromium_with_assets() as (browser, variables), serving(on_server_core(), variables) as url:
        overview = _loads(browser, f"{url}/console/reports/{asked}", url, signed_in)
        figure = _loads(browser, f"{url}/console/reports/pickupOnTimeRate/{asked}", url, signed_in)
    connections.close_all()
    return [
        _figure("report_page_p95", overview, f"{within:,} rides in 90 days, 60 facilities, all figures"),
        _figure("report_figure_p95", figure, "one figure by day, with its chart"),
    ]


def _loads(browser: Browser, address: str, url: str, signed_in: str) -> list[float]:
    took = []
    for _round in range(LOADS + 1):  # the first one warms the server up, and does not count
        with page_of(browser, url, signed_in) as page:
            answer = page.goto(address, wait_until="load")
            assert answer is not None, address
            assert answer.status == 200, answer.status
            assert page.locator(".by-facility tbody tr, #chart svg").count() > 0
            page.wait_for_function(f"() => ({_TOOK})() > 0")
            took.append(float(page.evaluate(_TOOK)))
    return took[1:]


def _figure(name: str, took: list[float], made_of: str) -> Figure:
    five = statistics.median(took[:5])
    p95 = statistics.quantiles(took, n=20)[-1]
    return Figure(name, p95, f"median of the first five {five:.0f} ms, {min(took):.0f} to {max(took):.0f}; {made_of}")


def _cookie() -> str:
    client = Client()
    known = {"name": "Bench", "role": UserRole.DISPATCH_SUPERVISOR}
    sign_in(client, User.objects.get_or_create(email="reports@example.org", defaults=known)[0])
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
