"""Records of attempts: deliveries, attempts, the circuit breaker, and their consequences."""

import datetime as dt
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import Alert
from apps.events.models import Event
from apps.webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth, Job
from apps.webhooks.rules.circuit_breaker import ALERT_AFTER
from apps.webhooks.rules.schedule import ATTEMPTS, TEST_ATTEMPTS
from apps.webhooks.services import delivery, endpoints
from apps.webhooks.services.delivery import AttemptResult, record_attempts
from apps.webhooks.services.outbox import publish
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from tests.factories import NOW, RideFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SECOND = dt.timedelta(seconds=1)


def _claimed(*events: Event, at: dt.datetime = NOW) -> list[Delivery]:
    publish(at=at)
    return delivery.claim(at=at, limit=100)


def _tried(claim: list[Delivery], answer: ReceiverAnswer, *, only: UUID | None = None) -> list[AttemptResult]:
    return [made.attempt(row, NOW, 0.25, answer) for row in claim if only in (None, row.id)]


def _settle(claim: list[Delivery], answer: ReceiverAnswer, *, at: dt.datetime = NOW) -> int:
    return record_attempts(_tried(claim, answer), at=at, worker="here:1")


OK, DOWN = ReceiverAnswer(code=204), ReceiverAnswer(error="connect")


def test_a_claim_is_a_lease_that_nobody_else_takes() -> None:
    made.endpoint()
    made.event()

    first, second = _claimed(), delivery.claim(at=NOW, limit=100)

    assert (len(first), second) == (1, [])
    row = Delivery.objects.get()
    assert (row.status, row.claims, row.claim_id, row.lease_until) == (
        "in_flight",
        1,
        first[0].claim_id,
        NOW + delivery.LEASE,
    )


def test_claim_leaves_no_more_than_max_in_flight() -> None:
    made.endpoint(max_in_flight=2)
    for _ in range(5):
        made.event()

    first = _claimed()
    record_attempts(_tried(first, OK)[:1], at=NOW, worker="here:1")
    second = delivery.claim(at=NOW, limit=100)

    assert (len(first), len(second)) == (2, 1)  # one is in flight


def test_every_lane_gets_its_share_of_a_claim() -> None:
    for _ in range(4):
        made.endpoint()
    for _ in range(50):
        made.event()

    claim = _claimed()

    by_lane: dict[UUID, int] = {}
    for row in claim:
        by_lane[row.endpoint_id] = by_lane.get(row.endpoint_id, 0) + 1
    assert sorted(by_lane.values()) == [8, 8, 8, 8]


@pytest.mark.parametrize(
    ("columns", "health"),
    [
        ({"state": "paused"}, {}),
        ({"deleted_at": NOW}, {}),
        ({}, {"open_until": NOW + SECOND, "open_count": 1}),
    ],
)
def test_nothing_is_claimed_where_nothing_is_sent(columns: dict[str, Any], health: dict[str, Any]) -> None:
    endpoint = made.endpoint()
    made.event()
    publish(at=NOW)
    Endpoint.objects.update(**columns)
    EndpointHealth.objects.filter(pk=endpoint.pk).update(**health)

    assert delivery.claim(at=NOW, limit=100) == []


def test_a_breaker_that_has_opened_lets_one_probe_through() -> None:
    made.endpoint(health={"open_until": NOW, "open_count": 2})
    for _ in range(3):
        made.event()

    assert len(_claimed()) == 1


def test_live_deliveries_precede_retries_and_then_replays() -> None:
    made.endpoint(max_in_flight=1)
    for _ in range(3):
        made.event()
    publish(at=NOW)
    for priority, row in zip((2, 1, 0), Delivery.objects.order_by("pk"), strict=True):
        Delivery.objects.filter(pk=row.pk).update(priority=priority, due_at=NOW - (10 - priority) * SECOND)

    order = []
    for _ in range(3):
        claim = delivery.claim(at=NOW, limit=100)
        order += [Delivery.objects.get(pk=row.id).priority for row in claim]
        _settle(claim, OK)

    assert order == [0, 1, 2]


def test_what_arrived_is_delivered_and_the_attempt_kept() -> None:
    endpoint = made.endpoint()
    made.event()

    delivered = _settle(
        _claimed(), ReceiverAnswer(code=200, snippet="thanks", headers={"server": "x"}, remote_ip="192.0.2.1")
    )

    assert delivered == 1
    row, attempt = Delivery.objects.get(), Attempt.objects.get()
    assert (row.status, row.attempts, row.claims, row.ended_at, row.claim_id, row.lease_until) == (
        "delivered", 1, 0, NOW, None, None,
    )  # fmt: skip
    assert (attempt.delivery_id, attempt.endpoint_id, attempt.number, attempt.duration_ms) == (
        row.pk, endpoint.pk, 1, 250,
    )  # fmt: skip
    assert (attempt.code, attempt.error, attempt.response_snippet, attempt.remote_ip) == (
        200,
        "",
        "thanks",
        "192.0.2.1",
    )
    assert (attempt.response_headers, attempt.worker) == ({"server": "x"}, "here:1")
    health = made.health_of(endpoint)
    assert (health.last_success_at, health.attempts_total, health.failures_total) == (NOW, 1, 0)


def test_worker_that_lost_its_lease_records_only_its_attempt() -> None:
    made.endpoint()
    made.event()
    lost = _claimed()
    Delivery.objects.update(claim_id=uuid4())

    delivered = _settle(lost, OK)

    assert delivered == 0
    assert (Delivery.objects.get().status, Attempt.objects.count()) == ("in_flight", 1)


def test_without_the_fence_it_would_change_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: without the fence, the test above fails."""
    made.endpoint()
    made.event()
    lost = _claimed()
    Delivery.objects.update(claim_id=uuid4())
    monkeypatch.setattr(delivery, "_RECORD", delivery._RECORD.replace("AND d.claim_id = new.claim_id", ""))

    assert _settle(lost, OK) == 1


def test_after_the_thirteenth_attempt_it_is_exhausted() -> None:
    made.endpoint()
    made.event()
    publish(at=NOW)
    Delivery.objects.update(attempts=ATTEMPTS - 1)

    _settle(delivery.claim(at=NOW, limit=1), DOWN)

    row = Delivery.objects.get()
    assert (row.status, row.attempts, row.ended_at, row.last_error) == ("exhausted", 13, NOW, "connect")


def test_a_body_that_cannot_be_made_is_no_fault_of_the_endpoint() -> None:
    endpoint = made.endpoint()
    made.event()

    _settle(_claimed(), ReceiverAnswer(error="render"))

    row, attempt = Delivery.objects.get(), Attempt.objects.get()
    assert (row.status, row.attempts, row.claims, row.due_at) == ("pending", 0, 1, NOW + 10 * SECOND)
    assert (attempt.number, attempt.error) == (0, "render")
    assert made.health_of(endpoint).attempts_total == 0


def test_delivery_is_quarantined_with_alert_after_ten_claims() -> None:
    made.endpoint()
    made.event()
    publish(at=NOW)
    Delivery.objects.update(claims=9)

    _settle(delivery.claim_suspect(at=NOW), ReceiverAnswer(error="render"))

    row = Delivery.objects.get()
    assert (row.status, row.claims, row.ended_at) == ("quarantined", 10, NOW)
    assert Alert.objects.get().kind == "webhook.delivery.quarantined"


def test_a_suspect_is_claimed_alone_and_by_no_ordinary_claim() -> None:
    made.endpoint()
    for _ in range(3):
        made.event()
    publish(at=NOW)
    suspects = list(Delivery.objects.order_by("pk")[:2])
    Delivery.objects.filter(pk__in=[row.pk for row in suspects]).update(claims=3)

    ordinary, alone = delivery.claim(at=NOW, limit=100), delivery.claim_suspect(at=NOW)

    assert len(ordinary) == 1
    assert len(alone) == 1
    assert alone[0].id in {row.pk for row in suspects}
    assert alone[0].claims == 4


def test_suspect_delivery_waits_for_breaker_and_active_endpoint() -> None:
    endpoint = made.endpoint(health={"open_until": NOW + SECOND, "open_count": 1})
    made.event()
    publish(at=NOW)
    Delivery.objects.update(claims=3)

    assert delivery.claim_suspect(at=NOW) == []
    Endpoint.objects.filter(pk=endpoint.pk).update(state="paused")
    assert delivery.claim_suspect(at=NOW + SECOND) == []


def test_the_fifth_failure_in_a_row_stops_the_lane() -> None:
    endpoint = made.endpoint()
    for _ in range(5):
        made.event()

    _settle(_claimed(), DOWN)

    health = made.health_of(endpoint)
    assert (health.failures, health.open_count, health.failing_since) == (5, 1, NOW)
    assert health.open_until is not None
    assert 24 * SECOND <= health.open_until - NOW <= 36 * SECOND


def test_a_first_answer_makes_a_pending_endpoint_active() -> None:
    endpoint = made.endpoint(state="pending")
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _settle(delivery.claim(at=NOW, limit=10), OK)

    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.version) == ("active", 2)
    assert made.health_of(endpoint).attempts_total == 0  # tests do not count for health


def test_failed_test_is_retried_twice_and_endpoint_is_pending() -> None:
    endpoint = made.endpoint(state="pending")
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)
    for _ in range(TEST_ATTEMPTS):
        Delivery.objects.update(due_at=NOW)
        _settle(delivery.claim(at=NOW, limit=10), DOWN)

    endpoint.refresh_from_db()
    assert (endpoint.state, Delivery.objects.get().status) == ("pending", "exhausted")


def test_a_new_address_that_answers_gets_what_was_held() -> None:
    endpoint = made.endpoint(state="paused", state_reason="unverified")
    made.event()
    publish(at=NOW)
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _settle(delivery.claim(at=NOW, limit=10), OK)

    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.state_reason) == ("active", "")
    assert Delivery.objects.get(trigger="event").status == "pending"
    assert Job.objects.get().total == 1


def test_410_to_a_test_leaves_a_pending_endpoint_as_it_is() -> None:
    endpoint = made.endpoint(state="pending")
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _settle(delivery.claim(at=NOW, limit=10), ReceiverAnswer(code=410, error="http_4xx"))

    endpoint.refresh_from_db()
    assert endpoint.state == "pending"
    assert Alert.objects.count() == 0


def test_410_pauses_and_tells() -> None:
    endpoint = made.endpoint(name="EHR")
    made.event()

    _settle(_claimed(), ReceiverAnswer(code=410, error="http_4xx"))

    alert = Alert.objects.get()
    assert (alert.kind, alert.severity, alert.title) == (
        "webhook.endpoint.gone",
        "critical",
        "Webhook endpoint “EHR” answered 410 Gone and was paused",
    )
    assert alert.path == f"/console/developers/endpoints/{endpoint.pk}/"


def test_recovered_endpoint_is_announced_where_failure_was() -> None:
    other = made.endpoint(event_types=["webhook.*"])
    endpoint = made.endpoint(
        event_types=["ride.*"],
        health={"alert_level": 2, "failing_since": NOW - ALERT_AFTER[1], "failures": 9, "failures_since_success": 9},
    )
    Alert.objects.create(
        kind="webhook.endpoint.failing", severity="critical", scope="webhooks:manage",
        key=f"webhook.failing:{endpoint.pk}:2", title_message={"template": "failing", "parameters": {}}, created_at=NOW,
    )  # fmt: skip
    made.event()

    _settle(_claimed(), OK)

    failing, recovered = Alert.objects.order_by("pk")
    assert (failing.resolved_at, recovered.kind, recovered.severity) == (NOW, "webhook.endpoint.recovered", "info")
    event = Event.objects.get(type="webhook.endpoint.recovered")
    assert (event.subject_id, event.sequence, event.data["failures"]) == (endpoint.pk, 1, 9)
    publish(at=NOW)
    assert Delivery.objects.get(endpoint=other).event_id == event.pk


@pytest.mark.parametrize(
    ("type", "service", "urgent"),
    [
        ("ride.exception", "appointment", True),
        ("ride.ready", "hospital_discharge", True),
        ("ride.ready", "appointment", False),
    ],
)
def test_what_is_urgent_is_told_after_the_fourth_attempt(type: str, service: str, urgent: bool) -> None:
    given = {"discharge": {"unit": "5W"}} if service == "hospital_discharge" else {}
    ride = RideFactory.create(service_type=service, **given)
    made.endpoint()
    made.event(type, subject_id=ride.pk, sequence=99)
    publish(at=NOW)
    for attempts in (2, 3):
        Delivery.objects.update(attempts=attempts, due_at=NOW)
        _settle(delivery.claim(at=NOW, limit=10), DOWN)

    told = list(Alert.objects.values_list("kind", flat=True))
    assert told == (["webhook.delivery.urgent"] if urgent else [])


def test_settling_asks_as_often_for_many_as_for_one(django_assert_num_queries: Any) -> None:
    for _ in range(6):
        made.endpoint()
    made.event()
    results = _tried(_claimed(), OK)

    with django_assert_num_queries(6):  # a savepoint and its end among them
        record_attempts(results, at=NOW, worker="here:1")

    assert Delivery.objects.filter(status="delivered").count() == 6


def test_claimed_rows_come_with_their_event() -> None:
    endpoint = made.endpoint()
    event = made.event("ride.started", data={"status": "in_progress"})

    (row,) = _claimed()

    assert (row.pk, row.endpoint_id, row.claims, row.trigger) == (Delivery.objects.get().pk, endpoint.pk, 1, "event")
    assert row.event == event
    assert row.event.data == {"status": "in_progress"}


def test_a_test_may_be_all_that_a_claim_has_room_for() -> None:
    endpoint = made.endpoint()
    made.event()
    publish(at=NOW)
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)

    (row,) = delivery.claim(at=NOW, limit=1)

    assert row.trigger == "test"


def test_a_test_of_an_active_endpoint_changes_nothing_about_it() -> None:
    endpoint = made.endpoint()
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _settle(delivery.claim(at=NOW, limit=10), OK)

    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.version) == ("active", 1)
