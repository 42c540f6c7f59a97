"""Custom request headers: permitted names and values."""

from typing import Any

import pytest

from apps.webhooks.rules.request_headers import problem_with
from lib.errors import Detail

MOST = "headers must not have more than 10 names."
TWICE = "headers must not have a name twice; case does not matter."
NAMES = "headers must have names of letters, digits and hyphens, of at most 64 characters."
RESERVED = "headers must not have names that deliveries or the connection use."
VALUES = "headers must have values of at most 500 visible ASCII characters."


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
    ("headers", "message"),
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
            ({name: "v"}, RESERVED)
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
def test_problem_with_describes_invalid_headers(headers: dict[str, Any], message: str) -> None:
    problem = problem_with(headers)

    assert problem is not None
    assert str(Detail(field="headers", code="bad_header", message=problem).text) == message
