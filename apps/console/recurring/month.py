"""A month of a standing order as a calendar of weeks and days with their occurrences."""

import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.utils.formats import date_format, get_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.console.recurring import labels
from apps.console.recurring.labels import Badge
from apps.recurring.queries.calendar import LegStatus, OccurrenceView
from apps.recurring.rules.recurrence import FARTHEST_MOVE
from lib import dates

_MONTH: Final = re.compile(r"(\d{4})-(\d{2})")
MOST_MONTHS: Final = 24  # before and after this one
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Chip:
    """One occurrence within a day: chair time, statuses, and from or to which day it was moved."""

    clock: str
    badges: Sequence[Badge]
    note: str


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day; `name` describes all its chips for screen readers."""

    date: date
    name: str
    chips: Sequence[Chip]
    needs_attention: bool


@dataclass(frozen=True, slots=True)
class Month:
    """A month; weeks have seven entries, None before the first and after the last day."""

    first: date
    last: date
    previous: date | None
    next: date | None
    weekdays: Sequence[tuple[str, str]]
    weeks: Sequence[Sequence[CalendarDay | None]]

    @property
    def title(self) -> str:
        return capfirst(date_format(self.first, pgettext("format of a month", "F Y")))


def parse_month(text: str, today: date) -> date:
    """Return the first day of a month such as `2026-11`; of the current one if it is invalid or too far away."""
    match = _MONTH.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 12 or int(match[1]) < 1:
        return today.replace(day=1)
    first = date(int(match[1]), int(match[2]), 1)
    return first if abs(_distance(first, today)) <= MOST_MONTHS else today.replace(day=1)


def last_of(first: date) -> date:
    return first.replace(day=monthrange(first.year, first.month)[1])


def month(first: date, views: Iterable[OccurrenceView], *, zone: str, today: date) -> Month:
    """Build a month; `views` include a week on each side."""
    by_service_date: dict[date, list[OccurrenceView]] = defaultdict(list)
    moved_away: dict[date, list[OccurrenceView]] = defaultdict(list)
    for view in views:
        by_service_date[view.service_date].append(view)
        if view.service_date != view.pattern_date:
            moved_away[view.pattern_date].append(view)
    last = last_of(first)
    begins = int(get_format("FIRST_DAY_OF_WEEK"))  # Sunday 0
    offset = (first.weekday() + 1 - begins) % 7
    days: list[CalendarDay | None] = [None] * offset
    for number in range(last.day):
        day = first + number * _DAY
        days.append(_day(day, by_service_date[day], moved_away[day], zone, today))
    days += [None] * (-len(days) % 7)
    order = [(begins + 6 + position) % 7 for position in range(7)]  # Monday 0
    return Month(
        first=first,
        last=last,
        previous=_adjacent(first - _DAY, today),
        next=_adjacent(last + _DAY, today),
        weekdays=[(str(labels.SHORT_WEEKDAYS[day]), str(dict(labels.WEEKDAYS)[day])) for day in order],
        weeks=[days[begin : begin + 7] for begin in range(0, len(days), 7)],
    )


def span(first: date) -> tuple[date, date]:
    """Return the range of service dates that a month needs, with days to which its occurrences may have moved."""
    return first - FARTHEST_MOVE, last_of(first) + FARTHEST_MOVE


def name_of(day: date, views: Iterable[OccurrenceView], moved_away: Iterable[OccurrenceView]) -> str:
    """Describe a day for screen readers, with its occurrences and those that were moved away."""
    parts = []
    for view in views:
        status = _(" and ").join(str(badge.text) for badge in labels.badges_of(view))
        parts.append(f"{labels.change_of(view)}, {status}")
        if view.moved_by_clock_change:
            parts.append(_("the clocks change"))
    parts += [labels.moved_to(view) for view in moved_away]
    return ", ".join([dates.long_day(day), *(parts or [_("no ride")])])


def _day(
    day: date, views: Sequence[OccurrenceView], moved_away: Sequence[OccurrenceView], zone: str, today: date
) -> CalendarDay:
    chips = [_chip(view, zone) for view in views]
    chips += [Chip("", (), labels.moved_to_briefly(view)) for view in moved_away]
    without_ride = {LegStatus.REFUSED, LegStatus.NOT_BOOKED}
    needs_attention = day >= today and any(leg.status in without_ride for view in views for leg in view.legs)
    return CalendarDay(day, name_of(day, views, moved_away), chips, needs_attention)


def _chip(view: OccurrenceView, zone: str) -> Chip:
    first = view.legs[0]
    return Chip(
        labels.clock(first.appointment_at or first.pickup_at, zone), labels.badges_of(view), labels.change_briefly(view)
    )


def _distance(first: date, today: date) -> int:
    return (first.year - today.year) * 12 + first.month - today.month


def _adjacent(day: date, today: date) -> date | None:
    first = day.replace(day=1)
    return first if abs(_distance(first, today)) <= MOST_MONTHS else None
