"""The time of day as its reader writes it: of 24 hours, or of twelve for whoever prefers that (console.md 4.7).

The door of a request says which; tasks, mails and commands write 24 hours.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, time

from django.utils.translation import gettext as _

_twelve: ContextVar[bool] = ContextVar("twelve_hours", default=False)


@contextmanager
def twelve_hours(wanted: bool) -> Iterator[None]:
    """Have clocks of this thread or task show twelve hours meanwhile, or 24."""
    before = _twelve.set(wanted)
    try:
        yield
    finally:
        _twelve.reset(before)


def shows_twelve_hours() -> bool:
    return _twelve.get()


def clock(at: datetime | time, *, seconds: bool = False) -> str:
    """Write a time of day as it stands, such as 14:30 or 2:30 PM: the caller has brought it into its zone."""
    rest = f"{at.minute:02}:{at.second:02}" if seconds else f"{at.minute:02}"
    if not _twelve.get():
        return f"{at.hour:02}:{rest}"
    return f"{at.hour % 12 or 12}:{rest}\N{NO-BREAK SPACE}{_('AM') if at.hour < 12 else _('PM')}"
