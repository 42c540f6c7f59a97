"""Counters of a service day: on the board, and for lead dispatchers above the exceptions page."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.console.board.page import SHOWS, BoardPage, reader_of
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.figures import Figures, figures
from apps.dispatch.rules.axis import Axis
from apps.rides.rules.lifecycle import RideStatus
from lib.scopes import Scope

_TONES: Final = {"waiting": "warn", "risk": "warn", "late": "bad", "will-call": "info"}
_UNDER_WAY: Final = (RideStatus.ASSIGNED, RideStatus.EN_ROUTE, RideStatus.ARRIVED)


def counters(day_figures: Figures, page: BoardPage) -> list[dict[str, Any]]:
    """Return the counters of a day as template context.

    Each one links to the rides that it counts; the link of the active filter removes it.
    """
    statuses = day_figures.by_status
    counts = {
        "": sum(count for status, count in statuses.items() if status != RideStatus.CANCELLED),
        "assigned": sum(statuses.get(status, 0) for status in _UNDER_WAY),
        "waiting": day_figures.waiting,
        "risk": day_figures.at_risk,
        "late": day_figures.late,
        "on-board": statuses.get(RideStatus.IN_PROGRESS, 0),
        "will-call": day_figures.will_calls,
        "done": statuses.get(RideStatus.COMPLETED, 0),
    }
    return [
        {
            "key": key,
            "label": SHOWS[key] if key else _("Total"),
            "tone": _TONES.get(key, "quiet") if count else "quiet",
            "count": count,
            "url": _url(page, key),
            "is_active": bool(key) and page.show == key,
        }
        for key, count in counts.items()
    ]


def _url(page: BoardPage, key: str) -> str:
    """Return the board filtered by a counter.  The timeline shows no bars of ended rides: these are a list."""
    if page.show == key:
        return page.url(show="")
    return page.url(show=key, view="list") if key == "done" else page.url(show=key)


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def today(request: HttpRequest) -> HttpResponse:
    """Return today's counters as a fragment, which the exceptions page fetches again after a change."""
    return HttpResponse(_render_strip(request))


def strip(request: HttpRequest) -> str:
    """Return today's counters as HTML for lead dispatchers, who start on the exceptions page; "" for others.

    Two queries for lead dispatchers, who are the users that may correct rides and assign drivers.
    """
    by = principal_of(request)
    return _render_strip(request) if by.has_scope(Scope.RIDES_CORRECT) and by.has_scope(Scope.ASSIGNMENTS_WRITE) else ""


def _render_strip(request: HttpRequest) -> str:
    reader = reader_of(request)
    page = BoardPage.today_of(reader)
    day_figures = figures(Axis(page.day, reader.zone.key), by=reader.by, at=reader.at)
    return render_to_string("dispatch/counters_strip.html", {"counters": counters(day_figures, page)}, request)
