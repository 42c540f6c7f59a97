"""Limit of concurrent requests per token."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from lib import concurrency_limit
from tests.api.sample import PayerViewSet
from tests.callers import TokenClient, api_with, error_of
from tests.factories import PayerFactory

pytestmark = pytest.mark.urls("tests.api.sample")
ONE = override_settings(API_RATE_CONCURRENT=1)


@pytest.mark.django_db
def test_twenty_requests_at_once_are_served_and_one_more_refused(api: TokenClient) -> None:
    under_way = [concurrency_limit.acquire(str(api.token.pk), of=20) for _ in range(20)]

    refused = api.get("/api/payers")
    other = api_with().get("/api/payers")

    assert None not in under_way
    assert error_of(refused)["code"] == "RATE_LIMITED"
    assert refused.headers["Retry-After"] == "1"
    assert error_of(refused)["message"] == "The token has 20 requests under way, which is all it may."
    assert other.status_code == 200


@pytest.mark.django_db
@ONE
@pytest.mark.parametrize(
    ("method", "address", "body", "status"),
    [
        ("get", "/api/payers", None, 200),
        ("get", "/api/payers?nonsense=1", None, 400),
        ("post", "/api/payers", {"name": "crash"}, 500),
        ("post", "/api/slow", {"name": "a"}, 201),
        ("put", "/api/payers", {}, 405),
        ("get", "/api/sleep", None, 504),
    ],
)
def test_answered_request_leaves_its_place(api: TokenClient, method: str, address: str, body: Any, status: int) -> None:
    statuses = [getattr(api, method)(address, body).status_code for _ in range(2)]

    assert statuses == [status, status]


@pytest.mark.django_db
@ONE
def test_answer_that_did_not_change_leaves_its_place(api: TokenClient) -> None:
    payer = PayerFactory.create()

    statuses = [api.get(f"/api/payers/{payer.pk}", headers={"If-None-Match": '"7"'}).status_code for _ in range(2)]

    assert statuses == [304, 304]


@pytest.mark.django_db
@override_settings(API_RATE_CONCURRENT=1, API_RATES={"read": (60, 1), "write": (60, 1)})
def test_request_over_the_rate_takes_no_place(api: TokenClient) -> None:
    statuses = [api.get("/api/payers").status_code for _ in range(3)]

    assert statuses == [200, 429, 429]
    assert concurrency_limit.acquire(str(api.token.pk), of=1) is not None


@pytest.mark.django_db
@override_settings(API_RATE_CONCURRENT=0)
def test_bound_can_be_switched_off(api: TokenClient) -> None:
    assert [api.get("/api/payers").status_code for _ in range(2)] == [200, 200]


@pytest.mark.django_db
@ONE
def test_answer_stands_when_its_place_cannot_be_left(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(slot: concurrency_limit.Slot) -> None:
        raise ConnectionError("the cache is gone")

    monkeypatch.setattr(concurrency_limit.Slot, "release", fail)

    assert api.post("/api/payers", {"name": "a"}).status_code == 201


@pytest.mark.django_db(transaction=True)
@override_settings(API_RATE_CONCURRENT=2)
def test_of_six_requests_at_once_two_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_with()
    refused_all, lock, refused = threading.Event(), threading.Lock(), 0
    read = PayerViewSet.list

    def wait_for_refusals(view: PayerViewSet, request: Any) -> Any:
        refused_all.wait(timeout=20)
        return read(view, request)

    monkeypatch.setattr(PayerViewSet, "list", wait_for_refusals)

    def ask() -> int:
        nonlocal refused
        status: int = api.get("/api/payers").status_code
        connection.close()
        with lock:
            refused += status == 429
            if refused == 4:
                refused_all.set()
        return status

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(done.result() for done in [pool.submit(ask) for _ in range(6)])

    assert statuses == [200, 200, 429, 429, 429, 429]
    assert api.get("/api/payers").status_code == 200
