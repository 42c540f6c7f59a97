"""An endpoint deleted while a delivery to it is in flight delays no other endpoint."""

import asyncio
import datetime as dt
import logging
from typing import Any

import pytest
from aiohttp import web
from django.db import connection

from apps.accounts.models import Alert
from apps.webhooks import tasks
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import cleanup, delivery, endpoint_monitor, endpoints, outbox
from lib.access import system
from tests.factories import NOW
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]

HOUR = dt.timedelta(hours=1)


def _stray(**columns: Any) -> Delivery:
    """Create a due test delivery of a deleted endpoint: no worker may send it."""
    gone = made.endpoint(deleted_at=NOW, state=Endpoint.State.DISABLED)
    return made.delivery(gone, made.event("webhook.test"), trigger="test", **columns)


def test_removal_under_way_of_a_test_cancels_it_when_it_fails(receiver: Receiver) -> None:
    endpoint = made.endpoint(f"{receiver.url}/gone")
    at = delivery.DatabaseClock()()

    def remove() -> None:
        endpoints.remove(endpoint_id=endpoint.pk, by=system(), at=at)
        connection.close()

    async def remove_and_refuse(request: web.Request) -> web.Response:
        await asyncio.to_thread(remove)
        return web.Response(status=404)

    receiver.answers["/gone"] = remove_and_refuse
    endpoints.test(endpoint_id=endpoint.pk, by=system(), at=at)

    made.work()

    (row,) = Delivery.objects.filter(trigger="test")
    assert (row.status, row.attempts) == ("cancelled", 1)


@pytest.mark.parametrize("claims", [0, 5])  # a suspected poison is selected by another condition
def test_delivery_that_nobody_may_send_does_not_stop_publishing(receiver: Receiver, claims: int) -> None:
    _stray(claims=claims)
    made.endpoint(f"{receiver.url}/hook", event_types=["ride.*"])
    made.event()

    made.work()

    assert [one.path for one in receiver.got] == ["/hook"]


@pytest.mark.parametrize("claims", [0, 5])
def test_delivery_that_nobody_may_send_wakes_no_worker(claims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(rules: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("apps.webhooks.services.sending.open_session", fail)
    _stray(claims=claims)
    outbox.publish(at=delivery.DatabaseClock()())

    assert made.work() == delivery.RunSummary()


def test_cleanup_cancels_rows_of_removed_endpoint_and_goes_on() -> None:
    row = _stray()
    failed = made.endpoint(name="EHR")
    made.delivery(failed, made.event(), status="exhausted", ended_at=NOW)

    tasks.clean_up()

    row.refresh_from_db()
    assert row.status == "cancelled"
    assert Alert.objects.filter(kind="webhook.delivery.exhausted").count() == 1


def test_failing_cleanup_step_is_alerted_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**given: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(cleanup, "alert_expiring", fail)
    failed = made.endpoint(name="EHR")
    made.delivery(failed, made.event(), status="exhausted", ended_at=NOW)

    with caplog.at_level(logging.ERROR):
        tasks.clean_up()
        tasks.clean_up()

    assert Alert.objects.filter(kind="webhook.delivery.exhausted").count() == 1
    assert len([record for record in caplog.records if record.name == "apps.accounts.services.housekeeping"]) == 2
    alert = Alert.objects.get(kind="task.failed")
    assert alert.resolved_at is None
    monkeypatch.undo()
    tasks.clean_up()
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_unpublished_events_raise_an_alert_until_published() -> None:
    made.endpoint()
    made.event()
    clock = delivery.DatabaseClock()

    endpoint_monitor.watch(at=clock())
    early = Alert.objects.filter(kind="events.unpublished").count()
    endpoint_monitor.watch(at=clock() + endpoint_monitor.UNPUBLISHED_FOR)
    alert = Alert.objects.get(kind="events.unpublished")
    endpoint_monitor.watch(at=clock() + HOUR)
    outbox.publish(at=clock())
    endpoint_monitor.watch(at=clock() + HOUR)

    assert early == 0
    alert.refresh_from_db()
    assert alert.resolved_at is not None
    assert Alert.objects.filter(kind="events.unpublished").count() == 1
