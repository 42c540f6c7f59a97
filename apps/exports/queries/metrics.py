"""How far workers of exports are behind, for a monitor."""

import datetime as dt
from collections.abc import Iterator

from django.db.models import Min
from prometheus_client.core import GaugeMetricFamily, Metric

from apps.exports.models import Export, ReportSchedule


def families(*, at: dt.datetime) -> Iterator[Metric]:
    """Give the metrics of exports and schedules.  Two queries, of what is due alone."""
    exports = Export.objects.filter(state=Export.State.QUEUED, due_at__lte=at).aggregate(since=Min("due_at"))
    yield GaugeMetricFamily(
        "carelane_exports_behind_seconds",
        "For how long the export that waits longest has been due; many minutes mean that no worker of them runs.",
        value=_seconds(exports["since"], at),
    )
    schedules = ReportSchedule.objects.filter(active=True, next_at__lte=at).aggregate(since=Min("next_at"))
    yield GaugeMetricFamily(
        "carelane_report_schedules_behind_seconds",
        "For how long the schedule that waits longest has been due; workers of exports look every five seconds.",
        value=_seconds(schedules["since"], at),
    )


def _seconds(since: dt.datetime | None, at: dt.datetime) -> float:
    return 0 if since is None else (at - since).total_seconds()
