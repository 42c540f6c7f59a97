"""The steps of a trend, and what opens one of them alone: one rule for the addresses of pages and of the API."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

TIMES: Final = ("day", "week", "month")
# Steps by an id, which is null for rides that have none: these cannot be asked for alone.
_BY_ID: Final = ("facility", "provider")
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "weekday_hour": ("weekday", "hour"),
    "weekday_of_dialysis": ("pattern", "weekday"),
}


def opened(along: str, key: Sequence[Any], *, first: date, last: date) -> dict[str, Any] | None:
    """Say what selects the rides of one step within a period, both ends included; None where nothing does.

    By `first` and `last`, "weekday" (Monday 1), "hour", "pattern", "shift", "facility", "provider", "service_type".
    """
    if along in TIMES:
        start, end = _span(along, key[0])
        return {"first": max(start, first), "last": min(end, last)}
    if along in _BY_ID and key[0] is None:
        return None
    return dict(zip(_PARTS.get(along, (along,)), key, strict=True))


def _span(along: str, start: date) -> tuple[date, date]:
    if along == "month":
        return start, (start + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return start, start + timedelta(days=6 if along == "week" else 0)
