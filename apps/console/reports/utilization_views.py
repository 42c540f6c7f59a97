"""Utilization of drivers and vehicles: a row per driver or vehicle, and a page with its days; also CSV and PDF."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final, cast
from uuid import UUID

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
from apps.console.reports import report_pdf
from apps.console.reports.forms import WorkFilter, filters
from apps.fleet.models import Driver, Vehicle
from apps.reporting import kpi_labels
from apps.reporting.queries import freshness
from apps.reporting.queries import utilization as queries
from apps.reporting.queries.utilization import WORKERS, Work, WorkerUtilization
from apps.rides.labels import driver_name, unnamed
from lib.access import Phi, Principal
from lib.listing import spelled
from lib.replica import alias
from lib.scopes import Scope

PLURAL_LABELS: Final[Mapping[str, str | Promise]] = {
    "driver": gettext_lazy("Drivers"),
    "vehicle": gettext_lazy("Vehicles"),
}
SINGULAR_LABELS: Final[Mapping[str, str | Promise]] = {
    "driver": gettext_lazy("Driver"),
    "vehicle": gettext_lazy("Vehicle"),
}


@require_safe
@require_scope(Scope.REPORTS_READ)
def utilization(request: HttpRequest) -> HttpResponse:
    """Show the utilization of each driver or vehicle, busiest first.  The number of queries is constant."""
    by, at, of = principal_of(request), timezone.now(), _kind(request)
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, max_days=queries.MAX_DAYS)
    parameters = form.parameters()
    context: dict[str, Any] = {
        "form": form,
        "of": of,
        "worker_label": SINGULAR_LABELS[of],
        "kind_choices": _kind_choices(of, parameters),
        "clear_url": reverse("report_utilization"),
    }
    context["back"] = f"{reverse('reports')}?{spelled(parameters)}"
    if selection is None:
        return render(request, "reports/utilization.html", context)
    context["as_of"] = freshness.rides_known_until()
    workers = queries.by_worker(by=by, selection=selection, of=of)
    names = _names(of, [row.id for row in workers], by)
    query = {**parameters, "of": of}
    context["selection"] = selection
    context["rows"] = [
        {
            "name": names[row.id],
            "url": f"{reverse('report_worker', args=[of, row.id])}?{spelled(parameters)}",
            **_amounts(row.work),
            "last": row.last_date if row.work else None,
            "day": _day_url(by, of, row.id, row.last_date) if row.work else "",
        }
        for row in workers
    ]
    if report_pdf.is_requested(request):
        return report_pdf.report(
            request, "utilization", context, name=f"work-{of}", at=at, details={"figures": [f"work of {of}s"]}
        )
    context["file"] = f"{reverse('report_utilization_file')}?{spelled(query)}"
    return render(request, "reports/utilization.html", {**context, "pdf": report_pdf.address(spelled(query))})


@require_safe
@require_scope(Scope.REPORTS_READ)
def utilization_file(request: HttpRequest) -> HttpResponse:
    """Download the table as CSV, with unrounded numbers as in the API; recorded in the audit trail."""
    by, at, of = principal_of(request), timezone.now(), _kind(request)
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, max_days=queries.MAX_DAYS)
    if selection is None:
        return redirect(f"{reverse('report_utilization')}?{request.GET.urlencode()}")
    workers = queries.by_worker(by=by, selection=selection, of=of)
    names = _names(of, [row.id for row in workers], by)
    heads = [
        SINGULAR_LABELS[of], _("Rides"), _("Minutes in service"), _("Minutes on board"), _("Minutes on shift"),
        _("Miles"), _("Utilization"), _("Last active day"),
    ]  # fmt: skip
    return exported(
        request,
        f"report-work-{of}-{selection.first}-{selection.last}",
        [heads, *([names[row.id], *_file_row(row)] for row in workers)],
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": [f"work of {of}s"]},
    )


@require_safe
@require_scope(Scope.REPORTS_READ)
def worker(request: HttpRequest, of: str, worker_id: UUID) -> HttpResponse:
    """Show the days of one driver or vehicle; Http404 if it has no rides that are visible to the user."""
    if of not in WORKERS:
        raise Http404
    by, at = principal_of(request), timezone.now()
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, max_days=queries.MAX_DAYS)
    context: dict[str, Any] = {
        "form": form,
        "of": of,
        "back": f"{reverse('report_utilization')}?{spelled({**form.parameters(), 'of': of})}",
    }
    if selection is None:
        return render(request, "reports/utilization_days.html", context)
    context["as_of"] = freshness.rides_known_until()
    days = queries.by_day(by=by, selection=selection, of=of, worker_id=worker_id)
    if not days:
        raise Http404
    context |= {
        "selection": selection,
        "name": _names(of, [worker_id], by)[worker_id],
        "rows": [
            {"date": day.date, **_amounts(day.work), "day": _day_url(by, of, worker_id, day.date)} for day in days
        ],
    }
    return render(request, "reports/utilization_days.html", context)


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("of", "")
    return kind if kind in WORKERS else WORKERS[0]


def _kind_choices(of: str, parameters: Mapping[str, str]) -> list[tuple[str | Promise, str, bool]]:
    return [(label, f"?{spelled({**parameters, 'of': kind})}", kind == of) for kind, label in PLURAL_LABELS.items()]


def _names(of: str, ids: Iterable[UUID], by: Principal) -> dict[UUID, str]:
    """Return driver names as far as the user may see them, and numbers and plates of vehicles.  At most one query.

    Users who may see neither identities nor the fleet, such as analysts, see the ends of ids: their exports have only
    ids.
    """
    if by.phi <= Phi.NONE and not by.has_scope(Scope.DRIVERS_READ):
        return {worker_id: unnamed(worker_id) for worker_id in ids}
    if of == "driver":
        drivers = Driver.objects.using(alias()).select_related("default_vehicle").filter(pk__in=ids)
        return {driver.pk: driver_name(driver, by) for driver in drivers}
    vehicles = Vehicle.objects.using(alias()).filter(pk__in=ids)
    return {vehicle.pk: f"{vehicle.unit_number}, {vehicle.license_plate}" for vehicle in vehicles}


def _day_url(by: Principal, of: str, worker_id: UUID, day: date) -> str:
    """Return the URL of a driver's day on the board; "" for vehicles and for users without access to the board."""
    if of != "driver" or not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        return ""
    return f"{reverse('board_run', args=[worker_id])}?day={day}"


def _amounts(work: Work | None) -> dict[str, Any]:
    if work is None:
        return {"hidden": _("Too few rides to show")}
    return {
        "rides": kpi_labels.format_count(work.rides),
        "busy": kpi_labels.format_duration(work.minutes_busy),
        "on_board": kpi_labels.format_duration(work.minutes_on_board),
        "on_shift": kpi_labels.DASH
        if work.minutes_on_shift is None
        else kpi_labels.format_duration(work.minutes_on_shift),
        "miles": kpi_labels.format_miles(work.miles),
        "share": kpi_labels.format_share(work.share_busy),
    }


def _file_row(row: WorkerUtilization) -> list[object]:
    work = row.work
    if work is None:
        return [_("Too few rides to show"), "", "", "", "", "", ""]
    return [
        work.rides,
        work.minutes_busy,
        work.minutes_on_board,
        "" if work.minutes_on_shift is None else work.minutes_on_shift,
        work.miles,
        "" if work.share_busy is None else work.share_busy,
        row.last_date.isoformat(),
    ]
