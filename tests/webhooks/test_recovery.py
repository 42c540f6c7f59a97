"""Resending of one delivery, or of the events that an endpoint missed."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.audit.models import AuditEntry
from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.services import endpoint_states, recovery
from apps.webhooks.services.outbox import publish
from apps.webhooks.services.recovery import NEVER_SENT, Recovery
from lib.access import system
from lib.errors import Code, DomainError, InvalidInput, NotFound
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

MINUTE, DAY = dt.timedelta(minutes=1), dt.timedelta(days=1)
ENDED = ("delivered", "exhausted", "cancelled", "quarantined")


def missed(endpoint: Endpoint, status: str, minutes: int, **columns: Any) -> Delivery:
    """Create a delivery of an event this many minutes ago."""
    event = made.event_at(NOW - minutes * MINUTE, **columns)
    return made.delivery(endpoint, event, status=status, ended_at=NOW if status in ENDED else None)


def recover(endpoint: Endpoint, *, dry_run: bool = False, **span: Any) -> Recovery:
    known: dict[str, Any] = {"since": NOW - DAY, "until": NOW}
    return recovery.recover(
        endpoint_id=endpoint.pk, period=recovery.Period(**(known | span)), dry_run=dry_run, by=system(), at=NOW
    )


def replays() -> list[tuple[Any, ...]]:
    rows = Delivery.objects.filter(priority=2).order_by("due_at")
    return [(row.event_id, row.status, row.trigger, row.round, row.due_at) for row in rows]


def test_dry_run_counts_and_changes_nothing() -> None:
    endpoint = made.endpoint()
    for minutes, status in enumerate(("exhausted", "held", "held", "delivered", "cancelled"), start=1):
        missed(endpoint, status, minutes)
    before = list(Delivery.objects.order_by("pk").values())

    recovery = recover(endpoint, dry_run=True)

    assert recovery == Recovery({"exhausted": 1, "held": 2}, None)
    assert list(Delivery.objects.order_by("pk").values()) == before
    assert not AuditEntry.objects.exists()


def test_recovery_sends_again_in_order_behind_what_is_live(settings: Any) -> None:
    settings.WEBHOOK_REPLAYS_PER_SECOND = 4
    endpoint = made.endpoint()
    held, exhausted = missed(endpoint, "held", 2), missed(endpoint, "exhausted", 5)
    missed(endpoint, "delivered", 3)

    recovery = recover(endpoint)

    quarter = dt.timedelta(seconds=0.25)
    assert replays() == [
        (exhausted.event_id, "pending", "replay", 1, NOW + quarter),
        (held.event_id, "pending", "event", 0, NOW + 2 * quarter),
    ]
    exhausted.refresh_from_db()
    assert exhausted.status == "exhausted"
    job = Job.objects.get()
    assert (recovery.job, recovery.counts) == (job, {"exhausted": 1, "held": 1})
    assert (job.state, job.total, job.done, job.created_by) == ("running", 2, 2, "system")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id, entry.details) == ("webhooks.recover", endpoint.pk, {"total": 2})


def test_count_precedes_locks_and_dry_run_locks_nothing() -> None:
    endpoint = made.endpoint()
    missed(endpoint, "held", 1)

    with CaptureQueriesContext(connection) as dry:
        recover(endpoint, dry_run=True)
    with CaptureQueriesContext(connection) as meant:
        recover(endpoint)

    locks, counts = ([word in one["sql"] for one in meant.captured_queries] for word in ("UPDATE OF", "GROUP BY 1"))
    assert not any(" FOR " in one["sql"] for one in dry.captured_queries)
    assert counts.index(True) < locks.index(True)


def test_lock_on_an_endpoint_lets_new_deliveries_refer_to_it() -> None:
    """They take FOR KEY SHARE on it; FOR NO KEY UPDATE is the strongest lock that permits this."""
    endpoint = made.endpoint()

    with CaptureQueriesContext(connection) as asked:
        endpoint_states.lock_for_change(endpoint.pk, system())
        endpoint_states.lock(endpoint.pk)

    locks = [one["sql"] for one in asked.captured_queries]
    assert len(locks) == 3
    assert all("FOR NO KEY UPDATE" in sql for sql in locks)


@pytest.mark.parametrize(("status", "counted"), [("exhausted", {"exhausted": 2}), ("delivered", {})])
def test_count_ends_early_and_the_recovery_does_not(
    monkeypatch: pytest.MonkeyPatch, status: str, counted: dict[str, int]
) -> None:
    monkeypatch.setattr(recovery, "MAX_COUNTED", 2)
    monkeypatch.setattr(recovery, "EVENTS_PER_STEP", 2)
    endpoint = made.endpoint()
    for minutes in (5, 4):
        missed(endpoint, status, minutes)
    last = missed(endpoint, "exhausted", 3)

    dry, meant = recover(endpoint, dry_run=True), recover(endpoint)
    recovery.advance(at=NOW)

    job = Job.objects.get()
    assert dry == Recovery(counted, None, is_capped=True)
    assert meant == Recovery(counted, job, is_capped=True)
    assert (job.state, job.total, job.done) == ("done", len(replays()), len(replays()))
    assert replays()[-1][0] == last.event_id


def test_count_of_as_many_as_are_counted_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "MAX_COUNTED", 2)
    endpoint = made.endpoint()
    for minutes in (5, 4):
        missed(endpoint, "held", minutes)

    assert recover(endpoint, dry_run=True) == Recovery({"held": 2}, None)


def test_recovery_of_nothing_is_no_job() -> None:
    assert recover(made.endpoint()) == Recovery({}, None)


def test_new_endpoint_can_hear_of_what_it_has_never_been_sent() -> None:
    endpoint = made.endpoint(event_types=["ride.*"])
    event = made.event_at(NOW - MINUTE)
    made.event_at(NOW - MINUTE, "vehicle.updated", subject_type="vehicle")

    recovery = recover(endpoint, statuses=(NEVER_SENT,))

    assert recovery.counts == {NEVER_SENT: 1}
    assert [(one[0], one[3]) for one in replays()] == [(event.pk, 0)]


@pytest.mark.parametrize(
    ("types", "found"),
    [(None, 2), (("ride.*",), 2), (("*",), 2), (("ride.started",), 1), (("ride.started", "ride.completed"), 2)],
)
def test_recovery_is_narrowed_by_types(types: tuple[str, ...] | None, found: int) -> None:
    endpoint = made.endpoint()
    missed(endpoint, "held", 1, type="ride.started")
    missed(endpoint, "held", 1)

    assert recover(endpoint, dry_run=True, types=types).counts == {"held": found}


def test_period_includes_its_start_and_excludes_its_end() -> None:
    endpoint = made.endpoint()
    for minutes in (10, 7, 5, 3):
        missed(endpoint, "held", minutes)

    found = recover(endpoint, since=NOW - 7 * MINUTE, until=NOW - 3 * MINUTE).counts

    assert found == {"held": 2}
    assert len(replays()) == 2


def test_latest_delivery_decides_what_became_of_an_event() -> None:
    endpoint = made.endpoint()
    exhausted = missed(endpoint, "exhausted", 5)
    recover(endpoint)

    assert recover(endpoint, dry_run=True).counts == {}
    Delivery.objects.filter(round=1).update(status="exhausted", ended_at=NOW)
    recover(endpoint)

    assert Delivery.objects.get(round=2).event_id == exhausted.event_id


@pytest.mark.parametrize(
    ("span", "field", "code"),
    [
        ({"until": NOW - DAY}, "until", "invalid"),
        ({"since": NOW}, "since", "not_past"),
        ({"since": NOW + MINUTE, "until": NOW + DAY}, "since", "not_past"),
        ({"since": NOW - 30 * DAY - MINUTE}, "since", "window_too_long"),
        ({"since": NOW - 31 * DAY, "until": NOW - 30 * DAY}, "since", "window_too_long"),
        ({"until": NOW + 30 * DAY}, "since", "window_too_long"),
        ({"types": ("ride.flown",)}, "types", "unknown_event_type"),
    ],
)
def test_wrong_span_is_refused(span: dict[str, Any], field: str, code: str) -> None:
    endpoint = made.endpoint()
    missed(endpoint, "held", 1)

    with pytest.raises(InvalidInput) as refusal:
        recover(endpoint, **span)

    assert [(one.field, one.code) for one in refusal.value.details] == [(field, code)]
    assert not Job.objects.exists()


def test_paused_endpoint_is_counted_but_not_recovered() -> None:
    endpoint = made.endpoint(state="paused")
    missed(endpoint, "held", 1)

    assert recover(endpoint, dry_run=True).counts == {"held": 1}
    with pytest.raises(recovery.EndpointNotActive):
        recover(endpoint)


def test_recovery_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "EVENTS_PER_STEP", 2)
    endpoint = made.endpoint()
    for minutes in range(5, 0, -1):
        missed(endpoint, "exhausted", minutes)

    recover(endpoint)
    first = Job.objects.get().done
    steps = recovery.advance(at=NOW + MINUTE, steps=1), recovery.advance(at=NOW + 2 * MINUTE)

    job = Job.objects.get()
    assert (first, steps) == (2, (1, 2))
    assert (job.state, job.done, job.total, job.updated_at) == ("done", 5, 5, NOW + 2 * MINUTE)
    tenth = dt.timedelta(seconds=0.1)
    # No step creates overdue deliveries: they would be sent at once.
    late = [NOW + 2 * MINUTE + tenth]
    assert [one[4] for one in replays()] == [
        *(began + number * tenth for began in (NOW, NOW + MINUTE) for number in (1, 2)),
        *late,
    ]
    assert recovery.advance(at=NOW) == 0


def test_recovery_for_an_endpoint_that_was_taken_away_ends() -> None:
    endpoint = made.endpoint()
    missed(endpoint, "exhausted", 1)
    recover(endpoint)
    Endpoint.objects.update(deleted_at=NOW)

    recovery.advance(at=NOW + MINUTE)

    assert (Job.objects.get().state, Job.objects.get().updated_at) == ("cancelled", NOW + MINUTE)


def test_release_includes_held_replays_of_old_events() -> None:
    endpoint = made.endpoint()
    new, old = missed(endpoint, "held", 5), missed(endpoint, "held", 40 * 24 * 60)

    job = recovery.release_held(endpoint, by=system(), at=NOW)

    assert job is not None
    assert [(one[0], one[1]) for one in replays()] == [(old.event_id, "pending"), (new.event_id, "pending")]
    assert recovery.release_held(endpoint, by=system(), at=NOW) is None


def resend(delivery: Delivery, **given: Any) -> Delivery:
    return recovery.resend(delivery_id=delivery.pk, by=system(), at=NOW + MINUTE, **given)


@pytest.mark.parametrize("status", ["pending", "held"])
def test_waiting_delivery_is_brought_forward(status: str) -> None:
    delivery = made.delivery(made.endpoint(), made.event(), status=status, due_at=NOW + DAY, priority=2)

    again = resend(delivery)

    delivery.refresh_from_db()
    assert again == delivery
    assert (delivery.status, delivery.priority, delivery.due_at) == ("pending", 0, NOW + MINUTE)
    assert delivery.expires_at == NOW + MINUTE + 3 * DAY


@pytest.mark.parametrize("status", ["exhausted", "cancelled", "quarantined"])
def test_ended_delivery_gets_a_new_one_of_the_same_event(status: str) -> None:
    delivery = made.delivery(made.endpoint(), made.event(), status=status, ended_at=NOW)

    first = resend(delivery)
    second = resend(delivery)

    assert (first.event_id, first.round, first.trigger, first.status) == (delivery.event_id, 1, "resend", "pending")
    assert (second.round, second.due_at) == (2, NOW + MINUTE)
    assert {entry.action for entry in AuditEntry.objects.all()} == {"webhooks.resend"}


def test_delivery_that_arrived_is_sent_again_when_that_is_meant() -> None:
    delivery = made.delivery(made.endpoint(), made.event(), status="delivered", ended_at=NOW)

    with pytest.raises(recovery.ConfirmationRequired) as refusal:
        resend(delivery)

    assert refusal.value.details[0].field == "confirm"
    assert resend(delivery, confirmed=True).round == 1


def test_test_is_sent_again_to_an_endpoint_in_any_state() -> None:
    endpoint = made.endpoint(state="pending")
    event = made.event("webhook.test", subject_type="endpoint", subject_id=endpoint.pk)
    delivery = made.delivery(endpoint, event, trigger="test", status="exhausted", ended_at=NOW)

    assert resend(delivery).trigger == "test"


def _refused(delivery: Delivery, call: Any) -> DomainError:
    with pytest.raises(DomainError) as refusal:
        call(delivery)
    return refusal.value


def cancel(delivery: Delivery) -> Delivery:
    return recovery.cancel(delivery_id=delivery.pk, by=system(), at=NOW)


def test_in_flight_or_paused_delivery_cannot_be_changed() -> None:
    event = made.event()
    claimed = {"status": "in_flight", "claim_id": event.pk, "lease_until": NOW}
    on_its_way = made.delivery(made.endpoint(), event, **claimed)
    at_rest = made.delivery(made.endpoint(state="paused"), event, status="held")

    refusals = [_refused(on_its_way, resend), _refused(on_its_way, cancel), _refused(at_rest, resend)]

    assert [one.code for one in refusals] == [Code.RESOURCE_BUSY, Code.RESOURCE_BUSY, Code.RULE_VIOLATION]
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("status", ["pending", "held"])
def test_cancelled_delivery_is_not_tried_again(status: str) -> None:
    delivery = made.delivery(made.endpoint(), made.event(), status=status)

    cancelled = cancel(delivery)

    delivery.refresh_from_db()
    assert (cancelled, delivery.status, delivery.ended_at) == (delivery, "cancelled", NOW)
    assert AuditEntry.objects.get().action == "webhooks.cancel"
    assert _refused(delivery, cancel).code is Code.INVALID_TRANSITION


def test_delivery_of_nobody_is_neither_resent_nor_cancelled() -> None:
    nowhere = Delivery()

    assert isinstance(_refused(nowhere, resend), NotFound)
    assert isinstance(_refused(nowhere, cancel), NotFound)


def test_round_taken_concurrently_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = made.endpoint()
    made.event()
    publish(at=NOW)
    Delivery.objects.update(status="exhausted", ended_at=NOW)
    delivery = Delivery.objects.get(endpoint=endpoint)
    first, rounds = resend(delivery), iter([1, 1, 2])
    monkeypatch.setattr(recovery, "_next_round", lambda _: next(rounds))

    assert (first.round, resend(delivery).round) == (1, 2)
