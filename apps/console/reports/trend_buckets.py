"""The buckets of a trend: their labels, and the URL parameters that select the rides of one bucket."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.reporting.queries.reports import Names
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.trend_buckets import TIMES, bucket_filter
from apps.rides.rules.draft import ServiceType
from lib import dates

BUCKET_LABELS: Final[Mapping[str, str | Promise]] = {
    "day": gettext_lazy("By day"),
    "week": gettext_lazy("By week"),
    "month": gettext_lazy("By month"),
    "weekday_hour": gettext_lazy("By weekday and hour"),
    "facility": gettext_lazy("By facility"),
    "provider": gettext_lazy("By provider"),
    "service_type": gettext_lazy("By service"),
    "pattern": gettext_lazy("By dialysis days"),
    "shift": gettext_lazy("By chair shift"),
}
PATTERNS: Final[Mapping[str, str | Promise]] = {
    "mwf": gettext_lazy("Monday, Wednesday, Friday"),
    "tts": gettext_lazy("Tuesday, Thursday, Saturday"),
    "other": gettext_lazy("Other days"),
}
SHIFTS: Final[Mapping[str, str | Promise]] = {
    "first": gettext_lazy("First shift"),
    "second": gettext_lazy("Second shift"),
    "third": gettext_lazy("Third shift"),
}
# Filter fields whose names differ from those of `bucket_filter`.
_FIELDS: Final[Mapping[str, str]] = {"first": "from", "last": "to", "service_type": "type"}


def label(bucket_by: str, key: Sequence[Any], names: Mapping[Any, str] | Names) -> str:
    """Return the label of a bucket; `names` are those of facilities or providers."""
    match bucket_by:
        case "day":
            return dates.dated_day(key[0])
        case "week":
            return _("Week of %(day)s") % {"day": dates.plain_day(key[0])}
        case "month":
            return capfirst(date_format(key[0], "F Y"))
        case "weekday_hour":
            return f"{WEEKDAYS[key[0] - 1]} {key[1]:02d}:00"
        case "facility":
            return names[key[0]] if key[0] else _("Rides without a facility")
        case "provider":
            return names[key[0]] if key[0] else _("Rides without a provider")
        case "service_type":
            return str(capfirst(ServiceType(key[0]).label))
        case "pattern":
            return str(PATTERNS[key[0]])
    return str(SHIFTS[key[0]])


def short(bucket_by: str, key: Sequence[Any], names: Mapping[Any, str] | Names) -> str:
    """Return the short label of a bucket, for the axis of a chart."""
    return dates.axis_day(key[0]) if bucket_by in ("day", "week") else label(bucket_by, key, names)


def file_label(bucket_by: str, key: Sequence[Any], names: Mapping[Any, str] | Names) -> str:
    """Return the label of a bucket in a file: days, and the Mondays of weeks, as spreadsheets read them (ISO 8601)."""
    return str(key[0].isoformat()) if bucket_by in ("day", "week") else label(bucket_by, key, names)


def bucket_parameters(bucket_by: str, key: Sequence[Any], selection: Selection) -> dict[str, object] | None:
    """Return the URL parameters that select the rides of one bucket; None if no parameters can select them."""
    filter_values = bucket_filter(bucket_by, key, first=selection.first, last=selection.last)
    if filter_values is None:
        return None
    # As text: URLs omit empty values, and the hour 0 must not be omitted.
    parameters: dict[str, object] = {_FIELDS.get(name, name): str(value) for name, value in filter_values.items()}
    return {"period": "own", **parameters} if bucket_by in TIMES else parameters
