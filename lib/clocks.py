"""The time of day in the reader's preferred format: 24 or 12 hours.

The entry point of a request sets it; tasks, mails and commands use the format of the organization (CLOCK_HOURS).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, time

from django.conf import settings
from django.utils.functional import lazy
from django.utils.translation import gettext as _

from lib import zone_labels

_twelve: ContextVar[bool | None] = ContextVar("twelve_hours", default=None)


@contextmanager
def twelve_hours(enabled: bool | None) -> Iterator[None]:
    """Set the clock format of this thread or task within the block.

    True: 12 hours; False: 24 hours; None: the format of the organization (CLOCK_HOURS).
    """
    before = _twelve.set(enabled)
    try:
        yield
    finally:
        _twelve.reset(before)


def shows_twelve_hours() -> bool:
    is_twelve = _twelve.get()
    return twelve_hours_are_usual() if is_twelve is None else is_twelve


def twelve_hours_are_usual() -> bool:
    """Return whether the organization's default is the 12-hour clock."""
    return bool(settings.CLOCK_HOURS == 12)


def clock(at: datetime | time, *, seconds: bool = False) -> str:
    """Format a time of day, such as 14:30 or 2:30 PM, without converting it to another time zone."""
    rest = f"{at.minute:02}:{at.second:02}" if seconds else f"{at.minute:02}"
    if not shows_twelve_hours():
        return f"{at.hour:02}:{rest}"
    half = _("AM") if at.hour < 12 else _("PM")
    return f"{at.hour % 12 or 12}:{rest}\N{NO-BREAK SPACE}{half}"


def exact_clock(at: datetime) -> str:
    """Format a local time like `clock`, with its zone in the hour that comes twice when clocks go back: 01:30 CST."""
    offset, other = at.utcoffset(), at.replace(fold=1 - at.fold).utcoffset()
    return clock(at) if offset == other else f"{clock(at)}\N{NO-BREAK SPACE}{zone_labels.abbreviation(at)}"


clock_text = lazy(clock, str)  # formatted when it is read, as its reader prefers
