"""One figure: how it went over the period, as a chart and as a table, and why rides ended as they did."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from apps.accounts.console.exports import exported
from apps.accounts.console.rights import needs
from apps.accounts.sessions import principal_of
from apps.reporting.console import words
from apps.reporting.console.forms import ReportFilter, filters
from apps.reporting.console.heat import heat
from apps.reporting.defining import Definition, Unit
from apps.reporting.definitions import BY_KEY
from apps.reporting.queries.breakdowns import Counted, breakdown
from apps.reporting.queries.reports import Point, Trend, facility_kpis, trends
from apps.reporting.queries.selection import Selection
from apps.rides.console import words as ride_words
from apps.rides.next_steps import ADVICE
from apps.rides.reason_words import Reason
from apps.rides.reasons import Fault
from lib.access import Principal
from lib.errors import InvalidInput
from lib.listing import spelled
from lib.scopes import Scope

ALONG: Final[Mapping[str, str | Promise]] = {
    "day": gettext_lazy("By day"),
    "week": gettext_lazy("By week"),
    "month": gettext_lazy("By month"),
    "weekday_hour": gettext_lazy("By weekday and hour"),
    "pattern": gettext_lazy("By dialysis days"),
    "shift": gettext_lazy("By chair shift"),
}
PATTERNS: Final[Mapping[str, str | Promise]] = {
    "mwf": gettext_lazy("Monday, Wednesday, Friday"),
    "tts": gettext_lazy("Tuesday, Thursday, Saturday"),
    "other": gettext_lazy("Other days"),
}
SHIFTS: Final[Mapping[str, str | Promise]] = {
    "first": gettext_lazy("First shift"),
    "second": gettext_lazy("Second shift"),
    "third": gettext_lazy("Third shift"),
}
_LARGE_SHARE: Final = 0.5
# What explains a figure: why rides ended, or which exceptions there were.
_OF_ENDINGS: Final = ("fulfillmentRate", "completionRate", "providerFailureRate", "noShowRate", "lateCancelRate")
_OF_EXCEPTIONS: Final = ("exceptionRate", "mtta", "mttr", "incidentRate")
_BREAKDOWNS: Final[Mapping[str, str | Promise]] = {
    "reason": gettext_lazy("Why rides ended"),
    "fault": gettext_lazy("Whose doing it was"),
    "exception_type": gettext_lazy("Which exceptions there were"),
}


@require_safe
@needs(Scope.REPORTS_READ)
def figure(request: HttpRequest, key: str) -> HttpResponse:
    """Show a figure with its trend.  As many queries for any number of days."""
    by, at, definition = principal_of(request), timezone.now(), _found(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    along = _along(request)
    selection = form.selection(by)
    context: dict[str, Any] = {
        "form": form,
        "title": words.title_of(definition),
        "key": key,
        "along": along,
        "alongs": [(name, label, f"?{spelled({**form.known(), 'by': name})}") for name, label in ALONG.items()],
        "here": reverse("report_figure", args=[key]),
        "back": _with(reverse("reports"), form.known()),
    }
    trend = selection and _trend(form, definition, selection, along, by)
    if selection and trend:
        context |= _told(definition, selection, trend, form.known(), by)
    return render(request, "reports/figure.html", context)


@require_safe
@needs(Scope.REPORTS_READ)
def figure_file(request: HttpRequest, key: str) -> HttpResponse:
    """Give the table of the trend as a file, and leave a row in the trail."""
    by, at, definition = principal_of(request), timezone.now(), _found(key)
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    along = _along(request)
    selection = form.selection(by)
    trend = selection and _trend(form, definition, selection, along, by)
    if not selection or not trend:
        return redirect(f"{reverse('report_figure', args=[key])}?{request.GET.urlencode()}")
    rows = [[_label(along, point.key), *words.cells(point.figures[key])] for point in trend.points]
    return exported(
        request,
        f"report-{key}-{selection.first}-{selection.last}",
        [[ALONG[along], *words.cell_heads(definition)], *rows],
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": [key], "by": along},
    )


def _found(key: str) -> Definition:
    if key not in BY_KEY:
        raise Http404
    return BY_KEY[key]


def _along(request: HttpRequest) -> str:
    asked = request.GET.get("by", "")
    return asked if asked in ALONG else "day"


def _with(page: str, asked: Mapping[str, str]) -> str:
    return f"{page}?{spelled(asked)}" if asked else page


def _trend(form: ReportFilter, definition: Definition, selection: Selection, along: str, by: Principal) -> Trend | None:
    """Read a trend; None where it cannot be told for this filter, which the form says then."""
    try:
        return trends(by=by, selection=selection, definitions=[definition], along=along)
    except InvalidInput as refusal:
        form.refuse(refusal)
        return None


def _told(
    definition: Definition, selection: Selection, trend: Trend, asked: dict[str, str], by: Principal
) -> dict[str, Any]:
    key = definition.key
    report = facility_kpis(by=by, selection=selection, definitions=[definition])
    address = words.Address(asked)
    rows = [
        {
            "label": _label(trend.by, point.key),
            **words.shown(point.figures[key], address, **_narrowed(trend.by, point.key, selection)),
        }
        for point in trend.points
    ]
    before = report.total_before[key]
    return {
        "selection": selection,
        "before_period": selection.before(),
        "total": words.shown(report.total[key], address),
        "before": words.value_said(definition, before.value),
        "before_of": words.parts_said(before),
        "counted": words.counted(report.total[key], address),
        "rows": rows,
        "heat": heat(trend.points, key, address) if trend.by == "weekday_hour" else None,
        "chart": None if trend.by == "weekday_hour" else _chart(definition, trend),
        "breakdowns": _breakdowns(key, selection, by),
        "restatements": trend.restatements,
        "restated_rides": len({ride for one in trend.restatements for ride in one.ride_ids}),
        "progress": trend.progress,
        "file": _with(reverse("report_figure_file", args=[key]), {**asked, "by": trend.by}),
    }


def _label(along: str, key: Sequence[Any]) -> str:
    match along:
        case "day":
            return f"{WEEKDAYS_ABBR[key[0].weekday()]} {key[0].isoformat()}"
        case "week":
            return _("Week of %(day)s") % {"day": key[0].isoformat()}
        case "month":
            return capfirst(date_format(key[0], "F Y"))
        case "weekday_hour":
            return f"{WEEKDAYS[key[0] - 1]} {key[1]:02d}:00"
        case "pattern":
            return str(PATTERNS[key[0]])
    return str(SHIFTS[key[0]])


def _narrowed(along: str, key: Sequence[Any], selection: Selection) -> dict[str, object]:
    """Say what an address of rides asks for besides, so that it opens one point alone."""
    if along in ("day", "week", "month"):
        first, last = _span(along, key[0])
        return {"period": "own", "from": max(first, selection.first), "to": min(last, selection.last)}
    if along == "weekday_hour":
        # Addresses leave out what is empty, and 0 is an hour.
        return {"weekday": key[0], "hour": str(key[1])}
    return {along: key[0]}


def _span(along: str, first: date) -> tuple[date, date]:
    if along == "month":
        return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first, first + timedelta(days=6 if along == "week" else 0)


def _chart(definition: Definition, trend: Trend) -> dict[str, Any]:
    """Give the chart what it draws; shares are percents there."""
    times = 100 if definition.unit is Unit.SHARE else 1
    figures = [point.figures[definition.key] for point in trend.points]
    largest = max((one.value for one in figures if one.value is not None), default=0)
    return {
        "labels": [_label(trend.by, point.key) for point in trend.points],
        "short": [_short(trend.by, point) for point in trend.points],
        "values": [None if one.value is None else round(times * one.value, 2) for one in figures],
        "said": [f"{words.value_said(definition, one.value)}, {words.parts_said(one)}" for one in figures],
        "title": words.title_of(definition),
        "unit": "%" if definition.unit is Unit.SHARE else str(words.UNITS[definition.unit]),
        "line": trend.by in ("day", "week", "month") and len(figures) > 1,
        # Small shares would lie on the ground of an axis up to 100.
        "most": 100 if definition.unit is Unit.SHARE and largest > _LARGE_SHARE else None,
    }


def _short(along: str, point: Point) -> str:
    return date_format(point.key[0], "j M") if along in ("day", "week") else _label(along, point.key)


def _breakdowns(key: str, selection: Selection, by: Principal) -> list[dict[str, Any]]:
    wanted = ("reason", "fault") if key in _OF_ENDINGS else ("exception_type",) if key in _OF_EXCEPTIONS else ()
    return [
        {
            "title": _BREAKDOWNS[what],
            "rows": [counted_row(what, one) for one in breakdown(by=by, selection=selection, what=what)],
        }
        for what in wanted
    ]


def counted_row(what: str, one: Counted) -> tuple[str, str, str]:
    """Say how it ended or how bad it was, the reason, and how many."""
    if what == "exception_type":
        ended, why = ride_words.SEVERITIES[one.word].text, ADVICE[one.code].title
    else:
        ended = ride_words.STATUSES[one.word].text
        labels = Fault if what == "fault" else Reason
        # A reason of the operator's own that is gone has no built-in one that it counts as.
        why = labels(one.code).label if one.code in labels else one.code
    amount = _("Too few rides to show") if one.amount is None else str(one.amount)
    return str(ended), capfirst(str(why)), amount
