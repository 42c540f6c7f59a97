"""Reading where reports read (lib/replica.py), and how far the figures there are."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, cast

from django.db import connections

from apps.reporting.models import Upkeep
from lib import replica
from lib.replica import alias


def binary_cursor() -> Any:
    """Open a cursor of that database that takes bytes as they are, not as text of twice the length."""
    return cast(Any, connections[alias()]).binary_cursor()


def known_until() -> datetime | None:
    """Ask up to which moment rides themselves are known there; None: it cannot tell.  One query."""
    return replica.as_of(alias())


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the figures are.  `as_of` None: old rides are still being filled in, and figures are not complete."""

    as_of: datetime | None
    filled_from: date | None
    closed_through: date | None


NOTHING_YET: Final = Progress(None, None, None)


def progress() -> Progress:
    """Read how far the figures are: before the figures themselves, which know at least that then.  One query."""
    row = Upkeep.objects.using(alias()).first()
    if row is None:
        return NOTHING_YET
    return Progress(row.as_of, None if row.filled else row.filled_from, row.closed_through)
