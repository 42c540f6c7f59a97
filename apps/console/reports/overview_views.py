"""Overview of reports: the main KPIs of a period as tiles and by facility, then all others; also CSV and PDF."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.console.kit.list_export import exported
from apps.console.kit.lists import Filters, arranged, views_of
from apps.console.kit.rights import require_scope
from apps.console.kit.svg_charts import spark_line
from apps.console.reports import labels, report_pdf
from apps.console.reports.forms import ReportFilter, filters
from apps.console.reports.trend_buckets import BUCKET_LABELS
from apps.reporting import kpi_labels
from apps.reporting.kpi_labels import MAIN_KPIS
from apps.reporting.queries.reports import FacilityReport, FacilityRow, Figures, facility_kpis, trend_points
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY, Kpi
from lib.access import Principal
from lib.listing import DOWN, Listing, spelled
from lib.scopes import Scope

NAME: Final = "name"
LIST: Final = Listing(
    "reports",
    sorts={NAME: gettext_lazy("Facility"), **{f"{DOWN}{key}": title for key, title in MAIN_KPIS.items()}},
    sizes=(),
)


_SPARK_DAYS: Final = {"day": 42, "week": 200}  # the longest period of a sparkline with these buckets


@require_safe
@require_scope(Scope.REPORTS_READ)
def overview(request: HttpRequest) -> HttpResponse:
    """Show the KPIs of a period and of the period before.  The number of queries is independent of the facilities."""
    by, at = principal_of(request), timezone.now()
    form_for = filters(by, at=at)
    form = cast(ReportFilter, form_for(request.GET))
    selection = form.selection(by)
    list_state = arranged(request, LIST, form.parameters())
    context: dict[str, Any] = {"form": form, "shown": list_state, "filtered": bool(form.parameters())}
    context |= views_of(request, list_state, form_for)
    if selection is None:
        return render(request, "reports/overview.html", context)
    report = facility_kpis(by=by, selection=selection)
    context |= _report_context(report, selection, list_state.filters, list_state.sort)
    if report_pdf.is_requested(request):
        keys = [*MAIN_KPIS, *(kpi.key for kpi in ALL_KPIS if kpi.key not in MAIN_KPIS)]
        return report_pdf.report(request, "overview", context, name="reports", at=at, details={"figures": keys})
    sparklines = _sparklines(by, selection)
    context["tiles"] = [{**tile, "spark": sparklines[tile["figure"].kpi.key]} for tile in context["tiles"]]
    return render(request, "reports/overview.html", {**context, "pdf": report_pdf.address(list_state.query)})


@require_safe
@require_scope(Scope.REPORTS_READ)
def overview_file(request: HttpRequest) -> HttpResponse:
    """Download the table as CSV, with unrounded values as in the API; recorded in the audit trail."""
    by, at = principal_of(request), timezone.now()
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    selection = form.selection(by)
    if selection is None:
        return redirect(f"{reverse('reports')}?{request.GET.urlencode()}")
    kpis = [KPI_BY_KEY[key] for key in MAIN_KPIS]
    report = facility_kpis(by=by, selection=selection, kpis=kpis, compared=False)
    rows = [
        [_name(row), *_file_cells(row.figures)] for row in in_order(report.rows, LIST.sort(request.GET.get("sort", "")))
    ]
    total = [_("Total"), *_file_cells(report.total)]
    heads = [head for write in (labels.file_headings, labels.exclusion_headings) for kpi in kpis for head in write(kpi)]
    return exported(
        request,
        f"reports-{selection.first}-{selection.last}",
        [[_("Facility"), *heads], *rows, total],
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": list(MAIN_KPIS)},
    )


def _file_cells(figures: Figures) -> list[object]:
    """Return the KPIs as cells of a file; exclusions come last, so that earlier columns keep their positions."""
    return [
        cell
        for write in (labels.file_cells, labels.exclusion_cells)
        for key in MAIN_KPIS
        for cell in write(figures[key])
    ]


def view_filters(by: Principal) -> Filters:
    """Return the factory of the filter forms for saved views.  Two queries."""
    return filters(by, at=timezone.now())


def in_order(rows: Sequence[FacilityRow], sort: str) -> list[FacilityRow]:
    """Sort by name or by a KPI; facilities without a value come last in both directions."""
    key, down = sort.removeprefix(DOWN), sort.startswith(DOWN)
    if key == NAME:
        return sorted(rows, key=lambda row: row.name.lower(), reverse=down)
    with_value = [row for row in rows if row.figures[key].value is not None]
    without_value = [row for row in rows if row.figures[key].value is None]
    return [*sorted(with_value, key=partial(_value, key), reverse=down), *without_value]


def _value(key: str, row: FacilityRow) -> float:
    return row.figures[key].value or 0


def _name(row: FacilityRow) -> str:
    return row.name if row.facility_id else _("Rides without a facility")


def _report_context(report: FacilityReport, selection: Selection, filter_values: Any, sort: str) -> dict[str, Any]:
    links = labels.Links(filter_values)
    parameters = {**filter_values}
    tiles = {key: _figure(report, key, links, parameters) for key in (kpi.key for kpi in ALL_KPIS)}
    return {
        **labels.data_status(selection, report.restatements, report.progress),
        "before": selection.before(),
        "before_name": kpi_labels.previous_period(selection.days),
        "tiles": [tiles[key] for key in MAIN_KPIS],
        "others": [tile for key, tile in tiles.items() if key not in MAIN_KPIS],
        "rows": [
            {"name": _name(row), "cells": _cells(row.figures, links, row.facility_id)}
            for row in in_order(report.rows, sort)
        ],
        "total": [labels.figure_context(report.total[key], links) for key in MAIN_KPIS],
        "heads": list(MAIN_KPIS),
        "work": f"{reverse('report_utilization')}?{spelled(parameters)}",
        "file": f"{reverse('reports_file')}?{spelled({**parameters, 'sort': sort})}",
    }


def _sparklines(by: Principal, selection: Selection) -> dict[str, SafeString]:
    """Return a small line for each main KPI, by day, or in a long period by week or month.  One query."""
    bucket_by = next((bucket for bucket, days in _SPARK_DAYS.items() if selection.days <= days), "month")
    kpis = [KPI_BY_KEY[key] for key in MAIN_KPIS]
    points = trend_points(by=by, selection=selection, kpis=kpis, bucket_by=bucket_by)
    return {kpi.key: _sparkline(kpi, [point.figures[kpi.key].value for point in points], bucket_by) for kpi in kpis}


def _sparkline(kpi: Kpi, values: Sequence[float | None], bucket_by: str) -> SafeString:
    known = [value for value in values if value is not None]
    if not known:
        return SafeString()
    lowest, highest, latest = (kpi_labels.format_value(kpi, value) for value in (min(known), max(known), known[-1]))
    label = _("%(buckets)s: lowest %(lowest)s, highest %(highest)s, latest %(latest)s") % {
        "buckets": BUCKET_LABELS[bucket_by],
        "lowest": lowest,
        "highest": highest,
        "latest": latest,
    }
    return spark_line(values, label=label)


def _figure(report: FacilityReport, key: str, links: labels.Links, parameters: dict[str, str]) -> dict[str, Any]:
    figure, before = report.total[key], report.total_before[key]
    context = labels.figure_context(figure, links)
    return {
        **context,
        "page": f"{context['page']}?{spelled(parameters)}" if parameters else context["page"],
        "before": kpi_labels.format_value(figure.kpi, before.value),
        "before_of": kpi_labels.format_ratio(before),
        "better": _better(figure.kpi.higher_is_better, figure.value, before.value),
        "counted": labels.definition_context(figure, links),
    }


def _better(higher: bool | None, now: float | None, before: float | None) -> str:
    """Return whether a KPI has improved: "better", "worse", or "" if unchanged or not comparable."""
    if higher is None or now is None or before is None or now == before:
        return ""
    return "better" if (now > before) == higher else "worse"


def _cells(figures: Any, links: labels.Links, facility_id: UUID | None) -> list[dict[str, Any]]:
    """Return the cells of one row; no page lists the rides without a facility, so they have no links."""
    changes = {"facility": facility_id} if facility_id else {}
    return [labels.figure_context(figures[key], links if facility_id else None, **changes) for key in MAIN_KPIS]
