"""The exceptions desk: the queue, one exception with its actions, and the history."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.board import counters
from apps.console.exceptions.forms import HISTORY, QUEUE, CloseForm, HistoryFilter, NoteForm, QueueFilter, SnoozeForm
from apps.console.kit.lists import Filters, arranged, views_of
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.console.ride import ride_panel
from apps.console.ride.ride_forms import Versioned
from apps.organizations.models import Facility
from apps.organizations.queries import contacts_of
from apps.riders import labels as rider_labels
from apps.rides import labels
from apps.rides.labels import ADVICE
from apps.rides.models import Ride, RideException
from apps.rides.queries import day_counts, exception_queue
from apps.rides.queries.exception_causes import Cause, causes_of, rides_of, types_without_driver
from apps.rides.rules.exception_types import ExceptionType
from lib.access import Phi, Principal
from lib.scopes import Scope

CONFLICT = 409


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def queue(request: HttpRequest) -> HttpResponse:
    """Show open exceptions, the next harm first.  The number of queries is independent of the rows."""
    by = principal_of(request)
    filters = queue_filters(by)
    list_context = listing(request, filters)
    context = list_context | views_of(request, list_context["shown"], filters)
    context["counts"] = [
        (ride_labels.SEVERITIES[severity], severity.value, n) for severity, n in day_counts.unsettled_exceptions(by=by)
    ]
    context["counters"] = counters.strip(request)
    return render(request, "rides/exceptions.html", context)


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def queue_part(request: HttpRequest) -> HttpResponse:
    """Render only the list, which the page fetches after a change."""
    return render(request, "rides/exceptions_list.html", listing(request))


def queue_filters(by: Principal) -> Filters:
    """Return the factory of the queue's filter forms.  One query, for any number of forms."""
    return partial(QueueFilter, facilities=_facilities(by))


def history_filters(by: Principal) -> Filters:
    """Return the factory of the history's filter forms.  One query, for any number of forms."""
    return partial(HistoryFilter, facilities=_facilities(by))


def listing(request: HttpRequest, filters: Filters | None = None) -> dict[str, Any]:
    """Return the template context of the requested page of the queue, and record the read in the audit trail."""
    by, now = principal_of(request), timezone.now()
    form = cast(QueueFilter, (filters or queue_filters(by))(request.GET))
    shown = arranged(request, QUEUE, form.parameters())
    page = exception_queue.queue(
        form.exception_filter(), by=by, at=now, sort=shown.sort, after=shown.after, size=shown.rows
    )
    _record_list(page.rows, by)
    causes = causes_of(page.rows, by=by, at=now)
    types = types_without_driver(page.rows, by)
    return {
        "form": form,
        "shown": shown,
        "query": shown.query,
        "live_query": request.GET.urlencode(),
        "rows": [exception_row_context(exception_row, by, now, causes, types) for exception_row in page.rows],
        "next": page.next,
        "may_act": by.has_scope(Scope.EXCEPTIONS_WRITE),
        "me": by.id,
    }


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def history(request: HttpRequest) -> HttpResponse:
    """Show closed exceptions: who closed them, the resolution code, and how long they were open."""
    by, now = principal_of(request), timezone.now()
    filters = history_filters(by)
    form = cast(HistoryFilter, filters(request.GET))
    shown = arranged(request, HISTORY, form.parameters())
    page = exception_queue.history(form.exception_filter(), by=by, sort=shown.sort, after=shown.after, size=shown.rows)
    names = accounts.names_of(exception_row.resolved_by for exception_row in page.rows)
    _record_list(page.rows, by)
    rows = [
        exception_row_context(exception_row, by, now) | _closed(exception_row, names) for exception_row in page.rows
    ]
    context = {"form": form, "shown": shown, "query": shown.query, "rows": rows, "next": page.next}
    return render(request, "rides/exceptions_history.html", context | views_of(request, shown, filters))


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def exception(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Show one exception and its actions."""
    return page(request, exception_id)


def get_exception(exception_id: UUID, by: Principal) -> RideException:
    """Return a visible exception; raises Http404 otherwise."""
    exception_row = exception_queue.by_id(exception_id, by=by)
    if exception_row is None:
        raise Http404
    return exception_row


def page(
    request: HttpRequest,
    exception_id: UUID,
    *,
    status: int = 200,
    conflict: str = "",
    returned: Mapping[str, Versioned] = MappingProxyType({}),
) -> HttpResponse:
    """Render an exception; `returned` is a form with its errors, `conflict` a message about another user's change."""
    by, now = principal_of(request), timezone.now()
    exception_row = get_exception(exception_id, by)
    causes = causes_of([exception_row], by=by, at=now)
    rides = rides_of(causes.values(), by=by)
    record_read(
        by=by,
        action="exceptions.read",
        subject_type="exception",
        subject_id=exception_row.pk,
        rider_ids=[exception_row.rider_id, *(ride.rider_id for ride in rides)],
        facility_id=exception_row.facility_id,
    )
    names = accounts.names_of([exception_row.resolved_by, exception_row.acknowledged_by, exception_row.opened_by])
    initial = {"version": exception_row.version}
    context = {
        **ride_panel.exception(exception_row, names, by),
        **exception_row_context(exception_row, by, now, causes, types_without_driver([exception_row], by)),
        "rides": [_ride_at_risk(ride, by) for ride in rides] if len(rides) > 1 else [],
        "opened_by": ride_labels.actor_name(exception_row.opened_by, names),
        "contacts": _contacts(exception_row, by),
        "snooze": SnoozeForm(initial=initial, auto_id="snooze_%s"),
        "note_form": NoteForm(initial={**initial, "note": exception_row.note}, auto_id="note_%s"),
        "may_note": by.phi >= Phi.FULL,
        "close": CloseForm(initial=initial, auto_id="close_%s"),
        **returned,
        "returned": next(iter(returned.values()), None),
        "conflict": conflict,
        "may_act": by.has_scope(Scope.EXCEPTIONS_WRITE) and exception_row.resolved_at is None,
        "may_reassign": bool(causes) and _has_driver(exception_row) and by.has_scope(Scope.ASSIGNMENTS_WRITE),
        "may_book": by.has_scope(Scope.RIDES_WRITE),
        "me": by.id,
        "query": request.GET.urlencode(),
    }
    return render(request, "rides/exception.html", context, status=UNPROCESSABLE if returned else status)


def exception_row_context(
    exception_row: RideException,
    by: Principal,
    now: datetime,
    causes: Mapping[UUID, Cause] = MappingProxyType({}),
    types: Mapping[UUID, list[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the context of a row of the queue; `exception_row` has its records loaded.

    `types` are the exceptions of the same ride that have the same cause, and stand behind this one.
    """
    ride = exception_row.ride
    same = types.get(ride.pk, []) if ride else []
    cause = causes.get(exception_row.cause_driver_id) if exception_row.cause_driver_id else None
    harm_at: datetime | None = getattr(exception_row, "harm_at", None)  # an annotation of the query
    return {
        "row": exception_row,
        "severity": ride_labels.SEVERITIES[exception_row.severity],
        **_title_and_step(exception_row, cause),
        "other_rides": len(cause.ride_ids) - 1 if cause else 0,
        "also": [
            ride_labels.title_of(type_) for type_ in same if type_ != exception_row.type and exception_row.type in same
        ],
        "answer": ride_panel.answer_of(exception_row),
        "open_note": exception_row.note if by.phi >= Phi.FULL else "",
        "when": ride_labels.day_and_clock(ride.pickup_at, ride.timezone) if ride else "",
        "place": exception_row.facility.name if exception_row.facility else "",
        "rider": rider_labels.rider_name(exception_row.rider, by),
        "is_snoozed": exception_row.snoozed_until is not None and exception_row.snoozed_until > now,
        "harm_at": harm_at,
        "is_overdue": harm_at is not None and harm_at <= now,
    }


def _title_and_step(exception_row: RideException, cause: Cause | None) -> dict[str, Any]:
    """Return the title and the suggested action: of several rides with one cause, about the driver."""
    if cause is None or len(cause.ride_ids) == 1:
        return {"title": ride_labels.title_of(exception_row.type), "step": ADVICE[exception_row.type]}
    values = {"driver": cause.driver_name, "minutes": cause.late_minutes, "rides": len(cause.ride_ids)}
    if not _has_driver(exception_row):
        title = _("%(driver)s is out: %(rides)d rides without a driver") % values
        return {"title": title, "step": _("Assign other drivers to the rides")}
    title = _("%(driver)s runs late: %(rides)d rides at risk") % values
    if cause.late_minutes:
        title = _("%(driver)s runs %(minutes)d min late: %(rides)d rides at risk") % values
    return {"title": title, "step": _("Move rides to other drivers, or give the pickup locations the new times")}


def _has_driver(exception_row: RideException) -> bool:
    return exception_row.ride is not None and exception_row.ride.driver_id is not None


def _ride_at_risk(ride: Ride, by: Principal) -> dict[str, Any]:
    return {
        "pk": ride.pk,
        "when": ride_labels.day_and_clock(ride.pickup_at, ride.timezone),
        "rider": rider_labels.rider_name(ride.rider, by),
    }


def _contacts(exception_row: RideException, by: Principal) -> list[dict[str, Any]]:
    """Return the facility's contacts after the last escalation step: contacts have a phone but no email address."""
    if (
        exception_row.type != ExceptionType.NO_DRIVER_AVAILABLE
        or exception_row.resolved_at is not None
        or exception_row.facility_id is None
    ):
        return []
    return ride_panel.contacts(contacts_of(exception_row.facility_id, by=by))


def _closed(exception_row: RideException, names: dict[str, str]) -> dict[str, Any]:
    duration = (exception_row.resolved_at or exception_row.opened_at) - exception_row.opened_at
    return {
        "minutes": int(duration.total_seconds() // 60),
        "closed_by": ride_labels.actor_name(exception_row.resolved_by, names),
        "status": ride_labels.EXCEPTION_STATUSES[exception_row.status],
        "code": labels.CODES[exception_row.resolution_code],
    }


def _facilities(by: Principal) -> list[tuple[UUID, str]]:
    return list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def _record_list(rows: list[RideException], by: Principal) -> None:
    record_read(
        by=by,
        action="exceptions.list",
        subject_type="exception",
        rider_ids=[exception_row.rider_id for exception_row in rows],
    )
