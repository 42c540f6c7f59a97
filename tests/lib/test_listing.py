"""List preferences: orders, rows per page, and their query parameters."""

import pytest

from lib.listing import Listing, spelled

LIST = Listing("somewhere", sorts={"-created": "Created", "name": "Name"}, columns={"name": "Name"})


@pytest.mark.parametrize(
    ("asked", "sort"),
    [("", "-created"), ("created", "created"), ("-name", "-name"), ("secret", "-created"), ("--name", "-created")],
)
def test_order_is_one_of_the_list_or_else_the_usual_one(asked: str, sort: str) -> None:
    assert LIST.sort(asked) == sort


@pytest.mark.parametrize(
    ("column", "sort", "turned"),
    [
        ("created", "name", "-created"),
        ("created", "-created", "created"),
        ("created", "created", "-created"),
        ("name", "-created", "name"),
        ("name", "name", "-name"),
    ],
)
def test_header_sorts_in_preferred_direction_then_reversed(column: str, sort: str, turned: str) -> None:
    assert LIST.turned(column, sort) == turned


def test_columns_are_named_whichever_way_they_begin() -> None:
    assert (LIST.named("created"), LIST.named("name")) == ("Created", "Name")


@pytest.mark.parametrize(("asked", "rows"), [("50", 50), ("200", 200), ("", None), ("7", None), ("0x32", None)])
def test_rows_of_a_page_are_one_of_few_sizes(asked: str, rows: int | None) -> None:
    assert LIST.rows(asked) == rows


def test_list_that_is_not_sorted_has_no_order() -> None:
    whole = Listing("whole", sorts={}, sizes=())

    assert (whole.usual, whole.sort("name"), whole.rows("50")) == ("", "", None)


def test_what_is_empty_is_not_spelled() -> None:
    assert spelled({"a": "x y", "b": "", "c": None, "d": 50}) == "a=x+y&d=50"
