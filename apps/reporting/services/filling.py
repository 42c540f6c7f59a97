"""Filling rollups from rides that were there before them, in portions, latest days first."""

from datetime import date, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Max, Min

from apps.reporting.models import Cell, Upkeep
from apps.reporting.rules.rollups import Grain
from apps.reporting.services import cells
from apps.reporting.services.cells import Place
from apps.rides.models import Ride

DAYS_AT_ONCE: Final = 5
_DAY: Final = timedelta(days=1)


@transaction.atomic
def fill_some() -> bool:
    """Fill the next days in and say whether there was anything to do; nothing where somebody else is at work.

    Until all are in, no day is closed and figures say that they are not complete.
    """
    upkeep = Upkeep.objects.select_for_update(skip_locked=True).first()
    if upkeep is None or upkeep.filled:
        return False
    oldest, latest = _ends()
    if oldest is None or latest is None:
        upkeep.filled = True
        upkeep.save(update_fields=["filled"])
        return True
    # What is booked beyond the latest day after this is told by its event.
    until = upkeep.filled_from or latest + _DAY
    first = max(until - DAYS_AT_ONCE * _DAY, oldest)
    days = [first + _DAY * number for number in range((until - first).days)]
    cells.write([place for day in days for place in places_of(day)], closed_through=None)
    upkeep.filled_from = first
    upkeep.filled = first <= oldest
    upkeep.save(update_fields=["filled_from", "filled"])
    return True


def places_of(day: date) -> list[Place]:
    """List the cells of a day: those of its rides, and those that have rows without."""
    with connection.cursor() as cursor:
        cursor.execute(_FACILITIES, {"day": day})
        found = {row[0] for row in cursor.fetchall()}
    stored = Cell.objects.filter(service_date=day, grain=Grain.FACILITY).values_list("facility_id", flat=True)
    return [(day, facility) for facility in sorted({*found, *stored}, key=str)]


# A local day lies within these bounds, whatever the zone; the index is on instants.
_FACILITIES: Final = """
    SELECT DISTINCT facility_id FROM rides_ride WHERE service_date = %(day)s
        AND pickup_at >= %(day)s::date::timestamp AT TIME ZONE 'UTC' - interval '14 hours'
        AND pickup_at < %(day)s::date::timestamp AT TIME ZONE 'UTC' + interval '36 hours'
"""


def _ends() -> tuple[date | None, date | None]:
    """Give days between which all rides lie.  Two looks at the ends of an index."""
    ends = Ride.objects.aggregate(oldest=Min("pickup_at"), latest=Max("pickup_at"))
    if ends["oldest"] is None:
        return None, None
    return ends["oldest"].date() - _DAY, ends["latest"].date() + _DAY
