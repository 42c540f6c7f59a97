"""When a schedule is due, and which days a run of it covers.

Pure: no query, no clock of its own.  Days and times are local ones of the schedule's zone until the last step.  What a
run covers follows from the moment at which it was due, however late it is made.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.organizations.rules.opening_hours import local_instant
from apps.recurring.rules.recurrence import Pattern
from lib.choices import TextChoices
from lib.messages import gettext_lazy as _

_DAY: Final = timedelta(days=1)
_A_MONDAY: Final = date(2001, 1, 1)
_EVERY_DAY: Final = frozenset(range(7))
_WEEKDAYS: Final = frozenset(range(5))


class Every(TextChoices):
    """How often a schedule is due."""

    DAY = "day", _("every day")
    WEEKDAYS = "weekdays", _("Monday to Friday")
    WEEK = "week", _("every week")
    MONTH = "month", _("every month")


class Covers(TextChoices):
    """Which days of service a run is about."""

    PREVIOUS_DAY = "previous_day", _("the day before")
    LAST_7_DAYS = "last_7_days", _("the seven days before")
    PREVIOUS_WEEK = "previous_week", _("the week before, Monday to Sunday")
    PREVIOUS_MONTH = "previous_month", _("the month before")
    CHANGES = "changes", _("what changed since the last run")


@dataclass(frozen=True, slots=True)
class Cadence:
    """At `at` of some days: `days` (Monday 0) where it is weekly, `month_day` where it is monthly.

    Where a month is shorter than `month_day`, its last day counts.
    """

    every: Every
    at: time
    zone: str
    days: frozenset[int] = frozenset()
    month_day: int = 1

    def dates(self, first: date) -> Iterator[date]:
        """List the days from `first` on, without end."""
        if self.every is Every.MONTH:
            month = first.replace(day=1)
            while True:
                day = month.replace(day=min(self.month_day, _days_of(month)))
                if day >= first:
                    yield day
                month = (month + 31 * _DAY).replace(day=1)
        days = {Every.DAY: _EVERY_DAY, Every.WEEKDAYS: _WEEKDAYS}.get(self.every, self.days)
        pattern = Pattern(days, _A_MONDAY)
        while True:
            yield from pattern.dates(first, first + 6 * _DAY)
            first += 7 * _DAY

    def after(self, moment: datetime) -> Iterator[datetime]:
        """List the moments after one, in UTC and in order, without end.

        A time that the clocks skip is moved on by as much as they jump, and of a time that comes twice the first one
        counts (`local_instant`).  A day that a zone leaves out is due with the next one, once.
        """
        last = moment
        days = self.dates(moment.astimezone(ZoneInfo(self.zone)).date() - _DAY)
        while True:
            due = local_instant(next(days), self.at, zone=self.zone)
            if due > last:
                yield due
                last = due


def days_covered(covers: Covers, due_at: datetime, zone: str) -> tuple[date, date] | None:
    """Give the first and the last day that a run is about which was due then; None: it goes by changes, not by days."""
    today = due_at.astimezone(ZoneInfo(zone)).date()
    match covers:
        case Covers.PREVIOUS_DAY:
            return today - _DAY, today - _DAY
        case Covers.LAST_7_DAYS:
            return today - 7 * _DAY, today - _DAY
        case Covers.PREVIOUS_WEEK:
            monday = today - (7 + today.weekday()) * _DAY
            return monday, monday + 6 * _DAY
        case Covers.PREVIOUS_MONTH:
            last = today.replace(day=1) - _DAY
            return last.replace(day=1), last
    return None


def _days_of(month: date) -> int:
    return calendar.monthrange(month.year, month.month)[1]
