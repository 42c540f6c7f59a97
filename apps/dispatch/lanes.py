"""How a driver's rides fill a lane of the board: rows, the ways between rides, and how late what follows will be.

Pure: no query, no clock.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from uuid import UUID

from apps.rides.facts import Errand, Span
from apps.rides.travel import drive_minutes

_MINUTE: Final = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Leg:
    """A ride as it stands in a lane.

    `eta_at` is when the driver says to be at the pickup; `there` that the driver is there, or has been.
    """

    errand: Errand
    over: bool = False
    there: bool = False
    eta_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """The drive from one ride to the next.  `tight`: it takes longer than there is time."""

    span: Span
    tight: bool


def rows(legs: Sequence[Errand]) -> list[int]:
    """Give every ride the first row in which it overlaps none before it; in the order of their begin."""
    free_from: list[dt.datetime] = []
    placed = []
    for leg in legs:
        row = next((number for number, free in enumerate(free_from) if free <= leg.span.starts_at), len(free_from))
        free_from[row:] = [leg.span.ends_at, *free_from[row + 1 :]]
        placed.append(row)
    return placed


def ways(legs: Sequence[Errand]) -> list[Way]:
    """List the drives between rides that follow one another, each as late as it may begin.

    A gap looks free although driving needs it; none is drawn where a place is not known, or where rides overlap.
    """
    found = []
    for before, after in pairwise(legs):
        needed = drive_minutes(before.dropoff, after.pickup)
        gap = after.span.starts_at - before.span.ends_at
        if not needed or gap <= dt.timedelta(0):
            continue
        drive = dt.timedelta(minutes=needed)
        found.append(Way(Span(after.span.starts_at - min(drive, gap), after.span.starts_at), tight=drive > gap))
    return found


def lateness(legs: Sequence[Leg], at: dt.datetime) -> dict[UUID, int]:
    """Foresee by how many minutes the driver comes after what was promised, by ride; those in time are left out.

    One ride after the other, as the driver goes: what was told counts, else the end of the ride before and the drive
    from there.  Nobody arrives before now.  Rides that share the vehicle are not chained.
    """
    late: dict[UUID, int] = {}
    before: Errand | None = None
    free_at = at
    for leg in legs:
        errand = leg.errand
        if leg.over:
            continue
        arrives_at = errand.span.starts_at
        if not leg.there:
            arrives_at = leg.eta_at or _reached(before, free_at, errand, at)
            if arrives_at > errand.latest_pickup_at:
                late[errand.ride_id] = math.ceil((arrives_at - errand.latest_pickup_at) / _MINUTE)
        length = errand.span.ends_at - errand.span.starts_at
        before, free_at = errand, max(free_at, arrives_at + length, at)
    return late


def _reached(before: Errand | None, free_at: dt.datetime, errand: Errand, at: dt.datetime) -> dt.datetime:
    """Say when the driver gets to a pickup, coming from the ride before, and not before its time."""
    planned = max(errand.span.starts_at, at)
    if before is None or before.span.overlaps(errand.span):
        return planned
    drive = drive_minutes(before.dropoff, errand.pickup)
    return planned if drive is None else max(planned, free_at + dt.timedelta(minutes=drive))
