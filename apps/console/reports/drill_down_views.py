"""Drill-down: the rides behind a KPI or count, page by page; riders are named only to users who may see names."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.lists import arranged
from apps.console.kit.rights import require_scope
from apps.console.reports import labels
from apps.console.reports.forms import ReportFilter, filters
from apps.console.ride import labels as ride_labels
from apps.reporting import kpi_labels
from apps.reporting.kpi_labels import EXCLUSION_TEXTS, KPI_TEXTS
from apps.reporting.queries import drill_down, freshness
from apps.reporting.queries.drill_down import DrillDownRide, rides_behind
from apps.reporting.rules.kpis import KPI_BY_KEY, Kpi, KpiMethod, Names
from apps.riders.labels import may_name, rider_name
from apps.rides.models import Ride
from lib.access import Principal
from lib.console_forms import ListFilter
from lib.errors import InvalidInput
from lib.ids import uuid_or_none
from lib.listing import Listing, spelled
from lib.replica import alias
from lib.scopes import Scope

LIST: Final = Listing("report_rides", sorts={}, size=50)
COUNTED: Final = {
    "denominator": _("All rides"),
    "numerator": _("Counted rides"),
    "excluded": _("Excluded rides"),
}


class PointFilter(ListFilter):
    """Filters of the drill-down: which rides of a KPI or count, and which bucket of a trend."""

    counted = forms.ChoiceField(required=False, choices=[("", ""), *COUNTED.items()])
    reason = forms.CharField(required=False, max_length=60)
    part = forms.CharField(required=False, max_length=60)
    dimension = forms.ChoiceField(
        required=False, choices=[("", ""), *((value, value) for value in drill_down.DIMENSIONS)]
    )
    category = forms.CharField(required=False, max_length=20)
    code = forms.CharField(required=False, max_length=60)
    weekday = forms.IntegerField(required=False, min_value=1, max_value=7)
    hour = forms.IntegerField(required=False, min_value=0, max_value=23)
    pattern = forms.ChoiceField(
        required=False, choices=[("", ""), *((value, value) for value in ("mwf", "tts", "other"))]
    )
    shift = forms.ChoiceField(
        required=False, choices=[("", ""), *((value, value) for value in ("first", "second", "third"))]
    )

    def bucket(self) -> dict[str, object]:
        """Return the valid filters that select one bucket of a trend; invalid values are ignored."""
        values = {name: self.cleaned_data.get(name) for name in drill_down.BUCKET_FILTERS}
        return {name: value for name, value in values.items() if value not in (None, "")}

    def texts(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.bucket().items()}


@require_safe
@require_scope(Scope.REPORTS_READ)
def rides(request: HttpRequest, key: str) -> HttpResponse:
    """List the rides behind a KPI; named riders are recorded.  The number of queries is independent of the rides."""
    if key not in KPI_BY_KEY:
        raise Http404
    kpi = KPI_BY_KEY[key]
    form, point = _forms_of(request)
    counted = point.cleaned_data.get("counted") or "denominator"
    reason = point.cleaned_data.get("reason") if counted == "excluded" else None
    part = point.cleaned_data.get("part") or None
    try:
        measures = drill_down.measures_behind(kpi, counted, reason, part)
    except InvalidInput:
        raise Http404 from None  # the KPI has no such part or exclusion
    parameters = {**form.parameters(), "counted": counted, "reason": reason, "part": part, **point.texts()}
    context = {
        "form": form,
        "title": kpi_labels.kpi_title(kpi),
        "counted": COUNTED[counted],
        "kinds": [(label, f"?{spelled({**parameters, 'reason': '', 'counted': role})}", role == counted)
                  for role, label in COUNTED.items() if role != "excluded"],
        "back": (f"{reverse('report_figure', args=[key])}?{spelled(form.parameters())}", kpi_labels.kpi_title(kpi)),
        "description": _rides_text(kpi, counted, reason, part),
    }  # fmt: skip
    details = {"figure": key, "counted": counted} | ({"part": part} if part else {})
    numerator = drill_down.numerator_of(kpi, part)
    return _list(request, context, DrillDownQuery(details, parameters, measures, numerator, bucket=point.bucket()))


@require_safe
@require_scope(Scope.REPORTS_READ)
def counted_rides(request: HttpRequest) -> HttpResponse:
    """List the rides of a count: by status, reason, fault or exception type.  Otherwise as `rides`."""
    form, point = _forms_of(request)
    values = point.cleaned_data
    try:
        count = drill_down.count_of(
            values.get("dimension") or "status", values.get("category"), values.get("code") or None
        )
    except InvalidInput:
        raise Http404 from None
    word, code = labels.count_labels(count)
    title = f"{word}, {code}" if code else word
    details = {"dimension": count.dimension, "category": count.category, "code": count.code}
    context = {"form": form, "title": title, "kinds": [], "back": _back(form), "description": title}
    return _list(
        request,
        context,
        DrillDownQuery(details, {**form.parameters(), **details, **point.texts()}, count=count, bucket=point.bucket()),
    )


@dataclass(frozen=True, slots=True)
class DrillDownQuery:
    """The rides that a page lists, the details of its audit entry, and the parameters of its URLs."""

    details: dict[str, str]
    parameters: Mapping[str, str | None]
    measures: Names = ()
    numerator: Names = ()  # measures of the numerator
    count: drill_down.Count | None = None
    bucket: Mapping[str, object] = field(default_factory=dict)


def _forms_of(request: HttpRequest) -> tuple[ReportFilter, PointFilter]:
    point = PointFilter(request.GET)
    point.is_valid()  # invalid filters are ignored
    return cast(ReportFilter, filters(principal_of(request), at=timezone.now())(request.GET)), point


def _back(form: ReportFilter) -> tuple[str, Any]:
    """Return URL and label of the back link: the summary of the day, or the overview of the period."""
    parameters = form.parameters()
    if parameters.get("from") and parameters.get("from") == parameters.get("to"):
        day_parameters = {name: value for name, value in parameters.items() if name not in ("period", "from", "to")}
        return f"{reverse('report_day')}?{spelled({**day_parameters, 'day': parameters['from']})}", _("Daily summary")
    return f"{reverse('reports')}?{spelled(parameters)}", _("Overview")


def _list(request: HttpRequest, context: dict[str, Any], query: DrillDownQuery) -> HttpResponse:
    by = principal_of(request)
    form: ReportFilter = context["form"]
    bucket = query.bucket
    list_state = arranged(request, LIST, {name: value for name, value in query.parameters.items() if value})
    context["shown"] = list_state
    selection = form.selection(by, max_days=drill_down.MAX_DAYS)
    if selection is None:
        return render(request, "reports/rides.html", context)
    as_of = freshness.rides_known_until()
    result = rides_behind(
        by=by,
        selection=selection,
        measures=query.measures,
        numerator=query.numerator,
        count=query.count,
        after=_after(list_state.after, by),
        limit=list_state.rows,
        bucket=bucket,
    )
    rows = _rows(result.rows, query.numerator, by)
    context |= {
        "selection": selection,
        "as_of": as_of,
        "in_bucket": bool(bucket),
        "rows": rows,
        "suppressed": result.suppressed,
        "next": str(result.rows[-1].ride_id) if result.has_more else "",
        "named": may_name(by),
        "has_minutes": any(row["minutes"] for row in rows),
        "says_counted": query.count is None,
    }
    record_read(
        by=by,
        action="reports.rides",
        subject_type="ride",
        rider_ids=[row["rider_id"] for row in rows] if may_name(by) else [],
        phi=may_name(by),
        details={**query.details, "rows": len(rows)},
    )
    return render(request, "reports/rides.html", context)


def _after(text: str, by: Principal) -> tuple[Any, UUID] | None:
    """Return pickup and id of the ride after which a page starts; links contain only the id."""
    ride_id = uuid_or_none(text)
    rides_ = Ride.objects.using(alias()).visible_to(by)
    at = rides_.filter(pk=ride_id).values_list("pickup_at", flat=True).first() if ride_id else None
    return None if at is None or ride_id is None else (at, ride_id)


def _rides_text(kpi: Kpi, counted: str, reason: str | None, part: str | None) -> str:
    if reason:
        return str(EXCLUSION_TEXTS[reason])
    if part:
        return str(KPI_TEXTS[kpi.key].parts[part])
    is_counted = counted == "numerator" or kpi.method is KpiMethod.QUANTILE
    text = KPI_TEXTS[kpi.key]
    return str(text.counted if is_counted else text.population)


def _rows(listed: list[DrillDownRide], counts: Collection[str], by: Principal) -> list[dict[str, Any]]:
    """Return the rows for templates; reads the rides for their names and places, in one query."""
    rides_ = Ride.objects.using(alias()).visible_to(by).select_related("rider", "facility")
    by_id = {ride.pk: ride for ride in rides_.filter(pk__in=[entry.ride_id for entry in listed])}
    opens = by.has_scope(Scope.RIDES_READ)
    return [
        {
            "ride": by_id[entry.ride_id],
            "rider_id": by_id[entry.ride_id].rider_id,
            "end": str(entry.ride_id)[-8:],
            "url": reverse("ride_page", args=[entry.ride_id]) if opens else "",
            "name": rider_name(by_id[entry.ride_id].rider, by),
            "day": entry.service_date,
            "badge": ride_labels.STATUSES[entry.status],
            "counts": any(name in counts for name in entry.measures),
            "minutes": ", ".join(map(str, entry.minutes)),
        }
        for entry in listed
        if entry.ride_id in by_id
    ]
