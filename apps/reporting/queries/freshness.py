"""Freshness of the data of reports, in the database that reports read (lib/replica.py)."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from apps.reporting.models import RollupCheckpoint
from lib import replica
from lib.replica import alias


def rides_known_until() -> datetime | None:
    """Return the time up to which that database has all rides; None: unknown.  One query."""
    return replica.as_of(alias())


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the rollups are up to date.

    `as_of` None: old rides are still being filled in, so values are incomplete.
    """

    as_of: datetime | None
    backfilled_from: date | None
    closed_through: date | None


NO_PROGRESS: Final = Progress(None, None, None)


def progress() -> Progress:
    """Return how far the rollups are up to date.  One query.

    Call it before reading rollups, so that they include at least everything up to `as_of`.
    """
    row = RollupCheckpoint.objects.using(alias()).first()
    if row is None:
        return NO_PROGRESS
    return Progress(row.as_of, None if row.filled else row.backfilled_from, row.closed_through)
