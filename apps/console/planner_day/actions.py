"""Actions of planners on the page of their day; each form posts to its own URL and returns to the day."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.console.kit.rights import require_scope
from apps.console.planner_day import views
from apps.console.ride import acting
from apps.console.ride.acting import Act
from apps.console.ride.ride_forms import AnswerForm, Overridable, ReadyForm, TickForm, Versioned
from apps.rides.models import Ride
from apps.rides.services import editing
from lib.scopes import Scope


@require_POST
@require_scope(Scope.RIDES_WRITE)
def ready(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Release a rider.  If an outdated page releases the ride again, a message says that it was released already."""
    params = views.day_params_of(request)
    form = ReadyForm(request.POST, auto_id=f"ready-{ride_id}_%s")
    by = principal_of(request)
    if acting.is_done(form, acting.release, ride_id=ride_id, by=by):
        messages.success(request, _("Marked ready. Dispatch is notified."))
    elif acting.is_released(form, ride_id=ride_id, by=by):
        messages.info(request, _("The ride is already marked ready."))
    else:
        return views.page(request, returned=form, ride_id=ride_id)
    return redirect(params.url())


@require_POST
@require_scope(Scope.RIDES_WRITE)
def unready(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Retract a release: the rider is not ready after all."""
    form = Overridable(request.POST, auto_id=f"unready-{ride_id}_%s")
    return _submit(request, ride_id, form, acting.retract, _("The ride is no longer marked ready."))


@require_POST
@require_scope(Scope.RIDES_WRITE)
def answer(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Record the planner's decision about a ride for which no driver is found."""
    form = AnswerForm(request.POST, auto_id=f"answer-{ride_id}_%s")
    return _submit(request, ride_id, form, acting.answer, _("Dispatch is notified."))


@require_POST
@require_scope(Scope.RIDES_WRITE)
def tick(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Check or uncheck one item of a discharge checklist."""

    def act(values: dict[str, Any], **arguments: Any) -> Ride:
        item = {values["tick"] or values["untick"]: bool(values["tick"])}
        return editing.edit(changes={"discharge": {"checklist": item}}, **arguments)

    form = TickForm(request.POST, auto_id=f"tick-{ride_id}_%s")
    return _submit(request, ride_id, form, act, _("The checklist is saved."))


def _submit(request: HttpRequest, ride_id: UUID, form: Versioned, act: Act, message: str) -> HttpResponse:
    """Perform an action on a ride and return to the day, or show the day with the form's errors."""
    params = views.day_params_of(request)
    if acting.is_done(form, act, ride_id=ride_id, by=principal_of(request)):
        messages.success(request, message)
        return redirect(params.url())
    return views.page(request, returned=form, ride_id=ride_id)
