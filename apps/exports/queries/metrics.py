"""Backlog of the export workers, as Prometheus metrics."""

import datetime as dt
from collections.abc import Iterator

from django.db.models import Min
from prometheus_client.core import GaugeMetricFamily, Metric

from apps.exports.models import Export, ReportSchedule


def families(*, at: dt.datetime) -> Iterator[Metric]:
    """Yield the metrics of exports and schedules.  Two queries, of due rows only."""
    exports = Export.objects.filter(state=Export.State.QUEUED, due_at__lte=at).aggregate(since=Min("due_at"))
    yield GaugeMetricFamily(
        "carelane_exports_behind_seconds",
        "Seconds since the oldest queued export was due; many minutes mean that no export worker runs.",
        value=_seconds_since(exports["since"], at),
    )
    schedules = ReportSchedule.objects.filter(active=True, next_at__lte=at).aggregate(since=Min("next_at"))
    yield GaugeMetricFamily(
        "carelane_report_schedules_behind_seconds",
        "Seconds since the oldest schedule was due; export workers check every five seconds.",
        value=_seconds_since(schedules["since"], at),
    )


def _seconds_since(since: dt.datetime | None, at: dt.datetime) -> float:
    return 0 if since is None else (at - since).total_seconds()
