"""Pages of webhook endpoints: list, form, health, and secrets, which are shown once."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.console.kit import svg_charts
from apps.console.kit.rights import UNPROCESSABLE, is_proven, require_recent_login, require_scope, to_proof
from apps.console.webhooks import labels, picker
from apps.console.webhooks.forms import (
    ABOUT_LEVELS,
    FIELDS,
    EndpointChange,
    EndpointFilter,
    EndpointForm,
    NewEndpoint,
    SecretRotation,
    initial_of,
)
from apps.organizations.models import Facility, TransportProvider
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.models.endpoint import EndpointQuerySet
from apps.webhooks.queries import deliveries, health
from apps.webhooks.queries import endpoints as queries
from apps.webhooks.queries.health import HourlyAttempts
from apps.webhooks.rules.event_types import EVERYTHING
from apps.webhooks.services import endpoint_validation, secrets
from apps.webhooks.services import endpoints as services
from lib.access import Principal
from lib.clocks import clock
from lib.console_forms import add_errors
from lib.errors import DomainError, NotFound, StaleVersion
from lib.ids import uuid_or_none
from lib.pagination import newest_first
from lib.scopes import Scope

RECENT: Final = 10  # deliveries on the page of an endpoint


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def endpoints(request: HttpRequest) -> HttpResponse:
    """List endpoints with their health: failing ones first, then the others, newest first.  Five queries."""
    by, now = principal_of(request), timezone.now()
    form = EndpointFilter(request.GET)
    rows = _find(form, by) if form.is_valid() else Endpoint.objects.none()
    before = request.GET.get("before", "")
    page = newest_first(rows.exclude(pk__in=queries.failing(rows).values("pk")), before)
    # Only on the first page, without a limit: people open the list to find them.
    failing = [] if before else list(queries.failing(rows).order_by("-pk"))
    table = [
        {"health": row, "badge": labels.badge_of(row.endpoint, row.circuit), "spark": sparkline(row.hours)}
        for row in health.get_each([*failing, *page.rows], at=now)
    ]
    filtered = any(request.GET.get(name) for name in form.fields)
    context = {"form": form, "rows": table, "older": page.next, "filtered": filtered}
    return render(request, "webhooks/endpoints.html", context)


def _find(form: EndpointFilter, by: Principal) -> EndpointQuerySet:
    return queries.find(by=by, state=form.cleaned_data["state"], text=form.cleaned_data["sought"])


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.WEBHOOKS_MANAGE)
@require_recent_login
def add(request: HttpRequest) -> HttpResponse:
    """Register an endpoint; the response to the form shows its secret."""
    by = principal_of(request)
    form = NewEndpoint(request.POST or None, by=by)
    if "find" in request.POST:
        return _form(request, NewEndpoint(initial=form.typed(), by=by))
    if request.method != "POST":
        return _form(request, form)
    if not is_proven(request):
        return _form(request, form, unproven=True)
    if form.is_valid():
        values = form.cleaned_data
        try:
            registered = services.register(
                params=form.params(),
                client_id=uuid_or_none(values["client"]),
                secret=values["secret"] or None,
                by=by,
                at=timezone.now(),
            )
        except DomainError as refusal:
            _refuse(form, refusal)
        else:
            return _show_secret(request, registered.endpoint, registered.secret, new=True)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.WEBHOOKS_MANAGE)
def change(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Change the settings of an endpoint."""
    by = principal_of(request)
    endpoint = _get(endpoint_id, by)
    before = endpoint_validation.params_of(endpoint)
    if request.method != "POST":
        return _form(
            request, EndpointChange(initial=initial_of(endpoint, before), by=by, headers=before.headers), endpoint
        )
    form = EndpointChange(request.POST, by=by, headers=before.headers)
    if "find" in request.POST:
        return _form(request, EndpointChange(initial=form.typed(), by=by, headers=before.headers), endpoint)
    if form.is_valid():
        params = form.params()
        # Only changes: an unchanged URL is not looked up again.
        changes = {
            field.name: value
            for field in fields(params)
            if (value := getattr(params, field.name)) != getattr(before, field.name)
        }
        try:
            services.change(
                endpoint_id=endpoint_id,
                changes=changes,
                expected_version=form.cleaned_data["version"],
                by=by,
                at=timezone.now(),
            )
        except DomainError as refusal:
            _refuse(form, refusal)
        else:
            messages.success(request, _("The endpoint is changed."))
            return redirect("webhook_endpoint", endpoint_id=endpoint_id)
    return _form(request, form, endpoint)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def endpoint(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Show an endpoint: health, settings and recent deliveries."""
    return _page(request, endpoint_id)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def last_test(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Show the state of the last test; pages poll this."""
    by = principal_of(request)
    endpoint = _get(endpoint_id, by)
    return render(request, "webhooks/last_test.html", {"endpoint": endpoint, **_last_test(endpoint, by)})


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def test(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Send a test; the page of the endpoint shows the result."""
    services.test(endpoint_id=endpoint_id, by=principal_of(request), at=timezone.now())
    return redirect("webhook_endpoint", endpoint_id=endpoint_id)


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def pause(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    def pause_endpoint(by: Principal) -> None:
        services.pause(endpoint_id=endpoint_id, by=by, at=timezone.now())

    return _apply(request, endpoint_id, pause_endpoint, _("The endpoint is paused; its events are collected."))


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def resume(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    deliver_held = "deliver_held" in request.POST

    def resume_endpoint(by: Principal) -> None:
        services.resume(endpoint_id=endpoint_id, deliver_held=deliver_held, by=by, at=timezone.now())

    return _apply(request, endpoint_id, resume_endpoint, _("The endpoint is active."))


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def remove(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Remove an endpoint and cancel its waiting deliveries."""
    services.remove(endpoint_id=endpoint_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The endpoint is removed."))
    return redirect("webhook_endpoints")


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def rotate(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Rotate the secret of an endpoint; the response shows the new one."""
    if not is_proven(request):
        return to_proof("webhook_endpoint", endpoint_id=endpoint_id)
    form = SecretRotation(request.POST)
    if form.is_valid():
        try:
            rotated, text = secrets.rotate(
                endpoint_id=endpoint_id,
                text=form.cleaned_data["secret"] or None,
                overlap=form.overlap_time(),
                by=principal_of(request),
                at=timezone.now(),
            )
        except NotFound:
            raise
        except DomainError as refusal:
            add_errors(form, refusal, {"secret": "secret"})
        else:
            return _show_secret(request, rotated, text, new=False)
    return _page(request, endpoint_id, rotation=form)


def _apply(request: HttpRequest, endpoint_id: UUID, action: Callable[[Principal], None], success: str) -> HttpResponse:
    """Apply an action to an endpoint and show the result on its page."""
    try:
        action(principal_of(request))
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, success)
    return redirect("webhook_endpoint", endpoint_id=endpoint_id)


def _get(endpoint_id: UUID, by: Principal) -> Endpoint:
    return get_object_or_404(Endpoint.objects.visible_to(by).select_related("client"), pk=endpoint_id)


def _refuse(form: EndpointForm, refusal: DomainError) -> None:
    if isinstance(refusal, StaleVersion):
        form.add_error(None, _("Someone else changed the endpoint. Open it again to see the changes."))
    elif isinstance(refusal, endpoint_validation.PhiNotGranted):
        form.add_error("payload_level", refusal.message)
    else:
        add_errors(form, refusal, FIELDS)


def _form(
    request: HttpRequest, form: EndpointForm, endpoint: Endpoint | None = None, *, unproven: bool = False
) -> HttpResponse:
    search = request.POST.get("sought", "")
    ticked = form["event_types"].value() or []
    context = {
        "form": form,
        "endpoint": endpoint,
        "everything": EVERYTHING in ticked,
        "families": picker.families(ticked, search),
        "sought": search,
        "about_levels": ABOUT_LEVELS,
        "unproven": unproven,
    }
    failed = unproven or bool(form.errors)
    return render(request, "webhooks/endpoint_form.html", context, status=UNPROCESSABLE if failed else 200)


def _show_secret(request: HttpRequest, endpoint: Endpoint, text: str, *, new: bool) -> HttpResponse:
    context = {"endpoint": endpoint, "text": text, "new": new, "valid": endpoint.valid_secrets(timezone.now()).count()}
    context |= _last_test(endpoint, principal_of(request))
    return render(request, "webhooks/secret.html", context)


def _last_test(endpoint: Endpoint, by: Principal) -> dict[str, Any]:
    """Return template variables of the newest test of an endpoint.  Three queries."""
    rows = deliveries.find(deliveries.DeliveryCriteria(endpoint_id=endpoint.pk), by=by).select_related("endpoint")
    test = rows.filter(trigger=Delivery.Trigger.TEST).order_by("-pk").first()
    if test is None:
        return {"test": None}
    view = deliveries.view_of(test, by=by)
    last = view.attempts[-1] if view.attempts else None
    return {
        "test": test,
        "badge": labels.STATUSES[test.status],
        "attempt": last,
        "result": labels.result_of(last["code"], last["error"]) if last else "",
        "waiting": test.status in (Delivery.Status.PENDING, Delivery.Status.IN_FLIGHT),
    }


def _page(request: HttpRequest, endpoint_id: UUID, *, rotation: SecretRotation | None = None) -> HttpResponse:
    by, now = principal_of(request), timezone.now()
    endpoint = _get(endpoint_id, by)
    status = health.get(endpoint, at=now)
    recent = deliveries.find(deliveries.DeliveryCriteria(endpoint_id=endpoint_id), by=by).order_by("-pk")[:RECENT]
    context = {
        "endpoint": endpoint,
        "health": status,
        "state": labels.badge_of(endpoint, status.circuit),
        "spark": sparkline(status.hours),
        "last_error": dict(ErrorClass.choices).get(status.last_error, ""),
        "facilities": Facility.objects.filter(pk__in=endpoint.facility_ids or ()).order_by("name"),
        "providers": TransportProvider.objects.filter(pk__in=endpoint.provider_ids or ()).order_by("name"),
        "secrets": endpoint.valid_secrets(now),
        "agreed_by": accounts.names_of([endpoint.phi_agreed_by]).get(endpoint.phi_agreed_by, endpoint.phi_agreed_by),
        "recent": [(delivery, labels.STATUSES[delivery.status]) for delivery in recent],
        "jobs": endpoint.jobs.order_by("-created_at")[:3],
        "rotation": rotation or SecretRotation(),
        "states": Endpoint.State,
        "replays_per_second": settings.WEBHOOK_REPLAYS_PER_SECOND,
        **_last_test(endpoint, by),
    }
    return render(request, "webhooks/endpoint.html", context, status=UNPROCESSABLE if rotation else 200)


def sparkline(hours: Sequence[HourlyAttempts]) -> SafeString:
    """Draw the attempts of each hour, failed above delivered; the label has the totals for screen readers."""
    return svg_charts.sparkline([(hour.delivered, hour.failed) for hour in hours], label=_label(hours))


def _label(hours: Sequence[HourlyAttempts]) -> str:
    delivered, failed = sum(hour.delivered for hour in hours), sum(hour.failed for hour in hours)
    if not delivered + failed:
        return _("No attempts in the last 24 hours")
    label = _("Attempts of the last 24 hours: %(delivered)s delivered, %(failed)s failed") % {
        "delivered": delivered,
        "failed": failed,
    }
    if not failed:
        return label
    worst = max(hours, key=lambda hour: hour.failed)
    return label + _("; most failures in the hour from %(clock)s") % {"clock": clock(timezone.localtime(worst.at))}
