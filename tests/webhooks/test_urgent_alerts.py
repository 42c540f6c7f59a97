"""Late urgent deliveries: alerted in time, once, whatever the cause."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import cleanup, endpoint_monitor
from tests.factories import NOW, ApiClientFactory, RideFactory, principal
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SECOND = dt.timedelta(seconds=1)
LATE = NOW + 160 * SECOND


def _behind_a_breaker(type: str = "ride.exception", *, of: dict[str, Any] | None = None, **columns: Any) -> Delivery:
    endpoint = made.endpoint(
        health={"failing_since": NOW, "open_count": 4, "open_until": NOW + dt.timedelta(minutes=15)}
    )
    return made.delivery(endpoint, made.event(type, **(of or {})), **columns)


def _urgent() -> list[str]:
    return list(Alert.objects.order_by("pk").values_list("kind", flat=True))


def test_urgent_delivery_behind_a_breaker_is_told_of_in_time() -> None:
    late = _behind_a_breaker()

    endpoint_monitor.watch(at=LATE - SECOND)
    before = _urgent()
    endpoint_monitor.watch(at=LATE)

    alert = Alert.objects.get()
    assert before == []
    assert (alert.kind, alert.severity, alert.created_at) == ("webhook.delivery.urgent", "critical", LATE)
    assert alert.key == f"webhook.urgent:{late.endpoint_id}:{late.event_id}"
    assert alert.title == "Endpoint “Interface engine” has not received ride.exception yet"
    assert alert.path == f"/console/developers/deliveries/{late.pk}/"


def test_alert_is_closed_when_it_has_arrived_after_all() -> None:
    late, other = _behind_a_breaker(), _behind_a_breaker()
    endpoint_monitor.watch(at=LATE)
    cleanup.clean_up(at=LATE)
    before = Alert.objects.open().count()
    Delivery.objects.filter(pk=late.pk).update(status="delivered", ended_at=LATE)

    cleanup.clean_up(at=LATE + SECOND)

    assert before == 2
    assert Alert.objects.open().get().path == f"/console/developers/deliveries/{other.pk}/"
    assert Alert.objects.get(resolved_at=LATE + SECOND).path == f"/console/developers/deliveries/{late.pk}/"


def test_alert_that_somebody_has_seen_is_closed_too() -> None:
    late = _behind_a_breaker()
    endpoint_monitor.watch(at=LATE)
    alerts.acknowledge(alert_id=Alert.objects.get().pk, by=principal(UserRole.ADMIN), at=LATE)
    Delivery.objects.filter(pk=late.pk).update(status="delivered", ended_at=LATE)

    cleanup.clean_up(at=LATE + SECOND)

    assert Alert.objects.get().resolved_at == LATE + SECOND


def test_it_is_told_once_even_when_somebody_has_put_it_aside() -> None:
    _behind_a_breaker()
    endpoint_monitor.watch(at=LATE)
    alerts.acknowledge(alert_id=Alert.objects.get().pk, by=principal(UserRole.ADMIN), at=LATE)

    endpoint_monitor.watch(at=LATE + 10 * SECOND)

    assert len(_urgent()) == 1


@pytest.mark.parametrize(("service", "told"), [("hospital_discharge", 1), ("appointment", 0)])
def test_discharges_are_urgent_whatever_happens_to_them(service: str, told: int) -> None:
    given = {"discharge": {"unit": "5W"}} if service == "hospital_discharge" else {}
    ride = RideFactory.create(service_type=service, **given)
    _behind_a_breaker("ride.ready", of={"subject_id": ride.pk, "sequence": 99})

    endpoint_monitor.watch(at=LATE)

    assert len(_urgent()) == told


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "delivered", "ended_at": NOW},
        {"status": "held"},
        {"trigger": "test"},
        {"priority": Delivery.Priority.REPLAY},
    ],
)
def test_what_is_not_waiting_to_be_sent_soon_is_not_late(columns: dict[str, Any]) -> None:
    _behind_a_breaker(**columns)

    endpoint_monitor.watch(at=LATE)

    assert _urgent() == []


def test_retry_that_a_breaker_keeps_back_is_late_too() -> None:
    _behind_a_breaker(priority=Delivery.Priority.RETRY, attempts=2, due_at=NOW + 40 * SECOND)

    endpoint_monitor.watch(at=LATE)

    assert _urgent() == ["webhook.delivery.urgent"]


def test_urgent_alert_skips_paused_and_disabled_endpoints() -> None:
    paused, off = _behind_a_breaker(), _behind_a_breaker()
    Endpoint.objects.filter(pk=paused.endpoint_id).update(state="paused")
    Endpoint.objects.filter(pk=off.endpoint_id).update(client=ApiClientFactory.create(active=False))

    endpoint_monitor.watch(at=LATE)

    assert _urgent() == []


def test_what_was_late_an_hour_ago_was_told_then() -> None:
    _behind_a_breaker()

    endpoint_monitor.watch(at=LATE + dt.timedelta(hours=1))

    assert _urgent() == []
