"""Whether the rollups are what the rows say."""

from collections.abc import Iterator
from datetime import date, timedelta

from django.db import connection, transaction

from apps.reporting.models import Upkeep
from apps.reporting.rules.facts import OF_PERIOD
from apps.reporting.rules.rollups import (
    CELL,
    COLUMNS,
    OF_ALL,
    OF_FACILITIES,
    TALLY,
    TALLY_COLUMNS,
    days_of,
    rows_of,
    tallies_of,
)
from apps.reporting.services.cells import Place, differing_rows


def differing(*, first: date, last: date) -> Iterator[Place]:
    """Give the cells of a period, both ends included, whose rollups are not what the rows say now, day by day.

    A day of all facilities that is not the sum of them comes with the facility None.  Restated days are compared by
    what is so now.
    """
    for number in range((last - first).days + 1):
        yield from _of_day(first + timedelta(days=number))


@transaction.atomic
def _of_day(day: date) -> list[Place]:
    # Nobody folds meanwhile.  Rides may change meanwhile, and are reported then: ask again.
    Upkeep.objects.select_for_update().first()
    stored = (
        f"SELECT {COLUMNS} FROM {CELL} WHERE service_date = %(first)s AND basis IN ('both', 'current')"  # noqa: S608  # constant names, values are parameters
        f" AND grain IN {tuple(map(int, OF_FACILITIES))}"
    )
    tallies = f"SELECT {TALLY_COLUMNS} FROM {TALLY} WHERE service_date = %(first)s AND basis IN ('both', 'current')"  # noqa: S608  # constant names, values are parameters
    added = (
        f"SELECT {COLUMNS} FROM {CELL} WHERE service_date = %(first)s AND basis IN ('both', 'current')"  # noqa: S608  # constant names, values are parameters
        f" AND grain IN {tuple(map(int, OF_ALL))}"
    )
    found: set[Place] = set()
    with connection.cursor() as cursor:
        for computed, kept in (
            (rows_of(OF_PERIOD), stored),
            (tallies_of(OF_PERIOD), tallies),
            (days_of("'both', 'current'"), added),
        ):
            cursor.execute(differing_rows(computed, kept), {"first": day, "last": day, "dates": [day]})
            found |= {(one, facility) for one, facility in cursor.fetchall()}
    return sorted(found, key=str)
