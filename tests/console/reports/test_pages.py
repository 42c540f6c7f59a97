"""Reports in the console: figures, their components, the rides behind them, and visibility."""

import csv
import datetime as dt
import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.audit.models import AuditEntry
from apps.reporting import kpi_labels
from apps.reporting.kpi_labels import KPI_TEXTS, MAIN_KPIS
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY
from apps.reporting.services import rollups
from apps.rides.models import Ride
from lib.access import system
from lib.dates import dated_day, plain_day
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import api_with
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.test_golden_month import EXPECTED, month

__all__ = ["month"]  # the fixture

NOVEMBER = "period=own&from=2026-11-01&to=2026-11-30"
PAGE = "/console/reports/"
TOO_FEW = "Too few rides to show"


def driven(day: int, arrived: int) -> legs.Leg:
    """Create a completed leg; `arrived` in minutes after the pickup time."""
    return legs.Leg(day=day, arrived=arrived, boarded=arrived + 5, delivered=arrived + 20, dropped=arrived + 25)


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def table_of(response: Any) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(response.content.decode().removeprefix("\ufeff"))))
    return [row[:-1] for row in rows]  # the last column names the owner of the copy


def page_label(along: str, label: str) -> str:
    """Return the label that a page has for a line of a file, which names days as spreadsheets read them."""
    if along not in ("day", "week"):
        return label
    day = dt.date.fromisoformat(label)
    return dated_day(day) if along == "day" else f"Week of {plain_day(day)}"


def tiles_of(response: Any) -> dict[str, tuple[float | None, int | None, int | None]]:
    figures = [one["figure"] for one in [*response.context["tiles"], *response.context["others"]]]
    return {one.kpi.key: (one.value, one.numerator, one.denominator) for one in figures}


def planner_of(facility: Any) -> Client:
    client = Client()
    user: User = factories.UserFactory.create(role=UserRole.PLANNER)
    user.facilities.add(facility)
    sign_in(client, user)
    return client


def test_overview_shows_every_expected_figure(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}?{NOVEMBER}")

    assert response.status_code == 200
    assert tiles_of(response) == {key: one[:3] for key, one in EXPECTED.items()}
    said = text_of(response)
    assert "Pickups on time 80.0% 36 of 45 , Pickups on time vs. previous 30 days: \N{EN DASH}" in said
    assert "Nov 1, 2026 to Nov 30, 2026 · Data as of Fri, Nov 20, 09:00" in said
    assert "final through Nov 12, 2026" in said


def test_panel_says_how_a_figure_is_counted(supervisor: Client, month: legs.Cast) -> None:
    said = text_of(supervisor.get(f"{PAGE}?{NOVEMBER}"))

    assert (
        "How is this counted? Fulfillment What share of the rides due to be provided was completed?"
        " Numerator Completed rides: 35 Denominator Completed and unfulfilled rides: 43 Excluded"
    ) in said
    assert "Canceled: 7 , Fulfillment, Canceled No-shows: 4" in said
    assert "Version kpi-1" in said
    assert "What is measured Minutes from ready to arrival at the pickup Of" in said


def test_tiles_table_file_and_api_say_the_same(supervisor: Client, month: legs.Cast) -> None:
    token = api_with(TokenRole.BILLING_READONLY)
    response = supervisor.get(f"{PAGE}?{NOVEMBER}")
    rows = table_of(supervisor.get(f"{PAGE}file/?{NOVEMBER}"))
    api = token.get("/api/reports/facility-kpis?from=2026-11-01&to=2026-11-30").json()

    tiles = tiles_of(response)
    wire = {one["key"]: (one["value"], one["numerator"], one["denominator"]) for one in api["total"]}
    filed = ["" if it is None else str(it) for key in MAIN_KPIS for it in tiles[key]]
    assert wire == tiles
    assert [row[: 1 + len(filed)] for row in rows[1:]] == [[month.facility.name, *filed], ["Total", *filed]]
    (row,) = response.context["rows"]
    assert [(one["figure"].value, one["figure"].denominator) for one in row["cells"]] == [
        (tiles[key][0], tiles[key][2]) for key in MAIN_KPIS
    ]
    assert sum(int(line[3]) for line in rows[1:-1]) == tiles["pickupOnTimeRate"][2]


def test_file_is_in_the_trail_and_quotes_formulas(supervisor: Client, month: legs.Cast) -> None:
    month.facility.name = "=cmd|'/c calc'!A1"
    month.facility.save()

    response = supervisor.get(f"{PAGE}file/?{NOVEMBER}")

    assert table_of(response)[1][0] == "'=cmd|'/c calc'!A1"
    entry = AuditEntry.objects.get(action="reports.export")
    assert entry.details == {"rows": 2, "figures": list(MAIN_KPIS)}


def test_period_before_and_which_way_it_went(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}?period=own&from=2026-11-11&to=2026-11-20")

    directions = {one["figure"].kpi.key: one["better"] for one in response.context["tiles"]}
    before = {one["figure"].kpi.key: one["before"] for one in response.context["tiles"]}
    assert response.context["before"].first == dt.date(2026, 11, 1)
    assert directions["fulfillmentRate"] in ("better", "worse")
    assert before["fulfillmentRate"].endswith("%")


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("", "2026-10-21", "2026-11-19"),
        ("period=7", "2026-11-13", "2026-11-19"),
        ("period=90", "2026-08-22", "2026-11-19"),
        ("period=month", "2026-11-01", "2026-11-20"),
        ("period=last_month", "2026-10-01", "2026-10-31"),
        ("from=2026-01-01&to=2026-01-02", "2026-01-01", "2026-01-02"),
        # Dates are ignored for another period.
        ("period=7&from=2026-01-01&to=2026-01-02", "2026-11-13", "2026-11-19"),
    ],
)
def test_periods(supervisor: Client, query: str, first: str, last: str) -> None:
    selection = supervisor.get(f"{PAGE}?{query}").context["selection"]

    assert (selection.first.isoformat(), selection.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("period=own&from=2026-01-01", "Enter both days."),
        ("from=2026-02-01&to=2026-01-01", "must be no earlier than"),
        ("from=2020-01-01&to=2026-01-01", "The period must not be longer than "),
        ("period=own&from=x&to=2026-01-01", "Enter a valid date."),
        ("facility=01a1fa1d-29c5-7525-aa8a-6e9f346294ae", "Select a valid choice."),
    ],
)
@pytest.mark.parametrize("page", ["", "fulfillmentRate/", "fulfillmentRate/rides/"])
def test_what_does_not_hold_is_said_and_nothing_is_shown(supervisor: Client, page: str, query: str, said: str) -> None:
    response = supervisor.get(f"{PAGE}{page}?{query}")

    assert response.status_code == 200
    assert said in text_of(response)
    assert "selection" not in response.context


@pytest.mark.parametrize("page", ["", "fulfillmentRate/"])
def test_no_file_without_a_period(supervisor: Client, page: str) -> None:
    response = supervisor.get(f"{PAGE}{page}file/?from=2026-02-01&to=2026-01-01")

    assert (response.status_code, response["Location"]) == (302, f"{PAGE}{page}?from=2026-02-01&to=2026-01-01")
    assert not AuditEntry.objects.filter(action="reports.export").exists()


def test_facilities_sort_by_name_and_by_figure(supervisor: Client, db: None) -> None:
    good, bad = legs.cast(), legs.cast()
    empty = legs.cast()
    for cast, name in ((good, "Birch"), (bad, "Alder"), (empty, "Cedar")):
        cast.facility.name = name
        cast.facility.save()
    legs.write(driven(2, 0), good)
    legs.write(driven(2, 40), bad)
    legs.write(legs.Leg(day=2, status="cancelled", reason="rider_request", fault="rider", timing="advance"), empty)
    rollups.refresh(by=system(), at=NOW, seconds=60)

    def names(sort: str) -> list[str]:
        return [row["name"] for row in supervisor.get(f"{PAGE}?{NOVEMBER}&sort={sort}").context["rows"]]

    assert names("") == names("nonsense") == ["Alder", "Birch", "Cedar"]
    assert names("-name") == ["Cedar", "Birch", "Alder"]
    assert names("-pickupOnTimeRate") == ["Birch", "Alder", "Cedar"]
    assert names("pickupOnTimeRate") == ["Alder", "Birch", "Cedar"]


def test_rides_of_no_facility_have_a_row_that_opens_nothing(supervisor: Client, db: None) -> None:
    cast = legs.cast()
    legs.write(driven(2, 0), legs.Cast(None, cast.rider, cast.driver, cast.vehicle))
    rollups.refresh(by=system(), at=NOW, seconds=60)

    (row,) = supervisor.get(f"{PAGE}?{NOVEMBER}").context["rows"]

    assert row["name"] == "Rides without a facility"
    assert {one["url"] for one in row["cells"]} == {""}


def test_planner_sees_their_facility_alone(month: legs.Cast) -> None:
    others = planner_of(factories.FacilityFactory.create())
    own = planner_of(month.facility)

    assert others.get(f"{PAGE}?{NOVEMBER}").context["rows"] == []
    assert others.get(f"{PAGE}fulfillmentRate/rides/?{NOVEMBER}").context["rows"] == []
    assert tiles_of(own.get(f"{PAGE}?{NOVEMBER}"))["fulfillmentRate"] == (0.814, 35, 43)
    # A facility outside the data scope is not a choice.
    assert "Select a valid choice." in text_of(others.get(f"{PAGE}?{NOVEMBER}&facility={month.facility.pk}"))


def test_analyst_sees_no_small_figure_and_no_name(month: legs.Cast) -> None:
    client = visitor(UserRole.ANALYST)

    overview = client.get(f"{PAGE}?{NOVEMBER}")
    rides = client.get(f"{PAGE}fulfillmentRate/rides/?{NOVEMBER}")
    few = client.get(f"{PAGE}noShowRate/rides/?{NOVEMBER}&counted=numerator")
    rows = table_of(client.get(f"{PAGE}file/?{NOVEMBER}"))

    assert tiles_of(overview)["noShowRate"] == (None, None, None)
    assert TOO_FEW in text_of(overview)
    assert TOO_FEW in rows[1]
    assert len(rides.context["rows"]) == 43
    assert month.rider.last_name not in rides.content.decode()
    assert "Too few rides to show to users without access to rider identities." in text_of(few)
    assert few.context["rows"] == []
    entry = AuditEntry.objects.filter(action="reports.rides").earliest("at")
    assert (entry.rider_ids, entry.phi) == ([], "")


def test_rides_behind_a_figure_are_named_and_recorded(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}fulfillmentRate/rides/?{NOVEMBER}&counted=numerator")

    assert len(response.context["rows"]) == 35
    assert {row["counts"] for row in response.context["rows"]} == {True}
    assert month.rider.last_name in text_of(response)
    assert "Completed rides" in text_of(response)
    entry = AuditEntry.objects.get(action="reports.rides")
    assert (entry.rider_ids, entry.phi) == ([month.rider.pk], "full")
    assert entry.details == {"figure": "fulfillmentRate", "counted": "numerator", "rows": 35}


def test_rides_of_a_denominator_say_which_of_them_count(supervisor: Client, month: legs.Cast) -> None:
    rows = supervisor.get(f"{PAGE}pickupOnTimeRate/rides/?{NOVEMBER}").context["rows"]

    assert (len(rows), sum(row["counts"] for row in rows)) == (45, 36)


def test_rides_left_out_open_by_reason(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}fulfillmentRate/rides/?{NOVEMBER}&counted=excluded&reason=cancelled")

    assert len(response.context["rows"]) == 7
    assert supervisor.get(f"{PAGE}fulfillmentRate/rides/?counted=excluded&reason=nonsense").status_code == 404


def test_rides_of_a_median_say_their_minutes(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}willCallResponse/rides/?{NOVEMBER}")

    assert all(row["minutes"] for row in response.context["rows"])
    assert "Minutes from ready to arrival at the pickup" in text_of(response)


def test_rides_come_a_page_at_a_time(supervisor: Client, month: legs.Cast) -> None:
    whole = f"{PAGE}completionRate/rides/?{NOVEMBER}"
    first = supervisor.get(whole)
    second = supervisor.get(f"{whole}&after={first.context['next']}")

    pages = [[row["ride"].pk for row in one.context["rows"]] for one in (first, second)]
    assert [len(page) for page in pages] == [50, 3]
    assert not set(pages[0]) & set(pages[1])
    assert second.context["next"] == ""
    # A cursor that names no ride in scope starts at the beginning.
    assert len(supervisor.get(f"{whole}&after=x").context["rows"]) == 50


def test_ninety_two_days_of_rides_at_most(supervisor: Client) -> None:
    response = supervisor.get(f"{PAGE}fulfillmentRate/rides/?from=2026-01-01&to=2026-04-03")

    assert "The period must not be longer than 92 days." in text_of(response)
    assert not AuditEntry.objects.filter(action="reports.rides").exists()


@pytest.mark.parametrize("along", ["day", "week", "month", "weekday_hour", "pattern", "shift"])
@pytest.mark.parametrize("key", ["pickupOnTimeRate", "willCallResponse"])
def test_points_of_a_trend_open_to_their_rides(supervisor: Client, month: legs.Cast, along: str, key: str) -> None:
    response = supervisor.get(f"{PAGE}{key}/?{NOVEMBER}&by={along}")
    filed = table_of(supervisor.get(f"{PAGE}{key}/file/?{NOVEMBER}&by={along}"))

    rows = response.context["rows"]
    assert rows or key == "willCallResponse"
    assert [page_label(along, line[0]) for line in filed[1:]] == [row["label"] for row in rows]
    for row in rows:
        if row["url"]:
            behind = supervisor.get(row["url"])
            assert len(behind.context["rows"]) == row["figure"].denominator
            assert behind.context["selection"].first >= dt.date(2026, 11, 1)


def test_chart_has_what_the_table_has(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}")

    chart = json.loads(
        response.content.decode().partition('id="chart-data" type="application/json">')[2].partition("<")[0]
    )
    rows = response.context["rows"]
    assert chart["labels"] == [row["label"] for row in rows]
    (series,) = chart["series"]
    assert series["texts"] == [f"{row['value']}, {row['of']}" for row in rows]
    assert series["values"] == [
        None if row["figure"].value is None else round(100 * row["figure"].value, 2) for row in rows
    ]
    assert (chart["title"], chart["unit"], chart["isLine"], chart["axisEnd"]) == ("Pickups on time", "%", True, 100)


def test_sparklines_have_the_values_of_the_chart(supervisor: Client, month: legs.Cast) -> None:
    overview = supervisor.get(f"{PAGE}?{NOVEMBER}").content.decode()
    chart = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=day").context["chart"]
    values = [value for value in chart["series"][0]["values"] if value is not None]

    lowest, highest, latest = (f"{value:.1f}%" for value in (min(values), max(values), values[-1]))
    assert f'aria-label="By day: lowest {lowest}, highest {highest}, latest {latest}"' in overview
    assert lowest != highest


def test_axis_of_small_shares_is_as_high_as_they_are(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}&by=month")

    assert response.context["chart"]["series"][0]["values"] == [5.0]
    assert response.context["chart"]["axisEnd"] is None


@pytest.mark.parametrize(
    ("key", "value", "said", "short"),
    [
        ("pickupOnTimeRate", 0.8997, "90.0%", "90%"),
        ("pickupOnTimeRate", 0.9409, "94.1%", "94%"),
        ("pickupOnTimeRate", 0.814, "81.4%", "81%"),
        ("pickupOnTimeRate", 1.0, "100.0%", "100%"),
        ("leadTime", 119.0, "119 min", "119"),
        ("leadTime", 155.0, "2 h 35 min", "3 h"),
        ("leadTime", 1440.0, "24 h", "24 h"),
        ("timeToAssign", 13194.0, "9.2 days", "9 d"),
        ("exceptionRate", 21.234, "21.2 per 100 rides", "21.2"),
        ("incidentRate", 0.667, "0.67 per 1,000 rides", "0.67"),
        ("rideTimeIndex", 1.8, "1.80\N{MULTIPLICATION SIGN}", "1.80\N{MULTIPLICATION SIGN}"),
        ("leadTime", 12.55, "12.6 min", "13"),
        ("exceptionRate", 3.4567, "3.46 per 100 rides", "3.46"),
        ("rideTimeIndex", None, "\N{EN DASH}", "\N{EN DASH}"),
    ],
)
def test_values_are_rounded_and_not_cut_off(key: str, value: float | None, said: str, short: str) -> None:
    assert kpi_labels.format_value(KPI_BY_KEY[key], value) == said
    assert kpi_labels.format_value(KPI_BY_KEY[key], value, short=True) == short


def test_hours_of_the_week_are_stronger_the_larger(supervisor: Client, month: legs.Cast) -> None:
    heat = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=weekday_hour").context["heat"]

    cells = [cell for row in heat["rows"] for cell in row["cells"] if cell and cell["figure"].value is not None]
    assert heat["rows"][0]["day"] == "Monday"
    assert {cell["level"] for cell in cells if cell["figure"].value == 1} == {5}
    assert {cell["level"] for cell in cells if cell["figure"].value == 0} == {1}


def test_hours_that_are_all_alike_are_pale(supervisor: Client, db: None) -> None:
    legs.write(driven(2, 0), legs.cast())
    rollups.refresh(by=system(), at=NOW, seconds=60)

    heat = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=weekday_hour").context["heat"]
    empty = supervisor.get(f"{PAGE}leadTime/?from=2026-01-01&to=2026-01-02&by=weekday_hour").context["heat"]
    unknown = supervisor.get(f"{PAGE}dischargeWithin60/?{NOVEMBER}&by=weekday_hour").context["heat"]

    assert [cell["level"] for row in heat["rows"] for cell in row["cells"] if cell] == [1]
    assert empty["hours"] == []
    assert [cell["level"] for row in unknown["rows"] for cell in row["cells"] if cell] == [0]


def test_hours_are_not_kept_by_service(supervisor: Client) -> None:
    response = supervisor.get(f"{PAGE}pickupOnTimeRate/?type=dialysis&by=weekday_hour")

    assert "Hours are not stored by provider and service type." in text_of(response)
    assert supervisor.get(f"{PAGE}pickupOnTimeRate/file/?type=dialysis&by=weekday_hour").status_code == 302


def test_endings_say_why_and_whose_doing(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}")
    exceptions = supervisor.get(f"{PAGE}exceptionRate/?{NOVEMBER}")

    reasons, faults = response.context["breakdowns"]
    ended = Ride.objects.filter(status__in=["cancelled", "no_show", "unfulfilled"]).count()
    assert sum(int(row[2]) for row in reasons["rows"]) == sum(int(row[2]) for row in faults["rows"]) == ended
    assert exceptions.context["breakdowns"][0]["rows"]
    assert supervisor.get(f"{PAGE}pickupOnTimeRate/").context["breakdowns"] == []


def test_reason_that_is_gone_is_said_by_its_code(supervisor: Client, month: legs.Cast) -> None:
    one = legs.Leg(day=2, status="cancelled", reason="gone_since", fault="rider", timing="advance")
    legs.write(one, month)
    call_command("rebuild_reports", "--from", "2026-11-01", "--to", "2026-11-30")

    response = supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}&basis=live")

    (row,) = [row for row in response.context["breakdowns"][0]["rows"] if row[1] == "Gone_since"]
    assert row[::2] == ("Canceled", "1")
    assert len(supervisor.get(row[3]).context["rows"]) == 1
    # The 2nd was closed before: the page reports the change.
    assert "1 closed day of a facility has changed since" in text_of(response)
    assert "not_booked" not in text_of(supervisor.get(f"{PAGE}?{NOVEMBER}"))


def test_small_counts_of_reasons_are_hidden(month: legs.Cast) -> None:
    reasons, _faults = visitor(UserRole.ANALYST).get(f"{PAGE}noShowRate/?{NOVEMBER}").context["breakdowns"]

    assert TOO_FEW in {row[2] for row in reasons["rows"]}


def test_summary_of_a_day_is_that_of_the_api(supervisor: Client, month: legs.Cast) -> None:
    response = supervisor.get(f"{PAGE}day/?day=2026-11-02&facility={month.facility.pk}")
    api = api_with(TokenRole.BILLING_READONLY).get("/api/reports/daily-summary?date=2026-11-02").json()

    shown = {str(badge.text): count for badge, count, _url in response.context["statuses"]}
    assert shown["Completed"] == str(api["statuses"]["completed"])
    assert {one["figure"].kpi.key: one["figure"].value for one in response.context["tiles"]} == {
        one["key"]: one["value"] for one in api["figures"]
    }
    assert len(response.context["reasons"]) == len(api["topReasons"])
    assert response.context["later"] == f"?facility={month.facility.pk}&day=2026-11-03"
    assert response.context["earlier"] == f"?facility={month.facility.pk}&day=2026-11-01"
    assert "Open exceptions: Critical" in text_of(response)


def test_summary_is_of_yesterday_where_no_day_is_named(supervisor: Client) -> None:
    response = supervisor.get(f"{PAGE}day/")

    assert response.context["selection"].first == dt.date(2026, 11, 19)
    assert "No rides in this period." in text_of(response)


def test_summary_of_what_is_no_day_says_so(supervisor: Client) -> None:
    response = supervisor.get(f"{PAGE}day/?day=x")

    assert "Enter a valid date." in text_of(response)
    assert "selection" not in response.context


def test_summary_hides_small_counts(month: legs.Cast) -> None:
    response = visitor(UserRole.ANALYST).get(f"{PAGE}day/?day=2026-11-02")

    assert TOO_FEW in {count for _badge, count, _url in response.context["statuses"]}
    assert month.rider.last_name not in response.content.decode()


@pytest.mark.parametrize("page", ["nonsense/", "nonsense/file/", "nonsense/rides/"])
def test_what_is_no_figure_is_not_there(supervisor: Client, page: str) -> None:
    assert supervisor.get(f"{PAGE}{page}").status_code == 404


def test_report_is_kept_as_a_view(supervisor: Client) -> None:
    sent = {"name": "Last week", "query": "period=7&facility=nonsense&sort=-noShowRate", "shared_with": ""}

    response = supervisor.post("/console/lists/reports/views/", sent)

    assert response.status_code == 302
    (view,) = supervisor.get(PAGE).context["views"]
    assert (view["view"].name, view["view"].page) == ("Last week", "reports")
    assert "period=7" in view["view"].query
    assert "nonsense" not in view["view"].query


def test_reports_take_their_scope(db: None) -> None:
    client = visitor(UserRole.ADMIN)

    pages = ("", "file/", "day/", "leadTime/", "leadTime/file/", "leadTime/rides/")
    assert {page: client.get(f"{PAGE}{page}").status_code for page in pages} == dict.fromkeys(pages, 403)


@pytest.mark.parametrize("key", [one.key for one in ALL_KPIS])
def test_every_figure_has_a_page(supervisor: Client, month: legs.Cast, key: str) -> None:
    response = supervisor.get(f"{PAGE}{key}/?{NOVEMBER}")

    assert response.context["total"]["figure"].value == EXPECTED[key][0]
    assert str(KPI_TEXTS[key].population)[:20] in text_of(response)


@pytest.mark.parametrize("count", [1, 3])
def test_pages_cost_as_many_queries_for_any_number(
    supervisor: Client, db: None, django_assert_num_queries: Any, count: int
) -> None:
    for number in range(count):
        legs.write(driven(2 + number, 0), legs.cast())
    rollups.refresh(by=system(), at=NOW, seconds=60)
    supervisor.get(PAGE)  # makes the session fresh

    with django_assert_num_queries(OVERVIEW):
        supervisor.get(f"{PAGE}?{NOVEMBER}")
    with django_assert_num_queries(FIGURE):
        supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}")
    with django_assert_num_queries(RIDES):
        response = supervisor.get(f"{PAGE}noShowRate/rides/?{NOVEMBER}")
    assert len(response.context["rows"]) == count
    with django_assert_num_queries(DAY):
        supervisor.get(f"{PAGE}day/?day=2026-11-02")


OVERVIEW, FIGURE, RIDES, DAY = 12, 15, 10, 12
