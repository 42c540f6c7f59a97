"""Instants as people read them: the wall clock of a place, with its zone's abbreviation."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils.html import format_html
from django.utils.safestring import SafeString

from lib.clocks import clock


def local_time(instant: datetime | None, zone: str) -> SafeString | str:
    """Write an instant in the zone as `2026-11-20 14:00 CST` inside `<time>`, which carries it in UTC; "" for none."""
    if instant is None:
        return ""
    there = instant.astimezone(ZoneInfo(zone))
    text = f"{there:%Y-%m-%d} {clock(there)} {there:%Z}"
    return format_html('<time datetime="{}">{}</time>', f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", text)
