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
from django.views.decorators.http import require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.board import counters
from apps.console.exceptions.forms import HISTORY, QUEUE, CloseForm, HistoryFilter, QueueFilter, SnoozeForm
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
from apps.rides.models import RideException
from apps.rides.queries import day_counts, exception_queue
from apps.rides.rules.exception_types import ExceptionType
from lib.access import Principal
from lib.scopes import Scope

CONFLICT = 409


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def queue(request: HttpRequest) -> HttpResponse:
    """Show open exceptions, most severe first.  The number of queries is independent of the rows."""
    by = principal_of(request)
    filters = queue_filters(by)
    listed = listing(request, filters)
    context = listed | views_of(request, listed["shown"], filters)
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
    shown = arranged(request, QUEUE, form.known())
    page = exception_queue.queue(
        form.exception_filter(), by=by, at=now, sort=shown.sort, after=shown.after, size=shown.rows
    )
    _record_list(page.rows, by)
    return {
        "form": form,
        "shown": shown,
        "query": shown.query,
        "live_query": request.GET.urlencode(),
        "rows": [_row(one, by, now) for one in page.rows],
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
    shown = arranged(request, HISTORY, form.known())
    page = exception_queue.history(form.exception_filter(), by=by, sort=shown.sort, after=shown.after, size=shown.rows)
    names = accounts.names_of(one.resolved_by for one in page.rows)
    _record_list(page.rows, by)
    rows = [_row(one, by, now) | _closed(one, names) for one in page.rows]
    context = {"form": form, "shown": shown, "query": shown.query, "rows": rows, "next": page.next}
    return render(request, "rides/exceptions_history.html", context | views_of(request, shown, filters))


@require_safe
@require_scope(Scope.EXCEPTIONS_READ)
def exception(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Show one exception and its actions."""
    return page(request, exception_id)


def found_exception(exception_id: UUID, by: Principal) -> RideException:
    """Return a visible exception; raises Http404 otherwise."""
    found = exception_queue.by_id(exception_id, by=by)
    if found is None:
        raise Http404
    return found


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
    found = found_exception(exception_id, by)
    record_read(
        by=by,
        action="exceptions.read",
        subject_type="exception",
        subject_id=found.pk,
        rider_ids=[found.rider_id],
        facility_id=found.facility_id,
    )
    names = accounts.names_of([found.resolved_by, found.acknowledged_by, found.opened_by])
    fresh = {"version": found.version}
    context = {
        **_row(found, by, now),
        **ride_panel.exception(found, names, by),
        "opened_by": ride_labels.who(found.opened_by, names),
        "contacts": _contacts(found, by),
        "snooze": SnoozeForm(initial=fresh, auto_id="snooze_%s"),
        "close": CloseForm(initial=fresh, auto_id="close_%s"),
        **returned,
        "returned": next(iter(returned.values()), None),
        "conflict": conflict,
        "may_act": by.has_scope(Scope.EXCEPTIONS_WRITE) and found.resolved_at is None,
        "may_book": by.has_scope(Scope.RIDES_WRITE),
        "me": by.id,
        "query": request.GET.urlencode(),
    }
    return render(request, "rides/exception.html", context, status=UNPROCESSABLE if returned else status)


def _row(one: RideException, by: Principal, now: datetime) -> dict[str, Any]:
    ride = one.ride
    return {
        "row": one,
        "severity": ride_labels.SEVERITIES[one.severity],
        "title": ride_labels.title_of(one.type),
        "step": ADVICE[one.type].step,
        "answer": ride_panel.answer_of(one),
        "when": ride_labels.day_and_clock(ride.pickup_at, ride.timezone) if ride else "",
        "place": one.facility.name if one.facility else "",
        "rider": rider_labels.rider_name(one.rider, by),
        "is_snoozed": one.snoozed_until is not None and one.snoozed_until > now,
        "is_overdue": one.due_at is not None and one.due_at <= now,
    }


def _contacts(one: RideException, by: Principal) -> list[dict[str, Any]]:
    """Return the facility's contacts after the last escalation step: contacts have a phone but no email address."""
    if one.type != ExceptionType.NO_DRIVER_AVAILABLE or one.resolved_at is not None or one.facility_id is None:
        return []
    return ride_panel.contacts(contacts_of(one.facility_id, by=by))


def _closed(one: RideException, names: dict[str, str]) -> dict[str, Any]:
    stood = (one.resolved_at or one.opened_at) - one.opened_at
    return {
        "minutes": int(stood.total_seconds() // 60),
        "closed_by": ride_labels.who(one.resolved_by, names),
        "standing": ride_labels.STANDINGS[one.status],
        "code": labels.CODES[one.resolution_code],
    }


def _facilities(by: Principal) -> list[tuple[UUID, str]]:
    return list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def _record_list(rows: list[RideException], by: Principal) -> None:
    record_read(by=by, action="exceptions.list", subject_type="exception", rider_ids=[one.rider_id for one in rows])
