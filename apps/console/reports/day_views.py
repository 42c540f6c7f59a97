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

_DAY_FIELDS: Final = ("period", "from", "to")


@require_safe
@require_scope(Scope.REPORTS_READ)
def day(request: HttpRequest) -> HttpResponse:
    """Show the summary of a day, by default of yesterday.  The number of queries is independent of the rides."""
    by, at = principal_of(request), timezone.now()
    form, the_day = _filter_for_day(request, by, at)
    selection = form.selection(by)
    parameters = {name: value for name, value in form.parameters().items() if name not in _DAY_FIELDS}
    fields = [field for field in form if field.name not in _DAY_FIELDS]
    context: dict[str, Any] = {"form": form, "day": the_day if selection else "", "fields": fields}
    if selection is None:
        return render(request, "reports/day.html", context)
    summary = daily_summary(by=by, selection=selection, at=at)
    context |= _summary_context(summary, selection, form.parameters(), parameters)
    if report_pdf.is_requested(request):
        return report_pdf.report(request, "day", context, name="day", at=at, details={"figures": list(summary.figures)})
    query = spelled({**parameters, "day": selection.first})
    file = f"{reverse('report_day_file')}?{query}"
    return render(request, "reports/day.html", {**context, "pdf": report_pdf.address(query), "file": file})


@require_safe
@require_scope(Scope.REPORTS_READ)
def day_file(request: HttpRequest) -> HttpResponse:
    """Download the summary as CSV, with unrounded numbers as in the API; recorded in the audit trail."""
    by, at = principal_of(request), timezone.now()
    form, _the_day = _filter_for_day(request, by, at)
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
    figures = [[kpi_labels.kpi_title(figure.kpi), *labels.file_cells(figure)] for figure in summary.figures.values()]
    counts: dict[str, list[tuple[str, int | None]]] = {
        _("Rides by status"): [
            (str(ride_labels.STATUSES[status].text), count) for status, count in summary.statuses.items()
        ],
        _("Why rides ended"): [
            (": ".join(labels.count_labels(Count("reason", reason.category, reason.code))), reason.amount)
            for reason in summary.top_reasons
        ],
        _("Open work now, for any day"): _waiting(summary),
    }
    return [
        [_("What"), _("Figure"), _("Value"), _("numerator"), _("denominator")],
        *([_("Figures"), *row] for row in figures),
        *([group, name, _file_count(count), "", ""] for group, rows in counts.items() for name, count in rows),
    ]


def _filter_for_day(request: HttpRequest, by: Principal, at: datetime) -> tuple[ReportFilter, str]:
    """Return the filter for one day, and this day as text; by default yesterday."""
    form_for = filters(by, at=at)
    query = request.GET.copy()
    submitted = cast(ReportFilter, form_for(request.GET))
    the_day = request.GET.get("day") or (submitted.today - timedelta(days=1)).isoformat()
    for name, value in (("period", OWN), ("from", the_day), ("to", the_day)):
        query[name] = value
    return cast(ReportFilter, form_for(query)), the_day


def _summary_context(
    summary: Summary, selection: Selection, parameters: dict[str, str], day_parameters: dict[str, str]
) -> dict[str, Any]:
    links = labels.Links(parameters)
    figures = summary.figures.values()
    return {
        **labels.data_status(selection, summary.restatements, summary.progress),
        "earlier": f"?{spelled({**day_parameters, 'day': selection.first - timedelta(days=1)})}",
        "later": f"?{spelled({**day_parameters, 'day': selection.first + timedelta(days=1)})}",
        "statuses": [
            (ride_labels.STATUSES[status], _count_text(count), links.count(Count("status", status), count))
            for status, count in summary.statuses.items()
            if count != 0
        ],
        "tiles": [
            {**labels.figure_context(figure, links), "counted": labels.definition_context(figure, links)}
            for figure in figures
        ],
        "reasons": [counted_row("reason", reason, links) for reason in summary.top_reasons],
        "as_of": summary.now.as_of,
        "waiting": [(label, _count_text(count)) for label, count in _waiting(summary)],
    }


def _waiting(summary: Summary) -> list[tuple[str, int | None]]:
    now = summary.now
    return [
        (_("Unassigned, next 24 hours"), now.unassigned_next_24_hours),
        (_("Ready, waiting for a vehicle"), now.will_calls_waiting),
        *(
            (_("Open exceptions: %(severity)s") % {"severity": ride_labels.SEVERITIES[severity].text}, count)
            for severity, count in now.open_exceptions.items()
        ),
    ]


def _file_count(count: int | None) -> object:
    return _("Too few rides to show") if count is None else count


def _count_text(count: int | None) -> str:
    return _("Too few rides to show") if count is None else kpi_labels.format_count(count)
