"""Dates and times of a standing order: pattern, clock changes, holds, skips, calendar shifts and overrides.

Everything is facility wall time until the last step: an instant is computed from (local date, local time, zone), never
from the instant one week earlier.  Treatment and driving are elapsed time, added to instants in UTC, so that both days
of a clock change are correct.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from apps.organizations.rules.opening_hours import local_instant

FARTHEST_MOVE: Final = timedelta(days=7)  # on either side, so that a treatment stays near its day
PRESETS: Final[Mapping[str, frozenset[int]]] = {"mwf": frozenset({0, 2, 4}), "tts": frozenset({1, 3, 5})}
_HOUR: Final = timedelta(hours=1)
_MONDAY: Final = 1  # the ordinal of a Monday: 1 January of the year 1


class OccurrenceStatus(StrEnum):
    """Whether a pattern date takes place."""

    DUE = "due"
    SKIPPED = "skipped"
    HELD = "held"
    CLOSED = "closed"  # the facility gives no service that day


class ChangeType(StrEnum):
    """How an occurrence got its date and times; values of `occurrenceState`."""

    AS_GENERATED = "as_generated"
    SHIFTED = "shifted"
    CUSTOMIZED = "customized"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Days of the week (Monday is 0), every `interval_weeks` weeks counted from the week of `anchor`."""

    days: frozenset[int]
    anchor: date
    interval_weeks: int = 1

    def dates(self, first: date, last: date) -> Iterator[date]:
        """List the dates from `first` to `last`, both included, in order."""
        begin, end = first.toordinal(), last.toordinal()
        step = 7 * self.interval_weeks
        since_anchor = begin - self.anchor.toordinal() + self.anchor.weekday()
        monday = begin - since_anchor % step
        days = sorted(self.days)
        while monday <= end:
            for day in days:
                if begin <= monday + day <= end:
                    yield date.fromordinal(monday + day)
            monday += step

    def includes(self, day: date) -> bool:
        return next(self.dates(day, day), None) is not None


@dataclass(frozen=True, slots=True)
class Times:
    """The times of an occurrence on its day.

    `pickup_time` is wall time; a time later than the chair time means the evening before.  None: `lead` before the
    chair time, for driving, boarding and early arrival.  `return_time` is wall time; a time earlier than the chair time
    means the next morning.  None: after `stay`, the treatment and post-treatment time.  `lead` and `stay` are elapsed
    time.
    """

    chair_time: time
    lead: timedelta
    stay: timedelta
    pickup_time: time | None = None
    return_time: time | None = None

    def at_chair_time(self, chair_time: time) -> "Times":
        """Replace the chair time; explicit pickup and return times keep their distance to it."""
        minutes = _minute(chair_time) - _minute(self.chair_time)
        return replace(
            self,
            chair_time=chair_time,
            pickup_time=_moved(self.pickup_time, minutes),
            return_time=_moved(self.return_time, minutes),
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """The pattern and times that apply from a pattern date until the next terms begin."""

    from_date: date
    pattern: Pattern
    times: Times


@dataclass(frozen=True, slots=True)
class Hold:
    """No rides on service dates from `from_date` to `until`, both included; open-ended where `until` is None."""

    from_date: date
    until: date | None = None

    def covers(self, day: date) -> bool:
        return self.from_date <= day and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True)
class Shift:
    """A day of the facility's calendar that is moved to `to_date`, or closed (None).

    The chair time becomes `chair_time`, or changes by `offset_minutes` within its day.
    """

    to_date: date | None
    chair_time: time | None = None
    offset_minutes: int = 0


@dataclass(frozen=True, slots=True)
class Override:
    """Times and date that a person set for one occurrence."""

    times: Times
    to_date: date


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that determines the dates and times of an order.

    `terms` are sorted by `from_date`; the order starts with the first.  `last` is the last pattern date.  `shifts`,
    `skips` and `overrides` are by pattern date.  An override has precedence over a shift, because a person looked at
    that day.
    """

    zone: ZoneInfo
    terms: Sequence[Terms]
    last: date | None = None
    holds: Sequence[Hold] = ()
    skips: AbstractSet[date] = frozenset()
    shifts: Mapping[date, Shift] = field(default_factory=dict)
    overrides: Mapping[date, Override] = field(default_factory=dict)

    def terms_on(self, day: date) -> Terms | None:
        """Return the terms that apply to a pattern date; None before the first."""
        position = bisect_right(self.terms, day, key=lambda terms: terms.from_date)
        return self.terms[position - 1] if position else None

    def has(self, day: date) -> bool:
        """Check whether the pattern includes this date, even if it is held, skipped, closed or moved."""
        terms = self.terms_on(day)
        return terms is not None and terms.pattern.includes(day) and (self.last is None or day <= self.last)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One pattern date and its actual date and times; `pattern_date` identifies it permanently.

    Instants are in UTC.  `moved_by_clock_change`: a wall time does not exist on that day and moved forward by the gap.
    Of a time that occurs twice, the first one is used.  A closed day has the times that it would have had.
    """

    pattern_date: date
    service_date: date
    status: OccurrenceStatus
    change: ChangeType
    pickup_at: datetime
    chair_at: datetime
    return_at: datetime
    moved_by_clock_change: bool


def occurrences(plan: Plan, first: date, last: date) -> Iterator[Occurrence]:
    """List the occurrences of pattern dates from `first` to `last`, both included, by pattern date."""
    for position, terms in enumerate(plan.terms):
        begin, end = max(first, terms.from_date), last
        if position + 1 < len(plan.terms):
            end = min(end, plan.terms[position + 1].from_date - timedelta(days=1))
        if plan.last is not None:
            end = min(end, plan.last)
        for day in terms.pattern.dates(begin, end) if begin <= end else ():
            yield _occurrence(plan, terms, day)


def on_service_dates(plan: Plan, first: date, last: date) -> list[Occurrence]:
    """List the occurrences with service dates from `first` to `last`, both included, by pickup time."""
    candidates = occurrences(plan, first - FARTHEST_MOVE, last + FARTHEST_MOVE)
    within = (occurrence for occurrence in candidates if first <= occurrence.service_date <= last)
    return sorted(within, key=lambda occurrence: occurrence.pickup_at)


def _occurrence(plan: Plan, terms: Terms, day: date) -> Occurrence:
    times, service_date, status, change = terms.times, day, OccurrenceStatus.DUE, ChangeType.AS_GENERATED
    if (override := plan.overrides.get(day)) is not None:
        times, service_date, change = override.times, override.to_date, ChangeType.CUSTOMIZED
    elif (shift := plan.shifts.get(day)) is not None:
        change = ChangeType.SHIFTED
        times = shifted(times, shift)
        if shift.to_date is None:
            status = OccurrenceStatus.CLOSED
        else:
            service_date = shift.to_date
    if day in plan.skips:
        status = OccurrenceStatus.SKIPPED
    elif plan.holds and status is OccurrenceStatus.DUE and any(hold.covers(service_date) for hold in plan.holds):
        status = OccurrenceStatus.HELD
    pickup_at, chair_at, return_at, moved_by_clock_change = instants(times, service_date, plan.zone)
    return Occurrence(day, service_date, status, change, pickup_at, chair_at, return_at, moved_by_clock_change)


def shifted(times: Times, shift: Shift) -> Times:
    """Apply the chair time of a shift."""
    if shift.chair_time is not None:
        return times.at_chair_time(shift.chair_time)
    if shift.offset_minutes:
        return times.at_chair_time(_clock(_minute(times.chair_time) + shift.offset_minutes))
    return times


def instants(times: Times, day: date, zone: ZoneInfo) -> tuple[datetime, datetime, datetime, bool]:
    """Return pickup, chair and return instants of a local date, and whether one of the wall times does not exist."""
    chair_at, is_moved = instant(day, times.chair_time, zone)
    if times.pickup_time is None:
        pickup_at = chair_at - times.lead
    else:
        evening_before = times.pickup_time > times.chair_time
        pickup_at, skipped = instant(day - timedelta(days=evening_before), times.pickup_time, zone)
        is_moved = is_moved or skipped
        distance = timedelta(minutes=(_minute(times.chair_time) - _minute(times.pickup_time)) % (24 * 60))
        if chair_at - pickup_at < distance:  # a clock change in between does not shorten the drive
            pickup_at = min(pickup_at, chair_at - min(times.lead, distance))
    if times.return_time is None:
        return_at = chair_at + times.stay
    else:
        next_morning = times.return_time <= times.chair_time
        return_at, skipped = instant(day + timedelta(days=next_morning), times.return_time, zone)
        is_moved = is_moved or skipped
    return pickup_at, chair_at, return_at, is_moved


@lru_cache(maxsize=4096)  # patients of a center share dates and a few chair times
def instant(day: date, clock: time, zone: ZoneInfo) -> tuple[datetime, bool]:
    """Return the instant in UTC of a local date and wall time, and whether that time does not exist on the date.

    A time that does not exist moves forward by the gap.
    """
    moment = local_instant(day, clock, zone=zone.key)
    return moment, moment.astimezone(zone).time() != clock


@lru_cache(maxsize=256)  # keyed by the loaded zone object: new zone data is a new object
def clock_rules(zone: ZoneInfo, year: int) -> str:
    """Return a digest of the zone's UTC offsets in every hour of a year and the next, in the loaded zone data.

    The rides within the horizon of an order can change only if this digest changes.
    """
    first, last = (datetime(begin, 1, 1, tzinfo=UTC) for begin in (year, year + 2))
    hours = range((last - first) // _HOUR)
    offsets = ((first + number * _HOUR).astimezone(zone).utcoffset() for number in hours)
    return sha256(repr([(str(offset), len([*hours])) for offset, hours in groupby(offsets)]).encode()).hexdigest()


def _minute(clock: time) -> int:
    return clock.hour * 60 + clock.minute


def _clock(minute: int) -> time:
    return time(minute // 60 % 24, minute % 60)


def _moved(clock: time | None, minutes: int) -> time | None:
    return None if clock is None else _clock(_minute(clock) + minutes)
