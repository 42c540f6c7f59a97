"""Compare the rollups with the rides."""

from collections.abc import Iterator
from datetime import date, timedelta

from django.db import connection, transaction

from apps.reporting.models import RollupCheckpoint
from apps.reporting.rules.facts import RIDES_OF_PERIOD
from apps.reporting.rules.rollup_sql import (
    BREAKDOWN_COLUMNS,
    BREAKDOWN_TABLE,
    DAY_GRAINS,
    FACILITY_GRAINS,
    METRICS_COLUMNS,
    METRICS_TABLE,
    breakdowns_of,
    day_metrics,
    metrics_of,
)
from apps.reporting.services.metrics_rows import FacilityDay, differing_rows


def differing_days(*, first: date, last: date) -> Iterator[FacilityDay]:
    """Yield the facility days of a period, both ends included, whose rollups differ from the current rides.

    If the rows of all facilities are not the sum of the facility rows, the day is yielded with the facility None.
    Restated days are compared in their live state.
    """
    for number in range((last - first).days + 1):
        yield from _differing_on(first + timedelta(days=number))


@transaction.atomic
def _differing_on(day: date) -> list[FacilityDay]:
    # The lock excludes other writers of rollups.  A ride that changes during the check is reported: check again.
    RollupCheckpoint.objects.select_for_update().first()
    live = "service_date = %(first)s AND basis IN ('both', 'live')"
    facilities, days = (
        f"SELECT {METRICS_COLUMNS} FROM {METRICS_TABLE} WHERE {live} AND grain IN {tuple(map(int, grains))}"  # noqa: S608  # no user input
        for grains in (FACILITY_GRAINS, DAY_GRAINS)
    )
    breakdowns = f"SELECT {BREAKDOWN_COLUMNS} FROM {BREAKDOWN_TABLE} WHERE {live}"  # noqa: S608  # no user input
    differing: set[FacilityDay] = set()
    with connection.cursor() as cursor:
        for computed, stored in (
            (metrics_of(RIDES_OF_PERIOD), facilities),
            (breakdowns_of(RIDES_OF_PERIOD), breakdowns),
            (day_metrics("'both', 'live'"), days),
        ):
            cursor.execute(differing_rows(computed, stored), {"first": day, "last": day, "dates": [day]})
            differing |= {(service_date, facility) for service_date, facility in cursor.fetchall()}
    return sorted(differing, key=str)
