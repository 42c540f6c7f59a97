"""What is done to an order from its page; each form posts to an address of its own."""

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

Act = Callable[..., OrderResult]


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def move(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Arrange one occurrence differently."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        wanted = occurrence_form.wanted(get_order(order_id, told["by"]), values, at=told["at"])
        return edit_order.change_occurrence(pattern_date=values["day"], edit=wanted, **told)

    form = MoveForm(request.POST, auto_id="move_%s")
    return _acted(request, order_id, "move", form, act, _("The day is changed."), shows="to_date")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def skip(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Let the rider stay away on one day."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return edit_order.skip(pattern_date=values["day"], **told)

    return _acted(request, order_id, "skip", DayForm(request.POST), act, _("The day is skipped."), shows="shown")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def restore(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Let one day be as the series has it."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return edit_order.restore(pattern_date=values["day"], **told)

    said = _("The day is as the series has it again.")
    return _acted(request, order_id, "restore", DayForm(request.POST), act, said, shows="day")


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def hold(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Hold an order: no rides for a while."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return hold_order.hold(from_date=values["from_date"], until=values["until"], reason=values["reason"], **told)

    return _acted(request, order_id, "hold", HoldForm(request.POST, auto_id="hold_%s"), act, _("The hold is set."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def resume(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Let an order that is held ride again."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return hold_order.resume(from_date=values["from_date"], **told)

    form = ResumeForm(request.POST, auto_id="resume_%s")
    return _acted(request, order_id, "resume", form, act, _("The rides are resumed."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def end(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """End an order, now or after a day."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return edit_order.end(last_date=values["last_date"], **told)

    return _acted(request, order_id, "end", EndForm(request.POST, auto_id="end_%s"), act, _("The end is set."))


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def activate(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Let a draft ride."""

    def act(values: dict[str, Any], **told: Any) -> OrderResult:
        return edit_order.activate(**told)

    return _acted(request, order_id, "activate", Plain(request.POST), act, _("The standing order is active."))


def _acted(
    request: HttpRequest,
    order_id: UUID,
    name: str,
    form: Versioned,
    act: Act,
    said: str,
    *,
    shows: str = "",
) -> HttpResponse:
    """Do one thing to an order and tell of it on its page, or show the page with what is wrong; `shows` names a day."""
    by = principal_of(request)
    get_order(order_id, by)
    if form.is_valid():
        values = form.cleaned_data
        try:
            done = act(values, order_id=order_id, expected_version=values["version"], by=by, at=timezone.now())
        except NotFound:
            raise
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            reconcile_messages.add(request, said, done.result)
            address = reverse("standing_order", kwargs={"order_id": order_id})
            return redirect(f"{address}?day={values[shows]}#day" if shows else address)
    return order_views.page(request, get_order(order_id, by), day=form.cleaned_data.get("shown"), **{name: form})
