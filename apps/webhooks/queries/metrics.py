"""Prometheus metrics of webhooks, read from the database: every process returns the same."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from django.db.models import Count, Min
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from apps.events.models import OutboxEntry
from apps.events.services import oldest_unpublished
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.queries import endpoints

# Each list of statuses has a partial index.  Delivered rows are not counted: there are millions of them.
_COUNTED: Final = (("pending",), ("in_flight",), ("held", "exhausted", "quarantined"))


def families(*, at: datetime) -> Iterator[Metric]:
    """Yield the metrics of webhooks.  Nine queries."""
    yield GaugeMetricFamily(
        "carelane_events_unpublished",
        "Unpublished events; more than a few for minutes means that no worker runs.",
        value=OutboxEntry.objects.count(),
    )
    since = oldest_unpublished()
    yield GaugeMetricFamily(
        "carelane_events_oldest_unpublished_seconds",
        "Age of the oldest unpublished event; more than 30 raises an alert.",
        value=0 if since is None else max(0.0, (at - since).total_seconds()),
    )
    deliveries = GaugeMetricFamily(
        "carelane_webhook_deliveries", "Deliveries that have not arrived, by status.", labels=["status"]
    )
    for status, count in _count_by_status().items():
        deliveries.add_metric([status], count)
    yield deliveries
    waiting = Delivery.objects.filter(status="pending", due_at__lte=at, endpoint__state=Endpoint.State.ACTIVE)
    oldest = waiting.aggregate(oldest=Min("due_at"))["oldest"]
    yield GaugeMetricFamily(
        "carelane_webhook_oldest_due_seconds",
        "How long the oldest due delivery has waited; open circuits increase it too.",
        value=0 if oldest is None else (at - oldest).total_seconds(),
    )
    held_since = min(endpoints.holding_since().values(), default=at)
    yield GaugeMetricFamily(
        "carelane_webhook_oldest_held_seconds",
        "Age of the oldest held delivery; held deliveries are deleted after DELIVERY_RETENTION_DAYS.",
        value=max(0.0, (at - held_since).total_seconds()),
    )
    by_state = GaugeMetricFamily("carelane_webhook_endpoints", "Endpoints by state.", labels=["state"])
    states = dict(
        Endpoint.objects.filter(deleted_at__isnull=True).values_list("state").annotate(Count("pk")).order_by()
    )
    for state in Endpoint.State.values:
        by_state.add_metric([state], states.get(state, 0))
    yield by_state
    yield from _of_endpoints(at)


def _count_by_status() -> dict[str, int]:
    counts: dict[str, int] = {}
    for statuses in _COUNTED:
        rows = Delivery.objects.filter(status__in=statuses).values_list("status").annotate(Count("pk")).order_by()
        counts |= dict.fromkeys(statuses, 0) | dict(rows)
    return counts


def _of_endpoints(at: datetime) -> Iterator[Metric]:
    attempts = CounterMetricFamily("carelane_webhook_attempts", "Attempts that ended.", labels=["endpoint"])
    failures = CounterMetricFamily("carelane_webhook_failures", "Attempts that failed.", labels=["endpoint"])
    failing = GaugeMetricFamily(
        "carelane_webhook_failing_seconds",
        "Seconds since the first failure after a success; 0 if none.",
        labels=["endpoint"],
    )
    circuits = EndpointHealth.objects.filter(endpoint__deleted_at__isnull=True).order_by("pk")
    columns = ("pk", "attempts_total", "failures_total", "failing_since")
    for endpoint_id, attempted, failed, since in circuits.values_list(*columns):
        label = [str(endpoint_id)]
        attempts.add_metric(label, attempted)
        failures.add_metric(label, failed)
        failing.add_metric(label, 0 if since is None else (at - since).total_seconds())
    yield from (attempts, failures, failing)
