"""Reports in a real browser."""

import csv
import io
import time
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.reporting.services import rollups
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.reporting import legs
from tests.reporting.golden import MONTH

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
PAGE = "/console/reports/"
NOVEMBER = "from=2026-11-01&to=2026-11-30"


def _driven(day: int, arrived: int) -> legs.Leg:
    """Create a completed leg; `arrived` in minutes after the pickup time."""
    return legs.Leg(day=day, arrived=arrived, boarded=arrived + 5, delivered=arrived + 20, dropped=arrived + 25)


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    cast = legs.cast()
    cast.facility.name = "=Birch & Sons"
    cast.facility.save()
    for leg in MONTH:
        legs.write(leg, cast)
    rollups.refresh(by=system(), at=timezone.now(), seconds=60)
    return inspector_of(factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR))


def _file(page: Page, address: str) -> list[list[str]]:
    """Return the file that the browser downloads."""
    answer = page.request.get(address)
    assert answer.ok
    return list(csv.reader(io.StringIO(answer.text().removeprefix("\ufeff"))))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path",
    [
        f"{PAGE}?{NOVEMBER}",
        f"{PAGE}?from=2026-02-01&to=2026-01-01",
        f"{PAGE}pickupOnTimeRate/?{NOVEMBER}",
        f"{PAGE}noShowRate/?{NOVEMBER}&by=week",
        f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=weekday_hour",
        f"{PAGE}pickupOnTimeRate/rides/?{NOVEMBER}",
        f"{PAGE}day/?day=2026-11-02",
        f"{PAGE}appointmentOnTimeRate/?{NOVEMBER}&by=service_type",
        f"{PAGE}utilization/?{NOVEMBER}",
        f"{PAGE}utilization/?{NOVEMBER}&of=vehicle",
    ],
)
def test_pages_pass_in_both_themes_and_every_width(desk: Inspector, path: str) -> None:
    assert desk.inspect(path, name=f"reports-{abs(hash(path)) % 1000}") == []


def test_p1_table_tiles_and_file_say_the_same(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}?{NOVEMBER}")
        tiles = page.locator(".figures > li > .of").all_inner_texts()
        rows = page.locator(".by-facility tbody td .sub").all_inner_texts()
        total = page.locator(".by-facility tfoot td .sub").all_inner_texts()
        address = page.get_by_role("link", name="CSV").get_attribute("href") or ""
        filed = _file(page, desk.url + address)

    shown = [text.split(",")[0].strip() for text in tiles]
    assert len(shown) == 8
    assert shown == [text.split(",")[0].strip() for text in rows] == [text.split(",")[0].strip() for text in total]
    made_of = [f"{filed[1][at + 1]} of {filed[1][at + 2]}" for at in range(1, 19, 3)]
    assert shown[:6] == made_of


def test_p2_chart_has_title_description_and_table(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}pickupOnTimeRate/?{NOVEMBER}")
        chart = page.locator("#chart")
        expect(chart.locator("svg")).to_be_visible()
        expect(page.locator(".chart-card figcaption strong")).to_have_text("Pickups on time")
        described = page.locator(f"#{chart.get_attribute('aria-describedby')}").inner_text()
        said = chart.get_attribute("aria-label") or ""
        labels = page.locator("main table.list tbody th").all_inner_texts()
        assert "no later than 15 minutes after the pickup time" in described
        assert said.startswith("Pickups on time. ")
        assert labels
        assert all(f"{label}: " in said for label in labels)
        # Hovering over a day shows its value, without a violation of the content policy.
        chart.hover()
        assert faults(page) == []


def test_p3_ninety_days_in_two_seconds(desk: Inspector) -> None:
    cast = legs.cast()
    for number in range(300):
        legs.write(_driven(1 + number % 28, number % 20), cast)
    call_command("rebuild_reports", "--from", "2026-11-01", "--to", "2026-11-30", "--discard-closed")
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}")
        began = time.perf_counter()
        page.goto(f"{desk.url}{PAGE}?from=2026-09-02&to=2026-11-30", wait_until="load")
        assert time.perf_counter() - began < 2
        expect(page.locator(".by-facility tbody tr")).to_have_count(2)


def test_p4_cells_of_the_file_are_no_formulas(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}?{NOVEMBER}")
        filed = _file(page, f"{desk.url}{PAGE}file/?{NOVEMBER}")

    assert filed[1][0] == "'=Birch & Sons"
    assert not [cell for row in filed for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_figures_open_to_rides_by_keys_alone(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/home/")
        page.keyboard.press("g")
        page.keyboard.press("r")
        page.wait_for_url(f"**{PAGE}")
        page.goto(f"{desk.url}{PAGE}?{NOVEMBER}")
        page.get_by_text("How is this counted?").first.press("Enter")
        expect(page.locator(".counted[open] dl")).to_contain_text("kpi-1")
        assert faults(page) == []
        page.locator(".figures > li > .of a").first.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Rides in: Pickups on time")
        expect(page.locator("main tbody tr")).to_have_count(45)


def test_facilities_are_chosen_by_keys_and_drawn_one_by_one(desk: Inspector) -> None:
    other = legs.cast()
    other.facility.name = "Alder"
    other.facility.save()
    for day in range(1, 12):
        legs.write(_driven(day, 3 * day), other)
    call_command("rebuild_reports", "--from", "2026-11-01", "--to", "2026-11-30", "--discard-closed")
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}pickupOnTimeRate/?{NOVEMBER}")
        choice = page.locator(".several summary")
        choice.press("Enter")
        boxes = page.locator(".several input[type=checkbox]")
        expect(boxes).to_have_count(2)
        assert faults(page) == []
        page.keyboard.press("Tab")  # the list, which scrolls
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(choice).to_contain_text("2 chosen")
        with page.expect_navigation():
            page.get_by_role("link", name="Each facility").press("Enter")
        expect(page.locator(".legend li")).to_have_text(["=Birch & Sons", "Alder"])
        chart = page.locator("#chart")
        expect(chart.locator("svg")).to_be_visible()
        said = chart.get_attribute("aria-label") or ""
        assert "=Birch & Sons. Sun, Nov 1, 2026: " in said
        assert "Alder. Sun, Nov 1, 2026: 100.0%, 1 of 1" in said
        dashes = chart.locator("svg path[stroke-dasharray]").evaluate_all(
            "(all) => all.map((one) => one.getAttribute('stroke'))"
        )
        assert "var(--bad)" in dashes
        assert "var(--brand)" not in dashes
        assert faults(page) == []


def test_work_opens_to_the_days_of_a_driver(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}?{NOVEMBER}")
        with page.expect_navigation():
            page.get_by_role("link", name="Drivers and vehicles").press("Enter")
        with page.expect_navigation():
            page.locator("main table.list tbody th a").first.press("Enter")
        expect(page.locator("main table.list tbody tr").first).to_be_visible()
        assert faults(page) == []


def test_pdf_is_offered_beside_the_file(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{PAGE}pickupOnTimeRate/?{NOVEMBER}")
        address = page.get_by_role("link", name="PDF").get_attribute("href") or ""
        answer = page.request.get(f"{desk.url}{PAGE}pickupOnTimeRate/{address}")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/pdf")
        assert answer.body().startswith(b"%PDF-")
