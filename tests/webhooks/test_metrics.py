"""Metrics for monitoring."""

import datetime as dt
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.rules.roles import TokenRole
from apps.accounts.services import alerts
from apps.dispatch.models import DowntimePack
from apps.exports.models import Export, ReportSchedule
from apps.exports.services import exports
from apps.exports.services.export_validation import ExportRequest
from apps.webhooks.models import Delivery
from apps.webhooks.services.outbox import publish
from lib.access import system
from tests.callers import TokenClient, api_with
from tests.exports import scheduled
from tests.factories import NOW, RideFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db


@pytest.fixture
def monitor() -> TokenClient:
    return api_with(TokenRole.MONITORING)


def test_the_numbers_are_those_of_the_rows(monitor: TokenClient) -> None:
    health = {"attempts_total": 7, "failures_total": 2, "failing_since": NOW - dt.timedelta(minutes=3)}
    endpoint = made.endpoint(health=health)
    made.endpoint(state="paused", event_types=["driver.*"])
    for _ in range(3):
        made.event()
    publish(at=NOW - dt.timedelta(seconds=90))
    Delivery.objects.filter(pk=Delivery.objects.first().pk).update(status="exhausted", ended_at=NOW)  # type: ignore[union-attr]  # the row exists
    made.event()
    alerts.raise_alert(kind="k", severity="critical", scope="webhooks:manage", key="k", title="t", at=NOW)

    answer = monitor.get("/metrics", headers={"accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})

    assert (answer.status_code, answer["content-type"].partition(";")[0]) == (200, "text/plain")
    lines = answer.content.decode().splitlines()
    for line in (
        "carelane_events_unpublished 1.0",
        'carelane_webhook_deliveries{status="pending"} 2.0',
        'carelane_webhook_deliveries{status="exhausted"} 1.0',
        'carelane_webhook_deliveries{status="held"} 0.0',
        "carelane_webhook_oldest_due_seconds 90.0",
        'carelane_webhook_endpoints{state="active"} 1.0',
        'carelane_webhook_endpoints{state="paused"} 1.0',
        f'carelane_webhook_attempts_total{{endpoint="{endpoint.pk}"}} 7.0',
        f'carelane_webhook_failures_total{{endpoint="{endpoint.pk}"}} 2.0',
        f'carelane_webhook_failing_seconds{{endpoint="{endpoint.pk}"}} 180.0',
        'carelane_alerts_open{severity="critical"} 1.0',
        'carelane_alerts_open{severity="info"} 0.0',
    ):
        assert line in lines


def test_where_nothing_waits_the_oldest_is_of_now(monitor: TokenClient) -> None:
    assert "carelane_webhook_oldest_due_seconds 0.0" in monitor.get("/metrics").content.decode().splitlines()


def test_nobody_reads_them_without_the_scope(nobody: APIClient) -> None:
    refused = [nobody.get("/metrics"), api_with(TokenRole.EHR_INTEGRATOR).get("/metrics")]

    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [
        (401, "UNAUTHENTICATED"),
        (403, "INSUFFICIENT_SCOPE"),
    ]


def test_how_far_the_watch_over_rides_is_behind(monitor: TokenClient) -> None:
    assert {"carelane_rides_watch_due 0.0", "carelane_rides_watch_behind_seconds 0.0"} <= _lines(monitor)

    for seconds in (-60, 0, 15, 300):
        RideFactory.create(next_check_at=NOW - dt.timedelta(seconds=seconds))
    RideFactory.create(next_check_at=None)

    assert {"carelane_rides_watch_due 3.0", "carelane_rides_watch_behind_seconds 300.0"} <= _lines(monitor)


def test_how_far_workers_of_exports_are_behind(monitor: TokenClient) -> None:
    names = ("carelane_exports_behind_seconds", "carelane_report_schedules_behind_seconds")
    assert {f"{name} 0.0" for name in names} <= _lines(monitor)

    owner = scheduled.person()
    waits = scheduled.keep(scheduled.reports_weekly(recipients=[owner.pk]), owner)
    rests = scheduled.keep(scheduled.reports_weekly(recipients=[owner.pk]), owner)
    ReportSchedule.objects.filter(pk=waits.pk).update(next_at=NOW - dt.timedelta(seconds=90))
    ReportSchedule.objects.filter(pk=rests.pk).update(
        next_at=NOW - dt.timedelta(days=1), active=False, paused_for="failing"
    )
    made = [
        exports.create(request=ExportRequest("rides", "csv", {}, None), by=system(), at=NOW) for _number in range(3)
    ]
    for export, seconds in zip(made, (-60, 40, 7200), strict=True):
        Export.objects.filter(pk=export.pk).update(due_at=NOW - dt.timedelta(seconds=seconds))
    exports.cancel(export_id=made[2].pk, by=system(), at=NOW)

    assert {f"{name} {value}" for name, value in zip(names, (40.0, 90.0), strict=True)} <= _lines(monitor)


def test_how_old_the_downtime_pack_is(monitor: TokenClient, settings: Any) -> None:
    settings.DOWNTIME_PASSPHRASE = ""
    assert not any("downtime" in line for line in _lines(monitor))

    settings.DOWNTIME_PASSPHRASE = "correct horse battery staple"
    assert "carelane_downtime_pack_age_seconds -1.0" in _lines(monitor)

    DowntimePack.objects.create(made_at=NOW - dt.timedelta(minutes=4))
    assert "carelane_downtime_pack_age_seconds 240.0" in _lines(monitor)


def _lines(monitor: TokenClient) -> set[str]:
    return set(monitor.get("/metrics").content.decode().splitlines())
