"""What drivers and vehicles have done: a row for each, and each one's days; the same as a file and on paper."""

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
from apps.console.reports import papers, words
from apps.console.reports.forms import WorkFilter, filters
from apps.fleet.models import Driver, Vehicle
from apps.reporting.queries import reading
from apps.reporting.queries import utilisation as work
from apps.reporting.queries.utilisation import WORKERS, Done, Work
from apps.rides.naming import driver_name, unnamed
from lib.access import Phi, Principal
from lib.listing import spelled
from lib.replica import alias
from lib.scopes import Scope

OF: Final[Mapping[str, str | Promise]] = {
    "driver": gettext_lazy("Drivers"),
    "vehicle": gettext_lazy("Vehicles"),
}
ONE: Final[Mapping[str, str | Promise]] = {
    "driver": gettext_lazy("Driver"),
    "vehicle": gettext_lazy("Vehicle"),
}


@require_safe
@require_scope(Scope.REPORTS_READ)
def utilisation(request: HttpRequest) -> HttpResponse:
    """Show the work of each driver or vehicle, the busiest first.  As many queries for any number of them."""
    by, at, of = principal_of(request), timezone.now(), _of(request)
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, most_days=work.MOST_DAYS)
    known = form.known()
    context: dict[str, Any] = {
        "form": form,
        "of": of,
        "one": ONE[of],
        "ofs": _ofs(of, known),
        "here": reverse("report_work"),
    }
    context["back"] = f"{reverse('reports')}?{spelled(known)}"
    if selection is None:
        return render(request, "reports/work.html", context)
    context["as_of"] = reading.known_until()
    found = work.utilisation(by=by, selection=selection, of=of)
    names = _names(of, [one.id for one in found], by)
    asked = {**known, "of": of}
    context["selection"] = selection
    context["rows"] = [
        {
            "name": names[one.id],
            "url": f"{reverse('report_worker', args=[of, one.id])}?{spelled(known)}",
            **_shown(one.done),
            "last": one.last_date if one.done else None,
            "day": _day_url(by, of, one.id, one.last_date) if one.done else "",
        }
        for one in found
    ]
    if papers.asked(request):
        return papers.report(
            request, "work", context, name=f"work-{of}", at=at, details={"figures": [f"work of {of}s"]}
        )
    context["file"] = f"{reverse('report_work_file')}?{spelled(asked)}"
    return render(request, "reports/work.html", {**context, "paper": papers.address(spelled(asked))})


@require_safe
@require_scope(Scope.REPORTS_READ)
def utilisation_file(request: HttpRequest) -> HttpResponse:
    """Give the table as a file, its numbers as the API gives them, and leave a row in the trail."""
    by, at, of = principal_of(request), timezone.now(), _of(request)
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, most_days=work.MOST_DAYS)
    if selection is None:
        return redirect(f"{reverse('report_work')}?{request.GET.urlencode()}")
    found = work.utilisation(by=by, selection=selection, of=of)
    names = _names(of, [one.id for one in found], by)
    heads = [
        ONE[of], _("Rides"), _("Minutes busy"), _("Minutes on board"), _("Minutes on shift"), _("Miles"),
        _("Share of the shift"), _("Last day"),
    ]  # fmt: skip
    return exported(
        request,
        f"report-work-{of}-{selection.first}-{selection.last}",
        [heads, *([names[one.id], *_filed(one)] for one in found)],
        action="reports.export",
        subject_type="report",
        at=at,
        details={"figures": [f"work of {of}s"]},
    )


@require_safe
@require_scope(Scope.REPORTS_READ)
def worker(request: HttpRequest, of: str, worker_id: UUID) -> HttpResponse:
    """Show the days of one driver or vehicle; one without a ride in reach is not there."""
    if of not in WORKERS:
        raise Http404
    by, at = principal_of(request), timezone.now()
    form = cast(WorkFilter, filters(by, at=at, form=WorkFilter)(request.GET))
    selection = form.selection(by, most_days=work.MOST_DAYS)
    context: dict[str, Any] = {
        "form": form,
        "of": of,
        "back": f"{reverse('report_work')}?{spelled({**form.known(), 'of': of})}",
    }
    if selection is None:
        return render(request, "reports/worker.html", context)
    context["as_of"] = reading.known_until()
    found = work.days_of(by=by, selection=selection, of=of, worker_id=worker_id)
    if not found:
        raise Http404
    context |= {
        "selection": selection,
        "name": _names(of, [worker_id], by)[worker_id],
        "rows": [{"date": one.date, **_shown(one.done), "day": _day_url(by, of, worker_id, one.date)} for one in found],
    }
    return render(request, "reports/worker.html", context)


def _of(request: HttpRequest) -> str:
    asked = request.GET.get("of", "")
    return asked if asked in WORKERS else WORKERS[0]


def _ofs(of: str, known: Mapping[str, str]) -> list[tuple[str | Promise, str, bool]]:
    return [(label, f"?{spelled({**known, 'of': one})}", one == of) for one, label in OF.items()]


def _names(of: str, ids: Iterable[UUID], by: Principal) -> dict[UUID, str]:
    """Name drivers as the reader may know them, and vehicles by what is written on them.  One query at the most.

    Who sees nobody's identity and no fleet, as analysts, is told ends of ids, as their exports have ids alone.
    """
    if by.phi <= Phi.NONE and not by.has_scope(Scope.DRIVERS_READ):
        return {one: unnamed(one) for one in ids}
    if of == "driver":
        drivers = Driver.objects.using(alias()).select_related("default_vehicle").filter(pk__in=ids)
        return {one.pk: driver_name(one, by) for one in drivers}
    vehicles = Vehicle.objects.using(alias()).filter(pk__in=ids)
    return {one.pk: f"{one.unit_number}, {one.license_plate}" for one in vehicles}


def _day_url(by: Principal, of: str, worker_id: UUID, day: date) -> str:
    """Write where a driver's day is on the board, for who works there."""
    if of != "driver" or not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        return ""
    return f"{reverse('board_run', args=[worker_id])}?day={day}"


def _shown(done: Done | None) -> dict[str, Any]:
    if done is None:
        return {"hidden": _("Too few rides to show")}
    return {
        "rides": words.count_said(done.rides),
        "busy": words.duration_said(done.minutes_busy),
        "on_board": words.duration_said(done.minutes_on_board),
        "on_shift": words.DASH if done.minutes_on_shift is None else words.duration_said(done.minutes_on_shift),
        "miles": words.miles_said(done.miles),
        "share": words.share_said(done.share_busy),
    }


def _filed(one: Work) -> list[object]:
    done = one.done
    if done is None:
        return [_("Too few rides to show"), "", "", "", "", "", ""]
    share = "" if done.share_busy is None else done.share_busy
    on_shift = "" if done.minutes_on_shift is None else done.minutes_on_shift
    return [
        done.rides,
        done.minutes_busy,
        done.minutes_on_board,
        on_shift,
        done.miles,
        share,
        one.last_date.isoformat(),
    ]
