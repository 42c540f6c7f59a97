"""Actions on the page of a standing order; each form posts to its own URL."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.console.recurring import occurrence_form, order_views, reconcile_messages
from apps.console.recurring.forms import DayForm, EndForm, HoldForm, MoveForm, Plain, ResumeForm, Versioned
from apps.console.recurring.rights import get_order, opens
from apps.recurring.services import edit_order, hold_order
from apps.recurring.services.create_order import OrderResult
from lib.errors import DomainError, NotFound
from lib.scopes import Scope

Action = Callable[..., OrderResult]


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def move(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Change the date or times of one occurrence."""

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        edit = occurrence_form.occurrence_edit(get_order(order_id, common["by"]), values, at=common["at"])
        return edit_order.change_occurrence(pattern_date=values["day"], edit=edit, **common)

    form = MoveForm(request.POST, auto_id="move_%s")
    return _perform(request, order_id, "move", form, action, _("The day is changed."), shows="to_date")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def skip(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Skip one occurrence."""

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return edit_order.skip(pattern_date=values["day"], **common)

    return _perform(request, order_id, "skip", DayForm(request.POST), action, _("The day is skipped."), shows="shown")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def restore(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Restore one occurrence."""

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return edit_order.restore(pattern_date=values["day"], **common)

    message = _("The day follows the series again.")
    return _perform(request, order_id, "restore", DayForm(request.POST), action, message, shows="day")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def hold(request: HttpRequest, order_id: UUID) -> HttpResponse:

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return hold_order.hold(from_date=values["from_date"], until=values["until"], reason=values["reason"], **common)

    return _perform(request, order_id, "hold", HoldForm(request.POST, auto_id="hold_%s"), action, _("The hold is set."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def resume(request: HttpRequest, order_id: UUID) -> HttpResponse:

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return hold_order.resume(from_date=values["from_date"], **common)

    form = ResumeForm(request.POST, auto_id="resume_%s")
    return _perform(request, order_id, "resume", form, action, _("The rides are resumed."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def end(request: HttpRequest, order_id: UUID) -> HttpResponse:

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return edit_order.end(last_date=values["last_date"], **common)

    return _perform(request, order_id, "end", EndForm(request.POST, auto_id="end_%s"), action, _("The end is set."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def activate(request: HttpRequest, order_id: UUID) -> HttpResponse:

    def action(values: dict[str, Any], **common: Any) -> OrderResult:
        return edit_order.activate(**common)

    return _perform(request, order_id, "activate", Plain(request.POST), action, _("The standing order is active."))


def _perform(
    request: HttpRequest,
    order_id: UUID,
    name: str,
    form: Versioned,
    action: Action,
    message: str,
    *,
    shows: str = "",
) -> HttpResponse:
    """Perform an action and redirect to the order, or show errors; `shows` is the field with the day to open."""
    by = principal_of(request)
    get_order(order_id, by)
    if form.is_valid():
        values = form.cleaned_data
        try:
            result = action(values, order_id=order_id, expected_version=values["version"], by=by, at=timezone.now())
        except NotFound:
            raise
        except DomainError as error:
            form.refuse(error)
        else:
            reconcile_messages.add(request, message, result.result)
            address = reverse("standing_order", kwargs={"order_id": order_id})
            return redirect(f"{address}?day={values[shows]}#day" if shows else address)
    return order_views.page(request, get_order(order_id, by), day=form.cleaned_data.get("shown"), **{name: form})
