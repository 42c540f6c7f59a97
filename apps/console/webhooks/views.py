"""Endpoints of webhooks: how they do, what they are to be, and the secrets that are shown once."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
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
from apps.console.webhooks.sparkline import sparkline
from apps.organizations.models import Facility, TransportProvider
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.models.endpoint import EndpointQuerySet
from apps.webhooks.queries import deliveries, health
from apps.webhooks.queries import endpoints as queries
from apps.webhooks.rules.event_types import EVERYTHING
from apps.webhooks.services import endpoint_validation, secrets
from apps.webhooks.services import endpoints as services
from lib.access import Principal
from lib.console_forms import put_on
from lib.errors import DomainError, NotFound, StaleVersion
from lib.ids import uuid_or_none
from lib.pagination import newest_first
from lib.scopes import Scope

RECENT: Final = 10  # deliveries on the page of an endpoint


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def endpoints(request: HttpRequest) -> HttpResponse:
    """List endpoints with how they do: those that fail, then the others, newest first.  Five queries."""
    by, now = principal_of(request), timezone.now()
    form = EndpointFilter(request.GET)
    found = _find(form, by) if form.is_valid() else Endpoint.objects.none()
    before = request.GET.get("before", "")
    page = newest_first(found.exclude(pk__in=queries.failing(found).values("pk")), before)
    # On the first page alone, and however many: whoever looks at the list looks for these.
    failing = [] if before else list(queries.failing(found).order_by("-pk"))
    rows = [
        {"health": one, "badge": labels.badge_of(one.endpoint, one.circuit), "spark": sparkline(one.hours)}
        for one in health.of_all([*failing, *page.rows], at=now)
    ]
    filtered = any(request.GET.get(name) for name in form.fields)
    context = {"form": form, "rows": rows, "older": page.next, "filtered": filtered}
    return render(request, "webhooks/endpoints.html", context)


def _find(form: EndpointFilter, by: Principal) -> EndpointQuerySet:
    return queries.find(by=by, state=form.cleaned_data["state"], text=form.cleaned_data["sought"])


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.WEBHOOKS_MANAGE)
@require_recent_login
def add(request: HttpRequest) -> HttpResponse:
    """Register an endpoint; the answer to the form is where its secret is shown."""
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
    """Change what an endpoint is."""
    by = principal_of(request)
    endpoint = _found(endpoint_id, by)
    was = endpoint_validation.params_of(endpoint)
    if request.method != "POST":
        return _form(request, EndpointChange(initial=initial_of(endpoint, was), by=by, kept=was.headers), endpoint)
    form = EndpointChange(request.POST, by=by, kept=was.headers)
    if "find" in request.POST:
        return _form(request, EndpointChange(initial=form.typed(), by=by, kept=was.headers), endpoint)
    if form.is_valid():
        wanted = form.params()
        # Only what is changed: an address that stays is not looked up again.
        changes = {
            one.name: value for one in fields(wanted) if (value := getattr(wanted, one.name)) != getattr(was, one.name)
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
    """Show an endpoint: how it does, what it is, what was sent of late."""
    return _page(request, endpoint_id)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def last_test(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Show how the last test stands; a page asks for this while it waits."""
    by = principal_of(request)
    found = _found(endpoint_id, by)
    return render(request, "webhooks/last_test.html", {"endpoint": found, **_last_test(found, by)})


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def test(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Send a test; the page it leads to shows what comes of it."""
    services.test(endpoint_id=endpoint_id, by=principal_of(request), at=timezone.now())
    return redirect("webhook_endpoint", endpoint_id=endpoint_id)


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def pause(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    def act(by: Principal) -> None:
        services.pause(endpoint_id=endpoint_id, by=by, at=timezone.now())

    return _acted(request, endpoint_id, act, _("The endpoint is paused; its events are collected."))


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def resume(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    held = "deliver_held" in request.POST

    def act(by: Principal) -> None:
        services.resume(endpoint_id=endpoint_id, deliver_held=held, by=by, at=timezone.now())

    return _acted(request, endpoint_id, act, _("The endpoint is active."))


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def remove(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Take an endpoint away, with all that waits for it."""
    services.remove(endpoint_id=endpoint_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The endpoint is removed."))
    return redirect("webhook_endpoints")


@require_POST
@require_scope(Scope.WEBHOOKS_MANAGE)
def rotate(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Give an endpoint another secret; the answer is where it is shown."""
    if not is_proven(request):
        return to_proof("webhook_endpoint", endpoint_id=endpoint_id)
    form = SecretRotation(request.POST)
    if form.is_valid():
        try:
            rotated, text = secrets.rotate(
                endpoint_id=endpoint_id,
                text=form.cleaned_data["secret"] or None,
                overlap=form.span(),
                by=principal_of(request),
                at=timezone.now(),
            )
        except NotFound:
            raise
        except DomainError as refusal:
            put_on(form, refusal, {"secret": "secret"})
        else:
            return _show_secret(request, rotated, text, new=False)
    return _page(request, endpoint_id, rotation=form)


def _acted(request: HttpRequest, endpoint_id: UUID, act: Callable[[Principal], None], said: str) -> HttpResponse:
    """Do one thing to an endpoint, and say on its page what came of it."""
    try:
        act(principal_of(request))
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, said)
    return redirect("webhook_endpoint", endpoint_id=endpoint_id)


def _found(endpoint_id: UUID, by: Principal) -> Endpoint:
    return get_object_or_404(Endpoint.objects.visible_to(by).select_related("client"), pk=endpoint_id)


def _refuse(form: EndpointForm, refusal: DomainError) -> None:
    if isinstance(refusal, StaleVersion):
        form.add_error(None, _("Somebody changed the endpoint meanwhile. Open it again to see what it is now."))
    elif isinstance(refusal, endpoint_validation.PhiNotGranted):
        form.add_error("payload_level", refusal.message)
    else:
        put_on(form, refusal, FIELDS)


def _form(
    request: HttpRequest, form: EndpointForm, endpoint: Endpoint | None = None, *, unproven: bool = False
) -> HttpResponse:
    sought = request.POST.get("sought", "")
    ticked = form["event_types"].value() or []
    context = {
        "form": form,
        "endpoint": endpoint,
        "everything": EVERYTHING in ticked,
        "families": picker.families(ticked, sought),
        "sought": sought,
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
    """Look at the newest test of an endpoint.  Three queries."""
    rows = deliveries.found(deliveries.DeliveryCriteria(endpoint_id=endpoint.pk), by=by).select_related("endpoint")
    found = rows.filter(trigger=Delivery.Trigger.TEST).order_by("-pk").first()
    if found is None:
        return {"test": None}
    shown = deliveries.show(found, by=by)
    last = shown.attempts[-1] if shown.attempts else None
    return {
        "test": found,
        "badge": labels.STATUSES[found.status],
        "attempt": last,
        "result": labels.result_of(last["code"], last["error"]) if last else "",
        "waiting": found.status in (Delivery.Status.PENDING, Delivery.Status.IN_FLIGHT),
    }


def _page(request: HttpRequest, endpoint_id: UUID, *, rotation: SecretRotation | None = None) -> HttpResponse:
    by, now = principal_of(request), timezone.now()
    found = _found(endpoint_id, by)
    one = health.of(found, at=now)
    recent = deliveries.found(deliveries.DeliveryCriteria(endpoint_id=endpoint_id), by=by).order_by("-pk")[:RECENT]
    context = {
        "endpoint": found,
        "health": one,
        "state": labels.badge_of(found, one.circuit),
        "spark": sparkline(one.hours),
        "last_error": dict(ErrorClass.choices).get(one.last_error, ""),
        "facilities": Facility.objects.filter(pk__in=found.facility_ids or ()).order_by("name"),
        "providers": TransportProvider.objects.filter(pk__in=found.provider_ids or ()).order_by("name"),
        "secrets": found.valid_secrets(now),
        "agreed_by": accounts.names_of([found.phi_agreed_by]).get(found.phi_agreed_by, found.phi_agreed_by),
        "recent": [(delivery, labels.STATUSES[delivery.status]) for delivery in recent],
        "jobs": found.jobs.order_by("-created_at")[:3],
        "rotation": rotation or SecretRotation(),
        "states": Endpoint.State,
        "replays_per_second": settings.WEBHOOK_REPLAYS_PER_SECOND,
        **_last_test(found, by),
    }
    return render(request, "webhooks/endpoint.html", context, status=UNPROCESSABLE if rotation else 200)
