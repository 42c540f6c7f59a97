"""Rate limits, versions, correlation, and the limits of the database."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.db import connection, transaction
from django.test import override_settings
from rest_framework.test import APIClient

from apps.organizations.models import Payer
from lib.token_bucket import Policy, take
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW, PayerFactory

pytestmark = pytest.mark.urls("tests.api.sample")
SLOW = {"read": (60, 3), "write": (60, 1)}


@pytest.mark.django_db
def test_every_answer_tells_what_is_left(api: TokenClient) -> None:
    read = api.get("/api/payers")
    write = api.post("/api/payers", {})

    assert (read.headers["RateLimit-Policy"], read.headers["RateLimit"]) == ('"read";q=600;w=60', '"read";r=99;t=1')
    assert (write.headers["RateLimit-Policy"], write.headers["RateLimit"]) == ('"write";q=120;w=60', '"write";r=39;t=1')


@pytest.mark.django_db
@override_settings(API_RATES=SLOW)
def test_burst_is_let_through_and_no_more(api: TokenClient) -> None:
    statuses = [api.get("/api/payers").status_code for _ in range(3)]

    refused = api.get("/api/payers")

    assert statuses == [200, 200, 200]
    assert error_of(refused)["code"] == "RATE_LIMITED"
    assert refused.headers["Retry-After"] == "1"
    assert refused.headers["RateLimit"] == '"read";r=0;t=3'
    assert api.post("/api/payers", {"name": "a"}).status_code == 201, "writes have a bucket of their own"
    assert api_with().get("/api/payers").status_code == 200, "and so has every token"


@pytest.mark.django_db
@override_settings(API_RATES=SLOW)
def test_refused_write_changes_nothing(api: TokenClient) -> None:
    api.post("/api/payers", {"name": "a"})

    assert error_of(api.post("/api/payers", {"name": "b"}))["code"] == "RATE_LIMITED"
    assert Payer.objects.count() == 1


@pytest.mark.django_db
@override_settings(API_RATES=SLOW)
def test_unchanged_answers_do_not_count(api: TokenClient) -> None:
    payer = PayerFactory.create()

    statuses = {api.get(f"/api/payers/{payer.pk}", headers={"If-None-Match": '"7"'}).status_code for _ in range(9)}

    assert statuses == {304}


@pytest.mark.django_db
def test_unchanged_answer_to_nobody_gives_nothing_back(nobody: APIClient) -> None:
    response = nobody.get("/api/public", headers={"If-None-Match": '"3"'})

    assert (response.status_code, "RateLimit" in response.headers) == (304, False)


def test_bucket_refills_evenly() -> None:
    policy = Policy("test", per_minute=6000, burst=2)

    with time_machine.travel(NOW, tick=False) as clock:
        first = [take(policy, "owner").allowed for _ in range(3)]
        clock.shift(0.0099)
        early = take(policy, "owner").allowed
        clock.shift(0.0002)
        later = [take(policy, "owner").allowed for _ in range(2)]

    assert first == [True, True, False]
    assert early is False
    assert later == [True, False]


@pytest.mark.django_db
def test_version_is_answered_and_unknown_ones_are_refused(api: TokenClient) -> None:
    assert api.get("/api/payers").headers["API-Version"] == "2026-11-20"
    assert api.get("/api/payers", headers={"API-Version": "2026-11-20"}).status_code == 200
    for version in ("2026-11-21", "v1", ""):
        assert error_of(api.get("/api/payers", headers={"API-Version": version}))["code"] == "UNSUPPORTED_API_VERSION"


@pytest.mark.django_db
def test_correlation_id_is_echoed_when_it_is_one(api: TokenClient) -> None:
    assert api.get("/api/payers", headers={"X-Correlation-Id": "a.B-9_"}).headers["X-Correlation-Id"] == "a.B-9_"
    for wrong in ("a b", "a" * 65, "é", "<script>"):
        assert "X-Correlation-Id" not in api.get("/api/payers", headers={"X-Correlation-Id": wrong}).headers


@pytest.mark.django_db
def test_query_that_takes_too_long_is_cut(api: TokenClient) -> None:
    assert error_of(api.get("/api/sleep"))["code"] == "TIMEOUT"


@pytest.mark.django_db
def test_database_that_is_down_is_told_apart_from_a_crash(api: TokenClient) -> None:
    response = api.get("/api/nobody")

    assert error_of(response)["code"] == "SERVICE_UNAVAILABLE"
    assert response.headers["Retry-After"] == "5"


@pytest.mark.django_db(transaction=True)
def test_record_that_others_hold_is_busy() -> None:
    api, payer = api_with(), PayerFactory.create()
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Payer.objects.select_for_update().get(pk=payer.pk)
            locked.set()
            done.wait(timeout=20)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(hold)
        locked.wait(timeout=20)
        response = api.get(f"/api/locked/{payer.pk}")
        done.set()
        holder.result()

    assert error_of(response)["code"] == "RESOURCE_BUSY"
    assert response.headers["Retry-After"] == "1"


def test_bucket_outlives_a_thousand_others() -> None:
    scarce = Policy("outlives", per_minute=1, burst=1)
    take(scarce, "first")

    for number in range(1_000):
        take(scarce, f"other-{number}")

    assert not take(scarce, "first").allowed
