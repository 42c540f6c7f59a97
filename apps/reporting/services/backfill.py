"""Fill rollups from rides that are older than the rollups, in batches, latest days first."""

from datetime import date, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Max, Min

from apps.reporting.models import MetricsRow, RollupCheckpoint
from apps.reporting.rules.rollup_sql import Grain
from apps.reporting.services import metrics_rows
from apps.reporting.services.metrics_rows import FacilityDay
from apps.rides.models import Ride

DAYS_PER_RUN: Final = 5  # keeps the transaction, and the lock on the checkpoint, to a second or so
_DAY: Final = timedelta(days=1)
# In every time zone a local day is within these bounds; the index is on instants.
_FACILITIES: Final = """
    SELECT DISTINCT facility_id FROM rides_ride WHERE service_date = %(day)s
        AND pickup_at >= %(day)s::date::timestamp AT TIME ZONE 'UTC' - interval '14 hours'
        AND pickup_at < %(day)s::date::timestamp AT TIME ZONE 'UTC' + interval '36 hours'
"""


@transaction.atomic
def backfill_days() -> bool:
    """Fill in the next days; return whether there were any.  No-op while another process writes rollups.

    Until all days are filled in, no day is closed, and reports are marked as incomplete.
    """
    checkpoint = RollupCheckpoint.objects.select_for_update(skip_locked=True).first()
    if checkpoint is None or checkpoint.filled:
        return False
    oldest, latest = _outermost_days()
    if oldest is None or latest is None:
        checkpoint.filled = True
        checkpoint.save(update_fields=["filled"])
        return True
    # Rides booked later for a day after `latest` are added by their events.
    until = checkpoint.backfilled_from or latest + _DAY
    first = max(until - DAYS_PER_RUN * _DAY, oldest)
    days = [first + _DAY * number for number in range((until - first).days)]
    metrics_rows.write([item for day in days for item in facility_days_of(day)], closed_through=None)
    checkpoint.backfilled_from = first
    checkpoint.filled = first <= oldest
    checkpoint.save(update_fields=["backfilled_from", "filled"])
    return True


def facility_days_of(day: date) -> list[FacilityDay]:
    """List the facilities that have rides on a day, and those that only have rollup rows."""
    with connection.cursor() as cursor:
        cursor.execute(_FACILITIES, {"day": day})
        with_rides = {row[0] for row in cursor.fetchall()}
    with_rows = MetricsRow.objects.filter(service_date=day, grain=Grain.FACILITY).values_list("facility_id", flat=True)
    return [(day, facility) for facility in sorted({*with_rides, *with_rows}, key=str)]


def _outermost_days() -> tuple[date | None, date | None]:
    """Return two days that enclose the days of all rides; None without rides.  Reads both ends of an index."""
    ends = Ride.objects.aggregate(oldest=Min("pickup_at"), latest=Max("pickup_at"))
    if ends["oldest"] is None:
        return None, None
    return ends["oldest"].date() - _DAY, ends["latest"].date() + _DAY
