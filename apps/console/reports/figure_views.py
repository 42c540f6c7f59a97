"""One figure: how it went over the period, as a chart and as a table, and why rides ended as they did."""

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
from apps.console.reports import papers, steps, words
from apps.console.reports.charts import Chart, chart_of
from apps.console.reports.drawing import pictures
from apps.console.reports.forms import ReportFilter, filters
from apps.console.reports.heat import heat
from apps.console.reports.standing import standing
from apps.reporting.queries.behind import Count
from apps.reporting.queries.breakdowns import Counted, breakdown
from apps.reporting.queries.reports import FEWEST_LINES, MOST_LINES, Trend, facility_kpis, trends
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.defining import Definition
from apps.reporting.rules.definitions import BY_KEY
from apps.reporting.rules.steps import TIMES
from lib.access import Principal
from lib.errors import InvalidInput
from lib.listing import spelled
from lib.scopes import Scope

EACH: Final = "facility"  # as addresses say that facilities are followed one by one
# What explains a figure: why rides ended, or which exceptions there were.
_OF_ENDINGS: Final = ("fulfillmentRate", "completionRate", "providerFailureRate", "noShowRate", "lateCancelRate")
_OF_EXCEPTIONS: Final = ("exceptionRate", "mtta", "mttr", "incidentRate")
_BREAKDOWNS: Final[Mapping[str, str | Promise]] = {
    "reason": gettext_lazy("Why rides ended"),
    "fault": gettext_lazy("Whose doing it was"),
    "exception_type": gettext_lazy("Which exceptions there were"),
}


@require_safe
@require_scope(Scope.REPORTS_READ)
def figure(request: HttpRequest, key: str) -> HttpResponse:
    """Show a figure with its trend, on a page or on paper.  As many queries for any number of days."""
    by, at, definition = principal_of(request), timezone.now(), _found(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    along, each = _along(request), request.GET.get("each") == EACH
    selection = form.selection(by)
    known = form.known()
    asked = {**known, "by": along, "each": EACH if each else ""}
    context: dict[str, Any] = {
        "form": form,
        "title": words.title_of(definition),
        "key": key,
        "along": along,
        "each": EACH if each else "",
        "alongs": [
            (name, label, f"?{spelled({**asked, 'by': name, 'each': asked['each'] if name in TIMES else ''})}")
            for name, label in steps.ALONG.items()
        ],
        "here": reverse("report_figure", args=[key]),
        "back": _with(reverse("reports"), known),
    }
    trend = selection and _trend(form, definition, selection, along, each, by)
    if not selection or not trend:
        return render(request, "reports/figure.html", context)
    context |= _told(definition, selection, trend, known, by)
    if along in TIMES and FEWEST_LINES <= len(selection.facility_ids or ()) <= MOST_LINES:
        context["eachs"] = [
            (_("All together"), f"?{spelled({**asked, 'each': ''})}", not each),
            (_("Each facility"), f"?{spelled({**asked, 'each': EACH})}", each),
        ]
    if papers.asked(request):
        drawn = [] if context["heat"] else pictures(chart_of(definition, trend))
        details = {"figures": [key], "by": along}
        return papers.report(
            request, "figure", {**context, "pictures": drawn}, name=f"report-{key}", at=at, details=details
        )
    page = spelled(asked)
    return render(
        request,
        "reports/figure.html",
        {**context, "file": _with(reverse("report_figure_file", args=[key]), asked), "paper": papers.address(page)},
    )


@require_safe
@require_scope(Scope.REPORTS_READ)
def figure_file(request: HttpRequest, key: str) -> HttpResponse:
    """Give the table of the trend as a file, and leave a row in the trail."""
    by, at, definition = principal_of(request), timezone.now(), _found(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    along, each = _along(request), request.GET.get("each") == EACH
    selection = form.selection(by)
    trend = selection and _trend(form, definition, selection, along, each, by)
    if not selection or not trend:
        return redirect(f"{reverse('report_figure', args=[key])}?{request.GET.urlencode()}")
    return exported(
        request,
        f"report-{key}-{selection.first}-{selection.last}",
        _table(definition, trend),
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": [key], "by": along},
    )


def _table(definition: Definition, trend: Trend) -> list[list[object]]:
    """Write the trend as a table: all together, what is left out by reason, then each facility that was asked for."""
    lines = [{point.key: point.figures[definition.key] for point in line.points} for line in trend.lines]
    heads: list[object] = [
        steps.ALONG[trend.by],
        *words.cell_heads(definition),
        *words.left_out_heads(definition),
        *(head for line in trend.lines for head in words.cell_heads(definition, of=line.name)),
    ]
    rows = [
        [
            steps.label(trend.by, point.key, trend.names),
            *words.cells(point.figures[definition.key]),
            *words.left_out(point.figures[definition.key]),
            *(cell for line in lines for cell in words.cells(line.get(point.key))),
        ]
        for point in trend.points
    ]
    return [heads, *rows]


def _found(key: str) -> Definition:
    if key not in BY_KEY:
        raise Http404
    return BY_KEY[key]


def _along(request: HttpRequest) -> str:
    asked = request.GET.get("by", "")
    return asked if asked in steps.ALONG else "day"


def _with(page: str, asked: Mapping[str, str]) -> str:
    return f"{page}?{spelled(asked)}" if asked else page


def _trend(
    form: ReportFilter, definition: Definition, selection: Selection, along: str, each: bool, by: Principal
) -> Trend | None:
    """Read a trend; None where it cannot be told for this filter, which the form says then."""
    try:
        return trends(by=by, selection=selection, definitions=[definition], along=along, each=each)
    except InvalidInput as refusal:
        form.refuse(refusal)
        return None


def _told(
    definition: Definition, selection: Selection, trend: Trend, asked: dict[str, str], by: Principal
) -> dict[str, Any]:
    key = definition.key
    report = facility_kpis(by=by, selection=selection, definitions=[definition])
    address = words.Address(asked)
    before = report.total_before[key]
    is_heat = trend.by == "weekday_hour"
    chart = None if is_heat else chart_of(definition, trend)
    return {
        **standing(selection, trend.restatements, trend.progress),
        "before_period": selection.before(),
        "total": words.shown(report.total[key], address),
        "before": words.value_said(definition, before.value),
        "before_of": words.parts_said(before),
        "counted": words.counted(report.total[key], address),
        "rows": list(_rows(definition, trend, selection, address)),
        "lines": [line.name for line in trend.lines],
        "heat": heat(trend.points, key, address) if is_heat else None,
        "chart": chart and chart.data(),
        "legend": _legend(chart) if chart and trend.lines else [],
        "breakdowns": _breakdowns(key, selection, by, address),
    }


def _rows(
    definition: Definition, trend: Trend, selection: Selection, address: words.Address
) -> Iterator[dict[str, Any]]:
    """Show each step, and each facility in it, None where it has no rides."""
    key = definition.key
    lines = [(line.facility_id, {one.key: one.figures[key] for one in line.points}) for line in trend.lines]
    for point in trend.points:
        changes = steps.narrowed(trend.by, point.key, selection)
        opens = None if changes is None else address
        changes = changes or {}
        yield {
            "label": steps.label(trend.by, point.key, trend.names),
            **words.shown(point.figures[key], opens, **changes),
            "each": [
                words.shown(found[point.key], opens, **changes, facility=facility) if point.key in found else None
                for facility, found in lines
            ],
        }


def _legend(chart: Chart) -> list[dict[str, Any]]:
    return [{"name": one.name, "look": one.look} for one in chart.series]


def _breakdowns(key: str, selection: Selection, by: Principal, address: words.Address) -> list[dict[str, Any]]:
    wanted = ("reason", "fault") if key in _OF_ENDINGS else ("exception_type",) if key in _OF_EXCEPTIONS else ()
    return [
        {
            "title": _BREAKDOWNS[what],
            "rows": [counted_row(what, one, address) for one in breakdown(by=by, selection=selection, what=what)],
        }
        for what in wanted
    ]


def counted_row(what: str, one: Counted, address: words.Address) -> tuple[str, str, str, str]:
    """Say how it ended or how bad it was, the reason, and how many; then where these rides are."""
    ended, why = words.count_words(Count(what, one.word, one.code))
    amount = _("Too few rides to show") if one.amount is None else str(one.amount)
    return ended, why, amount, address.count(Count(what, one.word, one.code), one.amount)
