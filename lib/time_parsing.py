"""Times of day as people type them: `1430`, `14:30`, `2:30p`, `2:30 p. m.`, `9a`, `noon`, and from now on `now`,
`+45`, `+1:30`; the words in Spanish as well.

Pure: text, a day and a zone in, instants out.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_CLOCK: Final = re.compile(r"(\d{1,2})(?:[:.]?(\d\d))?\s*(?:([ap])\.?\s?(?:m\.?)?)?", re.ASCII)
_FROM_NOW: Final = re.compile(r"\+\s*(?:(\d{1,2}):([0-5]\d)|(\d{1,4}))", re.ASCII)
_NOW: Final = timedelta(0)
# Of every language that pages speak, whichever the reader's is.
_WORDS: Final[dict[str, time | timedelta]] = {
    "now": _NOW,
    "ahora": _NOW,
    "noon": time(12),
    "mediodía": time(12),
    "mediodia": time(12),
}


class InvalidTime(ValueError):
    """The text is neither a time of day nor a time from now."""


def parse(text: str) -> time | timedelta:
    """Read a time of day, or how far from now; 24 hours unless `a` or `p` follows.

    Raises:
        InvalidTime: it is neither; `24:00` is not, for it could be meant of two days.
    """
    said = " ".join(text.lower().split())
    if said in _WORDS:
        return _WORDS[said]
    if ahead := _FROM_NOW.fullmatch(said):
        hours, minutes, plain = ahead.groups()
        return timedelta(hours=int(hours or 0), minutes=int(minutes or plain))
    if (clock := _CLOCK.fullmatch(said)) is None:
        raise InvalidTime
    hour, minute, half = int(clock[1]), int(clock[2] or 0), clock[3]
    if half and not 1 <= hour <= 12:
        raise InvalidTime
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        raise InvalidTime
    return time(hour, minute)


def instants(day: date, clock: time, zone: str) -> tuple[datetime, ...]:
    """List the instants, in UTC and in order, at which clocks of the zone show this on that day.

    None in the hour that is skipped in spring, two in the one that comes again in autumn, else one.
    """
    wall, there = datetime.combine(day, clock), ZoneInfo(zone)
    tried = {wall.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return tuple(sorted(at for at in tried if at.astimezone(there).replace(tzinfo=None, fold=0) == wall))
