"""Summary of one day: rides by status, KPIs, reasons, and open work now; as a page, CSV and PDF."""

from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.console.kit.list_export import exported
from apps.console.kit.rights import require_scope
from apps.console.reports import labels, report_pdf
from apps.console.reports.figure_views import counted_row
from apps.console.reports.forms import OWN, ReportFilter, filters
from apps.console.ride import labels as ride_labels
from apps.reporting import kpi_labels
from apps.reporting.queries.daily import Summary, daily_summary
from apps.reporting.queries.drill_down import Count
from apps.reporting.queries.selection import Selection
from lib.access import Principal
from lib.listing import spelled
from lib.scopes import Scope

_NOT_ASKED: Final = ("period", "from", "to")


@require_safe
@require_scope(Scope.REPORTS_READ)
def day(request: HttpRequest) -> HttpResponse:
    """Show the summary of a day, by default of yesterday.  The number of queries is independent of the rides."""
    by, at = principal_of(request), timezone.now()
    form, the_day = _asked(request, by, at)
    selection = form.selection(by)
    kept = {name: value for name, value in form.known().items() if name not in _NOT_ASKED}
    fields = [field for field in form if field.name not in _NOT_ASKED]
    context: dict[str, Any] = {"form": form, "day": the_day if selection else "", "fields": fields}
    if selection is None:
        return render(request, "reports/day.html", context)
    summary = daily_summary(by=by, selection=selection, at=at)
    context |= _told(summary, selection, form.known(), kept)
    if report_pdf.asked(request):
        return report_pdf.report(request, "day", context, name="day", at=at, details={"figures": list(summary.figures)})
    here = spelled({**kept, "day": selection.first})
    file = f"{reverse('report_day_file')}?{here}"
    return render(request, "reports/day.html", {**context, "pdf": report_pdf.address(here), "file": file})


@require_safe
@require_scope(Scope.REPORTS_READ)
def day_file(request: HttpRequest) -> HttpResponse:
    """Download the summary as CSV, with unrounded numbers as in the API; recorded in the audit trail."""
    by, at = principal_of(request), timezone.now()
    form, _the_day = _asked(request, by, at)
    selection = form.selection(by)
    if selection is None:
        return redirect(f"{reverse('report_day')}?{request.GET.urlencode()}")
    summary = daily_summary(by=by, selection=selection, at=at)
    return exported(
        request,
        f"report-day-{selection.first}",
        _table(summary),
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": list(summary.figures)},
    )


def _table(summary: Summary) -> list[list[object]]:
    """Return the summary as a table with the columns group, name, value, numerator and denominator."""
    figures = [[kpi_labels.kpi_title(one.kpi), *labels.file_cells(one)] for one in summary.figures.values()]
    counts: dict[str, list[tuple[str, int | None]]] = {
        _("Rides by status"): [(str(ride_labels.STATUSES[one].text), count) for one, count in summary.statuses.items()],
        _("Why rides ended"): [
            (": ".join(labels.count_labels(Count("reason", one.category, one.code))), one.amount)
            for one in summary.top_reasons
        ],
        _("What waits now, whatever the day"): _waiting(summary),
    }
    return [
        [_("What"), _("Figure"), _("Value"), _("numerator"), _("denominator")],
        *([_("Figures"), *row] for row in figures),
        *([about, name, _filed(count), "", ""] for about, rows in counts.items() for name, count in rows),
    ]


def _asked(request: HttpRequest, by: Principal, at: datetime) -> tuple[ReportFilter, str]:
    """Return the filter for one day, and this day as text; by default yesterday."""
    read = filters(by, at=at)
    asked = request.GET.copy()
    first = cast(ReportFilter, read(request.GET))
    the_day = request.GET.get("day") or (first.today - timedelta(days=1)).isoformat()
    for name, value in (("period", OWN), ("from", the_day), ("to", the_day)):
        asked[name] = value
    return cast(ReportFilter, read(asked)), the_day


def _told(summary: Summary, selection: Selection, asked: dict[str, str], kept: dict[str, str]) -> dict[str, Any]:
    links = labels.Links(asked)
    figures = summary.figures.values()
    return {
        **labels.data_status(selection, summary.restatements, summary.progress),
        "earlier": f"?{spelled({**kept, 'day': selection.first - timedelta(days=1)})}",
        "later": f"?{spelled({**kept, 'day': selection.first + timedelta(days=1)})}",
        "statuses": [
            (ride_labels.STATUSES[status], _said(count), links.count(Count("status", status), count))
            for status, count in summary.statuses.items()
            if count != 0
        ],
        "tiles": [
            {**labels.figure_context(one, links), "counted": labels.definition_context(one, links)} for one in figures
        ],
        "reasons": [counted_row("reason", one, links) for one in summary.top_reasons],
        "as_of": summary.now.as_of,
        "waiting": [(what, _said(count)) for what, count in _waiting(summary)],
    }


def _waiting(summary: Summary) -> list[tuple[str, int | None]]:
    now = summary.now
    return [
        (_("Without a driver, next 24 hours"), now.unassigned_next_24_hours),
        (_("Ready, and not yet reached"), now.will_calls_waiting),
        *(
            (_("Open exceptions: %(severity)s") % {"severity": ride_labels.SEVERITIES[one].text}, count)
            for one, count in now.open_exceptions.items()
        ),
    ]


def _filed(count: int | None) -> object:
    return _("Too few rides to show") if count is None else count


def _said(count: int | None) -> str:
    return _("Too few rides to show") if count is None else kpi_labels.format_count(count)
