"""A month of an order as a calendar: weeks of days, each with what takes place on it, in words and in signs."""

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

_MONTH: Final = re.compile(r"(\d{4})-(\d{2})")
MOST_MONTHS: Final = 24  # before and after this one
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Chip:
    """One occurrence as a day shows it: chair time, what has become of it, and where it came from or went."""

    clock: str
    badges: Sequence[Badge]
    note: str


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and its name in words, which says all that the chips say."""

    date: date
    name: str
    chips: Sequence[Chip]
    stands_out: bool  # somebody has to look at it


@dataclass(frozen=True, slots=True)
class Month:
    """A month; weeks are rows of seven, None before its first and after its last day."""

    first: date
    last: date
    previous: date | None
    next: date | None
    weekdays: Sequence[tuple[str, str]]
    weeks: Sequence[Sequence[Day | None]]

    @property
    def title(self) -> str:
        return capfirst(date_format(self.first, pgettext("format of a month", "F Y")))


def chosen(text: str, today: date) -> date:
    """Read the first day of a month such as `2026-11`; this month's where the text is none, or too far off."""
    found = _MONTH.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1:
        return today.replace(day=1)
    first = date(int(found[1]), int(found[2]), 1)
    return first if abs(_distance(first, today)) <= MOST_MONTHS else today.replace(day=1)


def last_of(first: date) -> date:
    return first.replace(day=monthrange(first.year, first.month)[1])


def month(first: date, found: Iterable[OccurrenceView], *, zone: str, today: date) -> Month:
    """Lay out a month; `found` are its occurrences and those of a week on either side."""
    here: dict[date, list[OccurrenceView]] = defaultdict(list)
    gone: dict[date, list[OccurrenceView]] = defaultdict(list)
    for one in found:
        here[one.service_date].append(one)
        if one.service_date != one.pattern_date:
            gone[one.pattern_date].append(one)
    last = last_of(first)
    begins = int(get_format("FIRST_DAY_OF_WEEK"))  # Sunday 0
    offset = (first.weekday() + 1 - begins) % 7
    days: list[Day | None] = [None] * offset
    for number in range(last.day):
        day = first + number * _DAY
        days.append(_day(day, here[day], gone[day], zone, today))
    days += [None] * (-len(days) % 7)
    order = [(begins + 6 + position) % 7 for position in range(7)]  # Monday 0
    return Month(
        first=first,
        last=last,
        previous=_neighbour(first - _DAY, today),
        next=_neighbour(last + _DAY, today),
        weekdays=[(str(labels.SHORT_WEEKDAYS[day]), str(dict(labels.WEEKDAYS)[day])) for day in order],
        weeks=[days[begin : begin + 7] for begin in range(0, len(days), 7)],
    )


def span(first: date) -> tuple[date, date]:
    """Give the service dates whose occurrences a month needs: what its days moved to is among them."""
    return first - FARTHEST_MOVE, last_of(first) + FARTHEST_MOVE


def name_of(day: date, here: Iterable[OccurrenceView], gone: Iterable[OccurrenceView]) -> str:
    """Name a day for those who do not see it, with all that takes place on it and all that left it."""
    parts = []
    for one in here:
        status = _(" and ").join(str(badge.text) for badge in labels.badges_of(one))
        parts.append(f"{labels.change_of(one)}, {status}")
        if one.moved_by_clock_change:
            parts.append(_("the clocks change"))
    parts += [labels.moved_to(one) for one in gone]
    return ", ".join([labels.long_day(day), *(parts or [_("no ride")])])


def _day(day: date, here: Sequence[OccurrenceView], gone: Sequence[OccurrenceView], zone: str, today: date) -> Day:
    chips = [_chip(one, zone) for one in here]
    chips += [Chip("", (), labels.moved_to_briefly(one)) for one in gone]
    bad = {LegStatus.REFUSED, LegStatus.NOT_BOOKED}
    stands_out = day >= today and any(leg.status in bad for one in here for leg in one.legs)
    return Day(day, name_of(day, here, gone), chips, stands_out)


def _chip(one: OccurrenceView, zone: str) -> Chip:
    first = one.legs[0]
    return Chip(
        labels.clock(first.appointment_at or first.pickup_at, zone), labels.badges_of(one), labels.change_briefly(one)
    )


def _distance(first: date, today: date) -> int:
    return (first.year - today.year) * 12 + first.month - today.month


def _neighbour(day: date, today: date) -> date | None:
    first = day.replace(day=1)
    return first if abs(_distance(first, today)) <= MOST_MONTHS else None
