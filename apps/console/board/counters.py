"""Counters of a service day: on the board, and for lead dispatchers above the exceptions page."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.console.board.page import BoardPage, reader_of
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.figures import Figures, figures
from apps.dispatch.rules.axis import Axis
from apps.rides.rules.lifecycle import RideStatus
from lib.scopes import Scope

_LINKS: Final = (
    ("waiting", _("Unassigned"), "warn"),
    ("will-call", _("Will-call waiting"), "info"),
    ("late", _("Late / at risk"), "bad"),
)
_PLAIN: Final = (
    (_("On board"), (RideStatus.IN_PROGRESS,)),
    (_("En route"), (RideStatus.EN_ROUTE, RideStatus.ARRIVED)),
    (_("Completed"), (RideStatus.COMPLETED,)),
)


def counters(day_figures: Figures, page: BoardPage) -> list[dict[str, Any]]:
    """Return the counters of a day as template context.

    The first three link to the board filtered by them; the link of the active filter removes it.
    """
    counted = {"waiting": day_figures.waiting, "will-call": day_figures.will_calls, "late": day_figures.late}
    chosen = page.show
    links = [
        {
            "key": key,
            "label": label,
            "tone": tone if counted[key] else "quiet",
            "count": counted[key],
            "url": page.url(show="" if chosen == key else key),
            "chosen": chosen == key,
        }
        for key, label, tone in _LINKS
    ]
    return [
        *links,
        *(
            {"label": label, "count": sum(day_figures.by_status.get(status, 0) for status in statuses)}
            for label, statuses in _PLAIN
        ),
    ]


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
