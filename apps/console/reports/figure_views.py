"""One KPI: its trend over the period as chart and table, and breakdowns by reason, fault or exception type."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.console.kit.list_export import exported
from apps.console.kit.rights import require_scope
from apps.console.kit.svg_charts import Chart, draw, line_key
from apps.console.reports import labels, report_pdf, trend_buckets
from apps.console.reports.charts import chart_of, heat_table
from apps.console.reports.forms import ReportFilter, filters
from apps.reporting import kpi_labels
from apps.reporting.queries.breakdowns import CategoryCount, breakdown
from apps.reporting.queries.drill_down import Count
from apps.reporting.queries.reports import MAX_LINES, MIN_LINES, Trend, facility_kpis, trends
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.kpis import KPI_BY_KEY, Kpi
from apps.reporting.rules.trend_buckets import TIMES
from lib.access import Principal
from lib.errors import InvalidInput
from lib.listing import spelled
from lib.scopes import Scope

EACH: Final = "facility"  # value of the URL parameter `each` for one line per facility
# KPIs that breakdowns explain: by reason and fault, or by exception type.
_OF_ENDINGS: Final = ("fulfillmentRate", "completionRate", "providerFailureRate", "noShowRate", "lateCancelRate")
_OF_EXCEPTIONS: Final = ("exceptionRate", "mtta", "mttr", "incidentRate")
_BREAKDOWNS: Final[Mapping[str, str | Promise]] = {
    "reason": gettext_lazy("Why rides ended"),
    "fault": gettext_lazy("Who was at fault"),
    "exception_type": gettext_lazy("Exceptions by type"),
}


@require_safe
@require_scope(Scope.REPORTS_READ)
def figure(request: HttpRequest, key: str) -> HttpResponse:
    """Show a KPI with its trend, as a page or PDF.  The number of queries is independent of the days."""
    by, at, kpi = principal_of(request), timezone.now(), _kpi_of(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    bucket_by, each = _bucket_by(request), request.GET.get("each") == EACH
    selection = form.selection(by)
    parameters = form.parameters()
    page_query = {**parameters, "by": bucket_by, "each": EACH if each else ""}
    context: dict[str, Any] = {
        "form": form,
        "title": kpi_labels.kpi_title(kpi),
        "key": key,
        "bucket_by": bucket_by,
        "each": EACH if each else "",
        "bucket_choices": [
            (
                name,
                label,
                f"?{spelled({**page_query, 'by': name, 'each': page_query['each'] if name in TIMES else ''})}",
            )
            for name, label in trend_buckets.BUCKET_LABELS.items()
        ],
        "clear_url": reverse("report_figure", args=[key]),
        "back": _with_query(reverse("reports"), parameters),
    }
    trend = selection and _trend(form, kpi, selection, bucket_by, each, by)
    if not selection or not trend:
        return render(request, "reports/figure.html", context)
    context |= _trend_context(kpi, selection, trend, parameters, by)
    if bucket_by in TIMES and MIN_LINES <= len(selection.facility_ids or ()) <= MAX_LINES:
        context["line_choices"] = [
            (_("Total"), f"?{spelled({**page_query, 'each': ''})}", not each),
            (_("Each facility"), f"?{spelled({**page_query, 'each': EACH})}", each),
        ]
    if report_pdf.is_requested(request):
        drawn = [] if context["heat"] else draw(chart_of(kpi, trend))
        details = {"figures": [key], "by": bucket_by}
        return report_pdf.report(
            request, "figure", {**context, "drawings": drawn}, name=f"report-{key}", at=at, details=details
        )
    page = spelled(page_query)
    return render(
        request,
        "reports/figure.html",
        {
            **context,
            "file": _with_query(reverse("report_figure_file", args=[key]), page_query),
            "pdf": report_pdf.address(page),
        },
    )


@require_safe
@require_scope(Scope.REPORTS_READ)
def figure_file(request: HttpRequest, key: str) -> HttpResponse:
    """Download the table of the trend as CSV; recorded in the audit trail."""
    by, at, kpi = principal_of(request), timezone.now(), _kpi_of(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    bucket_by, each = _bucket_by(request), request.GET.get("each") == EACH
    selection = form.selection(by)
    trend = selection and _trend(form, kpi, selection, bucket_by, each, by)
    if not selection or not trend:
        return redirect(f"{reverse('report_figure', args=[key])}?{request.GET.urlencode()}")
    return exported(
        request,
        f"report-{key}-{selection.first}-{selection.last}",
        _table(kpi, trend),
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": [key], "by": bucket_by},
    )


def _table(kpi: Kpi, trend: Trend) -> list[list[object]]:
    """Return the trend as a table: the total, its exclusions by reason, then each selected facility."""
    lines = [{point.key: point.figures[kpi.key] for point in line.points} for line in trend.lines]
    heads: list[object] = [
        trend_buckets.BUCKET_LABELS[trend.by],
        *labels.file_headings(kpi),
        *labels.exclusion_headings(kpi),
        *(head for line in trend.lines for head in labels.file_headings(kpi, of=line.name)),
    ]
    rows = [
        [
            trend_buckets.file_label(trend.by, point.key, trend.names),
            *labels.file_cells(point.figures[kpi.key]),
            *labels.exclusion_cells(point.figures[kpi.key]),
            *(cell for line in lines for cell in labels.file_cells(line.get(point.key))),
        ]
        for point in trend.points
    ]
    return [heads, *rows]


def _kpi_of(key: str) -> Kpi:
    if key not in KPI_BY_KEY:
        raise Http404
    return KPI_BY_KEY[key]


def _bucket_by(request: HttpRequest) -> str:
    bucket_by = request.GET.get("by", "")
    return bucket_by if bucket_by in trend_buckets.BUCKET_LABELS else "day"


def _with_query(page: str, parameters: Mapping[str, str]) -> str:
    return f"{page}?{spelled(parameters)}" if parameters else page


def _trend(
    form: ReportFilter, kpi: Kpi, selection: Selection, bucket_by: str, each: bool, by: Principal
) -> Trend | None:
    """Return a trend; None if it is not available for this filter: the form then has an error."""
    try:
        return trends(by=by, selection=selection, kpis=[kpi], bucket_by=bucket_by, each=each)
    except InvalidInput as refusal:
        form.refuse(refusal)
        return None


def _trend_context(
    kpi: Kpi, selection: Selection, trend: Trend, parameters: dict[str, str], by: Principal
) -> dict[str, Any]:
    key = kpi.key
    report = facility_kpis(by=by, selection=selection, kpis=[kpi])
    links = labels.Links(parameters)
    before = report.total_before[key]
    is_heat = trend.by == "weekday_hour"
    chart = None if is_heat else chart_of(kpi, trend)
    return {
        **labels.data_status(selection, trend.restatements, trend.progress),
        "before_period": selection.before(),
        "before_name": kpi_labels.previous_period(selection.days),
        "total": labels.figure_context(report.total[key], links),
        "before": kpi_labels.format_value(kpi, before.value),
        "before_of": kpi_labels.format_ratio(before),
        "counted": labels.definition_context(report.total[key], links),
        "rows": list(_rows(kpi, trend, selection, links)),
        "lines": [line.name for line in trend.lines],
        "heat": heat_table(trend.points, key, links) if is_heat else None,
        "chart": chart and chart.data(),
        "legend": _legend(chart) if chart and trend.lines else [],
        "breakdowns": _breakdowns(key, selection, by, links),
    }


def _rows(kpi: Kpi, trend: Trend, selection: Selection, links: labels.Links) -> Iterator[dict[str, Any]]:
    """Yield a row per bucket, with a value per facility, None if it has no rides in the bucket."""
    key = kpi.key
    lines = [
        (line.facility_id, {line_point.key: line_point.figures[key] for line_point in line.points})
        for line in trend.lines
    ]
    for point in trend.points:
        changes = trend_buckets.bucket_parameters(trend.by, point.key, selection)
        opens = None if changes is None else links
        changes = changes or {}
        yield {
            "label": trend_buckets.label(trend.by, point.key, trend.names),
            **labels.figure_context(point.figures[key], opens, **changes),
            "each": [
                labels.figure_context(points[point.key], opens, **changes, facility=facility)
                if point.key in points
                else None
                for facility, points in lines
            ],
        }


def _legend(chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "name": series.name,
            "token": series.style.token,
            "key": line_key(series.style, ink="currentColor"),
            "pdf_key": line_key(series.style, ink=series.style.ink),
        }
        for series in chart.series
    ]


def _breakdowns(key: str, selection: Selection, by: Principal, links: labels.Links) -> list[dict[str, Any]]:
    dimensions = ("reason", "fault") if key in _OF_ENDINGS else ("exception_type",) if key in _OF_EXCEPTIONS else ()
    return [
        {
            "title": _BREAKDOWNS[dimension],
            "rows": [
                counted_row(dimension, row, links) for row in breakdown(by=by, selection=selection, dimension=dimension)
            ],
        }
        for dimension in dimensions
    ]


def counted_row(dimension: str, row: CategoryCount, links: labels.Links) -> tuple[str, str, str, str]:
    """Return status or severity, reason, number of rides, and the URL of these rides."""
    ended, why = labels.count_labels(Count(dimension, row.category, row.code))
    amount = _("Too few rides to show") if row.amount is None else str(row.amount)
    return ended, why, amount, links.count(Count(dimension, row.category, row.code), row.amount)
