"""Frequent queries use their index, however long the history is."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from apps.events.models import Event
from apps.webhooks.models import Delivery
from apps.webhooks.queries import metrics
from apps.webhooks.services import cleanup, delivery
from lib.ids import uuid7
from tests.console.visits import visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

ROWS = 400


def _plans(call: Callable[[], object]) -> str:
    """Return PostgreSQL's plans for every statement of a call, with sequential scans disabled."""
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        asked.append((sql, values))
        return execute(sql, values, many, context)

    with connection.execute_wrapper(note):
        call()
    plans = []
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for sql, values in asked:
            if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE")):
                cursor.execute(f"EXPLAIN {sql}", values)
                plans += [row[0] for row in cursor.fetchall()]
    return "\n".join(plans)


@pytest.fixture
def history() -> Delivery:
    """Deliver a few hundred events of rides; return one delivery of them."""
    endpoint = made.endpoint()
    events = Event.objects.bulk_create(
        Event(type="ride.completed", subject_type="ride", subject_id=uuid4(), sequence=1, occurred_at=NOW, actor="a")
        for _ in range(ROWS)
    )
    known: dict[str, Any] = {"status": "delivered", "due_at": NOW, "expires_at": NOW, "created_at": NOW}
    known |= {"ended_at": NOW, "subject_sequence": 1, "event_type": "ride.completed"}
    rows = Delivery.objects.bulk_create(
        Delivery(id=uuid7(), endpoint=endpoint, event=event, subject_id=event.subject_id, **known) for event in events
    )
    made.delivery(endpoint, made.event("webhook.test", subject_type="endpoint"), trigger="test")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_delivery; ANALYZE events_event")
    return rows[0]


@pytest.mark.usefixtures("history")
def test_purgeable_events_use_an_index_without_ride_events() -> None:
    assert "event_forgettable" in _plans(lambda: cleanup.purge(at=NOW))


@pytest.mark.usefixtures("history")
def test_tests_that_are_due_are_found_among_tests() -> None:
    assert "delivery_test_due" in _plans(lambda: delivery.claim(at=NOW, limit=1))


def test_last_test_of_an_endpoint_is_found_among_its_tests(history: Delivery) -> None:
    client = visitor()

    plans = _plans(lambda: client.get(f"/console/developers/endpoints/{history.endpoint_id}/last-test/"))

    assert "Index Scan using delivery_test on" in plans


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("index", ["delivery_pending", "delivery_in_flight", "delivery_stopped"])
def test_undelivered_rows_are_counted_with_a_partial_index(index: str) -> None:
    assert f" {index}" in _plans(lambda: list(metrics.families(at=NOW)))
