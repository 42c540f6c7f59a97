"""The order of the tests: nothing is lost, long modules stay whole and come first, and the list names what there is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import order

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Item:
    nodeid: str


def _items() -> list[Any]:
    short = [Item(f"tests/lib/test_{letter}.py::test_{number}") for letter in "abcd" for number in range(5)]
    long = [Item(f"{order.LONG[rank]}::test_{number}") for rank in (0, 1, 2) for number in range(2)]
    return [*short[:10], *long, *short[10:]]


def test_every_long_module_is_there() -> None:
    assert [name for name in order.LONG if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("processes", [1, 2, 3, 30])
def test_each_test_runs_once(processes: int) -> None:
    found = order.spread(_items(), processes)

    assert len(found) == len(_items())
    assert set(found) == set(_items())


def test_each_stretch_begins_with_long_tests() -> None:
    found = [item.nodeid.partition("::")[0] for item in order.spread(_items(), 2)]

    assert found[:5] == [*[order.LONG[0]] * 2, *[order.LONG[2]] * 2, "tests/lib/test_a.py"]
    assert found[13:16] == [*[order.LONG[1]] * 2, "tests/lib/test_b.py"]
