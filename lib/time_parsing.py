"""Parsing of times of day as people type them: `1430`, `14:30`, `2:30p`, `2:30 p. m.`, `9a`, `noon`.

Also times relative to now: `now`, `+45`, `+1:30`; and the words in Spanish.  Pure: takes text, a day and a zone, and
returns instants.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_CLOCK: Final = re.compile(r"(\d{1,2})(?:[:.]?(\d\d))?\s*(?:([ap])\.?\s?(?:m\.?)?)?", re.ASCII)
_FROM_NOW: Final = re.compile(r"\+\s*(?:(\d{1,2}):([0-5]\d)|(\d{1,4}))", re.ASCII)
_NOW: Final = timedelta(0)
# Words of all languages of the console, regardless of the reader's language.
_WORDS: Final[dict[str, time | timedelta]] = {
    "now": _NOW,
    "ahora": _NOW,
    "noon": time(12),
    "mediodía": time(12),
    "mediodia": time(12),
}


class InvalidTime(ValueError):
    """The text is neither a time of day nor a time relative to now."""


def parse(text: str) -> time | timedelta:
    """Parse a time of day, or a time relative to now; 24-hour clock unless `a` or `p` follows.

    Raises:
        InvalidTime: it is neither; `24:00` is invalid, because it could mean either of two days.
    """
    normalized = _normalized(text)
    if normalized in _WORDS:
        return _WORDS[normalized]
    if ahead := _FROM_NOW.fullmatch(normalized):
        hours, minutes, plain = ahead.groups()
        return timedelta(hours=int(hours or 0), minutes=int(minutes or plain))
    if (clock := _CLOCK.fullmatch(normalized)) is None:
        raise InvalidTime
    hour, minute, half = int(clock[1]), int(clock[2] or 0), clock[3]
    if half and not 1 <= hour <= 12:
        raise InvalidTime
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        raise InvalidTime
    return time(hour, minute)


def may_be_afternoon(text: str) -> bool:
    """Return whether a time of day may mean the afternoon: `5`, `530` and `5:30`, but not `05:30`, `5a` or `12`."""
    written = _CLOCK.fullmatch(_normalized(text))
    return written is not None and not written[3] and not written[1].startswith("0") and int(written[1]) < 12


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


def instants(day: date, clock: time, zone: str) -> tuple[datetime, ...]:
    """List the instants, in UTC and in order, at which clocks of the zone show this time on that day.

    None in the hour that is skipped in spring, two in the hour that is repeated in autumn, else one.
    """
    wall, zone_info = datetime.combine(day, clock), ZoneInfo(zone)
    tried = {wall.replace(tzinfo=zone_info, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return tuple(sorted(at for at in tried if at.astimezone(zone_info).replace(tzinfo=None, fold=0) == wall))
