"""HTML of the timeline: one row per driver, with bars for rides.

The HTML is built from strings: a template of 1,500 bars takes 70 ms, this module 3 ms.  Every text passes through
`escape`.  Horizontal positions are CSS classes of minutes.css in steps of five minutes, because the content security
policy forbids inline styles; the text of a bar has the exact time.

A day has up to 1,500 bars, so that each is as short as it can be: the script adds the link to the ride, the first line
and the status "assigned" have no class, and the text names neither "assigned" nor "ambulatory".
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.console.board import labels
from apps.console.board.driver_status import driver_status
from apps.dispatch.queries.board import BoardRide, DriverRow
from apps.dispatch.rules import row_layout
from apps.dispatch.rules.axis import Axis
from apps.riders.labels import rider_name
from apps.rides.labels import driver_name
from apps.rides.rules.disclosure import Disclosure, disclosure_of
from apps.rides.rules.facts import Span
from lib.access import Principal
from lib.clocks import exact_clock

STEP: Final = 5  # minutes between two positions of minutes.css
LAST: Final = 1500  # minutes: a day of 25 hours, when daylight saving time ends
_SHORTEST: Final = 10  # minutes: minimum width of a bar; a narrower bar is hard to click
MOST_ROWS: Final = 8  # lines per driver; any further overlapping rides share the last line


@dataclass(frozen=True)
class Reader:
    """The user for whom rows are drawn: data access, time zone, and the current time `at`.

    Values that are the same for all bars are cached.
    """

    by: Principal
    zone: ZoneInfo
    at: dt.datetime

    @cached_property
    def disclosure(self) -> Disclosure:
        return disclosure_of(self.by)

    @cached_property
    def states(self) -> Mapping[str, str]:
        return {state: str(word) for state, word in labels.STATES.items()}

    @cached_property
    def mobility_labels(self) -> Mapping[str, tuple[str, str]]:
        return {mobility: (mark, str(word)) for mobility, (mark, word) in labels.KINDS.items()}

    @cached_property
    def until(self) -> str:
        return _("to")

    @cached_property
    def page(self) -> str:
        """Return the URL of a ride, relative to the board, up to the ride id; a slash follows the id."""
        address = reverse("board_ride", args=[UUID(int=0)]).removesuffix(f"{UUID(int=0)}/")
        return address.removeprefix(reverse("board"))

    @cached_property
    def run(self) -> str:
        """Return the URL of a driver's day, relative to the board, up to the driver id; a slash follows the id."""
        return reverse("board_run", args=[UUID(int=0)]).removesuffix(f"{UUID(int=0)}/").removeprefix(reverse("board"))

    def clock(self, at: dt.datetime) -> str:
        return exact_clock(at.astimezone(self.zone))


def render_driver_row(driver_row: DriverRow, axis: Axis, reader: Reader) -> SafeString:
    """Return a driver's row as HTML; its id is `driver-row-<driver>`, and the ids of its bars are `ride-<ride>`."""
    placed = [min(row, MOST_ROWS - 1) for row in row_layout.rows([ride.span for ride in driver_row.rides])]
    delayed = [ride.is_late for ride in driver_row.rides if ride.late and not ride.is_context]
    track = [
        *(_stretch("off", span, axis) for span in _off(driver_row.duty, axis)),
        *(_stretch("leave", span, axis) for span in (*driver_row.leave, *driver_row.breaks)),
        _lines(driver_row, axis),
        *(_bar(board_ride, row, axis, reader) for board_ride, row in zip(driver_row.rides, placed, strict=True)),
    ]
    height = max(placed, default=0) + 1
    driver_id = driver_row.driver.pk
    label = _driver_label(driver_row, axis, reader)
    html = (
        f'<li class="driver-row h{height}" id="driver-row-{driver_id}" data-driver="{driver_id}"'
        f' data-late="{delayed.count(True)}" data-risk="{delayed.count(False)}">'
        f'<div class="who">{label}</div><div class="track">{"".join(track)}</div></li>'
    )
    return mark_safe(html)  # noqa: S308  # consists of ids, CSS classes and escaped texts


def classes(starts_at: dt.datetime, ends_at: dt.datetime, axis: Axis, *, at_least: int = STEP) -> str:
    """Return the CSS classes for start and width of a time span.

    The start is rounded down and the end up to `STEP` minutes; the width is from `at_least` to `LAST` minutes.
    """
    begin = axis.minute_of(starts_at) // STEP * STEP
    wide = -(-(axis.minute_of(ends_at) - begin) // STEP) * STEP
    wide = min(max(wide, at_least), LAST)
    return f"s{begin} w{wide}"


def _stretch(kind: str, span: Span, axis: Axis) -> str:
    return f'<i class="{kind} {classes(span.starts_at, span.ends_at, axis)}"></i>'


def _lines(driver_row: DriverRow, axis: Axis) -> str:
    """Return the ended rides and the drives between rides as paths of one drawing, a unit a minute wide.

    As an element each, they were a tenth of the page.
    """
    segments = row_layout.segments(driver_row.rides)
    spans_of = {
        "past": [ended.span for ended in driver_row.ended],
        "way": [segment.span for segment in segments if not segment.tight],
        "tight": [segment.span for segment in segments if segment.tight],
    }
    paths = "".join(f'<path class="{kind}" d="{_path(spans, axis)}"/>' for kind, spans in spans_of.items() if spans)
    if not paths:
        return ""
    size = f'viewBox="0 0 {axis.minutes} 20" preserveAspectRatio="none"'
    return f'<svg class="lines s0 w{axis.minutes}" {size} aria-hidden="true">{paths}</svg>'


def _path(spans: Iterable[Span], axis: Axis) -> str:
    starts = ((axis.minute_of(span.starts_at), span) for span in spans)
    return "".join(f"M{start} 0h{max(axis.minute_of(span.ends_at) - start, 1)}" for start, span in starts)


def _off(duty: Sequence[Span], axis: Axis) -> Iterable[Span]:
    """Yield the time spans of the day outside a driver's shifts; none for a driver without shifts."""
    if not duty:
        return
    begins_at = axis.starts_at
    for span in duty:
        if begins_at < span.starts_at:
            yield Span(begins_at, span.starts_at)
        begins_at = max(begins_at, span.ends_at)
    if begins_at < axis.ends_at:
        yield Span(begins_at, axis.ends_at)


def _driver_label(driver_row: DriverRow, axis: Axis, reader: Reader) -> str:
    ride_count = len(driver_row.rides)
    count = ngettext("%(count)s ride", "%(count)s rides", ride_count) % {"count": ride_count}
    vehicle = " · ".join(part for part in (driver_row.unit, capfirst(driver_row.vehicle_type)) if part) or _(
        "No vehicle"
    )
    name = escape(driver_name(driver_row.driver, reader.by))
    subtitle = f"{vehicle} · {count}" if ride_count else vehicle
    run = f"{reader.run}{driver_row.driver.pk}/?day={axis.day.isoformat()}"
    now = driver_status(driver_row, reader.disclosure, reader.clock, reader.at) if axis.holds(reader.at) else ""
    status = f'<span class="status">{escape(now)}</span>' if now else ""
    return f'<strong><a href="{run}">{name}</a></strong>{status}<span class="sub">{escape(subtitle)}</span>'


def _bar(board_ride: BoardRide, row: int, axis: Axis, reader: Reader) -> str:
    """Return a bar: the rider's name, and for screen readers times, places, needs and status.

    The minutes of a late ride, and its name, stay at the left edge of the visible hours while the bar reaches beyond.
    """
    ride, span = board_ride.ride, board_ride.span
    mark, mobility = reader.mobility_labels[ride.accommodation["mobility"]]
    state = labels.state_of(ride)
    late = "" if not board_ride.late else "late" if board_ride.is_late else "risk"
    parts = [
        f"{reader.clock(span.starts_at)} {reader.until} {reader.clock(span.ends_at)}",
        labels.route_label(ride, reader.disclosure),
        mobility if mark else "",
        reader.states[state] if state != "assigned" else "",
        labels.lateness(board_ride),
    ]
    names = [
        "bar",
        classes(span.starts_at, span.ends_at, axis, at_least=_SHORTEST),
        f"r{row}" if row else "",
        state if state != "assigned" else "",
        mark,
        late,
        "severe" if ride.max_exception_severity == "critical" else "",
        "aside" if board_ride.is_context else "",
    ]
    name = escape(rider_name(ride.rider, reader.by))
    text = f"<b>+{board_ride.late} {name}</b>" if late else name
    rest = escape(", ".join(part for part in parts if part))
    return (
        f'<a class="{" ".join(filter(None, names))}" id="ride-{ride.pk}" data-version="{ride.version}">'
        f"{text}<i>, {rest}</i></a>"
    )
