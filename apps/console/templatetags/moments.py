"""The one way pages write instants: in the zone of the page, with the UTC instant for machines."""

from datetime import UTC, date, datetime, time

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from lib import clocks, dates, zone_labels

register = template.Library()

# Divisors of seconds, largest first.
STEPS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@register.simple_tag
def moment(at: datetime | None, shape: str = "minute") -> SafeString:
    """Write an instant, to the minute or `second`, or its `clock` alone; a dash where there is none."""
    if at is None:
        return format_html('<span class="muted">{}</span>', "\N{EN DASH}")
    local = timezone.localtime(at)
    text = clocks.clock(local, seconds=shape == "second")
    if shape != "clock":
        text = f"{dates.near_day(local.date())}, {text}"
    return format_html('<time datetime="{}">{}</time>', at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), text)


@register.simple_tag
def ago(at: datetime | None) -> SafeString:
    """Write an instant and how far it is from now."""
    if at is None:
        return moment(None)
    return format_html('{}, <span class="muted nowrap">{}</span>', moment(at), distance(at, timezone.now()))


@register.simple_tag
def since(at: datetime | None) -> SafeString:
    """Write how far an instant is from now, large, and the instant below it."""
    if at is None:
        return moment(None)
    return format_html('{} <span class="sub">{}</span>', distance(at, timezone.now()), moment(at))


@register.simple_tag
def distance_from_now(at: datetime) -> str:
    """Write how far an instant is from now, alone: for beside the instant itself."""
    return distance(at, timezone.now())


@register.simple_tag
def minutes(count: int) -> str:
    """Write a length of time: from an hour on in hours, and in minutes where some are over."""
    hours, rest = divmod(count, 60)
    parts = (f"{hours} h" if hours else "", f"{rest} min" if rest or not hours else "")
    return " ".join(filter(None, parts))


@register.simple_tag
def zone_label() -> str:
    """Return the label of the page's time zone beside a time, such as `CT`."""
    return zone_labels.short(timezone.localtime())


@register.filter
def zone_name(zone: str) -> str:
    """Return the name of an IANA zone in a sentence, such as `Central Time`."""
    return zone_labels.long_name(zone)


@register.filter(expects_localtime=True)
def short_day(day: date | None) -> str:
    return dates.short_day(day) if day else ""


@register.filter(expects_localtime=True)
def dated_day(day: date | None) -> str:
    return dates.dated_day(day) if day else ""


@register.filter(expects_localtime=True)
def plain_day(day: date | None) -> str:
    return dates.plain_day(day) if day else ""


@register.filter(expects_localtime=True)
def long_day(day: date | None) -> str:
    return dates.long_day(day) if day else ""


@register.filter(expects_localtime=True)
def clock(at: datetime | time, shape: str = "minute") -> str:
    """Write the time of day, to the minute or `second`: an instant by the zone of the page."""
    return clocks.clock(at, seconds=shape == "second")


def distance(at: datetime, now: datetime) -> str:
    """Say in words how far an instant lies behind or ahead, in its largest unit."""
    seconds = int((now - at).total_seconds())
    for divisor, unit in STEPS:
        count = abs(seconds) // divisor
        if count:
            return _words(unit, count, behind=seconds > 0)
    return gettext("just now") if seconds >= 0 else gettext("in a moment")


def _words(unit: str, count: int, *, behind: bool) -> str:
    if unit == "day":
        span = ngettext("%(count)s day", "%(count)s days", count) % {"count": count}
    else:
        span = f"{count} {'h' if unit == 'hour' else 'min'}"
    return (gettext("%(span)s ago") if behind else gettext("in %(span)s")) % {"span": span}
