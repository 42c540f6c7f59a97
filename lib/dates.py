"""Dates as people write them: `Fri, Nov 20` where the month comes first (the United States), else `Fri 20 Nov`.

Month first is for English texts of an operator whose PHONE_REGION writes dates that way.  Files, URLs and the API have
ISO 8601.
"""

from datetime import date
from typing import Final

from django.conf import settings
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language, pgettext

_MONTH_FIRST: Final = frozenset({"US", "CA", "PH", "PR", "GU", "VI"})


def _is_month_first() -> bool:
    return (get_language() or "en").startswith("en") and settings.PHONE_REGION in _MONTH_FIRST


def short_day(day: date) -> str:
    """Return `Fri, Nov 20`."""
    return date_format(day, "D, M j" if _is_month_first() else "D j M")


def dated_day(day: date) -> str:
    """Return `Fri, Nov 20, 2026`."""
    return date_format(day, "D, M j, Y" if _is_month_first() else "D j M Y")


def plain_day(day: date) -> str:
    """Return `Nov 20, 2026`, for tables and periods."""
    return date_format(day, "M j, Y" if _is_month_first() else "j M Y")


def axis_day(day: date) -> str:
    """Return `Nov 20`, for axes of charts."""
    return date_format(day, "M j" if _is_month_first() else "j M")


def long_day(day: date) -> str:
    """Return `Friday, November 20`."""
    return date_format(day, "l, F j" if _is_month_first() else pgettext("format of a day", "l j F"))


def near_day(local: date) -> str:
    """Return `Fri, Nov 20` in the current year, with the year in others; beside a time of day."""
    return short_day(local) if local.year == timezone.localdate().year else dated_day(local)
