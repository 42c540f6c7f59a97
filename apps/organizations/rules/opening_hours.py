"""Opening hours of a facility, in local wall time.

Hours are a list of `{"days": ["mon", ...], "opens": "HH:MM", "closes": "HH:MM"}`.  A period that closes at or before
its opening time closes on the next day; one that opens and closes at the same minute lasts 24 hours.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

Hours = Sequence[Mapping[str, Any]]


def closing_at(hours: Hours, *, zone: str, on: dt.date) -> dt.datetime | None:
    """Return when the facility that opened on the local date `on` closes for the last time, as an instant in UTC.

    None if it does not open that day, or if its hours are unknown.  A clock time that is skipped in spring counts as
    the instant to which the clocks jumped; an ambiguous one in autumn as the first of the two.
    """
    closings = [_closing_of(period, on=on, zone=zone) for period in hours if DAYS[on.weekday()] in period["days"]]
    return max(closings, default=None)


def after_open_time(hours: Hours, length: dt.timedelta, *, zone: str, since: dt.datetime) -> dt.datetime | None:
    """Return when the facility has been open for `length`, counted from `since`, as an instant in UTC.

    None if its hours are unknown, or if it is open for less than that within a week.
    """
    counted_to, remaining = since.astimezone(dt.UTC), length
    first = since.astimezone(ZoneInfo(zone)).date() - dt.timedelta(days=1)  # includes a night that began the day before
    for day in (first + dt.timedelta(days=number) for number in range(9)):
        periods = [period for period in hours if DAYS[day.weekday()] in period["days"]]
        for period in sorted(periods, key=lambda opening: str(opening["opens"])):
            opens = local_instant(day, dt.time.fromisoformat(period["opens"]), zone=zone)
            begins, ends = max(opens, counted_to), _closing_of(period, on=day, zone=zone)
            if begins + remaining <= ends:
                return begins + remaining
            if begins < ends:
                counted_to, remaining = ends, remaining - (ends - begins)
    return None


def local_instant(day: dt.date, clock: dt.time, *, zone: str) -> dt.datetime:
    """Convert a local date and wall time to an instant in UTC.

    A time that does not exist (spring) is read with the offset before the jump, as `zoneinfo` does: 02:30 becomes
    03:30.  An ambiguous time (autumn) is the first of the two.
    """
    return dt.datetime.combine(day, clock, tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)


def repeated_days(hours: Hours) -> list[int]:
    """List the positions of periods that name a day twice, or that overlap an earlier period of the same day.

    Compares only periods that open on the same day: the end of a night may overlap the next day's period.
    """
    seen: dict[str, list[tuple[str, str]]] = {day: [] for day in DAYS}
    positions = []
    for position, period in enumerate(hours):
        # "99:99" sorts after every clock time: such a period ends after midnight.
        begins, ends = period["opens"], period["closes"] if period["closes"] > period["opens"] else "99:99"
        days = list(period["days"])
        overlaps = any(
            begins < other_end and other_begin < ends for day in days for other_begin, other_end in seen[day]
        )
        if overlaps or len(set(days)) != len(days):
            positions.append(position)
        for day in days:
            seen[day].append((begins, ends))
    return positions


def _closing_of(period: Mapping[str, Any], *, on: dt.date, zone: str) -> dt.datetime:
    overnight = dt.timedelta(days=1 if period["closes"] <= period["opens"] else 0)
    return local_instant(on + overnight, dt.time.fromisoformat(period["closes"]), zone=zone)


def in_words(hours: Hours) -> str:
    """Format hours as text, each period with its days: `Mon to Fri, 07:00 to 19:00; Sat, 08:00 to 12:00`."""
    return "; ".join(f"{_span(period['days'])}, {period['opens']} to {period['closes']}" for period in hours)


def _span(days: Sequence[str]) -> str:
    numbers = sorted(DAYS.index(day) for day in days)
    names = [DAYS[number].capitalize() for number in numbers]
    in_a_row = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"{names[0]} to {names[-1]}" if in_a_row else ", ".join(names)
