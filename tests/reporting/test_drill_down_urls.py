"""Every figure of the API links to the rides that it counts."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest
from django.db.models import QuerySet

from apps.accounts.rules.roles import TokenRole
from apps.reporting.queries.reports import BUCKET_GROUPINGS
from apps.reporting.rules.kpis import KPI_BY_KEY, Unit
from apps.reporting.services import rollups
from apps.rides.models import ReasonCode, Ride, RideException
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.test_api import PERIOD, read
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture


def _read_behind(api: TokenClient, figure: dict[str, Any]) -> int:
    response = api.get(f"{figure['rides']}&limit=200")
    assert response.status_code == 200, (figure["rides"], response.content)
    return len(response.json()["data"])


@pytest.mark.parametrize(
    "path",
    [
        f"facility-kpis?{PERIOD}",
        f"facility-kpis?{PERIOD}&type=dialysis",
        "facility-kpis?from=2026-11-16&to=2026-11-30",
        "daily-summary?date=2026-11-02",
    ],
)
def test_every_figure_opens_to_the_rides_it_counts(api: TokenClient, month: legs.Cast, path: str) -> None:
    body = read(api, path)
    rows = body.get("data", [])
    lists = [body.get("figures", []), body.get("total", []), body.get("totalBefore", [])]
    lists += [row[name] for row in rows for name in ("figures", "before")]
    figures = [one for shown in lists for one in shown]

    opened = {one["rides"]: (_read_behind(api, one), one["denominator"]) for one in figures if _is_share(one)}

    assert len(opened) >= 3
    assert {address: found for address, found in opened.items() if found[0] != found[1]} == {}


def _is_share(figure: dict[str, Any]) -> bool:
    return KPI_BY_KEY[figure["key"]].unit is Unit.SHARE


@pytest.mark.parametrize("along", BUCKET_GROUPINGS)
def test_every_step_opens_to_the_rides_it_counts(api: TokenClient, month: legs.Cast, along: str) -> None:
    points = read(api, f"trends?{PERIOD}&kpi=fulfillmentRate&by={along}")["data"]

    counts = [
        (_read_behind(api, point["figures"][0]), point["figures"][0]["denominator"])
        for point in points
        if point["key"] != [None]  # rides without a provider, which cannot be requested separately
    ]

    assert len(counts) >= len(points) - 1
    assert counts
    assert [count for count in counts if count[0] != count[1]] == []


@pytest.mark.parametrize(
    ("point", "count"),
    [
        ("kpi=treatmentsAtRisk&pattern=mwf", 3),
        ("kpi=treatmentsAtRisk&pattern=tts", 3),
        ("kpi=treatmentsAtRisk&shift=third", 1),
        ("kpi=dischargeReadyToDepart&weekday=3&hour=13", 1),
        ("kpi=dischargeReadyToDepart&weekday=3&hour=12", 0),
    ],
)
def test_point_of_a_trend_opens_to_its_rides(api: TokenClient, month: legs.Cast, point: str, count: int) -> None:
    assert len(read(api, f"rides?{PERIOD}&{point}")["data"]) == count


def test_long_periods_and_no_facility_have_no_drill_down(api: TokenClient, month: legs.Cast) -> None:
    Ride.objects.filter(pk=Ride.objects.values_list("pk")[:1]).update(facility=None)
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=True, at=NOW)

    long = read(api, "facility-kpis?from=2026-08-01&to=2026-11-30&kpi=fulfillmentRate")
    month_of_none = read(api, f"facility-kpis?{PERIOD}&kpi=fulfillmentRate")["data"][-1]

    assert (long["total"][0]["rides"], long["data"][0]["figures"][0]["rides"]) == (None, None)
    assert (month_of_none["facilityId"], month_of_none["figures"][0]["rides"]) == (None, None)


def _rows(api: TokenClient, address: str) -> list[dict[str, Any]]:
    response = api.get(f"{address}&limit=200")
    assert response.status_code == 200, (address, response.content)
    return list(response.json()["data"])


@pytest.mark.parametrize("dimension", ["reason", "fault"])
def test_every_count_of_endings_opens_to_its_rides(api: TokenClient, month: legs.Cast, dimension: str) -> None:
    counted = read(api, f"breakdown?{PERIOD}&dimension={dimension}&facilityId={month.facility.pk}")["data"]

    assert len(counted) >= 3
    for one in counted:
        rows = _rows(api, one["rides"])
        assert (len(rows), {row["status"] for row in rows}) == (one["amount"], {one["category"]}), one
        assert {row["rideId"] for row in rows} <= {str(pk) for pk in _ended(dimension, one["code"])}


def _ended(what: str, code: str) -> QuerySet[Ride, UUID]:
    """Return rides by their columns; an operator's reason counts as the built-in reason that it names."""
    if what == "fault":
        return Ride.objects.filter(fault=code).values_list("pk", flat=True)
    own = ReasonCode.objects.filter(parent_code=code).values_list("code", flat=True)
    return Ride.objects.filter(reason_code__in=[code, *own]).values_list("pk", flat=True)


def test_every_exception_type_drills_down_to_its_rides(api: TokenClient, month: legs.Cast) -> None:
    counted = read(api, f"breakdown?{PERIOD}&dimension=exception_type")["data"]

    assert counted
    for one in counted:
        had = RideException.objects.filter(severity=one["category"], type=one["code"])
        rides = {str(pk) for pk in had.values_list("ride_id", flat=True)}
        assert {row["rideId"] for row in _rows(api, one["rides"])} == rides
        assert had.count() == one["amount"]


def test_daily_statuses_and_reasons_drill_down_to_their_rides(api: TokenClient, month: legs.Cast) -> None:
    days = [read(api, f"daily-summary?date=2026-11-{day:02}") for day in (2, 5)]

    for body in days:
        opened = {status: address and len(_rows(api, address)) for status, address in body["statusRides"].items()}
        assert opened == {status: count or None for status, count in body["statuses"].items()}
        assert [len(_rows(api, one["rides"])) for one in body["topReasons"]] == [
            one["amount"] for one in body["topReasons"]
        ]


def test_every_part_of_a_figure_opens_to_its_rides(api: TokenClient, month: legs.Cast) -> None:
    figures = [one for one in read(api, f"facility-kpis?{PERIOD}")["total"] if _is_share(one)]
    parts = [part for one in figures for part in one["parts"].values()]

    assert len(parts) >= 3
    for part in parts:
        rides = {counted: _rows(api, f"{part['rides']}&counted={counted}") for counted in ("numerator", "denominator")}
        assert {counted: len(rows) for counted, rows in rides.items()} == {
            "numerator": part["numerator"],
            "denominator": part["denominator"],
        }


def test_counts_that_are_too_small_to_show_open_to_nothing(month: legs.Cast) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)
    counted = read(analyst, f"breakdown?{PERIOD}")["data"]
    body = read(analyst, "daily-summary?date=2026-11-02")

    hidden = [one for one in counted if one["amount"] is None]
    assert hidden
    assert {one["rides"] for one in hidden} == {None}
    assert {body["statusRides"][status] for status, count in body["statuses"].items() if not count} == {None}
    asked = f"/api/reports/rides?dimension=reason&category={hidden[0]['category']}&code={hidden[0]['code']}&{PERIOD}"
    assert analyst.get(asked).json()["page"]["suppressed"] is True


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("", "kpi"),
        ("kpi=leadTime&dimension=status&category=completed", "kpi"),
        ("kpi=leadTime&category=completed", "category"),
        ("kpi=leadTime&code=weather", "code"),
        ("dimension=status", "category"),
        ("dimension=status&category=lost", "category"),
        ("dimension=reason&category=completed&code=weather", "category"),
        ("dimension=reason&category=cancelled", "code"),
        ("dimension=status&category=cancelled&code=weather", "code"),
        ("dimension=exception_type&category=cancelled&code=accident", "category"),
        ("dimension=status&category=completed&reason=cancelled", "reason"),
        ("dimension=status&category=completed&part=outbound", "part"),
        ("dimension=colour&category=red", "dimension"),
        ("kpi=leadTime&part=outbound", "part"),
        ("kpi=providerFailureRate&part=outbound&counted=excluded&reason=x", "part"),
        ("kpi=providerFailureRate&part=outbound&reason=x", "reason"),
    ],
)
def test_what_is_no_figure_and_no_count_is_refused_by_name(api: TokenClient, asked: str, field: str) -> None:
    response = api.get(f"/api/reports/rides?{PERIOD}&{asked}")

    assert (response.status_code, error_of(response)["details"][0]["field"]) == (400, field)
