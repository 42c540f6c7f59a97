"""The service day as an axis: elapsed minutes since 04:00 local time.

Positions are elapsed minutes and not clock times, so a day of 23 or 25 hours has its actual length.  Pure.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

from apps.organizations.rules.opening_hours import local_instant

# The quietest hour: last night's rides have ended and the first dialysis runs have not begun.
DAY_STARTS: Final = dt.time(4)
_MINUTE: Final = dt.timedelta(minutes=1)


@dataclass(frozen=True)
class Axis:
    """One service day of a zone: `[starts_at, ends_at)`, from 04:00 to 04:00 of the next day."""

    day: dt.date
    zone: str

    @cached_property
    def starts_at(self) -> dt.datetime:
        return local_instant(self.day, DAY_STARTS, zone=self.zone)

    @cached_property
    def ends_at(self) -> dt.datetime:
        return local_instant(self.day + dt.timedelta(days=1), DAY_STARTS, zone=self.zone)

    @cached_property
    def minutes(self) -> int:
        """The minutes of the day: 1,440, or an hour less or more when clocks change."""
        return int((self.ends_at - self.starts_at) / _MINUTE)

    def holds(self, at: dt.datetime) -> bool:
        return self.starts_at <= at < self.ends_at

    def minute_of(self, at: dt.datetime) -> int:
        """Return the whole minutes from the start of the day, clipped to the day."""
        return min(max(int((at - self.starts_at) // _MINUTE), 0), self.minutes)

    def ticks(self, clock: Callable[[dt.datetime], str]) -> list[tuple[int, str]]:
        """Return minute and label of each elapsed hour; `clock` writes its local time."""
        zone = ZoneInfo(self.zone)
        hours = [self.starts_at + dt.timedelta(hours=count) for count in range(self.minutes // 60)]
        return [(count * 60, clock(at.astimezone(zone))) for count, at in enumerate(hours)]


def service_day(at: dt.datetime, zone: str) -> dt.date:
    """Return the service day of an instant: before 04:00 local time it is the previous date."""
    local = at.astimezone(ZoneInfo(zone))
    return local.date() - dt.timedelta(days=1 if local.time() < DAY_STARTS else 0)
