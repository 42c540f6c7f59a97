"""Reports as PDF: content, scopes, filters and audit entries."""

import datetime as dt
import re
import sys
from io import BytesIO
from typing import Any, cast

import pytest
from django.test import Client
from pypdf import PdfReader

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.reporting.kpi_labels import MAIN_KPIS
from apps.reporting.rules.kpis import ALL_KPIS
from apps.reporting.services import rollups
from lib.access import system
from tests import pango
from tests.console.reports.test_pages import NOVEMBER, PAGE, TOO_FEW, driven
from tests.console.visits import told, visitor
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture

pango.needed()

PATHS = ["", "pickupOnTimeRate/", "noShowRate/", "exceptionRate/", "willCallResponse/", "utilization/"]


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def report(client: Client, address: str) -> PdfReader:
    response = client.get(f"{PAGE}{address}&format=pdf")
    assert (response.status_code, response["Content-Type"]) == (200, "application/pdf")
    return PdfReader(BytesIO(response.content))


def text(of: PdfReader) -> str:
    return " ".join(" ".join(page.extract_text() for page in of.pages).split())


def squeezed(said: str) -> str:
    """Remove spaces: narrow columns break lines where the page has none."""
    return "".join(said.split())


def test_overview_in_pdf_says_what_the_page_says(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{PAGE}?{NOVEMBER}").context
    said = squeezed(text(report(supervisor, f"?{NOVEMBER}")))

    for one in [*page["tiles"], *page["others"]]:
        assert squeezed(f"{one['title']}{one['value']}{one['of']}{one['before']}") in said
        assert squeezed(one["counted"]["question"]) in said
    (row,) = page["rows"]
    cells = "".join(
        f"{cell['value']}{cell['of']}" if cell["figure"].denominator else "\N{EN DASH}" for cell in row["cells"]
    )
    assert squeezed(f"{row['name']}{cells}Total{cells}") in said


def test_figure_in_pdf_says_what_the_page_says(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}").context
    said = text(report(supervisor, f"noShowRate/?{NOVEMBER}"))

    assert f"{page['total']['value']} {page['total']['of']}" in said
    for row in page["rows"]:
        assert f"{row['label']} {row['value']} {row['of']}" in said
    for one in page["breakdowns"]:
        assert str(one["title"]) in said
        for row in one["rows"]:
            assert " ".join(row[:3]) in said
    for words, count, _url in page["counted"]["excluded"]:
        assert f"{words}: {count}" in said


def test_hours_in_pdf_are_a_table_without_a_picture(supervisor: Client, month: legs.Cast) -> None:
    said = text(report(supervisor, f"pickupOnTimeRate/?{NOVEMBER}&by=weekday_hour"))

    assert "Monday 10:00 " in said


def test_day_in_pdf_says_what_the_page_says(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{PAGE}day/?day=2026-11-02").context
    said = text(report(supervisor, "day/?day=2026-11-02"))

    for badge, count, _url in page["statuses"]:
        assert f"{badge.text} {count}" in said
    for one in page["tiles"]:
        assert f"{one['title']} {one['value']} {one['of']}" in said
    for what, count in page["waiting"]:
        assert f"{what} {count}" in said


def test_work_in_pdf_says_what_the_page_says(supervisor: Client, month: legs.Cast) -> None:
    (row,) = supervisor.get(f"{PAGE}utilization/?{NOVEMBER}").context["rows"]

    said = text(report(supervisor, f"utilization/?{NOVEMBER}"))

    assert f"{row['name']} {row['rides']} {row['busy']} {row['on_board']}" in said


@pytest.mark.parametrize("path", PATHS)
def test_pdf_says_what_it_is_about_and_can_be_read_aloud(
    supervisor: Client, month: legs.Cast, settings: Any, path: str
) -> None:
    settings.OPERATOR_NAME = "Prairie Mobility"

    made = report(supervisor, f"{path}?{NOVEMBER}&facility={month.facility.pk}")

    said = text(made)
    assert said.partition("Prairie Mobility")[1]
    assert f"Nov 1, 2026 to Nov 30, 2026 Facilities: {month.facility.name} · Provider: All providers" in said
    assert "Created Fri, Nov 20, 2026, 09:00 CT for " in said
    assert f"1 / {len(made.pages)}" in said
    root = cast(Any, made.trailer["/Root"])
    assert root["/MarkInfo"]["/Marked"]
    assert b"pdfuaid:part" in root["/Metadata"].get_data()
    if path != "utilization/":
        assert "Data as of Fri, Nov 20, 09:00" in said
        assert "definitions kpi-1" in said


def test_pictures_are_described(supervisor: Client, month: legs.Cast) -> None:
    made = report(supervisor, f"pickupOnTimeRate/?{NOVEMBER}")
    rows = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}").context["rows"]

    (picture,) = [one for one in tags(made) if one["/S"] == "/Figure"]
    assert picture["/Alt"].startswith("Pickups on time. Pickups on time: ")
    assert all(f"{row['label']} {row['value']}, {row['of']}" in picture["/Alt"] for row in rows)


def tags(made: PdfReader) -> list[Any]:
    """Return the elements of the structure tree, from its root down."""
    found, waiting = [], [cast(Any, made.trailer["/Root"])["/StructTreeRoot"]]
    while waiting:
        children = waiting.pop().get("/K", [])
        for child in children if isinstance(children, list) else [children]:
            element = child.get_object() if hasattr(child, "get_object") else child
            if isinstance(element, dict) and "/S" in element:
                found.append(element)
                waiting.append(element)
    return found


def test_pdf_is_in_the_trail(supervisor: Client, month: legs.Cast) -> None:
    report(supervisor, f"?{NOVEMBER}")
    report(supervisor, f"leadTime/?{NOVEMBER}&by=week")
    report(supervisor, f"utilization/?{NOVEMBER}&of=vehicle")

    rows = AuditEntry.objects.filter(action="reports.print").order_by("at", "pk")
    others = [one.key for one in ALL_KPIS if one.key not in MAIN_KPIS]
    assert [(row.subject_type, row.rider_ids, row.details) for row in rows] == [
        ("report", [], {"figures": [*MAIN_KPIS, *others]}),
        ("report", [], {"figures": ["leadTime"], "by": "week"}),
        ("report", [], {"figures": ["work of vehicles"]}),
    ]


def test_analyst_gets_no_small_figure_in_pdf(month: legs.Cast) -> None:
    analyst = visitor(UserRole.ANALYST)

    made = report(analyst, f"noShowRate/?{NOVEMBER}")

    said = text(made)
    assert f"\N{EN DASH} {TOO_FEW}" in said
    assert "4 of 80" not in said
    assert month.rider.last_name not in said
    (picture,) = [one for one in tags(made) if one["/S"] == "/Figure"]
    assert TOO_FEW in picture["/Alt"]
    made_of = [int(part) for pair in re.findall(r"(\d+) of (\d+)", f"{said} {picture['/Alt']}") for part in pair]
    assert [part for part in made_of if 0 < part < 5] == []


def test_facilities_side_by_side_in_pdf(supervisor: Client, db: None) -> None:
    both = [legs.cast(), legs.cast()]
    for cast_, name in zip(both, ("Alder", "Birch"), strict=True):
        cast_.facility.name = name
        cast_.facility.save()
    legs.write(driven(2, 0), both[0])
    legs.write(driven(3, 30), both[0])
    legs.write(driven(3, 0), both[1])
    rollups.refresh(by=system(), at=NOW, seconds=60)
    ids = ",".join(str(one.facility.pk) for one in both)

    said = text(report(supervisor, f"pickupOnTimeRate/?{NOVEMBER}&each=facility&facility={ids}"))

    assert "By day Alder Birch Total Mon, Nov 2, 2026 100.0% 1 of 1 \N{EN DASH} 100.0% 1 of 1" in said
    assert "Tue, Nov 3, 2026 0.0% 0 of 1 100.0% 1 of 1 50.0% 1 of 2" in said


def test_restated_days_are_listed_in_pdf(supervisor: Client, month: legs.Cast) -> None:
    legs.write(legs.Leg(day=2, arrived=40, boarded=41, delivered=50, dropped=51), month)
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=False, at=NOW)

    said = text(report(supervisor, f"?{NOVEMBER}"))

    assert "1 closed day of a facility has changed since" in said
    assert "Completed rides " in said
    assert "arrived_on_time" not in said


@pytest.mark.parametrize("path", ["", "leadTime/", "day/", "utilization/"])
def test_without_pango_it_is_said_and_nothing_breaks(
    supervisor: Client, month: legs.Cast, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    class Without:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(), *sys.meta_path])
    answer = supervisor.get(f"{PAGE}{path}?type=dialysis&format=pdf", follow=True)

    assert "need Pango, which is not installed on the server" in told(answer)[0]
    assert answer.redirect_chain == [(f"{PAGE}{path}?type=dialysis", 302)]
    assert not AuditEntry.objects.filter(action="reports.print").exists()


@pytest.mark.parametrize("path", ["", "leadTime/", "day/", "utilization/"])
def test_no_pdf_of_a_filter_that_does_not_hold(supervisor: Client, path: str) -> None:
    response = supervisor.get(f"{PAGE}{path}?day=x&from=2026-02-01&to=2026-01-01&format=pdf")

    assert (response.status_code, response["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "selection" not in response.context


def test_pdfs_take_their_scope(db: None) -> None:
    assert visitor(UserRole.ADMIN).get(f"{PAGE}?format=pdf").status_code == 403


def test_pdf_without_rides_says_so(supervisor: Client) -> None:
    for path in ("", "leadTime/", "day/", "utilization/"):
        assert "No rides in this period." in text(report(supervisor, f"{path}?from=2026-01-01&to=2026-01-02"))
