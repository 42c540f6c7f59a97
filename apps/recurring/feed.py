"""Calendars to subscribe to, as RFC 5545 has them (pure): entries in, bytes out."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from icalendar import Calendar, Event

_YEAR: Final = timedelta(days=366)
REFRESHED_EVERY: Final = timedelta(hours=1)  # what we ask of calendar programs; each does as it likes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a calendar.  `uid` names it for ever, wherever it moves to; without `ends_at` it is a moment."""

    uid: str
    starts_at: datetime
    ends_at: datetime | None
    summary: str
    description: str
    is_certain: bool
    url: str
    changed_at: datetime


def calendar(entries: Iterable[Entry], *, name: str, zone: ZoneInfo) -> bytes:
    """Write a calendar whose times are wall time of `zone`, with the rules of that zone for its span."""
    made = Calendar()
    made.add("prodid", "-//Carelane//Recurring rides//EN")
    made.add("version", "2.0")
    made.add("x-wr-calname", name)
    made.add("refresh-interval", REFRESHED_EVERY, parameters={"VALUE": "DURATION"})
    made.add("x-published-ttl", "PT1H")
    starts = []
    for entry in entries:
        made.add_component(_event(entry, zone))
        starts.append(entry.starts_at)
    if starts:
        # The rules of all of tzdata's years would be most of the file.
        made.add_missing_timezones(first_date=min(starts).date() - _YEAR, last_date=max(starts).date() + _YEAR)
    body: bytes = made.to_ical()
    return body


def _event(entry: Entry, zone: ZoneInfo) -> Event:
    event = Event()
    event.add("uid", entry.uid)
    event.add("dtstamp", entry.changed_at)
    event.add("dtstart", entry.starts_at.astimezone(zone))
    if entry.ends_at is not None:
        event.add("dtend", entry.ends_at.astimezone(zone))
    event.add("summary", entry.summary)
    event.add("description", entry.description)
    event.add("status", "CONFIRMED" if entry.is_certain else "TENTATIVE")
    event.add("class", "PRIVATE")
    event.add("url", entry.url)
    return event
