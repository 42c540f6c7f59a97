"""Pages of deliveries: list, details, resend and cancel."""

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.lists import Filters, arranged, views_of
from apps.console.kit.rights import require_scope
from apps.console.webhooks import labels
from apps.console.webhooks.forms import DeliveryFilter
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.queries import deliveries as queries
from apps.webhooks.rules.event_types import CATALOGUE
from apps.webhooks.services import recovery
from lib.access import Principal
from lib.errors import DomainError, NotFound
from lib.ids import uuid_or_none
from lib.listing import Listing
from lib.pagination import page_by_keys
from lib.scopes import Scope

LIST: Final = Listing(
    "webhook_deliveries",
    sorts={"-created": gettext_lazy("Created")},
    columns={
        "status": gettext_lazy("Status"),
        "endpoint": gettext_lazy("Endpoint"),
        "created": gettext_lazy("Created"),
        "attempts": gettext_lazy("Attempts"),
        "result": gettext_lazy("Last result"),
        "next": gettext_lazy("Next attempt"),
    },
)
SOON: Final = timedelta(seconds=30)  # pages poll every second for a delivery that is due by then
MAX_SELECTED: Final = max(LIST.sizes)  # the longest page of the list
_CANCELLABLE: Final = (Delivery.Status.PENDING, Delivery.Status.HELD)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def deliveries(request: HttpRequest) -> HttpResponse:
    """List deliveries, newest first or last.  Four queries."""
    by = principal_of(request)
    form_for = filters(by)
    form = cast(DeliveryFilter, form_for(request.GET))
    rows = queries.find(form.criteria(), by=by) if form.is_valid() else Delivery.objects.none()
    list_state = arranged(request, LIST, form.parameters())
    page = page_by_keys(
        rows.select_related("endpoint"), queries.ORDERS[list_state.sort], list_state.after, size=list_state.rows
    )
    context = {
        "form": form,
        "shown": list_state,
        "rows": [_row(delivery) for delivery in page.rows],
        "next": page.next,
        "filtered": any(request.GET.get(name) for name in form.fields),
        "kept_days": settings.DELIVERY_RETENTION_DAYS,
    }
    return render(request, "webhooks/deliveries.html", context | views_of(request, list_state, form_for))


def filters(by: Principal) -> Filters:
    """Return a factory of filter forms.  One query for any number of forms."""
    endpoints = list(Endpoint.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
    return partial(DeliveryFilter, endpoints=endpoints, statuses=labels.STATUSES)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def show_delivery(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """Show a delivery with its attempts; access to riders' data is recorded in the audit log."""
    by = principal_of(request)
    delivery = _get(delivery_id, by)
    view = queries.view_of(delivery, by=by)
    if view.sensitive and not view.redacted:
        record_read(
            by=by,
            action="webhooks.read_delivery",
            subject_type="delivery",
            subject_id=delivery_id,
            rider_ids=view.rider_ids,
        )
    criteria = queries.DeliveryCriteria(endpoint_id=delivery.endpoint_id, event_id=delivery.event_id)
    same_event = queries.find(criteria, by=by)
    context = {
        "view": view,
        "body": _pretty(view.body),
        "description": CATALOGUE[delivery.event_type].description if delivery.event_type in CATALOGUE else "",
        "same_event": [
            (row, labels.STATUSES[row.status]) for row in same_event.exclude(pk=delivery.pk).order_by("-pk")
        ],
        "cancellable": delivery.status in _CANCELLABLE,
        **_progress(view),
    }
    return render(request, "webhooks/delivery.html", context)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def progress(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """Show the state and the attempts of a delivery; pages poll this."""
    by = principal_of(request)
    view = queries.view_of(_get(delivery_id, by), by=by)
    return render(request, "webhooks/delivery_progress.html", {"view": view, **_progress(view)})


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def resend(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """Send a delivery again; asks for confirmation if it has arrived or waits for its next attempt."""
    by = principal_of(request)
    delivery = _get(delivery_id, by)
    confirmed = "confirm" in request.POST
    if not confirmed and _warning(delivery):
        return _confirm(request, [delivery])
    try:
        resent = recovery.resend(delivery_id=delivery_id, confirmed=confirmed, by=by, at=timezone.now())
    except DomainError as refusal:
        messages.error(request, refusal.message)
        return redirect("webhook_delivery", delivery_id=delivery_id)
    messages.success(request, _("It is sent again now."))
    return redirect("webhook_delivery", delivery_id=resent.pk)


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def resend_selected(request: HttpRequest) -> HttpResponse:
    """Send the selected deliveries again; asks for confirmation if one has arrived or is due anyway.

    Redirects to the list with the query string `back`.
    """
    by = principal_of(request)
    ids = list(filter(None, map(uuid_or_none, request.POST.getlist("delivery"))))[:MAX_SELECTED]
    confirmed = "confirm" in request.POST
    if not ids:
        messages.warning(request, _("Select the deliveries to send again."))
        return HttpResponseRedirect(_list(request))
    selected = list(Delivery.objects.visible_to(by).select_related("endpoint").filter(pk__in=ids).order_by("pk"))
    if not confirmed and any(map(_warning, selected)):
        return _confirm(request, selected)
    resent = recovery.resend_each(delivery_ids=ids, confirmed=confirmed, by=by, at=timezone.now())
    if resent.sent:
        text = ngettext(
            "%(count)s delivery is sent again now.", "%(count)s deliveries are sent again now.", resent.sent
        )
        messages.success(request, text % {"count": resent.sent})
    for reason, count in resent.refused.items():
        messages.warning(request, _("Not sent again: %(count)s. %(reason)s") % {"count": count, "reason": reason})
    return HttpResponseRedirect(_list(request))


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def cancel(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """Cancel a delivery."""
    try:
        recovery.cancel(delivery_id=delivery_id, by=principal_of(request), at=timezone.now())
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, _("The delivery is canceled."))
    return redirect("webhook_delivery", delivery_id=delivery_id)


def _list(request: HttpRequest) -> str:
    """Return the URL of the list with the filter and page of the form."""
    query = QueryDict(request.POST.get("back", "")).urlencode()
    return reverse("webhook_deliveries") + (f"?{query}" if query else "")


def _get(delivery_id: UUID, by: Principal) -> Delivery:
    delivery = queries.get(delivery_id, by=by)
    if delivery is None:
        raise Http404
    return delivery


def _row(delivery: Delivery) -> dict[str, Any]:
    return {
        "delivery": delivery,
        "badge": labels.STATUSES[delivery.status],
        "result": labels.result_of(delivery.last_code, delivery.last_error),
        "trigger": labels.TRIGGERS[delivery.trigger],
    }


def _warning(delivery: Delivery) -> str:
    """Return why a resend needs confirmation; "" if it does not."""
    if delivery.status == Delivery.Status.DELIVERED:
        return _("It arrived before: the receiver gets it a second time, with the same event id.")
    if delivery.status == Delivery.Status.PENDING:
        return _("An attempt is due anyway: sending it now brings that forward.")
    return ""


def _confirm(request: HttpRequest, selected: list[Delivery]) -> HttpResponse:
    rows = [{**_row(delivery), "warning": _warning(delivery)} for delivery in selected]
    warned = sum(bool(row["warning"]) for row in rows)
    return render(request, "webhooks/resend.html", {"rows": rows, "warned": warned, "list": _list(request)})


def _progress(view: queries.DeliveryView) -> dict[str, Any]:
    delivery, now = view.delivery, timezone.now()
    next_at, is_delayed = _next_attempt(delivery, now)
    due_soon = next_at is not None and next_at <= now + SOON
    moving = due_soon or delivery.status == Delivery.Status.IN_FLIGHT
    is_open = delivery.status in (Delivery.Status.PENDING, Delivery.Status.IN_FLIGHT)
    return {
        "delivery": delivery,
        "badge": labels.STATUSES[delivery.status],
        "meaning": labels.MEANINGS[delivery.status],
        "trigger": labels.TRIGGERS[delivery.trigger],
        "warning": _warning(delivery),
        "next_at": next_at,
        "is_delayed": is_delayed,
        "attempts": [
            (attempt, labels.result_of(attempt["code"], attempt["error"])) for attempt in reversed(view.attempts)
        ],
        "every": (1000 if moving else 15_000) if is_open else 0,
    }


def _next_attempt(delivery: Delivery, now: datetime) -> tuple[datetime | None, bool]:
    """Return when it is sent next, and whether an open circuit delays it; tests are sent anyway."""
    due, open_until = delivery.next_attempt_at, delivery.endpoint.health.open_until
    if due is None or open_until is None or open_until <= max(due, now) or delivery.trigger == Delivery.Trigger.TEST:
        return due, False
    return open_until, True


def _pretty(body: str | None) -> str | None:
    return None if body is None else json.dumps(json.loads(body), indent=2, ensure_ascii=False)
