"""Malformed input: every answer is a success or the error object of a 4xx, never a crash.

`make test` tries some of the values at each place, others at the next place, so that each value meets many places;
`make nightly` tries all of them everywhere.
"""

import copy
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any, Final

import pytest
from django.test import override_settings

from lib.api.document import document
from lib.api.json import dumps
from tests.callers import TokenClient, error_of
from tests.tiers import sized

NASTY: list[Any] = [None, True, -1, 10**17, 1e308, "", "text", "\u202e\u0007", "x" * 5000, [], [None], {}, {"a": 1}]
QUERIES = ["", "text", "-1", "99999999999999999999", "%F0%9F%9A%90", "a,b,,c", "1e5", "true", "x" * 2000]
HEADERS = ["", '"', '"99999999999999999999"', "*", "é", "x" * 3000, "Bearer"]
VALUES_PER_PLACE: Final = sized(short=2, nightly=len(NASTY))
VALUES_PER_HEADER: Final = sized(short=1, nightly=len(HEADERS))
ID = "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"

OPERATIONS = [
    (method, "/api" + path.replace("{id}", ID), operation)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
]
WITH_BODY = [(m, p, o) for m, p, o in OPERATIONS if "requestBody" in o]
WITH_QUERY = [(m, p, o) for m, p, o in OPERATIONS if any(one["in"] == "query" for one in o.get("parameters", []))]
MANY = override_settings(API_RATES={"read": (10**7, 10**6), "write": (10**7, 10**6)})

pytestmark = pytest.mark.django_db


def example_of(operation: dict[str, Any]) -> Any:
    (example,) = operation["requestBody"]["content"]["application/json"]["examples"].values()
    return example["value"]


def spoilt(body: Any) -> Iterator[Any]:
    """Return bodies that differ from a valid one in a single place, at any depth."""
    values = cycle(NASTY)
    for path in places(body):
        for value in islice(values, VALUES_PER_PLACE):
            copied = copy.deepcopy(body)
            target = copied
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = value
            yield copied


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def check(response: Any) -> None:
    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        error_of(response)


@MANY
@pytest.mark.parametrize(("method", "path", "operation"), WITH_BODY, ids=[f"{m} {p}" for m, p, _ in WITH_BODY])
def test_spoilt_body_never_crashes(api: TokenClient, method: str, path: str, operation: dict[str, Any]) -> None:
    for body in (*NASTY, *spoilt(example_of(operation))):
        check(api.generic(method.upper(), path, _json(body), content_type="application/json"))


@MANY
@pytest.mark.parametrize(("method", "path", "operation"), WITH_QUERY, ids=[f"{m} {p}" for m, p, _ in WITH_QUERY])
def test_odd_query_never_crashes(api: TokenClient, method: str, path: str, operation: dict[str, Any]) -> None:
    for parameter in operation["parameters"]:
        if parameter["in"] == "query":
            for value in QUERIES:
                check(api.generic(method.upper(), f"{path}?{parameter['name']}={value}"))


@MANY
@pytest.mark.parametrize(("method", "path", "operation"), WITH_BODY, ids=[f"{m} {p}" for m, p, _ in WITH_BODY])
@pytest.mark.parametrize("header", ["If-Match", "If-None-Match", "Idempotency-Key", "API-Version", "Authorization"])
def test_odd_header_never_crashes(
    api: TokenClient, method: str, path: str, operation: dict[str, Any], header: str
) -> None:
    start = WITH_BODY.index((method, path, operation))
    for value in islice(cycle(HEADERS), start, start + VALUES_PER_HEADER):
        check(api.generic(method.upper(), path, headers={header: value}))


def _json(body: Any) -> str:
    return dumps(body).decode()
