"""One day on a page: rides by status, its figures, why rides ended, and what waits now."""

from datetime import timedelta
from typing import Any, Final, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.console.rights import needs
from apps.accounts.sessions import principal_of
from apps.reporting.console import papers, words
from apps.reporting.console.figure_views import counted_row
from apps.reporting.console.forms import OWN, ReportFilter, filters
from apps.reporting.console.standing import standing
from apps.reporting.queries.behind import Count
from apps.reporting.queries.daily import Summary, daily_summary
from apps.reporting.queries.selection import Selection
from apps.rides.console import words as ride_words
from lib.listing import spelled
from lib.scopes import Scope

_NOT_ASKED: Final = ("period", "from", "to")


@require_safe
@needs(Scope.REPORTS_READ)
def day(request: HttpRequest) -> HttpResponse:
    """Show the summary of a day, yesterday where none is named.  As many queries for any number of rides."""
    by, at = principal_of(request), timezone.now()
    read = filters(by, at=at)
    asked = request.GET.copy()
    first = cast(ReportFilter, read(request.GET))
    yesterday = (first.today - timedelta(days=1)).isoformat()
    the_day = request.GET.get("day") or yesterday
    for name, value in (("period", OWN), ("from", the_day), ("to", the_day)):
        asked[name] = value
    form = cast(ReportFilter, read(asked))
    selection = form.selection(by)
    kept = {name: value for name, value in form.known().items() if name not in _NOT_ASKED}
    fields = [field for field in form if field.name not in _NOT_ASKED]
    context: dict[str, Any] = {"form": form, "day": the_day if selection else "", "fields": fields}
    if selection is None:
        return render(request, "reports/day.html", context)
    summary = daily_summary(by=by, selection=selection, at=at)
    context |= _told(summary, selection, form.known(), kept)
    if papers.asked(request):
        return papers.report(request, "day", context, name="day", at=at, details={"figures": list(summary.figures)})
    here = spelled({**kept, "day": selection.first})
    return render(request, "reports/day.html", {**context, "paper": papers.address(here)})


def _told(summary: Summary, selection: Selection, asked: dict[str, str], kept: dict[str, str]) -> dict[str, Any]:
    address = words.Address(asked)
    figures = summary.figures.values()
    now = summary.now
    return {
        **standing(selection, summary.restatements, summary.progress),
        "earlier": f"?{spelled({**kept, 'day': selection.first - timedelta(days=1)})}",
        "later": f"?{spelled({**kept, 'day': selection.first + timedelta(days=1)})}",
        "statuses": [
            (ride_words.STATUSES[status], _said(count), address.count(Count("status", status), count))
            for status, count in summary.statuses.items()
            if count != 0
        ],
        "tiles": [{**words.shown(one, address), "counted": words.counted(one, address)} for one in figures],
        "reasons": [counted_row("reason", one, address) for one in summary.top_reasons],
        "as_of": now.as_of,
        "waiting": [
            (_("Without a driver, next 24 hours"), _said(now.unassigned_next_24_hours)),
            (_("Ready, and not yet reached"), _said(now.will_calls_waiting)),
            *(
                (_("Open exceptions: %(severity)s") % {"severity": ride_words.SEVERITIES[one].text}, _said(count))
                for one, count in now.open_exceptions.items()
            ),
        ],
    }


def _said(count: int | None) -> str:
    return _("Too few rides to show") if count is None else words.count_said(count)
