"""Schedules of reports and exports: those that one keeps and those that one is sent, and what became of each run."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.sessions import principal_of, zone_of
from apps.console.exports import labels
from apps.console.exports.schedule_forms import FORMS, initial_from
from apps.console.kit.rights import UNPROCESSABLE, RightMissing, is_proven, require_scope, to_proof
from apps.exports.models import Export, ReportSchedule, ScheduleRun
from apps.exports.queries import schedule_reports
from apps.exports.services import downloads, schedule_validation
from apps.exports.services import schedules as services
from apps.exports.services.downloads import RecentLoginRequired
from lib.access import Principal
from lib.errors import DomainError, NotFound
from lib.pagination import newest_first
from lib.scopes import Scope

MAY_MAKE: Final = {
    ReportSchedule.Kind.REPORT.value: Scope.REPORTS_READ,
    ReportSchedule.Kind.EXPORT.value: Scope.EXPORTS_CREATE,
}
_SEES: Final = (Scope.REPORTS_READ, Scope.EXPORTS_CREATE, Scope.USERS_MANAGE)


@require_safe
@require_scope(*_SEES)
def schedules(request: HttpRequest) -> HttpResponse:
    """List schedules, newest first.  Four queries, however many there are."""
    by = principal_of(request)
    page = newest_first(schedule_reports.schedules(by=by), request.GET.get("before", ""))
    last = schedule_reports.last_runs(page.rows)
    rows = [_shown(row, by) | {"last": _run(last.get(row.pk))} for row in page.rows]
    context = {"rows": rows, "older": page.next, "kinds": _kinds(by)}
    return render(request, "reports/schedules.html", context)


@require_safe
@require_scope(*_SEES)
def schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Show a schedule and its latest runs."""
    by = principal_of(request)
    found = _found(schedule_id, by)
    people = list(found.recipients.order_by("name", "pk"))
    shown = _shown(found, by)
    # Whoever is bound to places is told of people elsewhere how many there are.
    named = [one for one in people if one.pk == by.id or shown["may_stop"] or not by.is_bound]
    context = shown | {
        "people": named,
        "others": len(people) - len(named),
        "gets_it": any(one.pk == by.id for one in people),
        "narrowed_to": schedule_reports.narrowed_to(found.filters),
        "page": schedule_reports.address_of(found) if found.kind == ReportSchedule.Kind.REPORT else "",
        "runs": [_run(one) for one in schedule_reports.runs_of(found)],
    }
    return render(request, "reports/schedule.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.REPORTS_READ, Scope.EXPORTS_CREATE)
def add(request: HttpRequest, kind: str) -> HttpResponse:
    """Keep another schedule; the address says which report, and its filter, it begins with."""
    by, at = principal_of(request), timezone.now()
    if kind not in FORMS:
        raise Http404
    if not by.has_scope(MAY_MAKE[kind]):
        raise RightMissing(frozenset({MAY_MAKE[kind]}))
    initial = initial_from(request.GET, by=by, zone=zone_of(request), at=at)
    form = FORMS[kind](request.POST or None, by=by, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            made = services.create(request=form.schedule_request(), by=by, at=at)
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The schedule is saved."))
            return redirect("report_schedule", schedule_id=made.pk)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.REPORTS_READ, Scope.EXPORTS_CREATE)
def change(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Make a schedule of one's own another one."""
    by = principal_of(request)
    found = _found(schedule_id, by)
    if not found.is_of(by):
        raise NotFound(gettext_lazy("schedule"))
    was = schedule_validation.request_of(found)
    form = FORMS[found.kind](request.POST or None, by=by, was=was, initial={"version": found.version})
    if request.method == "POST" and form.is_valid():
        try:
            services.change(
                schedule_id=schedule_id,
                request=form.schedule_request(),
                expected_version=form.cleaned_data["version"],
                by=by,
                at=timezone.now(),
            )
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The schedule is saved."))
            return redirect("report_schedule", schedule_id=schedule_id)
    return _form(request, form, found)


def _acts(done: Any) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Make a view of what is done to a schedule by one button; a refusal is said on its page."""

    def wrap(act: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @require_POST
        @require_scope(*_SEES)
        @wraps(act)
        def view(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
            try:
                act(principal_of(request), schedule_id)
            except NotFound:
                raise
            except DomainError as refusal:
                messages.error(request, refusal.message)
            else:
                messages.success(request, str(done))
            there = ReportSchedule.objects.visible_to(principal_of(request)).filter(pk=schedule_id).exists()
            return redirect("report_schedule", schedule_id=schedule_id) if there else redirect("report_schedules")

        return view

    return wrap


@_acts(gettext_lazy("The schedule rests."))
def pause(by: Principal, schedule_id: UUID) -> None:
    """Let a schedule rest."""
    services.pause(schedule_id=schedule_id, by=by, at=timezone.now())


@_acts(gettext_lazy("The schedule goes on."))
def resume(by: Principal, schedule_id: UUID) -> None:
    """Let a schedule go on."""
    services.resume(schedule_id=schedule_id, by=by, at=timezone.now())


@_acts(gettext_lazy("It is being made."))
def run_now(by: Principal, schedule_id: UUID) -> None:
    """Make it once now."""
    services.run_now(schedule_id=schedule_id, by=by, at=timezone.now())


@_acts(gettext_lazy("The schedule is removed."))
def remove(by: Principal, schedule_id: UUID) -> None:
    """Take a schedule away."""
    services.remove(schedule_id=schedule_id, by=by, at=timezone.now())


@_acts(gettext_lazy("You are sent no more of it."))
def unsubscribe(by: Principal, schedule_id: UUID) -> None:
    """Have no more of it sent to oneself."""
    services.unsubscribe(schedule_id=schedule_id, by=by)


@require_POST
@require_scope(Scope.EXPORTS_CREATE)
def fetch(request: HttpRequest, schedule_id: UUID, export_id: UUID) -> HttpResponse:
    """Hand the file of a run over, by a link that works once; who they are is asked first where riders are named."""
    by = principal_of(request)
    if not ScheduleRun.objects.visible_to(by).filter(schedule_id=schedule_id, export_id=export_id).exists():
        raise NotFound(gettext_lazy("export"))
    try:
        secret = downloads.link(export_id=export_id, by=by, at=timezone.now(), reauthenticated=is_proven(request))
    except RecentLoginRequired:
        return to_proof("report_schedule", schedule_id=schedule_id)
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
        return redirect("report_schedule", schedule_id=schedule_id)
    return redirect(f"/api/exports/files/{secret}")


def _found(schedule_id: UUID, by: Principal) -> ReportSchedule:
    found = schedule_reports.schedules(by=by).filter(pk=schedule_id).first()
    if found is None:
        raise NotFound(gettext_lazy("schedule"))
    return found


def _shown(schedule: ReportSchedule, by: Principal) -> dict[str, Any]:
    own = schedule.is_of(by)
    return {
        "schedule": schedule,
        "what": labels.schedule_content(schedule),
        "when": labels.schedule_cadence(schedule),
        "covers": labels.schedule_period(schedule),
        "pause_reason": labels.pause_reason(schedule),
        "own": own,
        "may_stop": own or by.has_scope(Scope.USERS_MANAGE),
    }


def _run(run: ScheduleRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    ready = run.export is not None and run.export.state == Export.State.READY
    return {"run": run, "state": labels.run_badge(run), "ready": ready}


def _kinds(by: Principal) -> list[str]:
    return [kind for kind, scope in MAY_MAKE.items() if by.has_scope(scope)]


def _form(request: HttpRequest, form: Any, schedule: ReportSchedule | None = None) -> HttpResponse:
    context = {"form": form, "schedule": schedule, "kind": form.kind, "back": reverse("report_schedules")}
    return render(request, "reports/schedule_form.html", context, status=UNPROCESSABLE if form.errors else 200)
