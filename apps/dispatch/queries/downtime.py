"""State and metrics of the downtime pack."""

import datetime as dt
from collections.abc import Iterator

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily, Metric

from apps.dispatch.models import DowntimePack


def newest() -> DowntimePack | None:
    """Return the row of the newest pack; None if no pack exists.  One query."""
    return DowntimePack.objects.filter(made_at__isnull=False).first()


def families(*, at: dt.datetime) -> Iterator[Metric]:
    """Yield the metrics of the pack, none if DOWNTIME_PASSPHRASE is not set.  One query."""
    if not settings.DOWNTIME_PASSPHRASE:
        return
    pack = newest()
    yield GaugeMetricFamily(
        "carelane_downtime_pack_age_seconds",
        "How old the newest downtime pack is; it is made every 15 minutes. -1 before the first.",
        value=-1 if pack is None or pack.made_at is None else (at - pack.made_at).total_seconds(),
    )
