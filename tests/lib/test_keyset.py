"""Keyset pages in any order: each row once, with equal and null values; and validation of cursors."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest
from django.db.models import IntegerField, QuerySet, Value

from apps.accounts.models import Alert
from lib.pagination import Key, Order, both_ways, page_by_keys
from tests.factories import NOW

pytestmark = pytest.mark.django_db

ORDERS: Mapping[str, Order] = {
    **both_ways("made", Key("created_at")),
    **both_ways("ended", Key("resolved_at", nullable=True), Key("created_at", down=True)),
    **both_ways("id"),
}


def _alerts(count: int) -> list[Alert]:
    """Create alerts: pairs share an instant, and every third has not passed."""
    return Alert.objects.bulk_create(
        Alert(
            kind="test",
            severity="warning",
            scope="webhooks:manage",
            key=str(number),
            title_message={"template": "A title", "parameters": {}},
            created_at=NOW + number // 2 * dt.timedelta(minutes=1),
            resolved_at=NOW + number % 4 * dt.timedelta(microseconds=1) if number % 3 else None,
        )
        for number in range(count)
    )


def _walk(rows: QuerySet[Any], order: Order, size: int) -> list[Any]:
    found, after = [], ""
    while True:
        page = page_by_keys(rows, order, after, size=size)
        found += page.rows
        after = page.next
        if not after:
            return found


def test_pages_have_no_gap_or_repetition_in_any_order() -> None:
    every = {one.pk for one in _alerts(25)}

    for name, order in ORDERS.items():
        for size in (1, 4, 30):
            walked = _walk(Alert.objects.all(), order, size)
            assert len(walked) == 25, (name, size)
            assert {one.pk for one in walked} == every, (name, size)
            assert walked == page_by_keys(Alert.objects.all(), order, "", size=30).rows, (name, size)


def test_reverse_order_is_reversed_with_empty_values_last() -> None:
    _alerts(12)

    up, down = (page_by_keys(Alert.objects.all(), ORDERS[name], "", size=30).rows for name in ("made", "-made"))
    ended, last_ended = (
        page_by_keys(Alert.objects.all(), ORDERS[name], "", size=30).rows for name in ("ended", "-ended")
    )

    assert down == up[::-1]
    assert [one.resolved_at is None for one in ended] == [False] * 8 + [True] * 4
    assert last_ended == ended[:8][::-1] + ended[8:][::-1]


def test_rows_that_go_meanwhile_neither_repeat_nor_skip_others() -> None:
    rows = _alerts(6)
    first = page_by_keys(Alert.objects.all(), ORDERS["id"], "", size=2)
    Alert.objects.filter(pk__in=[one.pk for one in first.rows]).delete()

    assert page_by_keys(Alert.objects.all(), ORDERS["id"], first.next, size=2).rows == rows[2:4]


@pytest.mark.parametrize("end", ["", "x", "{id}", "x_{id}", "_{id}", "1_2_{id}", "1_x", "99999999999999999999_{id}"])
def test_what_is_no_place_in_an_order_is_its_first_page(end: str) -> None:
    rows = _alerts(3)

    page = page_by_keys(Alert.objects.all(), ORDERS["made"], end.format(id=rows[0].pk.hex), size=2)

    assert page.rows == rows[:2]


def test_numbers_are_places_as_far_as_the_database_holds_them() -> None:
    rows = _alerts(4)
    order = both_ways("rank", Key("rank", kind=int))["rank"]
    ranked = Alert.objects.annotate(rank=Value(3, output_field=IntegerField()))

    assert page_by_keys(ranked, order, f"3_{rows[1].pk.hex}", size=2).rows == rows[2:]
    assert page_by_keys(ranked, order, f"{2**31}_{rows[1].pk.hex}", size=2).rows == rows[:2]
