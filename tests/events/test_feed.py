"""GET /events: every event once, none committed behind a reader's cursor."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.accounts.rules.roles import TokenRole
from apps.events import queries, services
from apps.events.models import Event, EventQuerySet
from apps.organizations.models import Facility
from lib.access import system
from lib.ids import uuid7
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW, FacilityFactory

PATIENCE = 900  # seconds; whole test modules run in one transaction, on machines of any speed


def record(type: str = "ride.scheduled", facility: Facility | None = None) -> Event:
    return services.record(
        type=type,
        subject_type="ride",
        subject_id=uuid7(),
        sequence=1,
        occurred_at=NOW,
        by=system(),
        facility_id=facility.pk if facility else None,
        data={"status": "scheduled"},
    )


def wait_until_settled() -> None:
    """Wait for older transactions of other databases to end: other test processes run some."""
    give_up = time.monotonic() + PATIENCE
    while Event.objects.settled().count() != Event.objects.count():
        assert time.monotonic() < give_up, f"a transaction has been running for {PATIENCE} s"
        time.sleep(0.05)


class Reader:
    """A poller that stores its cursor, as integrators do."""

    def __init__(self, api: TokenClient) -> None:
        self.api, self.cursor, self.seen = api, "", list[UUID]()

    def poll(self) -> None:
        body = self.api.get(f"/api/events?limit=2{self.cursor}").json()
        self.seen += [UUID(event["id"]) for event in body["data"]]
        self.cursor = f"&cursor={body['page']['nextCursor']}"
        if body["page"]["hasMore"]:
            self.poll()


@pytest.fixture
def committed(transactional_db: None) -> None:
    """Commit events in separate transactions: a running transaction holds the feed back, and a test runs in one."""


def test_event_is_read_in_its_envelope(committed: None) -> None:
    event = record()
    api = api_with(TokenRole.EHR_INTEGRATOR)
    wait_until_settled()

    listed = api.get("/api/events").json()
    single = api.get(f"/api/events/{event.pk}").json()

    assert listed["data"] == [single]
    assert single == {
        "id": str(event.pk),
        "type": "ride.scheduled",
        "apiVersion": "2026-11-20",
        "timestamp": "2026-11-20T15:00:00Z",
        "subject": {"type": "ride", "id": str(event.subject_id), "sequence": 1},
        "data": {"status": "scheduled"},
    }


def test_poller_meets_every_event_once(committed: None) -> None:
    reader = Reader(api_with())
    reader.poll()
    first = [record().pk for _ in range(5)]
    wait_until_settled()
    reader.poll()
    reader.poll()

    second = [record().pk for _ in range(2)]
    wait_until_settled()
    reader.poll()

    assert reader.seen == first + second


def test_feed_starts_behind_a_known_event(committed: None) -> None:
    events = [record() for _ in range(3)]
    wait_until_settled()

    body = api_with().get(f"/api/events?after={events[0].pk}").json()

    assert [event["id"] for event in body["data"]] == [str(events[1].pk), str(events[2].pk)]


def test_feed_is_filtered_by_type(committed: None) -> None:
    record("ride.scheduled")
    completed = record("ride.completed")
    record("ride.exception.opened")
    wait_until_settled()

    body = api_with().get("/api/events?types=ride.completed,ride.cancelled").json()

    assert [event["id"] for event in body["data"]] == [str(completed.pk)]


@pytest.mark.django_db
def test_wrong_start_is_refused(api: TokenClient) -> None:
    record()
    cursor = api.get("/api/events").json()["page"]["nextCursor"]

    assert error_of(api.get(f"/api/events?after={uuid7()}"))["details"][0]["field"] == "after"
    assert error_of(api.get(f"/api/events?after={uuid7()}&cursor={cursor}"))["details"][0]["field"] == "after"
    assert error_of(api.get(f"/api/events?types=ride.completed&cursor={cursor}"))["code"] == "INVALID_CURSOR"
    assert error_of(api.get("/api/events?cursor=abc"))["code"] == "INVALID_CURSOR"


def test_outsider_reads_no_event_of_others(committed: None) -> None:
    ours, theirs = FacilityFactory.create(), FacilityFactory.create()
    record(), record(facility=theirs)
    own, other = record(facility=ours), Event.objects.get(facility_id=theirs.pk)
    wait_until_settled()
    api = api_with(facility_ids=[ours.pk])

    assert [event["id"] for event in api.get("/api/events").json()["data"]] == [str(own.pk)]
    absent, hidden = api.get(f"/api/events/{uuid7()}"), api.get(f"/api/events/{other.pk}")
    assert error_of(absent)["message"] == error_of(hidden)["message"] == "There is no such event."
    assert error_of(api.get(f"/api/events?after={other.pk}"))["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("type", "subject_type"), [("token.expiring", "token"), ("webhook.endpoint.failing", "endpoint")]
)
def test_client_cannot_read_events_of_other_clients(committed: None, type: str, subject_type: str) -> None:
    api, others = api_with(), api_with(TokenRole.WEBHOOK_ADMIN)
    own, other = (
        services.record(
            type=type,
            subject_type=subject_type,
            subject_id=uuid7(),
            sequence=1,
            occurred_at=NOW,
            by=system(),
            data={"clientId": str(one.token.client_id)},
        )
        for one in (api, others)
    )
    ride = record()
    wait_until_settled()

    def shown(caller: TokenClient) -> list[str]:
        return [event["id"] for event in caller.get("/api/events").json()["data"]]

    assert (shown(api), shown(others)) == ([str(own.pk), str(ride.pk)], [str(other.pk), str(ride.pk)])
    assert error_of(api.get(f"/api/events/{other.pk}"))["message"] == "There is no such event."
    assert error_of(api.get(f"/api/events?after={other.pk}"))["code"] == "VALIDATION_ERROR"
    assert set(Event.objects.visible_to(system())) == {own, other, ride}


@pytest.mark.parametrize("count", [1, 3])
def test_feed_costs_two_queries(committed: None, django_assert_num_queries: Any, count: int) -> None:
    for _ in range(count):
        record()
    wait_until_settled()
    api = api_with()

    with django_assert_num_queries(2):  # token, events
        body = api.get("/api/events").json()

    assert len(body["data"]) == count


def poll_around_a_slow_writer(settle: Callable[[], None]) -> tuple[list[UUID], set[UUID]]:
    """Read while the oldest transaction commits last; return the events read and the existing events."""
    reader = Reader(api_with())
    wrote, commit = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            record()
            wrote.set()
            commit.wait(timeout=20)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(write_slowly)
        wrote.wait(timeout=20)
        record()
        reader.poll()
        commit.set()
        slow.result()
    settle()
    reader.poll()
    return reader.seen, set(Event.objects.values_list("pk", flat=True))


def test_event_that_commits_late_is_not_missed(committed: None) -> None:
    seen, written = poll_around_a_slow_writer(wait_until_settled)

    assert len(seen) == len(written) == 2
    assert set(seen) == written


def test_without_waiting_for_oldest_transaction_rows_are_lost(committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)

    seen, written = poll_around_a_slow_writer(lambda: None)

    assert len(seen) < len(written)


def test_running_transaction_holds_back_only_what_began_after_it(committed: None) -> None:
    before = record()
    wait_until_settled()
    running, end = threading.Event(), threading.Event()

    def run() -> None:
        with transaction.atomic():
            record()
            running.set()
            end.wait(timeout=20)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(run)
        running.wait(timeout=20)
        record()
        batch = queries.feed(by=system(), types=None, after=queries.START, limit=10)
        end.set()
        slow.result()

    assert [event.pk for event in batch.events] == [before.pk]
