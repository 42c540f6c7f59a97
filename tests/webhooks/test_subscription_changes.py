"""An endpoint whose subscription is narrowed receives no removed events, not even pending deliveries."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import Alert
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import delivery, endpoint_states, endpoints, outbox, recovery
from apps.webhooks.services.delivery import record_attempts
from apps.webhooks.services.sending import ReceiverAnswer
from lib.access import system
from lib.errors import Code
from tests.factories import NOW, FacilityFactory, TransportProviderFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def _change(endpoint: Endpoint, **changes: Any) -> None:
    endpoints.change(endpoint_id=endpoint.pk, changes=changes, expected_version=None, by=system(), at=NOW)


def _statuses() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("status", flat=True))


@pytest.mark.parametrize("bound", ["facility", "provider"])
def test_pending_rows_beyond_new_bounds_are_cancelled(bound: str) -> None:
    factory = FacilityFactory if bound == "facility" else TransportProviderFactory
    here, there = factory.create(), factory.create()
    endpoint, other = made.endpoint(), made.endpoint()
    columns: list[dict[str, Any]] = [{f"{bound}_id": one} for one in (here.pk, there.pk, None)]
    ours, theirs, nobodys = (made.event(**one) for one in columns)
    for event in (ours, theirs, nobodys):
        made.delivery(endpoint, event)
    made.delivery(endpoint, theirs, round=1, status="held")
    made.delivery(endpoint, theirs, round=2, status="delivered", ended_at=NOW)
    made.delivery(other, theirs)

    _change(endpoint, **{f"{bound}_ids": frozenset({here.pk})})

    assert _statuses() == ["pending", "cancelled", "cancelled", "cancelled", "delivered", "pending"]
    assert set(Delivery.objects.filter(status="cancelled").values_list("ended_at", flat=True)) == {NOW}


def test_pending_rows_of_removed_types_cancel_but_not_tests() -> None:
    endpoint = made.endpoint()
    for kind, columns in (("ride.started", {}), ("ride.completed", {}), ("webhook.test", {"trigger": "test"})):
        made.delivery(endpoint, made.event(kind), **columns)

    _change(endpoint, event_types=["ride.started"])

    assert _statuses() == ["pending", "cancelled", "pending"]


def test_however_much_waits_nothing_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_CANCELLED", 2)
    endpoint = made.endpoint()
    for _ in range(4):
        made.delivery(endpoint, made.event("ride.completed"))

    _change(endpoint, event_types=["ride.started"])

    assert _statuses() == ["cancelled"] * 4


def test_change_of_something_else_cancels_nothing() -> None:
    endpoint = made.endpoint(event_types=["ride.started"])
    made.delivery(endpoint, made.event("ride.completed"))  # from before the subscription was narrowed

    _change(endpoint, name="Other")

    assert _statuses() == ["pending"]


@pytest.mark.parametrize("status", ["held", "exhausted"])
def test_what_it_does_not_hear_of_any_more_is_not_sent_again(status: str) -> None:
    endpoint = made.endpoint(event_types=["ride.started"])
    delivery = made.delivery(
        endpoint, made.event("ride.completed"), status=status, ended_at=NOW if status == "exhausted" else None
    )

    with pytest.raises(recovery.NotSubscribed) as refusal:
        recovery.resend(delivery_id=delivery.pk, by=system(), at=NOW)

    assert refusal.value.code is Code.RULE_VIOLATION
    assert _statuses() == [status]


OK, DOWN, NOT_MADE = ReceiverAnswer(code=204), ReceiverAnswer(error="connect"), ReceiverAnswer(error="render")


def _on_its_way(**columns: Any) -> tuple[Endpoint, list[Delivery]]:
    """Claim three deliveries: of an event type that stays subscribed, of one that does not, and a test."""
    endpoint = made.endpoint(**columns)
    for kind, more in (("ride.started", {}), ("ride.completed", {}), ("webhook.test", {"trigger": "test"})):
        made.delivery(endpoint, made.event(kind), **more)
    return endpoint, delivery.claim(at=NOW, limit=9)


def _settle(claim: list[Delivery], answer: ReceiverAnswer) -> None:
    record_attempts([made.attempt(row, NOW, 0.1, answer) for row in claim], at=NOW, worker="test")


@pytest.mark.parametrize(
    ("answer", "came_to"),
    [
        (OK, ["delivered", "delivered", "delivered"]),
        (DOWN, ["pending", "cancelled", "pending"]),
        (NOT_MADE, ["pending", "cancelled", "pending"]),
    ],
)
def test_in_flight_rows_of_removed_types_are_not_retried(answer: ReceiverAnswer, came_to: list[str]) -> None:
    endpoint, claim = _on_its_way()
    _change(endpoint, event_types=["ride.started"])

    _settle(claim, answer)

    assert _statuses() == came_to
    assert Delivery.objects.get(event_type="ride.completed").ended_at == NOW


def test_lost_rows_of_removed_types_are_not_retried() -> None:
    endpoint, _ = _on_its_way()
    _change(endpoint, event_types=["ride.started"])

    found = delivery.release_expired_leases(at=NOW + delivery.LEASE)

    assert (found, _statuses()) == (3, ["pending", "cancelled", "pending"])


def test_nobody_is_called_for_what_is_not_tried_again() -> None:
    endpoint = made.endpoint()
    made.delivery(endpoint, made.event("ride.exception"), attempts=3)
    claim = delivery.claim(at=NOW, limit=1)
    _change(endpoint, event_types=["ride.started"])

    _settle(claim, DOWN)

    assert (_statuses(), Alert.objects.count()) == (["cancelled"], 0)


def test_nothing_more_is_asked_where_nothing_is_tried_again(django_assert_num_queries: Any) -> None:
    _, claim = _on_its_way()
    results = [made.attempt(row, NOW, 0.1, OK) for row in claim if row.trigger != "test"]

    with django_assert_num_queries(6):  # a savepoint and its end among them
        record_attempts(results, at=NOW, worker="test")


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ending", ["down", "not made", "lost"])
def test_failure_during_subscription_change_is_not_retried(ending: str) -> None:
    endpoint, claim = _on_its_way()
    endings: dict[str, Callable[[], object]] = {
        "down": lambda: _settle(claim, DOWN),
        "not made": lambda: _settle(claim, NOT_MADE),
        "lost": lambda: delivery.release_expired_leases(at=NOW + delivery.LEASE),
    }

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            _change(endpoint, event_types=["ride.started"])
            ended = other.submit(_and_close, endings[ending])
            with pytest.raises(TimeoutError):
                ended.result(0.5)  # it waits
        ended.result(5)

    assert _statuses() == ["pending", "cancelled", "pending"]


@pytest.mark.real_clock
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("move", ["withdraw", "hold", "cancel_all"])
def test_moving_rows_skips_rows_whose_holder_awaits_health_lock(move: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "LOCKED_ROW_RETRIES", 3)
    endpoint = made.endpoint(event_types=["ride.completed"])
    made.delivery(endpoint, made.event("ride.scheduled"))
    in_hand = Event()

    def settles() -> None:
        with transaction.atomic():
            list(Delivery.objects.select_for_update())
            in_hand.set()
            endpoint_states.lock_health([endpoint.pk])

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            endpoint_states.lock_health([endpoint.pk])
            settled = other.submit(_and_close, settles)
            assert in_hand.wait(5)
            if move == "withdraw":
                with pytest.raises(outbox.DeliveriesLocked):
                    outbox.cancel_unmatched(endpoint.pk, at=NOW)
            else:
                assert (
                    endpoint_states.hold_pending(endpoint) == 0
                    if move == "hold"
                    else endpoint_states.cancel_waiting(endpoint, at=NOW) == 0
                )
        settled.result(5)

    assert outbox.cancel_unmatched(endpoint.pk, at=NOW) == 1


def _and_close(call: Callable[[], object]) -> None:
    try:
        call()
    finally:
        connection.close()
