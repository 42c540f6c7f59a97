"""When governments change how their clocks go: rides that are booked already move along (domain.md 4.11.6)."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction

from apps.recurring.models import ClockRules, StandingOrder
from apps.recurring.rules.recurrence import clock_rules


def look(*, at: datetime) -> None:
    """Let the generator go over all orders of zones whose clocks go otherwise than was known, and remember how.

    By the zone data of this process.  What was known once is never news again: two workers with different data, as
    during an upgrade, do not move rides to and fro.  Two queries where nothing is new.
    """
    zones = StandingOrder.objects.riding().order_by("timezone").values_list("timezone", flat=True).distinct()
    found = {(zone, clock_rules(ZoneInfo(zone), at.year)) for zone in zones}
    news = found - set(ClockRules.objects.values_list("zone", "digest"))
    if not news:
        return
    with transaction.atomic():
        orders = StandingOrder.objects.riding().filter(timezone__in=[zone for zone, _ in news])
        orders.update(generated_through=None)
        rows = [ClockRules(zone=zone, digest=digest, seen_at=at) for zone, digest in sorted(news)]
        ClockRules.objects.bulk_create(rows, ignore_conflicts=True)  # another worker may have been as quick
