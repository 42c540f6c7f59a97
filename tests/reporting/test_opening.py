"""Every figure of the API opens to the rides it counts."""

import datetime as dt
from typing import Any

import pytest

from apps.reporting.defining import Unit
from apps.reporting.definitions import BY_KEY
from apps.reporting.queries.reports import BY
from apps.reporting.services import folding
from apps.rides.models import Ride
from tests.callers import TokenClient
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
    return BY_KEY[figure["key"]].unit is Unit.SHARE


@pytest.mark.parametrize("along", BY)
def test_every_step_opens_to_the_rides_it_counts(api: TokenClient, month: legs.Cast, along: str) -> None:
    points = read(api, f"trends?{PERIOD}&kpi=fulfillmentRate&by={along}")["data"]

    counts = [
        (_read_behind(api, point["figures"][0]), point["figures"][0]["denominator"])
        for point in points
        if point["key"] != [None]  # rides of no provider, which cannot be asked for alone
    ]

    assert len(counts) >= len(points) - 1
    assert counts
    assert [count for count in counts if count[0] != count[1]] == []


def test_figures_of_longer_periods_and_of_no_facility_open_to_nothing(api: TokenClient, month: legs.Cast) -> None:
    Ride.objects.filter(pk=Ride.objects.values_list("pk")[:1]).update(facility=None)
    folding.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), anew=True, at=NOW)

    long = read(api, "facility-kpis?from=2026-08-01&to=2026-11-30&kpi=fulfillmentRate")
    month_of_none = read(api, f"facility-kpis?{PERIOD}&kpi=fulfillmentRate")["data"][-1]

    assert (long["total"][0]["rides"], long["data"][0]["figures"][0]["rides"]) == (None, None)
    assert (month_of_none["facilityId"], month_of_none["figures"][0]["rides"]) == (None, None)
