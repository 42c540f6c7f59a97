"""Metrics for monitoring, in the text format of Prometheus, for tokens with the scope metrics:read."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rest_framework.request import Request

from apps.accounts.models import Alert
from apps.dispatch.queries import downtime
from apps.exports.queries import metrics as export_metrics
from apps.rides.queries import monitored_rides
from apps.webhooks.queries import metrics as webhook_metrics
from lib.api.views import ApiViewSet
from lib.scopes import Scope


class MetricsViewSet(ApiViewSet):
    """The endpoint of the metrics."""

    schema = None  # not in the API's document, because it has another format
    scopes = {"metrics": Scope.METRICS_READ}

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # Monitors send Accept headers of their own, but read the plain format.
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type

    def metrics(self, request: Request) -> HttpResponse:
        """Return metrics of webhooks, alerts, exception monitoring of rides, exports and the downtime pack."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Numbers(self.at))
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Numbers(Collector):
    """Reads the metrics from the database for each request: all processes of the service return the same values."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def collect(self) -> Iterable[Metric]:
        yield from webhook_metrics.families(at=self._at)
        alerts = GaugeMetricFamily("carelane_alerts_open", "Alerts nobody has put aside.", labels=["severity"])
        counts = dict(Alert.objects.open().values_list("severity").annotate(Count("pk")).order_by())
        for severity in Alert.Severity.values:
            alerts.add_metric([severity], counts.get(severity, 0))
        yield alerts
        yield from monitored_rides.families(at=self._at)
        yield from downtime.families(at=self._at)
        yield from export_metrics.families(at=self._at)
