"""The dispatch board: a day as a timeline or a list, and the parts of it that have changed."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.accounts.console.rights import needs
from apps.accounts.services import audit
from apps.dispatch.axis import Axis
from apps.dispatch.console import timeline, words
from apps.dispatch.console.cards import card, row
from apps.dispatch.console.counters import counters
from apps.dispatch.console.map_points import points
from apps.dispatch.console.page import SHOWS, VIEWS, Page, page_of, reader_of
from apps.dispatch.console.timeline import Reader
from apps.dispatch.queries.board import Board, Lane, Shown, board, lanes_of
from apps.rides.lifecycle import ReasonList
from apps.rides.naming import driver_name
from apps.rides.queries import reason_codes
from lib.access import Principal
from lib.clocks import clock
from lib.scopes import Scope

MOST_CHANGED: Final = 60  # rides and drivers named by one question for changes; beyond it, everything is asked for


@require_safe
@needs(Scope.ASSIGNMENTS_WRITE)
def show(request: HttpRequest) -> HttpResponse:
    """Show a service day: lanes of drivers, and what waits for one."""
    reader = reader_of(request)
    page = page_of(request, reader)
    found = board(Axis(page.day, reader.zone.key), by=reader.by, at=reader.at)
    _audit(found, reader.by)
    context = {
        "page": page,
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
        **_parts(found, page, reader),
    }
    if page.view == "list":
        context["rows"] = _rows(found, page, reader)
    elif page.view == "map":
        context |= {
            "points": points(found, reader),
            "tiles": settings.MAP_TILES_URL,
            "attribution": settings.MAP_ATTRIBUTION,
            "as_list": page.url(view="list"),
        }
    return render(request, f"dispatch/board_{page.view}.html", context)


@require_safe
@needs(Scope.ASSIGNMENTS_WRITE)
def changes(request: HttpRequest) -> HttpResponse:
    """Answer what changes may have touched of a day: the lanes of the rides and drivers named, the queue, the counters.

    Without names, all of it.  A lane that is asked for and no longer there is answered as gone.
    """
    reader = reader_of(request)
    page = page_of(request, reader)
    rides, drivers = _ids(request, "ride"), _ids(request, "driver")
    whole = (not rides and not drivers) or len(rides) + len(drivers) > MOST_CHANGED
    wanted = None if whole else drivers | lanes_of(rides, by=reader.by)
    found = board(Axis(page.day, reader.zone.key), by=reader.by, at=reader.at, driver_ids=wanted)
    _audit(found, reader.by)
    there = {lane.driver.pk for lane in found.lanes}
    context = {**_parts(found, page, reader), "gone": sorted(map(str, (wanted or drivers) - there)), "whole": whole}
    return render(request, "dispatch/board_changes.html", context)


def _ids(request: HttpRequest, name: str) -> set[UUID]:
    """Read ids out of the address; what is no id names nothing."""
    found = set()
    for text in request.GET.getlist(name):
        try:
            found.add(UUID(text))
        except ValueError:
            continue
    return found


def _parts(found: Board, page: Page, reader: Reader) -> dict[str, Any]:
    """Lay out what the page and its changes have in common."""
    queue = [one for one in found.waiting if words.state_of(one.ride) != "will-call"]
    will_calls = [one for one in found.waiting if words.state_of(one.ride) == "will-call"]
    late_waiting = sum(1 for one in queue if one.late)
    if page.show == "late":
        queue = [one for one in queue if one.late]
    cards = {
        "waiting": [] if page.show == "will-call" else queue,
        "will-call": [] if page.show in ("waiting", "late") else will_calls,
    }
    shown = [lane for lane in found.lanes if _passes(lane, page.show)]
    return {
        "lanes": [timeline.lane(lane, found.axis, reader) for lane in shown],
        "counters": counters(found, page),
        "late_waiting": late_waiting,
        "queue": [card(one, reader) for one in cards["waiting"]],
        "will_calls": [card(one, reader) for one in cards["will-call"]],
        "filtered": SHOWS[page.show] if page.show else "",
        "unfiltered": page.url(show=""),
        "suggest": f"{reverse('board_suggestions')}?day={page.day}",
    }


def _passes(lane: Lane, show: str) -> bool:
    if show == "late":
        return any(one.late for one in lane.shown)
    return True


def _rows(found: Board, page: Page, reader: Reader) -> Sequence[dict[str, Any]]:
    """Lay the rides of the lanes and the queue out in the order of their begin, for the list."""
    taken = [(one, lane) for lane in found.lanes for one in lane.shown]
    waiting = [(one, None) for one in found.waiting]
    rows: Iterable[tuple[Shown, Lane | None]] = sorted(
        [*taken, *waiting], key=lambda one: (one[0].errand.span.starts_at, one[0].ride.pk)
    )
    kept = [(one, lane) for one, lane in rows if _is_shown(one, page.show)]
    return [row(one, lane, reader) for one, lane in kept]


def _is_shown(one: Shown, show: str) -> bool:
    state = words.state_of(one.ride)
    return {
        "waiting": state in ("unassigned", "requested"),
        "will-call": state == "will-call",
        "late": one.late > 0,
    }.get(show, True)


def _drivers(found: Board, reader: Reader) -> list[tuple[str, str]]:
    return [(str(lane.driver.pk), driver_name(lane.driver, reader.by)) for lane in found.lanes]


def _audit(found: Board, by: Principal) -> None:
    audit.record(
        by=by,
        action="rides.board",
        subject_type="ride",
        rider_ids=found.rider_ids,
        details={"day": found.axis.day.isoformat()},
    )
