"""Actions on exceptions; each form posts to its own URL, with or without JavaScript."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of, zone_of
from apps.console.exceptions import views
from apps.console.exceptions.forms import QUEUE, CloseForm, NoteForm, SnoozeForm
from apps.console.kit.rights import require_scope
from apps.console.ride import labels as ride_labels
from apps.console.ride.ride_forms import Versioned
from apps.rides.models import RideException
from apps.rides.rules.exception_types import ExceptionStatus, ResolutionCode
from apps.rides.services import exceptions
from apps.rides.services.exceptions import AlreadyClaimed, AlreadySettled
from lib.access import Principal
from lib.errors import DomainError, StaleVersion
from lib.scopes import Scope

PART: Final = "X-Carelane-Part"  # header of scripts that request only the list
Act = Callable[..., RideException]


@require_POST
@require_scope(Scope.EXCEPTIONS_WRITE)
def acknowledge(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Acknowledge an exception; the user becomes its owner."""

    def act(values: dict[str, Any], **arguments: Any) -> RideException:
        return exceptions.acknowledge(**arguments)

    return _submit(request, exception_id, "acknowledge", Versioned(request.POST), act, _("You are now the owner."))


@require_POST
@require_scope(Scope.EXCEPTIONS_WRITE)
def snooze(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Snooze an exception for a while, or end the snooze."""
    form = SnoozeForm(request.POST, auto_id="snooze_%s")

    def act(values: dict[str, Any], **arguments: Any) -> RideException:
        return exceptions.snooze(until=form.moment(arguments["at"], zone_of(request)), **arguments)

    return _submit(request, exception_id, "snooze", form, act, _("It appears again when the snooze ends."))


@require_POST
@require_scope(Scope.EXCEPTIONS_WRITE)
def write_note(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Replace the note of an open exception."""

    def act(values: dict[str, Any], **arguments: Any) -> RideException:
        return exceptions.write_note(note=values["note"], **arguments)

    form = NoteForm(request.POST, auto_id="note_%s")
    return _submit(request, exception_id, "note_form", form, act, _("The note is saved."))


@require_POST
@require_scope(Scope.EXCEPTIONS_WRITE)
def close(request: HttpRequest, exception_id: UUID) -> HttpResponse:
    """Close an exception with a resolution code."""

    def act(values: dict[str, Any], **arguments: Any) -> RideException:
        return exceptions.resolve(
            code=ResolutionCode(values["code"]), note=values["note"], dismiss=values["dismiss"], **arguments
        )

    form = CloseForm(request.POST, auto_id="close_%s")
    return _submit(request, exception_id, "close", form, act, _("The exception is closed."))


def _submit(
    request: HttpRequest, exception_id: UUID, name: str, form: Versioned, act: Act, message: str
) -> HttpResponse:
    """Perform an action on an exception and return to the list, or show the exception with the form's errors."""
    by = principal_of(request)
    views.get_exception(exception_id, by)
    if not form.is_valid():
        return _refused(request, exception_id, name, form)
    version = form.cleaned_data["version"]
    try:
        act(form.cleaned_data, exception_id=exception_id, expected_version=version, by=by, at=timezone.now())
    except (StaleVersion, AlreadyClaimed, AlreadySettled):
        return _conflict_response(request, exception_id, by)
    except DomainError as refusal:
        form.refuse(refusal)
        return _refused(request, exception_id, name, form)
    if PART in request.headers:
        return render(request, "rides/exceptions_list.html", views.listing(request) | {"announcement": message})
    messages.success(request, message)
    return redirect(_list_url(request))


def _conflict_response(request: HttpRequest, exception_id: UUID, by: Principal) -> HttpResponse:
    """Respond with 409 and a message about the other user's change; this request changed nothing."""
    message = _other_change(views.get_exception(exception_id, by))
    if PART in request.headers:
        context = views.listing(request) | {"announcement": message}
        return render(request, "rides/exceptions_list.html", context, status=views.CONFLICT)
    return views.page(request, exception_id, status=views.CONFLICT, conflict=message)


def _refused(request: HttpRequest, exception_id: UUID, name: str, form: Versioned) -> HttpResponse:
    return views.page(request, exception_id, returned={name: form})


def _other_change(exception: RideException) -> str:
    if exception.resolved_at is not None:
        closer = ride_labels.actor_name(exception.resolved_by, accounts.names_of([exception.resolved_by]))
        return _("%(name)s has already closed it.") % {"name": closer}
    if exception.status == ExceptionStatus.ACKNOWLEDGED:
        owner = exception.owner.name if exception.owner else ride_labels.actor_name(exception.acknowledged_by, {})
        return _("%(name)s has already claimed it.") % {"name": owner}
    return _("Someone else changed it. Review it again.")


def _list_url(request: HttpRequest) -> str:
    """Return the URL of the list that the form came from, with its filters."""
    query = QueryDict(request.META.get("QUERY_STRING", ""))
    return f"{reverse(QUEUE.page)}?{query.urlencode()}" if query else reverse(QUEUE.page)
