"""Parsing of entered phone numbers."""

import pytest

from lib.phone_input import dial_uri, e164, example, readable


@pytest.mark.parametrize(
    "text",
    ["312-555-0140", "(312) 555-0140", "312.555.0140", "1 312 555 0140", "+13125550140", "+1 (312) 555\u20130140"],
)
def test_e164_reads_every_way_to_write_a_number(text: str) -> None:
    assert e164(text, region="US") == "+13125550140"


@pytest.mark.parametrize("region", ["US", "MX"])
def test_e164_reads_a_plus_sign_in_any_region(region: str) -> None:
    assert e164("+44 20 7946 0958", region=region) == "+442079460958"


@pytest.mark.parametrize(
    ("text", "region", "expected"), [("020 7946 0958", "GB", "+442079460958"), ("55 1234 5678", "MX", "+525512345678")]
)
def test_e164_reads_national_numbers_of_the_region(text: str, region: str, expected: str) -> None:
    assert e164(text, region=region) == expected


@pytest.mark.parametrize(
    "text",
    ["", "+", "555-0140", "4 West", "+0312555014", "+999 312 555 0140", "312555014x", "312 555 01401234", "1960-05-17"],
)
def test_e164_is_none_without_a_whole_number(text: str) -> None:
    assert e164(text, region="US") is None


@pytest.mark.parametrize("text", ["1-800-FLOWERS", "312 555 0140 Ana", "(312) 555-CARE"])
def test_e164_refuses_letters(text: str) -> None:
    assert e164(text, region="US") is None


@pytest.mark.parametrize("text", ["312 555 0140 x14", "312 555 0140 #14", "+13125550140;ext=14"])
def test_e164_refuses_extensions(text: str) -> None:
    assert e164(text, region="US") is None


@pytest.mark.parametrize("region", ["US", "MX", "GB"])
def test_example_is_a_number_of_its_region(region: str) -> None:
    assert e164(example(region), region=region) is not None


@pytest.mark.parametrize(
    ("number", "region", "expected"),
    [
        ("+13125550131", "US", "(312) 555-0131"),
        ("+13125550131", "GB", "+1 312-555-0131"),
        ("+442079460958", "US", "+44 20 7946 0958"),
        ("4 West", "US", "4 West"),
        ("", "US", ""),
    ],
)
def test_readable_writes_numbers_as_the_region_does(number: str, region: str, expected: str) -> None:
    assert readable(number, region=region) == expected


@pytest.mark.parametrize(
    ("ext", "expected"),
    [("", "tel:+13125550131"), ("2725", "tel:+13125550131;ext=2725"), ("x 27", "tel:+13125550131;ext=27")],
)
def test_dial_uri_adds_the_digits_of_the_extension(ext: str, expected: str) -> None:
    assert dial_uri("+13125550131", ext) == expected
