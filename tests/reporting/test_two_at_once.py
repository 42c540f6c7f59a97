"""Two concurrent workers, and a change that commits while the rollups are refreshed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from apps.events.models import EventQuerySet
from apps.reporting.models import MetricsRow, RollupCheckpoint
from apps.reporting.rules.rollup_sql import Grain
from apps.reporting.services import backfill, rollups
from apps.rides.models import Ride
from lib.access import system
from tests.events.test_feed import wait_until_settled
from tests.factories import NOW
from tests.reporting import legs, ride_changes
from tests.reporting.golden import MONTH


def held_elsewhere() -> "psycopg.Connection[Any]":
    """Lock the checkpoint in another session, as a running worker does."""
    settings = connection.get_connection_params()
    other = psycopg.connect(
        **{name: settings[name] for name in ("dbname", "host", "port", "user", "password") if settings.get(name)}
    )
    other.execute("SELECT 1 FROM reporting_rollupcheckpoint FOR UPDATE")
    return other


@pytest.mark.django_db(transaction=True)
def test_second_worker_leaves_at_once() -> None:
    legs.write(MONTH[0], legs.cast())
    rollups.create_checkpoint()
    before = RollupCheckpoint.objects.values().get()

    with held_elsewhere():
        assert rollups.apply_events(by=system(), at=NOW) is None
        assert backfill.backfill_days() is False
        assert rollups.refresh(by=system(), at=NOW) == 0

    assert (RollupCheckpoint.objects.values().get(), MetricsRow.objects.count()) == (before, 0)


def documented_around_a_slow_writer(settle: Callable[[], None]) -> dict[int, int]:
    """Refresh the rollups during an uncommitted change, and after it; return their content by day."""
    by = legs.cast()
    early = ride_changes.tell(legs.write(MONTH[0], by), "ride.scheduled")
    settle()
    rollups.refresh(by=system(), at=NOW)
    wrote, commit = threading.Event(), threading.Event()

    def change_slowly() -> None:
        try:
            with transaction.atomic():
                ride = Ride.objects.get(pk=early.pk)
                ride.missing_documents = ["signature"]
                ride_changes.tell(ride, changed=["signatures"])
                wrote.set()
                assert commit.wait(timeout=30)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        slow = pool.submit(change_slowly)
        assert wrote.wait(timeout=30)
        ride_changes.tell(legs.write(MONTH[1], by), "ride.scheduled")  # recorded later, committed first
        rollups.refresh(by=system(), at=NOW)
        commit.set()
        slow.result(timeout=30)
    settle()
    rollups.refresh(by=system(), at=NOW)
    days = MetricsRow.objects.filter(grain=Grain.DAY).exclude(basis="closed")
    return {day: totals.get("documented", 0) for day, totals in days.values_list("service_date__day", "totals")}


@pytest.mark.django_db(transaction=True)
def test_change_that_commits_late_is_in_the_figures() -> None:
    documented = documented_around_a_slow_writer(wait_until_settled)

    assert documented == {2: 0, 3: 1}


@pytest.mark.django_db(transaction=True)
def test_without_waiting_for_oldest_transaction_rows_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)

    documented = documented_around_a_slow_writer(lambda: None)

    assert documented == {2: 1, 3: 1}
