"""How deliveries do, in numbers that a monitor reads: from the rows, whichever process is asked."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min, Q
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from apps.events.models import OutboxEntry
from apps.events.services import oldest_unpublished
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.queries import endpoints

# Each by its own partial index, which no longer list of statuses would be read by.  Delivered ones are counted by the
# attempts that they took: there are millions of them.
_COUNTED = (("pending",), ("in_flight",), ("held", "exhausted", "quarantined"))


def families(*, at: datetime) -> Iterator[Metric]:
    """Give the metrics of webhooks.  Nine queries."""
    yield GaugeMetricFamily(
        "carelane_events_unpublished",
        "Events that no delivery was made of yet; more than a few for long means that no worker runs.",
        value=OutboxEntry.objects.count(),
    )
    since = oldest_unpublished()
    yield GaugeMetricFamily(
        "carelane_events_oldest_unpublished_seconds",
        "For how long the oldest committed event has not been published; more than 30 raises an alert.",
        value=0 if since is None else max(0.0, (at - since).total_seconds()),
    )
    found = _by_status()
    deliveries = GaugeMetricFamily(
        "carelane_webhook_deliveries", "Deliveries that have not arrived.", labels=["status"]
    )
    for status, count in found.items():
        deliveries.add_metric([status], count)
    yield deliveries
    waiting = Delivery.objects.filter(status="pending", due_at__lte=at, endpoint__state=Endpoint.State.ACTIVE)
    oldest = waiting.aggregate(oldest=Min("due_at"))["oldest"]
    yield GaugeMetricFamily(
        "carelane_webhook_oldest_due_seconds",
        "For how long the delivery that waits longest has been due; breakers make it grow, too.",
        value=0 if oldest is None else (at - oldest).total_seconds(),
    )
    held_since = min(endpoints.holding_since().values(), default=at)
    yield GaugeMetricFamily(
        "carelane_webhook_oldest_held_seconds",
        "How old the oldest delivery is that is held for an endpoint at rest; it goes after DELIVERY_RETENTION_DAYS.",
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


def _by_status() -> dict[str, int]:
    found: dict[str, int] = {}
    for statuses in _COUNTED:
        rows = Delivery.objects.filter(status__in=statuses).values_list("status").annotate(Count("pk")).order_by()
        found |= dict.fromkeys(statuses, 0) | dict(rows)
    return found


def _of_endpoints(at: datetime) -> Iterator[Metric]:
    attempts = CounterMetricFamily("carelane_webhook_attempts", "Attempts that ended.", labels=["endpoint"])
    failures = CounterMetricFamily("carelane_webhook_failures", "Attempts that failed.", labels=["endpoint"])
    failing = GaugeMetricFamily(
        "carelane_webhook_failing_seconds", "Since when there has been no success; 0 if there is.", labels=["endpoint"]
    )
    circuits = EndpointHealth.objects.filter(Q(endpoint__deleted_at__isnull=True)).order_by("pk")
    columns = ("pk", "attempts_total", "failures_total", "failing_since")
    for endpoint_id, attempted, failed, since in circuits.values_list(*columns):
        label = [str(endpoint_id)]
        attempts.add_metric(label, attempted)
        failures.add_metric(label, failed)
        failing.add_metric(label, 0 if since is None else (at - since).total_seconds())
    yield from (attempts, failures, failing)
