"""Time-based changes: lost workers, endpoints that fail for long, overdue deliveries."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import Alert, ApiClient
from apps.events.models import Event
from apps.webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth, Job
from apps.webhooks.services import cleanup, delivery, endpoint_monitor, endpoint_states, recovery
from apps.webhooks.services.delivery import LEASE, MAX_CLAIMS
from apps.webhooks.services.outbox import publish
from tests.factories import NOW, ApiClientFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db

MINUTE, HOUR, DAY = dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(days=1)


def _in_flight() -> Delivery:
    made.endpoint()
    made.event()
    publish(at=NOW)
    delivery.claim(at=NOW, limit=10)
    return Delivery.objects.get()


def test_delivery_of_lost_worker_is_due_after_lease_expiry() -> None:
    row = _in_flight()

    early, late = (
        delivery.release_expired_leases(at=NOW + LEASE - MINUTE / 60),
        delivery.release_expired_leases(at=NOW + LEASE),
    )

    assert (early, late) == (0, 1)
    row.refresh_from_db()
    assert (row.status, row.attempts, row.claims, row.due_at) == ("pending", 0, 1, NOW)  # ahead of the backlog
    attempt = Attempt.objects.get()
    assert (attempt.error, attempt.number, attempt.code) == ("lost_worker", 0, None)
    assert made.health_of(row.endpoint).failures == 0  # not the endpoint's fault


def test_delivery_is_quarantined_with_alert_after_ten_losses() -> None:
    row = _in_flight()
    Delivery.objects.update(claims=MAX_CLAIMS)

    delivery.release_expired_leases(at=NOW + LEASE)

    row.refresh_from_db()
    assert (row.status, row.ended_at) == ("quarantined", NOW + LEASE)
    assert Alert.objects.get().kind == "webhook.delivery.quarantined"


def _failing(for_: dt.timedelta, **health: Any) -> EndpointHealth:
    endpoint = made.endpoint(
        name="EHR",
        event_types=["ride.*"],
        health={"failing_since": NOW - for_, "failures": 9, "failures_since_success": 9, "open_count": 3} | health,
    )
    return made.health_of(endpoint)


def _kinds() -> list[tuple[str, str]]:
    return list(Alert.objects.filter(resolved_at__isnull=True).order_by("pk").values_list("kind", "severity"))


def test_people_and_other_endpoints_are_told_step_by_step() -> None:
    other = made.endpoint(event_types=["webhook.endpoint.failing"])
    health = _failing(14 * MINUTE)

    told = []
    for later in (0 * MINUTE, MINUTE, 2 * MINUTE, 46 * MINUTE, 6 * HOUR, 24 * HOUR, 40 * HOUR):
        endpoint_monitor.watch(at=NOW + later)
        told.append((EndpointHealth.objects.get(pk=health.pk).alert_level, _kinds()))

    warning, critical = ("webhook.endpoint.failing", "warning"), ("webhook.endpoint.failing", "critical")
    assert told == [
        (0, []),
        (1, [warning]),
        (1, [warning]),
        (2, [critical]),
        (3, [critical]),
        (4, [critical]),
        (4, [critical]),
    ]
    publish(at=NOW)
    assert Delivery.objects.filter(endpoint=other).count() == 4
    event = Event.objects.filter(type="webhook.endpoint.failing").first()
    assert event is not None
    assert event.data == {
        "clientId": "None",
        "state": "active",
        "failingSince": "2026-11-20T14:46:00Z",
        "failures": 9,
        "lastError": "",
    }


def test_too_few_failures_are_told_to_nobody() -> None:
    _failing(2 * HOUR, failures_since_success=2)

    endpoint_monitor.watch(at=NOW)

    assert _kinds() == []


def test_after_five_days_the_endpoint_is_disabled_and_collects() -> None:
    health = _failing(5 * DAY - MINUTE, failures_since_success=50, alert_level=4)
    made.event()
    publish(at=NOW)

    endpoint_monitor.watch(at=NOW)
    before = health.endpoint.state
    endpoint_monitor.watch(at=NOW + MINUTE)
    endpoint_monitor.watch(at=NOW + 2 * MINUTE)
    made.event()
    publish(at=NOW + HOUR)

    health.endpoint.refresh_from_db()
    assert (before, health.endpoint.state, health.endpoint.state_reason) == (
        "active",
        "disabled",
        "no_success_for_days",
    )
    assert [row.status for row in Delivery.objects.all()] == ["held", "held"]
    assert _kinds() == [("webhook.endpoint.disabled", "critical")]
    assert Event.objects.filter(type="webhook.endpoint.disabled").count() == 1


def test_endpoint_that_cannot_be_checked_does_not_block_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ill, other = _failing(16 * MINUTE), _failing(16 * MINUTE)
    failing = endpoint_states.report_failing

    def fail(endpoint_id: Any, *args: Any, **given: Any) -> None:
        if endpoint_id == ill.pk:
            raise RuntimeError("canary")
        failing(endpoint_id, *args, **given)

    monkeypatch.setattr(endpoint_states, "report_failing", fail)

    endpoint_monitor.watch(at=NOW)

    assert [alert.key for alert in Alert.objects.all()] == [f"webhook.failing:{other.pk}:1"]
    assert (made.health_of(ill.endpoint).alert_level, made.health_of(other.endpoint).alert_level) == (0, 1)
    (told,) = [record for record in caplog.records if record.msg == "webhook endpoint not judged"]
    assert told.subscription_id == str(ill.pk)  # type: ignore[attr-defined]  # set by extra=


def test_the_last_error_is_named() -> None:
    health = _failing(16 * MINUTE)
    made.event()
    publish(at=NOW)
    row = Delivery.objects.get()
    for number, error in enumerate(("connect", "timeout"), start=1):
        Attempt.objects.create(
            delivery=row, endpoint_id=health.pk, number=number, started_at=NOW, duration_ms=1, error=error, worker="w"
        )

    endpoint_monitor.watch(at=NOW)

    assert Event.objects.get(type="webhook.endpoint.failing").data["lastError"] == "timeout"


def test_delivery_waiting_only_for_workers_does_not_expire() -> None:
    made.endpoint()
    made.event()
    publish(at=NOW)

    cleanup.clean_up(at=NOW + 4 * DAY)

    assert Delivery.objects.get().status == "pending"


def test_what_could_not_be_tried_for_three_days_is_given_up() -> None:
    endpoint = made.endpoint()
    EndpointHealth.objects.filter(pk=endpoint.pk).update(failing_since=NOW)
    for _ in range(3):
        made.event()
    publish(at=NOW)
    waiting, scheduled, tried = Delivery.objects.order_by("pk")
    later = NOW + 3 * DAY
    Delivery.objects.filter(pk=scheduled.pk).update(due_at=later + HOUR)  # its last attempt is still to come
    Delivery.objects.filter(pk=tried.pk).update(due_at=later - MINUTE)  # next in line

    cleanup.clean_up(at=later - MINUTE)
    early = Delivery.objects.filter(status="exhausted").count()
    cleanup.clean_up(at=later)

    assert early == 0
    assert [row.pk for row in Delivery.objects.filter(status="exhausted")] == [waiting.pk]


def test_what_came_back_after_the_pause_is_held() -> None:
    endpoint = made.endpoint()
    made.event()
    publish(at=NOW)
    endpoint.state = "paused"
    endpoint.save(update_fields=["state"])

    cleanup.clean_up(at=NOW)

    assert Delivery.objects.get().status == "held"


def test_held_deliveries_are_released_when_client_is_reenabled() -> None:
    client = ApiClientFactory.create(active=False)
    endpoint = made.endpoint(client=client)
    made.event()
    publish(at=NOW)

    cleanup.clean_up(at=NOW + MINUTE)
    off = [row.status for row in Delivery.objects.all()]
    ApiClient.objects.update(active=True)
    cleanup.clean_up(at=NOW + 2 * MINUTE)
    cleanup.clean_up(at=NOW + 3 * MINUTE)

    row, job = Delivery.objects.get(), Job.objects.get()
    assert off == ["held"]
    assert (row.status, row.priority) == ("pending", 2)
    assert (job.endpoint_id, job.total, job.created_by) == (endpoint.pk, 1, "system")


def test_what_people_left_held_when_they_resumed_stays_held() -> None:
    endpoint = made.endpoint(state_changed_at=NOW)
    made.delivery(endpoint, made.event(), status="held", created_at=NOW - MINUTE)

    cleanup.clean_up(at=NOW + MINUTE)

    assert (Delivery.objects.get().status, Job.objects.count()) == ("held", 0)


def test_recovery_that_runs_is_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "EVENTS_PER_STEP", 1)
    endpoint = made.endpoint()
    for _ in range(2):
        made.delivery(endpoint, made.event(), status="held")

    cleanup.clean_up(at=NOW)
    cleanup.clean_up(at=NOW + MINUTE)

    assert sorted(row.status for row in Delivery.objects.all()) == ["held", "pending"]
    assert Job.objects.count() == 1


def test_endpoint_paused_meanwhile_retains_held_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = made.endpoint()
    made.delivery(endpoint, made.event(), status="held")
    locked = endpoint_states.lock

    def paused_first(endpoint_id: Any) -> Endpoint:
        Endpoint.objects.update(state="paused")
        return locked(endpoint_id)

    monkeypatch.setattr(endpoint_states, "lock", paused_first)

    cleanup.clean_up(at=NOW)

    assert (Delivery.objects.get().status, Job.objects.count()) == ("held", 0)


def test_endpoint_resumed_meanwhile_has_nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = made.endpoint(state="paused")
    made.delivery(endpoint, made.event(), created_at=NOW - MINUTE)
    locked = endpoint_states.lock

    def resumed_first(endpoint_id: Any) -> Endpoint:
        Endpoint.objects.update(state="active")
        return locked(endpoint_id)

    monkeypatch.setattr(endpoint_states, "lock", resumed_first)

    cleanup.clean_up(at=NOW)

    assert Delivery.objects.get().status == "pending"


def test_people_are_told_once_an_hour_of_what_was_given_up() -> None:
    other = made.endpoint(event_types=["webhook.*"])
    endpoint = made.endpoint(name="EHR", event_types=["ride.*"])
    counts = []
    for minutes, more in ((0, 2), (30, 3), (59, 0), (60, 0), (200, 0)):
        at = NOW + minutes * MINUTE
        for _ in range(more):
            made.event()
        publish(at=at)
        rows = Delivery.objects.filter(endpoint=endpoint, status="pending")
        rows.update(status="exhausted", ended_at=at)

        cleanup.clean_up(at=at)

        counts.append([event.data["count"] for event in Event.objects.filter(type="webhook.delivery.exhausted")])

    assert counts == [[2], [2], [2], [2, 3], [2, 3]]
    assert Alert.objects.order_by("pk")[0].title == "Deliveries to “EHR” were given up: 2"
    publish(at=NOW)
    assert Delivery.objects.filter(endpoint=other).count() == 2


def test_watching_when_all_is_well_writes_nothing(django_assert_num_queries: Any) -> None:
    for _ in range(3):
        made.endpoint()

    # Unpublished events and their alert, urgent deliveries that are late, endpoints that fail, alerts of failed steps.
    with django_assert_num_queries(5):
        endpoint_monitor.watch(at=NOW)

    assert (Alert.objects.count(), Event.objects.count()) == (0, 0)
