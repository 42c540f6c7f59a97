"""Several facilities in one report, combined and side by side, over the API, on the page and in the file."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from django.test import Client

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.reporting.services import rollups
from lib.access import system
from lib.console_forms import ListFilter, MultiSelectField
from tests.callers import api_with, error_of
from tests.console.reports.test_pages import NOVEMBER, PAGE, TOO_FEW, driven, planner_of, table_of
from tests.console.visits import text_of, visitor
from tests.factories import NOW, TransportProviderFactory
from tests.reporting import legs

PERIOD = "from=2026-11-01&to=2026-11-30"
ON_TIME = f"trends?{PERIOD}&kpi=pickupOnTimeRate"


@pytest.fixture
def three(db: None) -> list[legs.Cast]:
    """Alder: 1 of 2 on time, on the 2nd and 3rd; Birch: 1 of 1 on the 3rd; Cedar: 0 of 1 on the 9th."""
    casts = []
    for name, days in (("Alder", ((2, 0), (3, 30))), ("Birch", ((3, 0),)), ("Cedar", ((9, 30),))):
        cast = legs.cast()
        cast.facility.name = name
        cast.facility.save()
        for day, arrived in days:
            legs.write(driven(day, arrived), cast)
        casts.append(cast)
    rollups.refresh(by=system(), at=NOW, seconds=60)
    return casts


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def ids(casts: list[legs.Cast]) -> str:
    return ",".join(str(one.facility.pk) for one in casts)


def parts(figure: dict[str, Any]) -> tuple[int | None, int | None]:
    return figure["numerator"], figure["denominator"]


@pytest.mark.parametrize("spell", [",", "&facility="])
def test_page_reads_facilities_repeated_and_with_commas(supervisor: Client, three: list[legs.Cast], spell: str) -> None:
    asked = spell.join(str(one.facility.pk) for one in three[:2])

    response = supervisor.get(f"{PAGE}?{NOVEMBER}&facility={asked}")

    assert [row["name"] for row in response.context["rows"]] == ["Alder", "Birch"]
    assert response.context["selection"].facility_ids == {one.facility.pk for one in three[:2]}
    assert ",".join(sorted(ids(three[:2]).split(","))).replace(",", "%2C") in response.context["file"]
    assert "Facilities: 2 chosen" in text_of(response)


def test_one_facility_is_called_by_its_name(supervisor: Client, three: list[legs.Cast]) -> None:
    response = supervisor.get(f"{PAGE}?{NOVEMBER}&facility={three[0].facility.pk}")

    assert "Facilities: Alder" in text_of(response)
    assert "Facilities: All facilities" in text_of(supervisor.get(f"{PAGE}?{NOVEMBER}"))


def test_day_reads_several_facilities(supervisor: Client, three: list[legs.Cast]) -> None:
    one, other = (cast.facility.pk for cast in three[:2])

    response = supervisor.get(f"{PAGE}day/?day=2026-11-03&facility={one}&facility={other}")

    assert [count for _badge, count, _url in response.context["statuses"]] == ["2"]


def test_facilities_are_told_one_by_one(three: list[legs.Cast]) -> None:
    body = api_with(TokenRole.BILLING_READONLY).get(f"/api/reports/{ON_TIME}&facilityId={ids(three[:2])}&each=facility")

    found = body.json()
    assert [(one["key"], parts(one["figures"][0])) for one in found["data"]] == [
        (["2026-11-02"], (1, 1)),
        (["2026-11-03"], (1, 2)),
    ]
    assert [
        (one["facilityName"], [(point["key"], parts(point["figures"][0])) for point in one["points"]])
        for one in found["lines"]
    ] == [
        ("Alder", [(["2026-11-02"], (1, 1)), (["2026-11-03"], (0, 1))]),
        ("Birch", [(["2026-11-03"], (1, 1))]),
    ]


@pytest.mark.parametrize("along", ["week", "month"])
def test_lines_go_by_week_and_month(three: list[legs.Cast], along: str) -> None:
    path = f"/api/reports/{ON_TIME}&facilityId={ids(three)}&each=facility&by={along}"

    found = api_with(TokenRole.BILLING_READONLY).get(path).json()

    assert {one["facilityName"]: sum(point["figures"][0]["denominator"] for point in one["points"])
            for one in found["lines"]} == {"Alder": 2, "Birch": 1, "Cedar": 1}  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 7])
def test_two_to_six_facilities_are_told_one_by_one(db: None, supervisor: Client, count: int) -> None:
    asked = ids([legs.cast() for _ in range(count)])
    named = f"&facilityId={asked}" if asked else ""

    response = api_with(TokenRole.BILLING_READONLY).get(f"/api/reports/{ON_TIME}&each=facility{named}")
    page = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&each=facility&facility={asked}")

    error = error_of(response)
    assert (response.status_code, error["details"][0]["field"]) == (400, "each")
    assert "Select two to six facilities to compare them by day, week or month." in text_of(page)
    assert "rows" not in page.context


@pytest.mark.parametrize("along", ["weekday_hour", "facility", "provider", "service_type", "pattern", "shift"])
def test_only_time_is_told_one_by_one(three: list[legs.Cast], along: str) -> None:
    path = f"/api/reports/{ON_TIME}&facilityId={ids(three)}&each=facility&by={along}"

    error = error_of(api_with(TokenRole.BILLING_READONLY).get(path))

    assert error["details"][0]["field"] == "each"


def test_lines_of_facilities_out_of_reach_are_absent(three: list[legs.Cast]) -> None:
    token = api_with(TokenRole.BILLING_READONLY, facility_ids=[one.facility.pk for one in three[:2]])

    found = token.get(f"/api/reports/{ON_TIME}&facilityId={ids(three)}&each=facility").json()

    assert [one["facilityName"] for one in found["lines"]] == ["Alder", "Birch"]


def test_page_draws_a_line_for_each_and_opens_it(supervisor: Client, three: list[legs.Cast]) -> None:
    address = f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&facility={ids(three[:2])}"
    plain = supervisor.get(address)
    response = supervisor.get(f"{address}&each=facility")

    chart = response.context["chart"]
    assert chart["labels"] == ["Mon, Nov 2, 2026", "Tue, Nov 3, 2026"]
    assert [(one["name"], one["values"]) for one in chart["series"]] == [
        ("Alder", [100.0, 0.0]),
        ("Birch", [None, 100.0]),
    ]
    looks = [(one["token"], one["mark"], tuple(one["dashes"])) for one in chart["series"]]
    assert all(len({look[at] for look in looks}) == 2 for at in range(3))
    rows = response.context["rows"]
    assert [cell and cell["value"] for cell in rows[0]["each"]] == ["100.0%", None]
    behind = supervisor.get(rows[1]["each"][0]["url"])
    assert [row["ride"].facility.name for row in behind.context["rows"]] == ["Alder"]
    assert [one[0] for one in response.context["line_choices"]] == ["Total", "Each facility"]
    assert [one[2] for one in plain.context["line_choices"]] == [True, False]
    # Other breakdowns combine all facilities.
    assert [("each=" in url) for name, _label, url in response.context["bucket_choices"]] == [True] * 3 + [False] * 6


def test_file_has_columns_for_each(supervisor: Client, three: list[legs.Cast]) -> None:
    heads, *rows = table_of(
        supervisor.get(f"{PAGE}pickupOnTimeRate/file/?{NOVEMBER}&facility={ids(three[:2])}&each=facility")
    )

    assert heads[-6:] == [
        f"{name}: Pickups on time{part}" for name in ("Alder", "Birch") for part in ("", ", numerator", ", denominator")
    ]
    assert [row[:4] for row in rows] == [["2026-11-02", "1.0", "1", "1"], ["2026-11-03", "0.5", "1", "2"]]
    assert [row[-6:] for row in rows] == [["1.0", "1", "1", "", "", ""], ["0.0", "0", "1", "1.0", "1", "1"]]


def test_files_of_a_filter_that_does_not_hold_are_none(supervisor: Client, three: list[legs.Cast]) -> None:
    response = supervisor.get(f"{PAGE}pickupOnTimeRate/file/?{NOVEMBER}&each=facility")

    assert response.status_code == 302


def test_steps_that_are_hidden_hide_their_facilities(db: None) -> None:
    # The small 4th also hides the 3rd, which is large enough at each facility.
    casts = [legs.cast(), legs.cast()]
    for day, counts in ((2, (6, 6)), (3, (6, 5)), (4, (2, 2)), (5, (7, 8))):
        for cast, count in zip(casts, counts, strict=True):
            for _ in range(count):
                legs.write(driven(day, 0), cast)
    rollups.refresh(by=system(), at=NOW, seconds=60)
    path = f"/api/reports/{ON_TIME}&facilityId={ids(casts)}&each=facility"

    def seen(token: Any) -> tuple[list[int | None], dict[str, list[int | None]]]:
        body = token.get(path).json()
        lines = {
            one["facilityId"]: [point["figures"][0]["denominator"] for point in one["points"]] for one in body["lines"]
        }
        return [one["figures"][0]["denominator"] for one in body["data"]], lines

    first, second = (str(one.facility.pk) for one in casts)
    assert seen(api_with(TokenRole.BILLING_READONLY)) == ([12, 11, 4, 15], {first: [6, 6, 2, 7], second: [6, 5, 2, 8]})
    assert seen(api_with(TokenRole.ANALYTICS_READONLY)) == (
        [12, None, None, 15],
        {first: [6, None, None, 7], second: [6, None, None, 8]},
    )


def test_a_step_beside_the_total_takes_another_along(month_of_one: legs.Cast) -> None:
    token = api_with(TokenRole.ANALYTICS_READONLY)

    found = token.get(f"/api/reports/{ON_TIME}").json()["data"]

    assert [one["figures"][0]["denominator"] for one in found] == [None, 7, None]
    client = visitor(UserRole.ANALYST)
    rows = client.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}").context["rows"]
    assert [row["of"] for row in rows] == [TOO_FEW, "7 of 7", TOO_FEW]


@pytest.fixture
def month_of_one(db: None) -> legs.Cast:
    """6 rides on the 2nd, 7 on the 3rd, 3 on the 4th."""
    cast = legs.cast()
    for day, count in ((2, 6), (3, 7), (4, 3)):
        for _ in range(count):
            legs.write(driven(day, 0), cast)
    rollups.refresh(by=system(), at=NOW, seconds=60)
    return cast


def test_facility_and_provider_rows_sort_by_name_and_drill_down(supervisor: Client, three: list[legs.Cast]) -> None:
    for cast, name in zip(three, ("Zeta", "Yard", "Xeno"), strict=True):
        cast.driver.provider.name = name
        cast.driver.provider.save()
    legs.write(legs.Leg(4, status="cancelled", reason="rider_request", fault="rider", timing="late"), three[0])
    legs.write(driven(4, 0), legs.Cast(None, three[0].rider, three[0].driver, three[0].vehicle))
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=True, at=NOW)

    facilities = supervisor.get(f"{PAGE}completionRate/?{NOVEMBER}&by=facility").context["rows"]
    providers = supervisor.get(f"{PAGE}completionRate/?{NOVEMBER}&by=provider").context["rows"]
    services = supervisor.get(f"{PAGE}completionRate/?{NOVEMBER}&by=service_type").context["rows"]
    api = api_with(TokenRole.BILLING_READONLY).get(f"/api/reports/trends?{PERIOD}&kpi=completionRate&by=provider")

    assert [row["label"] for row in facilities] == ["Alder", "Birch", "Cedar", "Rides without a facility"]
    assert [row["label"] for row in providers] == ["Xeno", "Yard", "Zeta", "Rides without a provider"]
    assert [one["name"] for one in api.json()["data"]] == ["Xeno", "Yard", "Zeta", None]
    assert [row["label"] for row in services] == ["Appointment"]
    assert (facilities[-1]["url"], providers[-1]["url"]) == ("", "")
    for row in (*facilities[:-1], *providers[:-1], *services):
        assert len(supervisor.get(row["url"]).context["rows"]) == row["figure"].denominator


def test_planner_compares_their_own_facilities(three: list[legs.Cast]) -> None:
    client = planner_of(three[0].facility)

    response = client.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=facility")

    assert [row["label"] for row in response.context["rows"]] == ["Alder"]
    assert "Birch" not in response.content.decode()


def test_names_of_providers_that_drive_nothing_are_not_read(supervisor: Client, three: list[legs.Cast]) -> None:
    TransportProviderFactory.create(name="Idle Wheels")

    rows = supervisor.get(f"{PAGE}pickupOnTimeRate/?{NOVEMBER}&by=provider").context["rows"]

    assert "Idle Wheels" not in [row["label"] for row in rows]


def test_several_are_spelled_once_and_in_order() -> None:
    class Filter(ListFilter):
        which = MultiSelectField(label="Which", all_label="All", choices=[("a", "A"), ("b", "B"), ("c", "C")])

    def known(query: str) -> dict[str, str]:
        return Filter(QueryDict(query)).parameters()

    assert known("which=b&which=a") == known("which=b,a,,b") == {"which": "a,b"}
    assert known("") == known("which=") == known("which=x") == {}


def test_reach_stands_for_facilities_that_are_not_named(three: list[legs.Cast]) -> None:
    reach: list[UUID] = [one.facility.pk for one in three[1:]]
    token = api_with(TokenRole.BILLING_READONLY, facility_ids=reach)

    found = token.get(f"/api/reports/{ON_TIME}&each=facility").json()

    assert [one["facilityName"] for one in found["lines"]] == ["Birch", "Cedar"]
    assert dt.date.fromisoformat(found["data"][0]["key"][0]) == dt.date(2026, 11, 3)
