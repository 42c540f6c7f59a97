"""Instants for people: local wall time with the label of the time zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils.html import format_html
from django.utils.safestring import SafeString

from lib import zone_labels
from lib.clocks import clock
from lib.dates import near_day


def local_time(instant: datetime | None, zone: str) -> SafeString | str:
    """Format an instant in the zone as `Fri, Nov 20, 14:00 CT` in a `<time>` element with the UTC time; "" for None."""
    if instant is None:
        return ""
    local = instant.astimezone(ZoneInfo(zone))
    text = f"{near_day(local.date())}, {clock(local)} {zone_labels.short(local)}"
    return format_html('<time datetime="{}">{}</time>', f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", text)
