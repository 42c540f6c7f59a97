"""How far the clock's look at rides is behind, for a monitor."""

import datetime as dt
from collections.abc import Iterator

from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily, Metric

from apps.rides.models import Ride


def families(*, at: dt.datetime) -> Iterator[Metric]:
    """Give the metrics of the watch (docs/adr/0019).  One query, of the rides that are due alone."""
    due = Ride.objects.filter(watch_at__lte=at).aggregate(count=Count("pk"), oldest=Min("watch_at"))
    yield GaugeMetricFamily(
        "carelane_rides_watch_due",
        "Rides that are due for a look at the clock; more than a few for long means that no worker runs.",
        value=due["count"],
    )
    yield GaugeMetricFamily(
        "carelane_rides_watch_behind_seconds",
        "For how long the ride that waits longest for a look has been due; beat wakes the watch every 15 seconds.",
        value=0 if due["oldest"] is None else (at - due["oldest"]).total_seconds(),
    )
