"""Repeatable random numbers: one stream per named object, and ids drawn from it.

Each object has a stream of its own, seeded by its name, so that a ride added to one day changes no other ride. Instants
are whole seconds since 1970: the demo data needs a few million sums of them.
"""

import datetime as dt
import random
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

ZONE: Final = "America/Chicago"
CHICAGO: Final = ZoneInfo(ZONE)
MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86400


class Dice(random.Random):
    """A named stream of random numbers."""

    def __init__(self, seed: int, *name: object) -> None:
        super().__init__(f"{seed}/{'/'.join(map(str, name))}")

    def hit(self, share: float) -> bool:
        """Return True with this probability (0 to 1)."""
        return self.random() < share

    def id_at(self, second: int, order: int | None = None) -> str:
        """Return a UUIDv7 for an instant; `order` (0 to 4095) sorts the ids of one second."""
        return uuid7_at(second, self.getrandbits(12) if order is None else order, self.getrandbits(62))


def uuid7_at(second: int, order: int, tail: int) -> str:
    """Return a UUIDv7 (RFC 9562, 5.7): milliseconds, version, 12 bits that sort, variant, 62 random bits."""
    text = f"{(second * 1000) << 80 | 7 << 76 | order << 64 | 1 << 63 | tail:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def wall(day: dt.date, minutes: int) -> int:
    """Return the instant of a local time in Chicago, in minutes after midnight; 1440 and more are the next day."""
    day += dt.timedelta(days=minutes // 1440)
    clock = dt.time(minutes % 1440 // 60, minutes % 60)
    return int(dt.datetime.combine(day, clock, tzinfo=CHICAGO).timestamp())


def local(second: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, CHICAGO)


@lru_cache(maxsize=65536)
def iso(second: int) -> str:
    """Format an instant as the API does; cached, because the same instants recur."""
    return f"{dt.datetime.fromtimestamp(second, dt.UTC).isoformat()[:19]}Z"
