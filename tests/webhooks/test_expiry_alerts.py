"""Held deliveries expire only after an alert."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest

from apps.accounts.models import Alert, ApiClient
from apps.accounts.services import alerts
from apps.events.models import Event
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.queries import metrics
from apps.webhooks.services import cleanup, endpoint_states, endpoints
from lib.access import system
from lib.ids import oldest_of
from tests.factories import NOW, ApiClientFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db

DAY, MINUTE = dt.timedelta(days=1), dt.timedelta(minutes=1)
FORGOTTEN = NOW + 30 * DAY


def _holding(at: dt.datetime = NOW, **columns: Any) -> Endpoint:
    endpoint = made.endpoint(**({"state": "paused", "event_types": ["ride.*"]} | columns))
    _held(endpoint, at)
    return endpoint


def _held(endpoint: Endpoint, at: dt.datetime) -> Delivery:
    return made.delivery(endpoint, made.event(), id=_id_of(at), status="held", created_at=at)


def _id_of(at: dt.datetime) -> UUID:
    return UUID(int=oldest_of(at).int | made.event().pk.int & (1 << 60) - 1)


def _told() -> list[tuple[str, str, bool]]:
    rows = Alert.objects.filter(kind="webhook.endpoint.expiring").order_by("pk")
    return [(row.key.rpartition(":")[2], row.severity, row.resolved_at is None) for row in rows]


def _tend(*later: dt.timedelta) -> list[list[tuple[str, str, bool]]]:
    found = []
    for one in later:
        cleanup.clean_up(at=NOW + one + MINUTE)  # beat may be late
        found.append(_told())
    return found


WEEK_AHEAD, DAY_AHEAD = ("1", "warning", True), ("2", "critical", True)
CLOSED = ("1", "warning", False)


def test_expiry_alerts_are_sent_a_week_and_a_day_ahead() -> None:
    endpoint = _holding(name="EHR")
    _held(endpoint, NOW + DAY)

    told = _tend(22 * DAY, 23 * DAY, 24 * DAY, 29 * DAY, 29 * DAY + MINUTE, 31 * DAY)

    assert told == [[], [WEEK_AHEAD], [WEEK_AHEAD], *[[CLOSED, DAY_AHEAD]] * 3]
    assert {alert.title for alert in Alert.objects.all()} == {
        "Webhook endpoint “EHR” holds deliveries that will be deleted from Dec 20, 2026 on"
    }
    events = Event.objects.filter(type="webhook.delivery.expiring")
    facts = {"clientId": "None", "state": "paused", "count": 2, "expiresAt": "2026-12-20T15:00:00Z"}
    assert [event.data for event in events] == [facts, facts]
    assert {event.subject_id for event in events} == {endpoint.pk}


def test_what_is_told_goes_at_that_moment() -> None:
    _holding()
    made_at = Delivery.objects.get().created_at

    kept = cleanup.purge(at=made_at + 30 * DAY), cleanup.purge(at=made_at + 30 * DAY + MINUTE)

    assert kept == (0, 1)


def test_what_is_put_aside_or_lost_meanwhile_is_not_told_again() -> None:
    endpoint = _holding()
    _held(endpoint, NOW + 5 * DAY)
    _tend(29 * DAY)
    alerts.acknowledge(alert_id=Alert.objects.get().pk, by=system(), at=NOW + 29 * DAY)

    cleanup.purge(at=FORGOTTEN + MINUTE)
    told = _tend(30 * DAY, 34 * DAY)

    assert Delivery.objects.count() == 1
    assert told == [[DAY_AHEAD], [DAY_AHEAD]]


def test_resume_stops_expiry_alerts_until_the_next_pause(names: Any) -> None:
    endpoint = _holding()
    _tend(23 * DAY)

    endpoints.resume(endpoint_id=endpoint.pk, deliver_held=False, by=system(), at=NOW + 23 * DAY)
    resumed = [_told(), *_tend(24 * DAY)]
    endpoints.pause(endpoint_id=endpoint.pk, by=system(), at=NOW + 24 * DAY)
    again = _tend(25 * DAY)

    assert resumed == [[CLOSED], [CLOSED]]
    assert again == [[CLOSED, WEEK_AHEAD]]


def test_removed_endpoint_is_told_of_no_more() -> None:
    endpoint = _holding()
    _tend(23 * DAY)

    endpoints.remove(endpoint_id=endpoint.pk, by=system(), at=NOW + 24 * DAY)

    assert _tend(24 * DAY) == [[CLOSED]]


def test_disabled_client_gets_expiry_alerts_until_reenabled() -> None:
    client = ApiClientFactory.create(active=False)
    _holding(client=client, state="active")
    off = _tend(23 * DAY)
    Delivery.objects.update(status="cancelled", ended_at=NOW)  # nothing is left to release

    ApiClient.objects.update(active=True)

    assert (off, _tend(24 * DAY)) == ([[WEEK_AHEAD]], [[CLOSED]])


def test_short_time_of_keeping_has_short_notice(settings: Any) -> None:
    settings.DELIVERY_RETENTION_DAYS = 4
    _holding()

    assert _tend(2 * DAY, 3 * DAY) == [[], [DAY_AHEAD]]


@pytest.mark.parametrize("now", [{"state": "active"}, {"deleted_at": NOW}])
def test_endpoint_resumed_or_removed_meanwhile_is_not_alerted(
    monkeypatch: pytest.MonkeyPatch, now: dict[str, Any]
) -> None:
    _holding()
    lock = endpoint_states.lock

    def locked(endpoint_id: UUID) -> Endpoint:
        Endpoint.objects.update(**now)  # another session did it during the wait for the lock
        return lock(endpoint_id)

    monkeypatch.setattr(endpoint_states, "lock", locked)

    cleanup.alert_expiring(at=NOW + 29 * DAY)

    assert _told() == []


def test_metrics_show_age_of_held_deliveries_of_paused_endpoints() -> None:
    _holding(NOW)
    _holding(NOW - DAY, state="active")

    (family,) = (one for one in metrics.families(at=NOW + DAY) if one.name == "carelane_webhook_oldest_held_seconds")

    assert [sample.value for sample in family.samples] == [86400.0]
