"""API, page and file show the same figure for one filter: value, parts, exclusions."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.reporting.kpi_labels import MAIN_KPIS
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY
from apps.reporting.services import rollups
from lib.access import system
from tests.callers import TokenClient, api_with
from tests.console.reports.test_pages import PAGE, TOO_FEW, page_label, table_of
from tests.console.visits import visitor
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH

Told = tuple[Any, ...]  # value, numerator, denominator, and exclusions by reason
NOVEMBER = "from=2026-11-01&to=2026-11-30"
# A share, a median, a ratio of minutes, a rate per 100 rides, and a figure whose reasons are broken down.
KEYS = ("pickupOnTimeRate", "willCallResponse", "rideTimeIndex", "exceptionRate", "noShowRate")
FILTERS = ("", "facility", "two", "provider", "type", "facility+type", "two+provider+type")
PERIODS = (NOVEMBER, "from=2026-11-02&to=2026-11-09", "from=2026-10-01&to=2026-10-31")
ALONG = ("day", "week", "month", "weekday_hour", "facility", "provider", "service_type", "pattern", "shift")


@pytest.fixture
def casts(db: None) -> list[legs.Cast]:
    """The golden month at one facility, parts of it at two others, each with its own provider."""
    made = [legs.cast() for _ in range(3)]
    for cast, part in zip(made, (MONTH, MONTH[::2], MONTH[1::3]), strict=True):
        for leg in part:
            legs.write(leg, cast)
    rollups.refresh(by=system(), at=NOW, seconds=60)
    return made


def asked(casts: list[legs.Cast], wanted: str) -> tuple[str, str]:
    """Format a filter as query parameters of pages and of the API."""
    first, second = (str(one.facility.pk) for one in casts[:2])
    provider = str(casts[0].driver.provider_id)
    spelled = {
        "": ("", ""),
        "facility": (f"&facility={first}", f"&facilityId={first}"),
        "two": (f"&facility={first}&facility={second}", f"&facilityId={first},{second}"),
        "provider": (f"&provider={provider}", f"&providerId={provider}"),
        "type": ("&type=dialysis", "&type=dialysis"),
    }
    parts = [spelled[one] for one in wanted.split("+")]
    return "".join(page for page, _ in parts), "".join(api for _, api in parts)


def of_wire(figure: dict[str, Any]) -> Told:
    if figure["suppressed"]:
        return (TOO_FEW,)
    return figure["value"], figure["numerator"], figure["denominator"], *figure["excluded"].values()


def of_page(shown: dict[str, Any]) -> Told:
    figure = shown["figure"]
    if figure.suppressed:
        return (TOO_FEW,)
    return figure.value, figure.numerator, figure.denominator, *figure.excluded.values()


def of_file(cells: list[str], left_out: list[str]) -> Told:
    if cells[0] == TOO_FEW:
        return (TOO_FEW,)
    value, *others = [None if one == "" else float(one) for one in cells]
    return value, *others, *(None if one == TOO_FEW else float(one) for one in left_out)


@pytest.mark.parametrize("role", ["billing-readonly", "analytics-readonly"])
@pytest.mark.parametrize("wanted", FILTERS)
def test_figures_by_facility_are_the_same(casts: list[legs.Cast], wanted: str, role: str) -> None:
    for period in PERIODS:
        _compare_by_facility(_callers(role), period, asked(casts, wanted))


def _compare_by_facility(callers: tuple[Client, TokenClient], period: str, filters: tuple[str, str]) -> None:
    (client, token), (page_filter, api_filter) = callers, filters

    page = client.get(f"{PAGE}?{period}{page_filter}").context
    filed = table_of(client.get(f"{PAGE}file/?{period}{page_filter}"))
    wire = token.get(f"/api/reports/facility-kpis?{period}{api_filter}").json()

    tiles = {one["figure"].kpi.key: of_page(one) for one in [*page["tiles"], *page["others"]]}
    assert tiles == {one["key"]: of_wire(one) for one in wire["total"]}
    by_facility = [{one["key"]: of_wire(one) for one in row["figures"]} for row in wire["data"]]
    assert [[of_page(cell) for cell in row["cells"]] for row in page["rows"]] == [
        [row[key] for key in MAIN_KPIS] for row in by_facility
    ]
    assert [_filed(row) for row in filed[1:]] == [
        [row[key] for key in MAIN_KPIS] for row in [*by_facility, {one["key"]: of_wire(one) for one in wire["total"]}]
    ]
    assert [row[0] for row in filed[1:-1]] == [row["facilityName"] for row in wire["data"]]
    # The sum of the rows equals the total, if no part is hidden.
    for key, told in tiles.items():
        counts = [row[key] for row in by_facility]
        if TOO_FEW not in {one[0] for one in [told, *counts]}:
            assert sum(one[2] for one in counts) == told[2]


@pytest.mark.parametrize("role", ["billing-readonly", "analytics-readonly"])
@pytest.mark.parametrize("wanted", ["", "two", "provider", "two+provider+type"])
def test_steps_of_figures_are_the_same(casts: list[legs.Cast], wanted: str, role: str) -> None:
    for along in ALONG:
        _compare_steps(_callers(role), along, wanted, asked(casts, wanted))


def _compare_steps(callers: tuple[Client, TokenClient], along: str, wanted: str, filters: tuple[str, str]) -> None:
    (client, token), (page_filter, api_filter) = callers, filters
    wire = token.get(f"/api/reports/trends?{NOVEMBER}{api_filter}&kpi={','.join(KEYS)}&by={along}").json()

    for number, key in enumerate(KEYS):
        page = client.get(f"{PAGE}{key}/?{NOVEMBER}{page_filter}&by={along}")
        filed = client.get(f"{PAGE}{key}/file/?{NOVEMBER}{page_filter}&by={along}")
        if along == "weekday_hour" and "provider" in wanted:
            assert wire["error"]["details"][0]["field"] == "by"
            assert ("rows" in page.context, filed.status_code) == (False, 302)
            continue
        told = [of_wire(point["figures"][number]) for point in wire["data"]]
        assert told
        assert [of_page(row) for row in page.context["rows"]] == told
        heads, *lines = table_of(filed)
        assert [of_file(line[1:4], line[4:]) for line in lines] == told
        assert [page_label(along, line[0]) for line in lines] == [row["label"] for row in page.context["rows"]]
        assert len(heads) == 4 + len(KPI_BY_KEY[key].excluded)


def test_every_figure_is_asked_for(casts: list[legs.Cast]) -> None:
    client, token = _callers("billing-readonly")
    page_filter, api_filter = asked(casts, "two")

    for one in ALL_KPIS:
        wire = token.get(f"/api/reports/trends?{NOVEMBER}{api_filter}&kpi={one.key}&by=week&each=facility").json()
        address = f"{PAGE}{one.key}/?{NOVEMBER}{page_filter}&by=week&each=facility"
        rows = client.get(address).context["rows"]
        assert [of_page(row) for row in rows] == [of_wire(point["figures"][0]) for point in wire["data"]]
        lines = [[of_wire(point["figures"][0]) for point in line["points"]] for line in wire["lines"]]
        assert [[of_page(row["each"][at]) for row in rows if row["each"][at]] for at in range(2)] == lines


def _callers(role: str) -> tuple[Client, TokenClient]:
    is_analyst = role == TokenRole.ANALYTICS_READONLY
    return visitor(UserRole.ANALYST if is_analyst else UserRole.DISPATCH_SUPERVISOR), api_with(TokenRole(role))


def _filed(row: list[str]) -> list[Told]:
    """Read a row of the overview's file: three cells for each figure, then the exclusions of each."""
    cells, rest = row[1 : 1 + 3 * len(MAIN_KPIS)], iter(row[1 + 3 * len(MAIN_KPIS) :])
    left_out = [[next(rest) for _ in KPI_BY_KEY[key].excluded] for key in MAIN_KPIS]
    return [of_file(cells[3 * at : 3 * at + 3], left_out[at]) for at in range(len(MAIN_KPIS))]
