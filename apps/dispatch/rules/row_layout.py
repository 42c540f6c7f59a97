"""Layout of a driver's row on the board: lines of rides, and the drive segments between rides.

Pure: no query, no clock.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from apps.rides.rules.facts import RideSlot, Span
from lib.travel.times import drive_between


class Leg(Protocol):
    """A ride in a driver's row.  `span` reaches to the predicted end, `planned` goes by the plan alone."""

    @property
    def slot(self) -> RideSlot: ...
    @property
    def span(self) -> Span: ...
    @property
    def planned(self) -> Span: ...


@dataclass(frozen=True, slots=True)
class Segment:
    """The drive from one ride to the next; `tight` if it takes longer than the predicted gap."""

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


def segments(legs: Sequence[Leg]) -> list[Segment]:
    """List the drives between consecutive rides, each starting as late as possible, but not before the predicted end.

    A drive that does not fit reaches into the next ride.  No segment where a place is unknown, or where the rides share
    the vehicle in the plan.
    """
    drives = []
    for before, after in pairwise(legs):
        ends_at, starts_at = before.span.ends_at, after.slot.span.starts_at
        drive = drive_between(before.slot.dropoff, after.slot.pickup, depart_at=ends_at)
        if drive is None or not drive.seconds:
            continue
        if ends_at >= starts_at and before.planned.overlaps(after.planned):
            continue
        departs_at = max(ends_at, starts_at - drive.duration)
        arrives_at = departs_at + drive.duration
        drives.append(Segment(Span(departs_at, arrives_at), tight=arrives_at > starts_at))
    return drives
