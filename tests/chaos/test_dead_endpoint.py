"""An endpoint that does not answer for five days, with a simulated clock."""

import datetime as dt
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from django.db.models import Min

from apps.accounts.models import Alert
from apps.webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth
from apps.webhooks.rules import circuit_breaker
from apps.webhooks.rules.schedule import ATTEMPTS, DELAYS, JITTER
from apps.webhooks.services import cleanup, delivery, endpoint_monitor, endpoints, outbox, recovery
from apps.webhooks.services.delivery import record_attempts
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from tests.chaos import longer, tell
from tests.factories import NOW
from tests.webhooks import made

pytestmark = [pytest.mark.django_db, pytest.mark.untraced]

SECOND, MINUTE, HOUR, DAY = (dt.timedelta(**{name: 1}) for name in ("seconds", "minutes", "hours", "days"))
STEP = SECOND


def test_a_lonely_delivery_is_tried_as_the_schedule_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        circuit_breaker, "_should_open", lambda health: False
    )  # the circuit breaker delays attempts: see below
    made.endpoint()
    made.event()

    _live(NOW, NOW + 5 * DAY, code=500)

    delivery = Delivery.objects.get(event_type="ride.completed")
    tried = list(Attempt.objects.order_by("pk").values_list("started_at", flat=True))
    waited = [later - earlier for earlier, later in pairwise(tried)]
    assert (delivery.status, delivery.attempts, len(tried)) == ("exhausted", ATTEMPTS, ATTEMPTS)
    for wait, delay in zip(waited, DELAYS, strict=True):
        assert delay * (1 - JITTER) <= wait <= delay * (1 + JITTER) + STEP
    assert len({wait / delay for wait, delay in zip(waited, DELAYS, strict=True)}) > 6  # a new random factor each time


def test_without_jitter_the_schedule_would_be_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.webhooks.services.delivery.random.random", lambda: 0.5)
    monkeypatch.setattr(circuit_breaker, "_should_open", lambda health: False)
    made.endpoint()
    made.event()

    _live(NOW, NOW + 8 * MINUTE, code=500)

    tried = list(Attempt.objects.order_by("pk").values_list("started_at", flat=True))
    ticks = [later - earlier - delay for (earlier, later), delay in zip(pairwise(tried), DELAYS, strict=False)]
    assert ticks == [STEP] * 4


@longer
def test_dead_endpoint_alerts_is_disabled_and_recovers_slowly() -> None:
    endpoint = made.endpoint(event_types=["ride.*"])

    _live(NOW, NOW + 5 * DAY + HOUR, code=500, every=HOUR)
    endpoint.refresh_from_db()
    told = Counter(Alert.objects.values_list("kind", flat=True))
    disabled_after = endpoint.state_changed_at - NOW

    assert (endpoint.state, endpoint.state_reason) == ("disabled", "no_success_for_days")
    assert circuit_breaker.DISABLED_AFTER <= disabled_after <= circuit_breaker.DISABLED_AFTER + 16 * MINUTE
    assert (told["webhook.endpoint.failing"], told["webhook.endpoint.disabled"]) == (
        len(circuit_breaker.ALERT_AFTER),
        1,
    )
    assert told["webhook.delivery.exhausted"] >= 1
    assert Delivery.objects.filter(status__in=["pending", "in_flight"]).exclude(event_type="webhook.test").count() == 0

    at = NOW + 5 * DAY + 2 * HOUR
    for _ in range(100):
        made.event()  # events during the outage are held
    _publish(at)
    endpoints.resume(endpoint_id=endpoint.pk, by=system(), at=at)
    while recovery.advance(at=at):
        pass
    waiting = Delivery.objects.filter(endpoint=endpoint, status="pending").count()
    seconds = _drain(at)

    arrived = Attempt.objects.filter(code=204).count()
    tell(f"R-15: disabled after {disabled_after}, {dict(told)}, {arrived} made good in {seconds} s")
    assert (arrived, waiting >= 100) == (waiting, True)
    assert arrived / max(seconds, 1) <= 10
    assert Endpoint.objects.get(pk=endpoint.pk).state == "active"


def test_without_the_pace_what_was_missed_arrives_at_once(settings: Any) -> None:
    settings.WEBHOOK_REPLAYS_PER_SECOND = 1000
    endpoint = made.endpoint(state=Endpoint.State.PAUSED, state_reason="paused")
    for _ in range(100):
        made.event()
    _publish(NOW)
    endpoints.resume(endpoint_id=endpoint.pk, by=system(), at=NOW)
    while recovery.advance(at=NOW):
        pass

    seconds = _drain(NOW)

    assert Attempt.objects.filter(code=204).count() / max(seconds, 1) > 10


def _live(start: dt.datetime, until: dt.datetime, *, code: int, every: dt.timedelta | None = None) -> None:
    """Simulate time: publish, claim, fail and monitor; an event occurs each `every`."""
    at, happens = start, start
    while at < until and Endpoint.objects.filter(state="active").exists():
        if every is not None and at >= happens:
            made.event()
            happens += every
        _publish(at)
        while claim := delivery.claim(at=at, limit=100):
            _answer(claim, code, at)
        endpoint_monitor.watch(at=at)
        cleanup.clean_up(at=at)
        at = min(_due_after(at), happens if every is not None else until)


def _publish(at: dt.datetime) -> None:
    while outbox.publish(at=at):
        pass  # in batches


def _due_after(at: dt.datetime) -> dt.datetime:
    """Return when a worker finds the next due delivery, on its tick; a quarter of an hour from now at the latest."""
    due = Delivery.objects.filter(status="pending").aggregate(first=Min("due_at"))["first"]
    lanes_open = EndpointHealth.objects.aggregate(first=Min("open_until"))["first"]
    if due is None:
        return at + 15 * MINUTE
    wanted: dt.datetime = max(due, lanes_open or at, at)
    ticks = int((wanted - at) / STEP) + 1
    return min(at + ticks * STEP, at + 15 * MINUTE)


def _answer(claim: list[Delivery], code: int, at: dt.datetime) -> None:
    error = "" if code < 300 else "http_5xx"
    record_attempts(
        [made.attempt(row, at, 0.1, ReceiverAnswer(code=code, error=error)) for row in claim], at=at, worker="w"
    )


def _drain(start: dt.datetime) -> int:
    """Let the receiver answer; return the seconds until no delivery was left."""
    for second in range(10_000):
        at = start + second * SECOND
        for _ in range(20):
            claim = delivery.claim(at=at, limit=100)
            if claim:
                _answer(claim, 204, at)
        if not Delivery.objects.filter(status="pending").exists():
            return second
    raise AssertionError
