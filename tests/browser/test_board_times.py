"""The board's day in a browser: on days when the clocks change (B12), and in print (F1)."""

import datetime as dt
import re
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from typing import Any, cast

import psutil
import pytest
from playwright.sync_api import Locator, Page, expect
from pypdf import PdfReader

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Driver
from apps.rides.models import Ride
from tests import factories, pango
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
BOARD = "/console/board/"
CHICAGO = "America/Chicago"
HOUR = dt.timedelta(hours=1)
TOMORROW = dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1)


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))


def _next_of(hours: int) -> Axis:
    """Return the next service day with this length."""
    days = (Axis(TOMORROW + dt.timedelta(days=number), CHICAGO) for number in range(400))
    return next(axis for axis in days if axis.minutes == hours * 60)


def _driven(driver: Driver, at: dt.datetime, **columns: Any) -> Ride:
    ride: Ride = factories.RideFactory.create(pickup_at=at, service_date=at.date(), **columns)
    factories.put_driver_on(ride, driver=driver, vehicle=driver.default_vehicle)
    return ride


def _driver() -> Driver:
    vehicle = factories.VehicleFactory.create()
    driver: Driver = factories.DriverFactory.create(
        first_name="Marek", last_name="Novak", provider=vehicle.provider, default_vehicle=vehicle
    )
    return driver


def _left(one: Locator) -> float:
    box = one.bounding_box()
    assert box is not None
    return box["x"]


def _worked() -> float:
    """Return the processor seconds of the service, which exclude other load of the machine."""
    processes = psutil.Process().children(recursive=True)
    times = [one.cpu_times() for one in processes if "python" in one.name()]
    return float(sum(one.user + one.system for one in times))


def _ends(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("(one) => one.getBoundingClientRect().right"))


@pytest.mark.parametrize(
    ("hours", "around", "clocks"),
    [
        (
            25,
            ["00:00", "01:00\N{NO-BREAK SPACE}CDT", "01:00\N{NO-BREAK SPACE}CST", "02:00", "03:00"],
            ("01:30", "01:30"),
        ),
        (23, ["00:00", "01:00", "03:00"], ("01:30", "03:30")),
    ],
)
def test_b12_days_of_clock_changes_are_drawn_in_full_length(
    desk: Inspector, hours: int, around: list[str], clocks: tuple[str, str]
) -> None:
    """01:30 and an hour later, around the hour that is repeated or skipped."""
    axis, driver = _next_of(hours), _driver()
    first, second = (_driven(driver, axis.starts_at + 21.5 * HOUR + after) for after in (0 * HOUR, HOUR))
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOARD}?day={axis.day}")
        ticks = page.locator(".hours span")
        places = ticks.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")
        found = faults(page)
        an_hour = places[1] - places[0]
        bars = [page.locator(f"#ride-{ride.pk}") for ride in (first, second)]
        said = [bar.text_content() for bar in bars]

        assert ticks.all_inner_texts()[20:] == around
        assert len(places) == hours
        assert [round(right - left) for left, right in pairwise(places)] == [round(an_hour)] * (hours - 1)
        assert [clock in str(text) for clock, text in zip(clocks, said, strict=True)] == [True, True]
        assert _left(bars[1]) - _left(bars[0]) == pytest.approx(an_hour, abs=1)
        assert _left(bars[0]) == pytest.approx(places[21] + an_hour / 2, abs=1)
        assert page.evaluate("() => document.documentElement.scrollHeight - innerHeight") <= 0, "its parts scroll"
        for part in (".hours", ".driver-row .track"):
            assert _ends(page, part) == pytest.approx(places[-1] + an_hour, abs=1), part
    assert found == [], "\n".join(found)


def test_f1_run_sheet_of_forty_rides_takes_under_three_seconds(desk: Inspector) -> None:
    pango.needed()
    driver, begins = _driver(), Axis(TOMORROW, CHICAGO).starts_at + HOUR
    for number in reversed(range(40)):
        rider = factories.RiderFactory.create(last_name=f"Quill{number:02}")
        _driven(driver, begins + number * HOUR / 3, rider=rider)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOARD}?day={TOMORROW}")
        page.get_by_role("link", name="Novak, Marek").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Novak")
        found = faults(page)
        link = page.get_by_role("link", name="Run sheet (PDF)")
        expect(link).to_be_visible()
        address = desk.url + str(link.get_attribute("href"))
        context.request.get(address)  # loads the layout library
        before = _worked()
        answer = context.request.get(address)
        took = _worked() - before
        written = BytesIO(answer.body())

    assert (answer.status, answer.headers["content-type"]) == (200, "application/pdf")
    pdf = PdfReader(written)
    text = " ".join(one.extract_text() for one in pdf.pages)
    assert re.findall(r"Quill\d\d", text) == [f"Quill{number:02}" for number in range(40)]
    assert f"1 / {len(pdf.pages)}" in text
    root = cast(Any, pdf.trailer["/Root"])
    assert root["/MarkInfo"]["/Marked"]
    assert re.search(rb"pdfuaid:part\W+1\b", root["/Metadata"].get_data())
    assert 0 < took <= 3
    assert found == [], "\n".join(found)
