"""Layout of a driver's row on the board: lines of rides, and the drive segments between rides.

Pure: no query, no clock.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from apps.rides.rules.facts import RideSlot, Span
from lib.travel.times import drive_between


@dataclass(frozen=True, slots=True)
class Segment:
    """The drive from one ride to the next; `tight` if the drive takes longer than the gap."""

    span: Span
    tight: bool


def rows(spans: Sequence[Span]) -> list[int]:
    """Return for each span the first line in which it overlaps no earlier span; `spans` are sorted by start."""
    free_from: list[dt.datetime] = []
    placed = []
    for span in spans:
        row = next((number for number, free in enumerate(free_from) if free <= span.starts_at), len(free_from))
        free_from[row:] = [span.ends_at, *free_from[row + 1 :]]
        placed.append(row)
    return placed


def segments(legs: Sequence[RideSlot]) -> list[Segment]:
    """List the drives between consecutive rides, each starting as late as possible.

    No segment where a place is unknown or rides overlap.
    """
    drives = []
    for before, after in pairwise(legs):
        drive = drive_between(before.dropoff, after.pickup, depart_at=before.span.ends_at)
        gap = after.span.starts_at - before.span.ends_at
        if drive is None or not drive.seconds or gap <= dt.timedelta(0):
            continue
        drives.append(
            Segment(
                Span(after.span.starts_at - min(drive.duration, gap), after.span.starts_at), tight=drive.duration > gap
            )
        )
    return drives
