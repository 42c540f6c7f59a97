"""Suppression of small counts in tables, for callers without PHI."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.reporting.models import BreakdownCount, MetricsRow, Restatement, RollupCheckpoint
from apps.reporting.queries.figures import Figure, figures_of, visible_beside_total, visible_counts, visible_to_caller
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.reporting.services import rollups
from lib.access import Phi, Principal, system
from tests.callers import api_with
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH
from tests.reporting.test_api import PERIOD, read
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture

ANALYST = Principal(kind="user", id=None, role="analyst", scopes=frozenset({"reports:read"}), phi=Phi.NONE)


@pytest.mark.parametrize(
    ("amounts", "shown"),
    [
        ({"a": 9, "b": 5}, {"a": 9, "b": 5}),
        # A single hidden count would be the difference to a known total.
        ({"a": 9, "b": 4, "c": 7}, {"a": 9, "b": None, "c": None}),
        ({"a": 9, "b": 4, "c": 0}, {"a": None, "b": None, "c": 0}),
        ({"a": 9, "b": 4, "c": 1}, {"a": 9, "b": None, "c": None}),
        # Two hidden counts with the sum two are one each.
        ({"a": 9, "b": 1, "c": 1, "d": 7}, {"a": 9, "b": None, "c": None, "d": None}),
        ({"a": 4, "b": 0}, {"a": None, "b": 0}),
    ],
)
def test_small_counts_are_hidden(amounts: dict[str, int], shown: dict[str, int | None]) -> None:
    assert visible_counts(ANALYST, amounts) == shown
    assert visible_counts(system(), amounts) == amounts


@pytest.mark.parametrize(
    ("key", "minutes", "legs", "is_hidden"),
    [
        # Minutes are many where rides are few, and few where rides are many.
        ("rideTimeIndex", {"onboard_total": 25, "direct_total": 20}, {"ride_time_known": 1}, True),
        ("rideTimeIndex", {"onboard_total": 125, "direct_total": 100}, {"ride_time_known": 5}, False),
        ("etaDeviation", {"promise_deviation": 60}, {"promised": 4}, True),
        ("etaDeviation", {"promise_deviation": 3}, {"promised": 500}, False),
    ],
)
def test_figure_of_minutes_is_hidden_for_the_rides_it_stands_on(
    key: str, minutes: dict[str, int], legs: dict[str, int], is_hidden: bool
) -> None:
    definition = KPI_BY_KEY[key]
    sums = {**dict.fromkeys(definition.measures, 0), **minutes, **legs}

    figure = figures_of([definition], sums)[key]

    assert visible_to_caller(ANALYST, figure).suppressed is is_hidden
    assert visible_to_caller(system(), figure) == figure


@pytest.mark.parametrize("key", ["fulfillmentRate", "treatmentsAtRisk"])
def test_share_is_hidden_where_few_are_left_whatever_its_unit(key: str) -> None:
    definition = KPI_BY_KEY[key]

    def hides(numerator: int) -> bool:
        figure = Figure(definition, numerator / 40, numerator, 40, {})
        return visible_to_caller(ANALYST, figure).suppressed

    assert [hides(numerator) for numerator in (4, 5, 35, 36, 39)] == [True, False, False, True, True]


def test_whole_is_hidden_where_no_other_row_can_be() -> None:
    # Incidents of rides that did not take place have no denominator: the row cannot hide another one.
    definition = KPI_BY_KEY["incidentRate"]
    none = dict.fromkeys(definition.measures, 0)
    sums = [none | {"incident": 1, "completed": 40}, none | {"incident": 7}]
    rows = [figures_of([definition], one) for one in sums]
    whole = figures_of([definition], none | {"incident": 8, "completed": 40})

    shown, total = visible_beside_total(ANALYST, rows, whole)

    assert [row["incidentRate"].suppressed for row in shown] == [True, False]
    assert total["incidentRate"].suppressed is True


def test_small_hidden_rows_hide_another_row_with_them(month: legs.Cast) -> None:
    # One ride each at two facilities: unless 6 is hidden too, the total reveals both.
    some = legs.cast()
    for leg in MONTH[:6]:
        legs.write(leg, some)
    for alone in (legs.cast(), legs.cast()):
        legs.write(MONTH[0], alone)
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=True, at=NOW)
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    body = read(analyst, f"facility-kpis?{PERIOD}&compare=false&kpi=fulfillmentRate")

    shown = sorted(str(row["figures"][0]["denominator"]) for row in body["data"])
    assert shown == ["43", "None", "None", "None"]
    assert body["total"][0]["denominator"] == 51


@pytest.mark.parametrize("model", [MetricsRow, BreakdownCount, RollupCheckpoint, Restatement])
def test_rows_are_called_by_their_number(model: Any) -> None:
    assert str(model(pk=7)) == f"{model._meta.verbose_name} 7"
