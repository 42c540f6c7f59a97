"""Idempotency-Key: a POST succeeds at most once per key."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import IdempotencyRecord
from apps.accounts.services import idempotency
from apps.organizations.models import Payer
from lib.ids import uuid7
from tests.api.unguarded import RETRIES
from tests.callers import TokenClient, api_with, error_of

pytestmark = pytest.mark.urls("tests.api.sample")
KEY = {"Idempotency-Key": "c0ffee-1"}


def post(api: TokenClient, name: str = "Prairie", headers: dict[str, str] | None = None) -> Any:
    return api.post("/api/payers", {"name": name}, headers=KEY | (headers or {}))


@pytest.mark.django_db
def test_retry_is_answered_as_the_first_time(api: TokenClient) -> None:
    first = post(api)
    again = post(api)

    assert Payer.objects.count() == 1
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert [again.headers[name] for name in ("ETag", "Location")] == [
        first.headers[name] for name in ("ETag", "Location")
    ]
    assert (again.headers["Idempotent-Replayed"], "Idempotent-Replayed" in first.headers) == ("true", False)
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]


@pytest.mark.django_db
def test_spacing_and_order_of_the_body_do_not_count(api: TokenClient) -> None:
    for body in (b'{"name":"a","contacts":[]}', b'{ "contacts": [ ], "name": "\\u0061" }'):
        response = api.post("/api/payers", body, content_type="application/json", headers=KEY)
        assert response.status_code == 201

    assert Payer.objects.count() == 1


@pytest.mark.django_db
def test_other_body_under_the_same_key_is_refused(api: TokenClient) -> None:
    post(api, "Prairie")

    response = post(api, "Lake")

    assert error_of(response)["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert [payer.name for payer in Payer.objects.all()] == ["Prairie"]


@pytest.mark.django_db
def test_other_path_under_the_same_key_is_refused(api: TokenClient) -> None:
    post(api)

    assert error_of(api.post("/api/slow", {"name": "Prairie"}, headers=KEY))["code"] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.django_db
def test_narrower_token_of_the_client_does_not_read_the_answer(api: TokenClient) -> None:
    post(api)
    narrower = api_with(client=api.token.client, facility_ids=[uuid7()])

    assert error_of(post(narrower))["code"] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.django_db
def test_newer_token_of_the_client_finds_the_answer(api: TokenClient) -> None:
    post(api)

    assert post(api_with(client=api.token.client)).headers["Idempotent-Replayed"] == "true"


@pytest.mark.django_db
def test_keys_of_clients_are_apart(api: TokenClient) -> None:
    post(api)
    post(api_with(), "Lake")

    assert Payer.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": "crash"}])
def test_failure_leaves_the_key_free(api: TokenClient, wrong: dict[str, str]) -> None:
    failed = api.post("/api/payers", wrong, headers=KEY)

    assert failed.status_code in (400, 500)
    assert not IdempotencyRecord.objects.exists()
    assert post(api).status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", " ", "a b", "é", "a" * 256])
def test_malformed_key_is_refused(api: TokenClient, key: str) -> None:
    response = post(api, headers={"Idempotency-Key": key})

    assert error_of(response)["details"][0]["field"] == "Idempotency-Key"
    assert not Payer.objects.exists()


@pytest.mark.django_db
def test_key_can_be_required(api: TokenClient) -> None:
    assert error_of(api.post("/api/bulk", {}))["message"] == "Idempotency-Key is required."
    assert api.post("/api/bulk", {"text": ""}, headers=KEY).status_code == 200


@pytest.mark.django_db
def test_stored_answer_is_sealed(api: TokenClient) -> None:
    post(api, "Canaryname")

    record = IdempotencyRecord.objects.get()
    assert b"Canaryname" not in bytes(record.body_encrypted or b"Canaryname")
    assert "Canaryname" not in str(record.headers)


@pytest.mark.django_db
def test_old_records_are_purged(api: TokenClient) -> None:
    post(api)
    post(api, "Lake", headers={"Idempotency-Key": "c0ffee-2"})
    now = timezone.now()
    IdempotencyRecord.objects.filter(key="c0ffee-1").update(created_at=now - dt.timedelta(days=7, seconds=1))

    purged = idempotency.purge(at=now)

    assert purged == 1
    assert IdempotencyRecord.objects.get().key == "c0ffee-2"


def storm(api: TokenClient) -> list[int]:
    """Send the same request RETRIES times at once; return the statuses."""
    start = threading.Barrier(RETRIES)

    def send(_: int) -> int:
        try:
            caller = TokenClient(raise_request_exception=False)
            caller.credentials(HTTP_AUTHORIZATION=f"Bearer {api.text}")
            start.wait()
            return int(caller.post("/api/slow", {"name": "Prairie"}, headers=KEY).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(RETRIES) as pool:
        return list(pool.map(send, range(RETRIES)))


@pytest.mark.django_db(transaction=True)
def test_retries_at_the_same_moment_create_one_record() -> None:
    api = api_with()

    statuses = storm(api)

    assert statuses == [201] * RETRIES
    assert Payer.objects.count() == 1
    assert IdempotencyRecord.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.urls("tests.api.unguarded")
def test_without_the_claim_the_same_storm_creates_duplicates() -> None:
    api = api_with()

    storm(api)

    assert Payer.objects.count() == RETRIES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("limit", "code", "come_back"),
    [("lock_timeout", "IDEMPOTENCY_IN_PROGRESS", "1"), ("statement_timeout", "TIMEOUT", None)],
)
def test_retry_of_a_request_under_way_is_told_to_come_back(limit: str, code: str, come_back: str | None) -> None:
    api = api_with()
    with connection.cursor() as cursor:
        cursor.execute(f"SET {limit} = '1s'")
    claimed, answered = threading.Event(), threading.Event()

    def first() -> None:
        with transaction.atomic():
            idempotency.claim(client_id=api.token.client_id, key=KEY["Idempotency-Key"], fingerprint=b"x")
            claimed.set()
            answered.wait(timeout=20)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(first)
        claimed.wait(timeout=20)
        response = post(api)
        answered.set()
        holder.result()
    with connection.cursor() as cursor:
        cursor.execute(f"RESET {limit}")

    assert (error_of(response)["code"], response.headers.get("Retry-After")) == (code, come_back)
    assert not Payer.objects.exists()
