"""S-43: counts that stand beside one another, as callers without PHI are shown them."""

from typing import Any

import pytest

from apps.reporting.definitions import BY_KEY
from apps.reporting.models import Cell, Restatement, Tally, Upkeep
from apps.reporting.queries.figures import figures_of, shown_amounts, shown_to
from lib.access import Phi, Principal, system

ANALYST = Principal(kind="user", id=None, role="analyst", scopes=frozenset({"reports:read"}), phi=Phi.NONE)


@pytest.mark.parametrize(
    ("amounts", "shown"),
    [
        ({"a": 9, "b": 5}, {"a": 9, "b": 5}),
        # One alone would be what is missing from a total that is known.
        ({"a": 9, "b": 4, "c": 7}, {"a": 9, "b": None, "c": None}),
        ({"a": 9, "b": 4, "c": 0}, {"a": None, "b": None, "c": 0}),
        ({"a": 9, "b": 4, "c": 1}, {"a": 9, "b": None, "c": None}),
        ({"a": 4, "b": 0}, {"a": None, "b": 0}),
    ],
)
def test_small_counts_are_hidden(amounts: dict[str, int], shown: dict[str, int | None]) -> None:
    assert shown_amounts(ANALYST, amounts) == shown
    assert shown_amounts(system(), amounts) == amounts


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
    definition = BY_KEY[key]
    sums = {**dict.fromkeys(definition.measures, 0), **minutes, **legs}

    figure = figures_of([definition], sums)[key]

    assert shown_to(ANALYST, figure).suppressed is is_hidden
    assert shown_to(system(), figure) == figure


@pytest.mark.parametrize("model", [Cell, Tally, Upkeep, Restatement])
def test_rows_are_called_by_their_number(model: Any) -> None:
    assert str(model(pk=7)) == f"{model._meta.model_name} 7"
