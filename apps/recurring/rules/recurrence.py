"""On which days, and when, a standing order rides: pattern, clock changes, holds, skips, moved days.

Pure: no query, no clock of its own.  Everything is facility wall time until the last step: an instant comes from (local
date, local time, zone), never from the instant a week before.  Treatment and driving are elapsed time, added to
instants in UTC, so that both change-over days come out right.
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

FARTHEST_MOVE: Final = timedelta(days=7)  # a moved treatment stays within the week on either side of its day
PRESETS: Final[Mapping[str, frozenset[int]]] = {"mwf": frozenset({0, 2, 4}), "tts": frozenset({1, 3, 5})}
_HOUR: Final = timedelta(hours=1)
_MONDAY: Final = 1  # the ordinal of a Monday: 1 January of the year 1


class OccurrenceStatus(StrEnum):
    """What becomes of a pattern date."""

    DUE = "due"
    SKIPPED = "skipped"
    HELD = "held"
    CLOSED = "closed"  # the facility gives no service that day


class ChangeType(StrEnum):
    """How an occurrence came to its time; the words of `occurrenceState`."""

    AS_GENERATED = "as_generated"
    SHIFTED = "shifted"
    CUSTOMIZED = "customized"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Days of the week, Monday 0, every so many weeks counted from the week of `anchor`."""

    days: frozenset[int]
    anchor: date
    interval_weeks: int = 1

    def dates(self, first: date, last: date) -> Iterator[date]:
        """List the pattern's dates from `first` to `last`, both included, in order."""
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

    def holds(self, day: date) -> bool:
        """Say whether the pattern has this date."""
        return next(self.dates(day, day), None) is not None


@dataclass(frozen=True, slots=True)
class Times:
    """When on its day an occurrence takes place.

    `pickup_time` is the wall time of the way there; one later than the chair time is that of the evening before.  None:
    `lead` before the chair, for driving, boarding and an early arrival.  `return_time` is the wall time of the way
    back; one earlier than the chair time is that of the next morning.  None: after `stay`, treatment and coming off the
    machine.  Both lengths are elapsed time.
    """

    chair_time: time
    lead: timedelta
    stay: timedelta
    pickup_time: time | None = None
    return_time: time | None = None

    def at_chair_time(self, chair_time: time) -> "Times":
        """Move everything along with the chair: wall times of the two ways keep their distance to it."""
        minutes = _minute(chair_time) - _minute(self.chair_time)
        return replace(
            self,
            chair_time=chair_time,
            pickup_time=_moved(self.pickup_time, minutes),
            return_time=_moved(self.return_time, minutes),
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """What an order asks for from a pattern date on, until the next terms begin."""

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
    """Where a facility moves one day of its calendar to; `to_date` None closes it.

    The chair time becomes `chair_time`, or is moved by `offset_minutes` within its day.
    """

    to_date: date | None
    chair_time: time | None = None
    offset_minutes: int = 0


@dataclass(frozen=True, slots=True)
class Override:
    """What a person made of one occurrence: its times, and the day it takes place on."""

    times: Times
    to_date: date


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides when an order rides.

    `terms` are in the order of their `from_date`, the first of which is where the order starts; `last` is its last
    pattern date.  `shifts`, `skips` and `overrides` are by pattern date.  An override outranks a shift: a person looked
    at that day.
    """

    zone: ZoneInfo
    terms: Sequence[Terms]
    last: date | None = None
    holds: Sequence[Hold] = ()
    skips: AbstractSet[date] = frozenset()
    shifts: Mapping[date, Shift] = field(default_factory=dict)
    overrides: Mapping[date, Override] = field(default_factory=dict)

    def terms_on(self, day: date) -> Terms | None:
        """Give the terms in force for a pattern date; None before the first."""
        position = bisect_right(self.terms, day, key=lambda terms: terms.from_date)
        return self.terms[position - 1] if position else None

    def has(self, day: date) -> bool:
        """Say whether the pattern asks for this date, whatever became of it."""
        terms = self.terms_on(day)
        return terms is not None and terms.pattern.holds(day) and (self.last is None or day <= self.last)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One pattern date, `pattern_date` being its name for ever, and when it takes place.

    Instants are in UTC.  `moved_by_clock_change`: a wall time does not exist on that day and moved forward by the gap;
    of a time that comes twice the first one counts.  A closed day keeps the times it would have had.
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
    """List what the pattern dates from `first` to `last` come to, both included, in the order of those dates."""
    for position, terms in enumerate(plan.terms):
        begin, end = max(first, terms.from_date), last
        if position + 1 < len(plan.terms):
            end = min(end, plan.terms[position + 1].from_date - timedelta(days=1))
        if plan.last is not None:
            end = min(end, plan.last)
        for day in terms.pattern.dates(begin, end) if begin <= end else ():
            yield _occurrence(plan, terms, day)


def on_service_dates(plan: Plan, first: date, last: date) -> list[Occurrence]:
    """List what takes place from `first` to `last`, both included, in the order of its times: moved days included."""
    nearby = occurrences(plan, first - FARTHEST_MOVE, last + FARTHEST_MOVE)
    return sorted((one for one in nearby if first <= one.service_date <= last), key=lambda one: one.pickup_at)


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
    """Apply what a shift says of the chair time."""
    if shift.chair_time is not None:
        return times.at_chair_time(shift.chair_time)
    if shift.offset_minutes:
        return times.at_chair_time(_clock(_minute(times.chair_time) + shift.offset_minutes))
    return times


def instants(times: Times, day: date, zone: ZoneInfo) -> tuple[datetime, datetime, datetime, bool]:
    """Turn the times of a local date into instants: way there, chair, way back; and say whether clocks skip one."""
    chair_at, jumped = instant(day, times.chair_time, zone)
    if times.pickup_time is None:
        pickup_at = chair_at - times.lead
    else:
        evening_before = times.pickup_time > times.chair_time
        pickup_at, skipped = instant(day - timedelta(days=evening_before), times.pickup_time, zone)
        jumped = jumped or skipped
        distance = timedelta(minutes=(_minute(times.chair_time) - _minute(times.pickup_time)) % (24 * 60))
        if chair_at - pickup_at < distance:  # the clocks jumped in between: the drive takes as long as ever
            pickup_at = min(pickup_at, chair_at - min(times.lead, distance))
    if times.return_time is None:
        return_at = chair_at + times.stay
    else:
        next_morning = times.return_time <= times.chair_time
        return_at, skipped = instant(day + timedelta(days=next_morning), times.return_time, zone)
        jumped = jumped or skipped
    return pickup_at, chair_at, return_at, jumped


@lru_cache(maxsize=4096)  # a centre's patients share their days, and a handful of chair times
def instant(day: date, clock: time, zone: ZoneInfo) -> tuple[datetime, bool]:
    """Turn a local date and wall time into an instant in UTC, and say whether the clocks skip it that day.

    A skipped time moves forward by the gap, and hides it: only the way back to the wall shows it.
    """
    found = local_instant(day, clock, zone=zone.key)
    return found, found.astimezone(zone).time() != clock


@lru_cache(maxsize=256)  # by the zone as it was loaded: another object where it was loaded anew
def clock_rules(zone: ZoneInfo, year: int) -> str:
    """Digest how far the zone's clocks are from UTC in every hour of a year and the next, by the data that was loaded.

    What an order rides within its horizon comes out otherwise only if this is another one.
    """
    first, last = (datetime(one, 1, 1, tzinfo=UTC) for one in (year, year + 2))
    hours = range((last - first) // _HOUR)
    offsets = ((first + number * _HOUR).astimezone(zone).utcoffset() for number in hours)
    return sha256(repr([(str(one), len([*same])) for one, same in groupby(offsets)]).encode()).hexdigest()


def _minute(clock: time) -> int:
    return clock.hour * 60 + clock.minute


def _clock(minute: int) -> time:
    return time(minute // 60 % 24, minute % 60)


def _moved(clock: time | None, minutes: int) -> time | None:
    return None if clock is None else _clock(_minute(clock) + minutes)
