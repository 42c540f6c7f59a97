"""Due times of schedules, and the days that a run covers.

Days and times are local to the zone of the schedule until the last step.  The covered days follow from the due time of
a run, however late it is made.
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
_ALL_DAYS: Final = frozenset(range(7))
_WEEKDAYS: Final = frozenset(range(5))


class Every(TextChoices):
    """How often a schedule is due."""

    DAY = "day", _("every day")
    WEEKDAYS = "weekdays", _("Monday to Friday")
    WEEK = "week", _("every week")
    MONTH = "month", _("every month")


class Covers(TextChoices):
    """Days of service that a run covers."""

    PREVIOUS_DAY = "previous_day", _("the day before")
    LAST_7_DAYS = "last_7_days", _("the seven days before")
    PREVIOUS_WEEK = "previous_week", _("the week before, Monday to Sunday")
    PREVIOUS_MONTH = "previous_month", _("the month before")
    CHANGES = "changes", _("what changed since the last run")


@dataclass(frozen=True, slots=True)
class Cadence:
    """Due at the local time `at`: on `days` (Monday is 0) if weekly, on `month_day` if monthly.

    In a month shorter than `month_day`, the last day counts.
    """

    every: Every
    at: time
    zone: str
    days: frozenset[int] = frozenset()
    month_day: int = 1

    def dates(self, first: date) -> Iterator[date]:
        """Yield the due days from `first` on, without end."""
        if self.every is Every.MONTH:
            month = first.replace(day=1)
            while True:
                day = month.replace(day=min(self.month_day, _days_of(month)))
                if day >= first:
                    yield day
                month = (month + 31 * _DAY).replace(day=1)
        days = {Every.DAY: _ALL_DAYS, Every.WEEKDAYS: _WEEKDAYS}.get(self.every, self.days)
        pattern = Pattern(days, _A_MONDAY)
        while True:
            yield from pattern.dates(first, first + 6 * _DAY)
            first += 7 * _DAY

    def after(self, start: datetime) -> Iterator[datetime]:
        """Yield the due times after `start`, in UTC and in order, without end.

        A local time that the clocks skip is moved on by as much as they jump, and of a time that occurs twice the first
        one counts (`local_instant`).  A day that a zone skipped is due together with the next day, once.
        """
        last = start
        days = self.dates(start.astimezone(ZoneInfo(self.zone)).date() - _DAY)
        while True:
            due = local_instant(next(days), self.at, zone=self.zone)
            if due > last:
                yield due
                last = due


def days_covered(covers: Covers, due_at: datetime, zone: str) -> tuple[date, date] | None:
    """Return the first and last day that a run covers; None if it covers changes."""
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
