"""Telephone numbers as people type them."""

import pytest

from lib.phone_input import e164


@pytest.mark.parametrize(
    "text",
    ["312-555-0140", "(312) 555-0140", "312.555.0140", "1 312 555 0140", "+13125550140", "+1 (312) 555\u20130140"],
)
def test_number_comes_into_one_form(text: str) -> None:
    assert e164(text) == "+13125550140"


def test_number_of_another_country_begins_with_a_plus() -> None:
    assert e164("+44 20 7946 0958") == "+442079460958"


@pytest.mark.parametrize(
    "text", ["", "555-0140", "112-555-0140", "312-055-0140", "4 West", "+0312555014", "312555014x"]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert e164(text) is None
