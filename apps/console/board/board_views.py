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
from apps.console.board.map_points import LEGEND, SHAPES, points
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
from lib import zone_labels
from lib.access import Principal
from lib.clocks import exact_clock
from lib.listing import DOWN, spelled
from lib.scopes import Scope

# Ids in one request for changes; with more, all rows are requested.  It keeps the URL below 2.7 kB.
MAX_CHANGED: Final = 60


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def show(request: HttpRequest) -> HttpResponse:
    """Show a service day: the rows of drivers, and the rides that wait for a driver.  Writes an audit entry."""
    reader = reader_of(request)
    page = page_of(request, reader)
    axis = Axis(page.day, reader.zone.key)
    full_board = board(axis, by=reader.by, at=reader.at, counted=page.within.counted)
    filtered_board = narrowed(full_board, page.within)
    _audit(filtered_board, reader.by)
    context = {
        "page": page,
        "parts": parts(page, choices(full_board, page.within, by=reader.by)),
        "now": reader.at,
        "now_minute": filtered_board.axis.minute_of(reader.at) // timeline.STEP * timeline.STEP,
        "earlier": page.url(day=page.day - dt.timedelta(days=1)),
        "later": page.url(day=page.day + dt.timedelta(days=1)),
        "to_today": page.url(day=page.today),
        "views": [(label, page.url(view=name), name == page.view) for name, label in VIEWS.items()],
        "axis": filtered_board.axis,
        "ticks": [(minute, label) for minute, label in filtered_board.axis.ticks(exact_clock)],
        "drivers": sorted(_drivers(filtered_board, reader), key=lambda driver: driver[1].lower()),
        "reasons": reason_codes.offered(ReasonList.UNASSIGN),
        "zone": zone_labels.long_name(reader.zone.key),
        "zone_short": zone_labels.short_name(reader.zone.key, reader.at),
        "max_changed": MAX_CHANGED,
        **_shared_context(filtered_board, page, reader),
    }
    if page.view == "timeline":
        context["driver_rows"] = _driver_rows(filtered_board, page, reader)
    elif page.view == "list":
        list_options = arranged(request, LIST, page.query_params())
        list_page = Paginator(_rows(filtered_board, page, reader), list_options.rows).get_page(request.GET.get("page"))
        list_url = (
            f"{reverse('board')}{list_options.address(page=str(list_page.number) if list_page.number > 1 else '')}"
        )
        context |= {
            "shown": list_options,
            "page_of_list": list_page,
            "list_url": list_url,
            "rows": list(list_page),
        }
    elif page.view == "map":
        context |= {
            "points": points(filtered_board, _drawn(filtered_board, page.show), reader),
            "tiles": reverse("map_tiles") if settings.MAP_TILES else "",
            "as_list": page.url(view="list"),
            "legend": LEGEND,
            "shapes": SHAPES,
        }
    return render(request, f"dispatch/board_{page.view}.html", context)


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def changes(request: HttpRequest) -> HttpResponse:
    """Return the parts of a day that may have changed: driver rows, the queue and the counters.

    The query parameters `ride` and `driver` name ids: only the rows of these drivers and of the drivers of these rides
    are returned.  Without ids, or with more than `MAX_CHANGED`, returns all rows.  A requested row that no longer
    exists is listed in `removed_ids`.  Writes an audit entry.
    """
    reader = reader_of(request)
    page = page_of(request, reader)
    rides, drivers = _ids(request, "ride"), _ids(request, "driver")
    is_full = (not rides and not drivers) or len(rides) + len(drivers) > MAX_CHANGED
    driver_ids = None if is_full else drivers | driver_ids_of(rides, by=reader.by)
    axis = Axis(page.day, reader.zone.key)
    full_board = board(axis, by=reader.by, at=reader.at, driver_ids=driver_ids, counted=page.within.counted)
    filtered_board = narrowed(full_board, page.within)
    _audit(filtered_board, reader.by)
    present_ids = {driver_row.driver.pk for driver_row in filtered_board.rows}
    context = {
        **_shared_context(filtered_board, page, reader),
        "driver_rows": _driver_rows(filtered_board, page, reader),
        "removed_ids": sorted(map(str, (driver_ids or drivers) - present_ids)),
        "is_full": is_full,
    }
    return render(request, "dispatch/board_changes.html", context)


def _ids(request: HttpRequest, name: str) -> set[UUID]:
    """Return the UUIDs of a query parameter; ignores invalid values."""
    ids = set()
    for text in request.GET.getlist(name):
        try:
            ids.add(UUID(text))
        except ValueError:
            continue
    return ids


def _shared_context(day_board: Board, page: BoardPage, reader: Reader) -> dict[str, Any]:
    """Return the context that the page and its partial updates share."""
    queue = [board_ride for board_ride in day_board.waiting if labels.state_of(board_ride.ride) != "will-call"]
    will_calls = [board_ride for board_ride in day_board.waiting if labels.state_of(board_ride.ride) == "will-call"]
    delayed = [board_ride.is_late for board_ride in queue if board_ride.late]
    return {
        "counters": counters(figures_of(day_board), page),
        "waiting_late": delayed.count(True),
        "waiting_risk": delayed.count(False),
        "queue": [card(board_ride, reader) for board_ride in queue if _matches(board_ride, page.show)],
        "will_calls": [card(board_ride, reader) for board_ride in will_calls if _matches(board_ride, page.show)],
        "filtered": SHOWS[page.show] if page.show else "",
        "unfiltered": page.url(show=""),
        "suggest": f"{reverse('board_suggestions')}?{spelled({'day': page.day, 'zone': page.within.zone})}",
    }


def _driver_rows(day_board: Board, page: BoardPage, reader: Reader) -> list[str]:
    """Return the rows of the timeline: most of the work of a page, so lists and maps go without."""
    driver_rows = [driver_row for driver_row in day_board.rows if _passes(driver_row, page.show)]
    return [timeline.render_driver_row(driver_row, day_board.axis, reader) for driver_row in driver_rows]


def _drawn(day_board: Board, show: str) -> list[BoardRide]:
    """Return the open rides of a day that pass the filter."""
    driven = (board_ride for driver_row in day_board.rows for board_ride in driver_row.rides)
    return [board_ride for board_ride in (*day_board.waiting, *driven) if _matches(board_ride, show)]


def _passes(driver_row: DriverRow, show: str) -> bool:
    """Check whether the timeline has the row of a driver: filters of waiting rides leave all rows."""
    if show in ("", "waiting", "will-call"):
        return True
    return any(_matches(board_ride, show) and not board_ride.is_context for board_ride in driver_row.rides)


def _rows(day_board: Board, page: BoardPage, reader: Reader) -> Sequence[dict[str, Any]]:
    """Return the rides of the driver rows and the queue as sorted list rows; ties are in order of start time."""
    assigned = [
        (board_ride, driver_row)
        for driver_row in day_board.rows
        for board_ride in driver_row.rides
        if not board_ride.is_context
    ]
    if page.show == "done":
        assigned = [
            (BoardRide(ended.ride, ended.slot), driver_row)
            for driver_row in day_board.rows
            for ended in driver_row.ended
            if page.within.holds(ended.ride)
        ]
    waiting = [(board_ride, None) for board_ride in day_board.waiting]
    rows: Iterable[tuple[BoardRide, DriverRow | None]] = sorted(
        [*assigned, *waiting], key=lambda item: (item[0].slot.span.starts_at, item[0].ride.pk)
    )
    matching = [(board_ride, driver_row) for board_ride, driver_row in rows if _matches(board_ride, page.show)]
    list_rows = [row(board_ride, driver_row, reader) for board_ride, driver_row in matching]
    by, down = page.sort.removeprefix(DOWN), page.sort.startswith(DOWN)
    if by == "pickup":
        return list_rows[::-1] if down else list_rows
    return sorted(list_rows, key=_SORTED_BY[by], reverse=down)


# Rides without a driver (name "") come first.
_SORTED_BY: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "rider": lambda row: row["name"].lower(),
    "status": lambda row: list(labels.STATES).index(row["state"]),
    "driver": lambda row: row["driver"].lower(),
}


def _matches(board_ride: BoardRide, show: str) -> bool:
    state = labels.state_of(board_ride.ride)
    return {
        "assigned": state in ("assigned", "en-route", "arrived"),
        "waiting": state in ("unassigned", "requested"),
        "risk": board_ride.late > 0 and not board_ride.is_late,
        "late": board_ride.is_late,
        "on-board": state == "on-board",
        "will-call": state == "will-call",
        "done": state == "done",
    }.get(show, True)


def _drivers(day_board: Board, reader: Reader) -> list[tuple[str, str]]:
    return [(str(driver_row.driver.pk), driver_name(driver_row.driver, reader.by)) for driver_row in day_board.rows]


def _audit(day_board: Board, by: Principal) -> None:
    record_read(
        by=by,
        action="rides.board",
        subject_type="ride",
        rider_ids=day_board.rider_ids,
        details={"day": day_board.axis.day.isoformat()},
    )
