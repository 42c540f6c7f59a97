"""Headers of the receiver's own: what they may be called, and what they may say."""

from typing import Any

import pytest

from apps.webhooks.rules.request_headers import problem_with

MOST = "must not have more than 10 names."
TWICE = "must not have a name twice, in whatever case."
NAMES = "must have names of letters, digits and hyphens, of at most 64 characters."
OURS = "must not have names that deliveries set themselves, or that belong to the connection."
VALUES = "must have values of visible ASCII characters, of at most 500."


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer a b"},
        {"X-Site": "north", "x.y_z~": "!"},
        {"X": "v" * 500},
        {"n" * 64: "v"},
        {f"X-{number}": "v" for number in range(10)},
        {"cookie": "a=b; c=d"},
    ],
)
def test_headers_that_receivers_ask_for_are_taken(headers: dict[str, str]) -> None:
    assert problem_with(headers) is None


@pytest.mark.parametrize(
    ("headers", "fault"),
    [
        ({f"X-{number}": "v" for number in range(11)}, MOST),
        ({"X-Site": "a", "x-site": "b"}, TWICE),
        ({"": "v"}, NAMES),
        ({"n" * 65: "v"}, NAMES),
        ({"X Site": "v"}, NAMES),
        ({"X-Site:": "v"}, NAMES),
        ({"X-Site\r\nhost": "v"}, NAMES),
        ({"X-S\u00efte": "v"}, NAMES),
        *(
            ({name: "v"}, OURS)
            for name in (
                "Content-Type",
                "content-length",
                "HOST",
                "Webhook-Id",
                "webhook-signature",
                "User-Agent",
                "Transfer-Encoding",
                "Connection",
                "keep-alive",
                "TE",
                "Trailer",
                "Upgrade",
                "Expect",
                "Proxy-Authorization",
            )
        ),
        ({"X": ""}, VALUES),
        ({"X": " v"}, VALUES),
        ({"X": "v "}, VALUES),
        ({"X": "a\tb"}, VALUES),
        ({"X": "a\r\nX-Evil: b"}, VALUES),
        ({"X": "\u00e9"}, VALUES),
        ({"X": "v" * 501}, VALUES),
    ],
)
def test_other_headers_are_told_what_is_wrong_with_them(headers: dict[str, Any], fault: str) -> None:
    assert problem_with(headers) == fault
