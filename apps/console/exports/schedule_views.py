"""Pages of schedules that a user owns or receives, and of their runs."""

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

CREATE_SCOPES: Final = {
    ReportSchedule.Kind.REPORT.value: Scope.REPORTS_READ,
    ReportSchedule.Kind.EXPORT.value: Scope.EXPORTS_CREATE,
}
_VIEW_SCOPES: Final = (Scope.REPORTS_READ, Scope.EXPORTS_CREATE, Scope.USERS_MANAGE)


@require_safe
@require_scope(*_VIEW_SCOPES)
def schedules(request: HttpRequest) -> HttpResponse:
    """List schedules, newest first.  Four queries for any number of rows."""
    by = principal_of(request)
    page = newest_first(schedule_reports.schedules(by=by), request.GET.get("before", ""))
    last = schedule_reports.last_runs(page.rows)
    rows = [_schedule_context(row, by) | {"last": _run_context(last.get(row.pk))} for row in page.rows]
    context = {"rows": rows, "older": page.next, "kinds": _kinds(by)}
    return render(request, "reports/schedules.html", context)


@require_safe
@require_scope(*_VIEW_SCOPES)
def schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Show a schedule and its latest runs."""
    by = principal_of(request)
    item = _schedule(schedule_id, by)
    users = list(item.recipients.order_by("name", "pk"))
    base = _schedule_context(item, by)
    # Users with a limited data scope see only the number of the other recipients.
    visible = [user for user in users if user.pk == by.id or base["may_stop"] or not by.is_bound]
    context = base | {
        "recipients": visible,
        "other_count": len(users) - len(visible),
        "is_recipient": any(user.pk == by.id for user in users),
        "filters": schedule_reports.filter_texts(item.filters),
        "report_url": schedule_reports.report_url(item) if item.kind == ReportSchedule.Kind.REPORT else "",
        "runs": [_run_context(run) for run in schedule_reports.runs_of(item)],
    }
    return render(request, "reports/schedule.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.REPORTS_READ, Scope.EXPORTS_CREATE)
def add(request: HttpRequest, kind: str) -> HttpResponse:
    """Create a schedule; the query string has the report and its filters."""
    by, at = principal_of(request), timezone.now()
    if kind not in FORMS:
        raise Http404
    if not by.has_scope(CREATE_SCOPES[kind]):
        raise RightMissing(frozenset({CREATE_SCOPES[kind]}))
    initial = initial_from(request.GET, by=by, zone=zone_of(request), at=at)
    form = FORMS[kind](request.POST or None, by=by, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            new = services.create(request=form.schedule_request(), by=by, at=at)
        except DomainError as error:
            form.add_errors(error)
        else:
            messages.success(request, _("The schedule is saved."))
            return redirect("report_schedule", schedule_id=new.pk)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.REPORTS_READ, Scope.EXPORTS_CREATE)
def change(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """Change an own schedule."""
    by = principal_of(request)
    item = _schedule(schedule_id, by)
    if not item.is_of(by):
        raise NotFound(gettext_lazy("schedule"))
    current = schedule_validation.request_of(item)
    form = FORMS[item.kind](request.POST or None, by=by, current=current, initial={"version": item.version})
    if request.method == "POST" and form.is_valid():
        try:
            services.change(
                schedule_id=schedule_id,
                request=form.schedule_request(),
                expected_version=form.cleaned_data["version"],
                by=by,
                at=timezone.now(),
            )
        except DomainError as error:
            form.add_errors(error)
        else:
            messages.success(request, _("The schedule is saved."))
            return redirect("report_schedule", schedule_id=schedule_id)
    return _form(request, form, item)


def _button(success: Any) -> Callable[[Callable[..., Any]], Callable[..., HttpResponse]]:
    """Turn an action on a schedule into the view of a button, which shows `success` or the error."""

    def wrap(action: Callable[..., Any]) -> Callable[..., HttpResponse]:
        @require_POST
        @require_scope(*_VIEW_SCOPES)
        @wraps(action)
        def view(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
            try:
                action(principal_of(request), schedule_id)
            except NotFound:
                raise
            except DomainError as error:
                messages.error(request, error.message)
            else:
                messages.success(request, str(success))
            is_visible = ReportSchedule.objects.visible_to(principal_of(request)).filter(pk=schedule_id).exists()
            return redirect("report_schedule", schedule_id=schedule_id) if is_visible else redirect("report_schedules")

        return view

    return wrap


@_button(gettext_lazy("The schedule is paused."))
def pause(by: Principal, schedule_id: UUID) -> None:
    """Pause a schedule."""
    services.pause(schedule_id=schedule_id, by=by, at=timezone.now())


@_button(gettext_lazy("The schedule is active again."))
def resume(by: Principal, schedule_id: UUID) -> None:
    """Resume a schedule."""
    services.resume(schedule_id=schedule_id, by=by, at=timezone.now())


@_button(gettext_lazy("The run has started."))
def run_now(by: Principal, schedule_id: UUID) -> None:
    """Start a run now."""
    services.run_now(schedule_id=schedule_id, by=by, at=timezone.now())


@_button(gettext_lazy("The schedule is removed."))
def remove(by: Principal, schedule_id: UUID) -> None:
    """Delete a schedule."""
    services.remove(schedule_id=schedule_id, by=by, at=timezone.now())


@_button(gettext_lazy("You are unsubscribed."))
def unsubscribe(by: Principal, schedule_id: UUID) -> None:
    """Remove the user from the recipients."""
    services.unsubscribe(schedule_id=schedule_id, by=by)


@require_POST
@require_scope(Scope.EXPORTS_CREATE)
def fetch(request: HttpRequest, schedule_id: UUID, export_id: UUID) -> HttpResponse:
    """Download the file of a run by a link that works once; rider data requires a recent sign-in."""
    by = principal_of(request)
    if not ScheduleRun.objects.visible_to(by).filter(schedule_id=schedule_id, export_id=export_id).exists():
        raise NotFound(gettext_lazy("export"))
    try:
        secret = downloads.link(export_id=export_id, by=by, at=timezone.now(), reauthenticated=is_proven(request))
    except RecentLoginRequired:
        return to_proof("report_schedule", schedule_id=schedule_id)
    except NotFound:
        raise
    except DomainError as error:
        messages.error(request, error.message)
        return redirect("report_schedule", schedule_id=schedule_id)
    return redirect(f"/api/exports/files/{secret}")


def _schedule(schedule_id: UUID, by: Principal) -> ReportSchedule:
    item = schedule_reports.schedules(by=by).filter(pk=schedule_id).first()
    if item is None:
        raise NotFound(gettext_lazy("schedule"))
    return item


def _schedule_context(schedule: ReportSchedule, by: Principal) -> dict[str, Any]:
    is_own = schedule.is_of(by)
    return {
        "schedule": schedule,
        "content": labels.schedule_content(schedule),
        "cadence": labels.schedule_cadence(schedule),
        "covers": labels.schedule_period(schedule),
        "pause_reason": labels.pause_reason(schedule),
        "is_own": is_own,
        "may_stop": is_own or by.has_scope(Scope.USERS_MANAGE),
    }


def _run_context(run: ScheduleRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    is_ready = run.export is not None and run.export.state == Export.State.READY
    return {"run": run, "badge": labels.run_badge(run), "is_ready": is_ready}


def _kinds(by: Principal) -> list[str]:
    return [kind for kind, scope in CREATE_SCOPES.items() if by.has_scope(scope)]


def _form(request: HttpRequest, form: Any, schedule: ReportSchedule | None = None) -> HttpResponse:
    context = {"form": form, "schedule": schedule, "kind": form.kind, "back": reverse("report_schedules")}
    return render(request, "reports/schedule_form.html", context, status=UNPROCESSABLE if form.errors else 200)
