"""The buckets of a trend, and the filter for the rides of one bucket, used in links of pages and of the API."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

TIMES: Final = ("day", "week", "month")
# Their keys are ids: null for rides without a facility or provider, which no query parameter selects.
_BY_ID: Final = ("facility", "provider")
_KEY_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "weekday_hour": ("weekday", "hour"),
    "weekday_of_dialysis": ("pattern", "weekday"),
}


def bucket_filter(bucket_by: str, key: Sequence[Any], *, first: date, last: date) -> dict[str, Any] | None:
    """Return the filter for the rides of one bucket within a period, both ends included.

    None if no filter selects them.  Keys are `first` and `last`, "weekday" (Monday 1), "hour", "pattern", "shift",
    "facility", "provider" and "service_type".
    """
    if bucket_by in TIMES:
        start, end = _span(bucket_by, key[0])
        return {"first": max(start, first), "last": min(end, last)}
    if bucket_by in _BY_ID and key[0] is None:
        return None
    return dict(zip(_KEY_PARTS.get(bucket_by, (bucket_by,)), key, strict=True))


def _span(bucket_by: str, start: date) -> tuple[date, date]:
    if bucket_by == "month":
        return start, (start + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return start, start + timedelta(days=6 if bucket_by == "week" else 0)
