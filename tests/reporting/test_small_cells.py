"""S-43: counts that stand beside one another, as callers without PHI are shown them."""

from typing import Any

import pytest

from apps.reporting.models import Cell, Restatement, Tally, Upkeep
from apps.reporting.queries.figures import shown_amounts
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


@pytest.mark.parametrize("model", [Cell, Tally, Upkeep, Restatement])
def test_rows_are_called_by_their_number(model: Any) -> None:
    assert str(model(pk=7)) == f"{model._meta.model_name} 7"
