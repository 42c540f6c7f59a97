"""Many idempotency keys, each sent by every writer at about the same time; one handler in twenty crashes.

At least 20,000 requests every night, 1,000 before each commit.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.urls import path
from rest_framework.response import Response

from apps.accounts.models import IdempotencyRecord
from apps.organizations.models import Payer
from config.api import GUARD
from lib.api.views import Guard
from lib.ids import uuid7
from tests.api.sample import PayerViewSet
from tests.callers import TokenClient, api_with
from tests.tiers import sized

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.api.sample"), pytest.mark.untraced]

WRITERS = 6  # together with the test itself, fewer than the connections of the pool
KEYS = sized(short=170, nightly=3400)
IN_CONTROL = 20  # keys
CRASHES = 0.05
MOST_TRIES = 20
Answers = dict[str, set[tuple[int, bytes]]]


@pytest.fixture(autouse=True)
def unlimited(settings: Any) -> None:
    settings.API_RATES = {"read": (10**6, 10**6), "write": (10**6, 10**6)}


@pytest.fixture(autouse=True)
def crashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make one handler in twenty crash when its record is written; returns the names of the crashed requests."""
    happened: list[str] = []
    chance = random.Random(3)

    def create(self: PayerViewSet, request: Any) -> Any:
        name = self.body()["name"]
        payer = Payer.objects.create(name=f"{name} {uuid7()}")  # only the idempotency key prevents a second row
        if chance.random() < CRASHES:
            happened.append(name)
            raise RuntimeError("the process dies here")
        return self.answer(payer, version=1)

    monkeypatch.setattr(PayerViewSet, "create", create)
    return happened


def send_until_answered(client: TokenClient, key: str) -> tuple[int, bytes]:
    """Follow docs/api.md: after a failure or a conflict, send the same request again."""
    for _ in range(MOST_TRIES):
        response = client.post("/api/payers", {"name": f"Payer of {key}"}, headers={"Idempotency-Key": key})
        if response.status_code < 500 and response.status_code != 409:
            return int(response.status_code), bytes(response.content)
    raise AssertionError(f"{key} is not answered")


def unclaimed(view: Any, handle: Callable[[], Response]) -> HttpResponse:
    """Look up, run and store, without a claim for which other requests wait."""
    client_id, key = view.principal.client_id, view.request.headers["Idempotency-Key"]
    if IdempotencyRecord.objects.filter(client_id=client_id, key=key).exists():
        return HttpResponse(b"{}", status=201, content_type="application/json")
    time.sleep(0.05)  # duration of the handler
    response = handle()
    record = IdempotencyRecord(client_id=client_id, key=key, fingerprint=b"")
    IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
    return response


_UNCLAIMED = Guard(once=unclaimed, record_denial=GUARD.record_denial)
urlpatterns = [path("api/payers", PayerViewSet.as_view({"post": "create"}, guard=_UNCLAIMED))]


def storm(keys: int) -> Answers:
    """Send every key from every writer; return the distinct answers to each."""
    token, answers = api_with().text, defaultdict[str, set[tuple[int, bytes]]](set)

    def write(_: int) -> None:
        client = TokenClient(raise_request_exception=False)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        try:
            for number in range(keys):
                answers[f"key-{number}"].add(send_until_answered(client, f"key-{number}"))
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(write, range(WRITERS)))
    return answers


def test_every_key_makes_one_record_and_has_one_answer(crashes: list[str]) -> None:
    answers = storm(KEYS)

    assert len(crashes) > KEYS * CRASHES / 2
    assert len(answers) == KEYS
    assert {len(different) for different in answers.values()} == {1}
    assert {status for different in answers.values() for status, _ in different} == {201}
    assert Payer.objects.count() == KEYS
    assert IdempotencyRecord.objects.count() == KEYS


@pytest.mark.urls(__name__)
def test_without_the_claim_keys_make_duplicates() -> None:
    storm(IN_CONTROL)

    assert Payer.objects.count() > IN_CONTROL
