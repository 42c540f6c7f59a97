"""Alerts and events about a failing endpoint, which repeat at the next failure."""

import datetime as dt
from typing import Any

import pytest
from django.db.models import F

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.events.models import Event
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.services import circuit_breaker, cleanup, delivery, endpoint_monitor, endpoint_states, endpoints
from apps.webhooks.services.delivery import record_attempts
from apps.webhooks.services.outbox import publish
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from tests.factories import NOW
from tests.webhooks import made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("names")]

MINUTE, HOUR, DAY = dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(days=1)
LATER = NOW + MINUTE


def _failing(for_: dt.timedelta, **columns: Any) -> Endpoint:
    health = {"failing_since": NOW - for_, "failures": 60, "failures_since_success": 60, "open_count": 3}
    return made.endpoint(health=health, **columns)


def _fails_again(endpoint: Endpoint, for_: dt.timedelta, at: dt.datetime) -> None:
    health = made.health_of(endpoint)
    health.failing_since, health.failures_since_success = at - for_, 60
    health.save()


def _open() -> list[str]:
    return sorted(Alert.objects.open().values_list("kind", flat=True))


def _events() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("type", flat=True))


def _version(endpoint: Endpoint) -> int:
    return Endpoint.objects.get(pk=endpoint.pk).version


def _resume(endpoint: Endpoint) -> None:
    endpoints.resume(endpoint_id=endpoint.pk, by=system(), at=LATER)


def test_resumed_endpoint_is_reported_when_it_fails_again() -> None:
    endpoint = _failing(20 * MINUTE)
    endpoint_monitor.watch(at=NOW)
    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _resume(endpoint)
    after = _open()
    _fails_again(endpoint, 16 * MINUTE, NOW + 30 * MINUTE)
    endpoint_monitor.watch(at=NOW + 30 * MINUTE)

    assert after == ["webhook.endpoint.recovered"]
    assert _open() == ["webhook.endpoint.failing", "webhook.endpoint.recovered"]
    assert _events() == [f"webhook.endpoint.{what}" for what in ("failing", "recovered", "failing")]
    assert Alert.objects.get(kind="webhook.endpoint.recovered").title == (
        "Webhook endpoint “Interface engine” was resumed"
    )


def test_resumed_endpoint_is_reported_when_disabled_again() -> None:
    endpoint = _failing(5 * DAY)
    endpoint_monitor.watch(at=NOW)
    off = _open()

    _resume(endpoint)
    resumed = _open()
    _fails_again(endpoint, 5 * DAY, LATER)
    endpoint_monitor.watch(at=LATER)

    assert (off, resumed) == (["webhook.endpoint.disabled"], ["webhook.endpoint.recovered"])
    assert _open() == ["webhook.endpoint.disabled", "webhook.endpoint.recovered"]
    assert _events() == [f"webhook.endpoint.{what}" for what in ("disabled", "recovered", "disabled")]


def test_endpoint_that_is_gone_twice_is_told_of_twice() -> None:
    endpoint = made.endpoint()
    endpoint_states.pause_gone(endpoint.pk, version=_version(endpoint), at=NOW)

    _resume(endpoint)
    resumed = _open()
    endpoint_states.pause_gone(endpoint.pk, version=_version(endpoint), at=LATER)

    assert resumed == ["webhook.endpoint.recovered"]
    assert _open() == ["webhook.endpoint.gone", "webhook.endpoint.recovered"]
    assert _events() == [f"webhook.endpoint.{what}" for what in ("paused", "recovered", "paused")]


def test_pause_that_nobody_was_told_of_ends_without_a_word() -> None:
    endpoint = made.endpoint()
    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW)

    _resume(endpoint)

    assert (Alert.objects.count(), _events()) == (0, [])


def test_old_address_that_is_gone_says_nothing_of_the_new_one() -> None:
    endpoint = made.endpoint()
    made.event()
    publish(at=NOW)
    claim = delivery.claim(at=NOW, limit=1)
    Endpoint.objects.filter(pk=endpoint.pk).update(url="https://new.example.org/", version=F("version") + 1)

    record_attempts(
        [made.attempt(claim[0], NOW, 0.1, ReceiverAnswer(code=410, error="http_4xx"), version=endpoint.version)],
        at=NOW,
        worker="test",
    )

    endpoint.refresh_from_db()
    assert (endpoint.state, Alert.objects.count()) == ("active", 0)


def test_resumed_endpoint_remembers_its_last_success() -> None:
    endpoint = made.endpoint(state="paused")
    EndpointHealth.objects.filter(pk=endpoint.pk).update(last_success_at=NOW - HOUR, last_failure_at=NOW - MINUTE)

    _resume(endpoint)

    health = made.health_of(endpoint)
    assert (health.last_success_at, health.last_failure_at) == (NOW - HOUR, NOW - MINUTE)


def test_new_address_that_answers_begins_with_a_clean_slate() -> None:
    endpoint = _failing(20 * MINUTE)
    endpoint_monitor.watch(at=NOW)
    changed = endpoints.change(
        endpoint_id=endpoint.pk, changes={"url": "https://new.example.org/"}, expected_version=None, by=system(), at=NOW
    )

    circuit_breaker.verify(endpoint.pk, version=changed.version, at=LATER)

    health = made.health_of(endpoint)
    assert (health.failing_since, health.open_count, health.alert_level) == (None, 0, 0)
    assert _open() == ["webhook.endpoint.recovered"]
    assert _events() == ["webhook.endpoint.failing", "webhook.test", "webhook.endpoint.recovered"]


def test_alerts_about_a_removed_endpoint_are_resolved() -> None:
    endpoint, other = _failing(20 * MINUTE), _failing(20 * MINUTE)
    made.delivery(endpoint, made.event(), status="exhausted", ended_at=NOW)
    endpoint_monitor.watch(at=NOW)
    cleanup.clean_up(at=NOW)
    before = _open()

    endpoints.remove(endpoint_id=endpoint.pk, by=system(), at=LATER)

    assert before == ["webhook.delivery.exhausted", "webhook.endpoint.failing", "webhook.endpoint.failing"]
    assert [alert.key for alert in Alert.objects.open()] == [f"webhook.failing:{other.pk}:1"]
    assert set(Alert.objects.filter(resolved_at__isnull=False).values_list("resolved_at", flat=True)) == {LATER}


def test_exhausted_deliveries_of_removed_endpoint_do_not_alert() -> None:
    endpoint = made.endpoint(deleted_at=NOW, state="disabled")
    made.delivery(endpoint, made.event(), status="exhausted", ended_at=NOW)

    cleanup.clean_up(at=NOW)

    assert (Alert.objects.count(), _events()) == (0, ["ride.completed"])


def test_delivery_returning_after_endpoint_removal_is_cancelled() -> None:
    endpoint = made.endpoint(deleted_at=NOW, state="disabled")
    back = made.delivery(endpoint, made.event())
    test = made.delivery(endpoint, made.event("webhook.test"), trigger="test")

    cleanup.clean_up(at=LATER)

    found = list(Delivery.objects.order_by("pk").values_list("pk", "status", "ended_at"))
    assert found == [(back.pk, "cancelled", LATER), (test.pk, "cancelled", LATER)]


def test_resolving_alerts_of_one_endpoint_leaves_others_open() -> None:
    one, other = made.endpoint(), made.endpoint()
    for endpoint in (one, other):
        endpoint_states.pause_gone(endpoint.pk, version=_version(endpoint), at=NOW)

    alerts.resolve_about(one.pk, at=LATER)

    assert [alert.key for alert in Alert.objects.open()] == [f"webhook.gone:{other.pk}:0"]


def test_title_says_what_happened_however_long_the_name_is() -> None:
    endpoint = made.endpoint(name="n" * 100)

    endpoint_states.pause_gone(endpoint.pk, version=_version(endpoint), at=NOW)

    assert Alert.objects.get().title == f"Webhook endpoint “{'n' * 100}” answered 410 Gone and was paused"


@pytest.fixture
def one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_states, "BATCH_SIZE", 1)
    monkeypatch.setattr(cleanup, "MAX_BATCHES", 2)


def _statuses() -> list[str]:
    return sorted(Delivery.objects.values_list("status", flat=True))


def _with_four(**columns: Any) -> Endpoint:
    endpoint = made.endpoint(**columns)
    for _ in range(4):
        made.delivery(endpoint, made.event())
    return endpoint


@pytest.mark.usefixtures("one_at_once")
def test_what_is_too_much_to_be_held_at_once_is_held_bit_by_bit() -> None:
    endpoint = _with_four()

    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW)
    found = [_statuses()]
    for minutes in (1, 2):
        cleanup.clean_up(at=NOW + minutes * MINUTE)
        found.append(_statuses())

    assert found == [["held", *["pending"] * 3], [*["held"] * 3, "pending"], ["held"] * 4]


@pytest.mark.usefixtures("one_at_once")
def test_paused_endpoint_is_never_claimed_despite_pending_rows() -> None:
    endpoint = _with_four()
    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW)

    assert delivery.claim(at=NOW, limit=10) == []


@pytest.mark.usefixtures("one_at_once")
def test_pending_rows_of_removed_endpoint_cancel_in_batches() -> None:
    endpoint = _with_four()
    Delivery.objects.filter(pk=Delivery.objects.order_by("pk").first().pk).update(status="held")  # type: ignore[union-attr]  # the row exists

    endpoints.remove(endpoint_id=endpoint.pk, by=system(), at=NOW)
    removed = _statuses().count("cancelled")
    for _ in range(2):
        cleanup.clean_up(at=LATER)

    assert removed == 1
    assert _statuses() == ["cancelled"] * 4


@pytest.mark.usefixtures("one_at_once")
def test_resume_without_held_deliveries_sends_none_of_them() -> None:
    endpoint = _with_four()
    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW)

    endpoints.resume(endpoint_id=endpoint.pk, deliver_held=False, by=system(), at=LATER)
    cleanup.clean_up(at=LATER)

    assert _statuses() == ["held"] * 4
