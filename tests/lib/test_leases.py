"""Leases of rows that workers hold, with alerts as an example."""

import datetime as dt
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Concat

from apps.accounts.models import Alert
from lib.db import leases
from lib.scopes import Scope

NOW = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def make_alert(key: str, **columns: Any) -> Alert:
    named = {"kind": "test", "severity": "info", "scope": Scope.RIDES_WRITE, "title_message": {}, "created_at": NOW}
    return Alert.objects.create(**named | {"key": key} | columns)


def claim(*, at: dt.datetime = NOW, limit: int = 10, **changes: Any) -> leases.Claim[Alert]:
    return leases.claim(Alert.objects.order_by("key"), at=at, lease=2 * MINUTE, limit=limit, **changes)


def keys(claimed: leases.Claim[Alert]) -> list[str]:
    return [alert.key for alert in claimed.rows]


@pytest.mark.django_db
def test_claim_takes_rows_in_order_and_writes_the_lease() -> None:
    for key in "cab":
        make_alert(key)

    first = claim(limit=2, kind="claimed", path=Concat(F("key"), F("key")))

    assert keys(first) == ["a", "b"]
    rows = Alert.objects.order_by("key").values_list("claim_id", "lease_until", "kind", "path")
    assert list(rows) == [
        (first.id, NOW + 2 * MINUTE, "claimed", "aa"),
        (first.id, NOW + 2 * MINUTE, "claimed", "bb"),
        (None, None, "test", ""),
    ]
    row = first.rows[0]
    assert (row.claim_id, row.lease_until, row.kind, row.path) == (first.id, NOW + 2 * MINUTE, "claimed", "")


@pytest.mark.django_db
def test_claim_skips_held_rows_until_the_lease_ends() -> None:
    make_alert("a")
    claim()

    assert [keys(claim(at=NOW + MINUTE)), keys(claim(at=NOW + 2 * MINUTE))] == [[], ["a"]]


@pytest.mark.django_db
def test_renew_extends_only_rows_that_are_still_held() -> None:
    make_alert("a")
    make_alert("b")
    first = claim()
    Alert.objects.filter(key="b").update(lease_until=NOW)
    claim(at=NOW)  # by another worker

    renewed = first.renew(at=NOW + MINUTE, lease=2 * MINUTE, path="/")

    assert renewed == 1
    assert list(Alert.objects.order_by("key").values_list("lease_until", "path")) == [
        (NOW + 3 * MINUTE, "/"),
        (NOW + 2 * MINUTE, ""),
    ]


@pytest.mark.django_db
def test_settle_writes_the_result_and_ends_the_lease() -> None:
    make_alert("a")
    first = claim()

    assert first.settle(first.rows[0], emailed_at=NOW)
    assert not first.settle(first.rows[0], emailed_at=NOW + MINUTE)

    assert Alert.objects.values_list("claim_id", "lease_until", "emailed_at").get() == (None, None, NOW)


@pytest.mark.django_db
def test_settle_after_the_lease_went_to_another_changes_nothing() -> None:
    make_alert("a")
    first, second = claim(), claim(at=NOW + 2 * MINUTE)

    assert not first.settle(first.rows[0], emailed_at=NOW)

    assert Alert.objects.values_list("claim_id", "emailed_at").get() == (second.id, None)


@pytest.mark.django_db
def test_release_gives_back_unsettled_rows() -> None:
    make_alert("a")
    make_alert("b")
    first = claim()
    first.settle(first.rows[0], emailed_at=NOW)

    assert first.release() == 1
    assert list(Alert.objects.order_by("key").values_list("emailed_at", "claim_id")) == [(NOW, None), (None, None)]


@pytest.mark.django_db(transaction=True)
def test_claim_skips_rows_that_others_have_locked() -> None:
    make_alert("a")
    make_alert("b")

    def claim_elsewhere() -> list[str]:
        try:
            return keys(claim())
        finally:
            connection.close()

    with transaction.atomic(), ThreadPoolExecutor(1) as other:
        Alert.objects.select_for_update().get(key="a")
        assert other.submit(claim_elsewhere).result(timeout=20) == ["b"]


@pytest.mark.django_db
def test_empty_claim_is_false_and_costs_one_query(django_assert_num_queries: Any) -> None:
    with transaction.atomic(), django_assert_num_queries(3):  # with the savepoint
        claimed = claim()

    assert not claimed


def test_heartbeat_goes_on_after_a_database_error(caplog: pytest.LogCaptureFixture) -> None:
    beats: list[int] = []
    third = threading.Event()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 1:
            raise OperationalError
        if len(beats) == 3:
            third.set()

    with leases.heartbeat(beat, every=0.01):
        assert third.wait(10)
    count = len(beats)

    assert "lease" not in {thread.name for thread in threading.enumerate()}
    assert len(beats) == count
    assert "lease not renewed: OperationalError" in caplog.text


@pytest.mark.django_db
def test_settle_is_repeated_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    failures = [OperationalError(), OperationalError()]

    def settle() -> None:
        if failures:
            raise failures.pop()

    leases.settle_with_retries(settle)

    assert waits == [1.0, 4.0]


@pytest.mark.django_db
def test_settle_gives_up_after_five_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    tries: list[int] = []

    def settle() -> None:
        tries.append(1)
        raise OperationalError

    with pytest.raises(DatabaseError):
        leases.settle_with_retries(settle)
    assert len(tries) == 5
