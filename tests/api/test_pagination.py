"""Keyset pagination."""

import pytest

from apps.rides.api.ride_page import _opened
from lib.ids import uuid7
from lib.pagination import CursorInvalid, open_cursor, seal_cursor
from tests.callers import TokenClient, api_with
from tests.factories import NOW, PayerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.api.sample")]


def walk(api: TokenClient, query: str) -> list[str]:
    names, cursor = [], ""
    while True:
        body = api.get(f"/api/payers?{query}{cursor}").json()
        names += [row["name"] for row in body["data"]]
        if not body["page"]["hasMore"]:
            return names
        cursor = f"&cursor={body['page']['nextCursor']}"


def test_walk_meets_every_row_once_while_rows_are_inserted(api: TokenClient) -> None:
    for name in "bdfhj":
        PayerFactory.create(name=name)
    first = api.get("/api/payers?limit=2").json()

    PayerFactory.create(name="a")
    PayerFactory.create(name="g")
    second = api.get(f"/api/payers?limit=9&cursor={first['page']['nextCursor']}").json()

    assert [row["name"] for row in first["data"] + second["data"]] == ["b", "d", "f", "g", "h", "j"]
    assert second["page"] == {"limit": 9, "hasMore": False, "nextCursor": None}


def test_limit_above_two_hundred_is_clamped(api: TokenClient) -> None:
    PayerFactory.create()

    assert api.get("/api/payers?limit=201").json()["page"]["limit"] == 200


def test_total_is_counted_on_demand(api: TokenClient) -> None:
    PayerFactory.create_batch(3)

    page = api.get("/api/payers?limit=2&includeTotal=true").json()["page"]

    assert (page["total"], page["totalIsCapped"], page["hasMore"]) == (3, False, True)


def test_next_page_is_linked(api: TokenClient) -> None:
    PayerFactory.create_batch(2)

    response = api.get("/api/payers?limit=1")

    link = response.headers["Link"]
    assert link.endswith('>; rel="next"')
    assert len(api.get(link[1:].split(">")[0]).json()["data"]) == 1


def test_cursor_shows_nothing_and_bears_no_change(api: TokenClient) -> None:
    PayerFactory.create_batch(2)
    cursor = api.get("/api/payers?limit=1").json()["page"]["nextCursor"]

    for broken in (cursor[:-1], cursor[:-1] + ("A" if cursor[-1] != "A" else "B"), "x", "%20", cursor + "é", "A" * 900):
        response = api.get(f"/api/payers?limit=1&cursor={broken}")
        assert response.json()["error"]["code"] in ("INVALID_CURSOR", "VALIDATION_ERROR"), broken
        assert response.status_code == 400


def test_cursor_belongs_to_its_filters_and_its_reach(api: TokenClient) -> None:
    facility = PayerFactory.create().pk
    PayerFactory.create()
    cursor = api.get("/api/payers?limit=1").json()["page"]["nextCursor"]

    other_filter = api.get(f"/api/payers?limit=1&name=x&cursor={cursor}")
    other_reach = api_with(facility_ids=[facility]).get(f"/api/payers?limit=1&cursor={cursor}")
    other_limit = api.get(f"/api/payers?limit=5&cursor={cursor}")

    assert other_filter.json()["error"]["code"] == "INVALID_CURSOR"
    assert other_reach.json()["error"]["code"] == "INVALID_CURSOR"
    assert other_limit.status_code == 200


@pytest.mark.parametrize("parts", [["one"], ["one", "two", "three"]])
def test_cursor_of_another_shape_is_refused(parts: list[str]) -> None:
    """A cursor as an earlier release may have issued it for the same list."""
    cursor = seal_cursor(parts, bound=b"list")

    with pytest.raises(CursorInvalid):
        open_cursor(cursor, bound=b"list", parts=2)


def test_cursor_of_rides_holds_an_instant_and_an_id() -> None:
    at, last = NOW, uuid7()

    assert _opened(seal_cursor([at, last], bound=b"list"), b"list") == (at, last)
    for parts in (["Ann", last], [at, "7"]):
        with pytest.raises(CursorInvalid):
            _opened(seal_cursor(parts, bound=b"list"), b"list")
