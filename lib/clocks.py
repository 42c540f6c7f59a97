"""The time of day as its reader writes it: of 24 hours, or of twelve for whoever prefers that.

The door of a request says which; tasks, mails and commands write it as the organization does (CLOCK_HOURS).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, time

from django.conf import settings
from django.utils.translation import gettext as _

_twelve: ContextVar[bool | None] = ContextVar("twelve_hours", default=None)


@contextmanager
def twelve_hours(wanted: bool | None) -> Iterator[None]:
    """Have clocks of this thread or task show twelve hours meanwhile, or 24; None: as the organization does."""
    before = _twelve.set(wanted)
    try:
        yield
    finally:
        _twelve.reset(before)


def shows_twelve_hours() -> bool:
    wanted = _twelve.get()
    return twelve_hours_are_usual() if wanted is None else wanted


def twelve_hours_are_usual() -> bool:
    """Say which clock holds for whoever has not chosen one."""
    return bool(settings.CLOCK_HOURS == 12)


def clock(at: datetime | time, *, seconds: bool = False) -> str:
    """Write a time of day as it stands, such as 14:30 or 2:30 PM: the caller has brought it into its zone."""
    rest = f"{at.minute:02}:{at.second:02}" if seconds else f"{at.minute:02}"
    if not shows_twelve_hours():
        return f"{at.hour:02}:{rest}"
    half = _("AM") if at.hour < 12 else _("PM")
    return f"{at.hour % 12 or 12}:{rest}\N{NO-BREAK SPACE}{half}"
