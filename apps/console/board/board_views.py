"""The dispatch board: a service day as a timeline, a list or a map, and partial updates of it.

`show` renders the page.  When rides or drivers change, the page requests `changes` with their ids, and gets the
affected driver rows, the queue and the counters.  Both views read whole driver rows first and filter afterwards, so
that a driver who is busy with a ride outside the filter does not look free.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.audit.views import record_read
from apps.console.board import labels, timeline
from apps.console.board.cards import card, row
from apps.console.board.counters import counters
from apps.console.board.map_points import points
from apps.console.board.page import LIST, SHOWS, VIEWS, BoardPage, page_of, reader_of
from apps.console.board.part import parts
from apps.console.board.timeline import Reader
from apps.console.kit.lists import arranged
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import Board, BoardRide, DriverRow, board, driver_ids_of
from apps.dispatch.queries.figures import figures_of
from apps.dispatch.queries.narrowing import choices, narrowed
from apps.dispatch.rules.axis import Axis
from apps.rides.labels import driver_name
from apps.rides.queries import reason_codes
from apps.rides.rules.lifecycle import ReasonList
from lib.access import Principal
from lib.clocks import clock
from lib.listing import DOWN, spelled
from lib.scopes import Scope

# Ids in one request for changes; with more, all rows are requested.  It keeps the URL below 2.7 kB.
MOST_CHANGED: Final = 60


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def show(request: HttpRequest) -> HttpResponse:
    """Show a service day: the rows of drivers, and the rides that wait for a driver.  Writes an audit entry."""
    reader = reader_of(request)
    page = page_of(request, reader)
    axis = Axis(page.day, reader.zone.key)
    whole = board(axis, by=reader.by, at=reader.at, counted=page.within.counted)
    found = narrowed(whole, page.within)
    _audit(found, reader.by)
    context = {
        "page": page,
        "parts": parts(page, choices(whole, page.within, by=reader.by)),
        "now": reader.at,
        "now_minute": found.axis.minute_of(reader.at) // timeline.STEP * timeline.STEP,
        "earlier": page.url(day=page.day - dt.timedelta(days=1)),
        "later": page.url(day=page.day + dt.timedelta(days=1)),
        "to_today": page.url(day=page.today),
        "views": [(label, page.url(view=name), name == page.view) for name, label in VIEWS.items()],
        "axis": found.axis,
        "ticks": [(minute, label) for minute, label in found.axis.ticks(clock)],
        "drivers": sorted(_drivers(found, reader), key=lambda one: one[1].lower()),
        "reasons": reason_codes.offered(ReasonList.UNASSIGN),
        "zone": reader.at.astimezone(reader.zone).strftime("%Z"),
        "most_changed": MOST_CHANGED,
        **_parts(found, page, reader),
    }
    if page.view == "list":
        shown = arranged(request, LIST, page.asked())
        cut = Paginator(_rows(found, page, reader), shown.rows).get_page(request.GET.get("page"))
        here = f"{reverse('board')}{shown.address(page=str(cut.number) if cut.number > 1 else '')}"
        context |= {"shown": shown, "page_of_list": cut, "here": here, "rows": list(cut)}
    elif page.view == "map":
        context |= {
            "points": points(found, reader),
            "tiles": settings.MAP_TILES_URL,
            "attribution": settings.MAP_ATTRIBUTION,
            "as_list": page.url(view="list"),
        }
    return render(request, f"dispatch/board_{page.view}.html", context)


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def changes(request: HttpRequest) -> HttpResponse:
    """Return the parts of a day that may have changed: driver rows, the queue and the counters.

    The query parameters `ride` and `driver` name ids: only the rows of these drivers and of the drivers of these rides
    are returned.  Without ids, or with more than `MOST_CHANGED`, returns all rows.  A requested row that no longer
    exists is listed in `gone`.  Writes an audit entry.
    """
    reader = reader_of(request)
    page = page_of(request, reader)
    rides, drivers = _ids(request, "ride"), _ids(request, "driver")
    whole = (not rides and not drivers) or len(rides) + len(drivers) > MOST_CHANGED
    wanted = None if whole else drivers | driver_ids_of(rides, by=reader.by)
    axis = Axis(page.day, reader.zone.key)
    read = board(axis, by=reader.by, at=reader.at, driver_ids=wanted, counted=page.within.counted)
    found = narrowed(read, page.within)
    _audit(found, reader.by)
    there = {driver_row.driver.pk for driver_row in found.rows}
    context = {**_parts(found, page, reader), "gone": sorted(map(str, (wanted or drivers) - there)), "whole": whole}
    return render(request, "dispatch/board_changes.html", context)


def _ids(request: HttpRequest, name: str) -> set[UUID]:
    """Return the UUIDs of a query parameter; ignores invalid values."""
    found = set()
    for text in request.GET.getlist(name):
        try:
            found.add(UUID(text))
        except ValueError:
            continue
    return found


def _parts(found: Board, page: BoardPage, reader: Reader) -> dict[str, Any]:
    """Return the context that the page and its partial updates share."""
    queue = [one for one in found.waiting if labels.state_of(one.ride) != "will-call"]
    will_calls = [one for one in found.waiting if labels.state_of(one.ride) == "will-call"]
    late_waiting = sum(1 for one in queue if one.late)
    if page.show == "late":
        queue = [one for one in queue if one.late]
    cards = {
        "waiting": [] if page.show == "will-call" else queue,
        "will-call": [] if page.show in ("waiting", "late") else will_calls,
    }
    shown = [driver_row for driver_row in found.rows if _passes(driver_row, page.show)]
    return {
        "driver_rows": [timeline.driver_row(driver_row, found.axis, reader) for driver_row in shown],
        "counters": counters(figures_of(found), page),
        "late_waiting": late_waiting,
        "queue": [card(one, reader) for one in cards["waiting"]],
        "will_calls": [card(one, reader) for one in cards["will-call"]],
        "filtered": SHOWS[page.show] if page.show else "",
        "unfiltered": page.url(show=""),
        "suggest": f"{reverse('board_suggestions')}?{spelled({'day': page.day, 'zone': page.within.zone})}",
    }


def _passes(driver_row: DriverRow, show: str) -> bool:
    if show == "late":
        return any(one.late and not one.is_context for one in driver_row.shown)
    return True


def _rows(found: Board, page: BoardPage, reader: Reader) -> Sequence[dict[str, Any]]:
    """Return the rides of the driver rows and the queue as sorted list rows; ties are in order of start time."""
    taken = [(one, driver_row) for driver_row in found.rows for one in driver_row.shown if not one.is_context]
    waiting = [(one, None) for one in found.waiting]
    rows: Iterable[tuple[BoardRide, DriverRow | None]] = sorted(
        [*taken, *waiting], key=lambda one: (one[0].errand.span.starts_at, one[0].ride.pk)
    )
    kept = [(one, driver_row) for one, driver_row in rows if _is_shown(one, page.show)]
    laid = [row(one, driver_row, reader) for one, driver_row in kept]
    by, down = page.sort.removeprefix(DOWN), page.sort.startswith(DOWN)
    if by == "pickup":
        return laid[::-1] if down else laid
    return sorted(laid, key=_SORTED_BY[by], reverse=down)


# Rides without a driver (name "") come first.
_SORTED_BY: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "rider": lambda row: row["name"].lower(),
    "status": lambda row: list(labels.STATES).index(row["state"]),
    "driver": lambda row: row["driver"].lower(),
}


def _is_shown(one: BoardRide, show: str) -> bool:
    state = labels.state_of(one.ride)
    return {
        "waiting": state in ("unassigned", "requested"),
        "will-call": state == "will-call",
        "late": one.late > 0,
    }.get(show, True)


def _drivers(found: Board, reader: Reader) -> list[tuple[str, str]]:
    return [(str(driver_row.driver.pk), driver_name(driver_row.driver, reader.by)) for driver_row in found.rows]


def _audit(found: Board, by: Principal) -> None:
    record_read(
        by=by,
        action="rides.board",
        subject_type="ride",
        rider_ids=found.rider_ids,
        details={"day": found.axis.day.isoformat()},
    )
