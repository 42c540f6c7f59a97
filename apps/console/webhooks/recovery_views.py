"""Recoveries of an endpoint: count events, start the recovery, and show its progress."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.sessions import principal_of
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.webhooks import labels
from apps.console.webhooks.forms import RecoveryForm
from apps.webhooks.models import Endpoint, EndpointHealth
from apps.webhooks.services import recovery
from lib.console_forms import add_errors
from lib.errors import DomainError
from lib.scopes import Scope

NAMES = {"since": "since", "until": "until", "statuses": "statuses"}


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.WEBHOOKS_MANAGE)
def recover(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Count what a recovery would send (GET with a period), or start it (POST)."""
    by, now = principal_of(request), timezone.now()
    endpoint = get_object_or_404(Endpoint.objects.visible_to(by), pk=endpoint_id)
    starts = request.method == "POST"
    data = request.POST if starts else request.GET
    since = timezone.localtime(_failing_since(endpoint) or now - timedelta(days=1)).replace(second=0, microsecond=0)
    form = RecoveryForm(data if data else None, initial={"since": since})
    context: dict[str, Any] = {
        "endpoint": endpoint,
        "form": form,
        "replays_per_second": settings.WEBHOOK_REPLAYS_PER_SECOND,
    }
    if form.is_bound and form.is_valid():
        try:
            result = recovery.recover(
                endpoint_id=endpoint_id, period=form.period(now), dry_run=not starts, by=by, at=now
            )
        except DomainError as refusal:
            add_errors(form, refusal, NAMES)
        else:
            if starts:
                return _started(request, endpoint_id, result)
            context |= {
                "counted": True,
                "total": sum(result.counts.values()),
                "is_capped": result.is_capped,
                "most_counted": recovery.MAX_COUNTED,
                "found": [(labels.RECOVERY_STATUSES[status], count) for status, count in sorted(result.counts.items())],
                "until": form.cleaned_data["until"] or now,
                # The recovery sends the events that were counted: until now, not until the button is pressed.
                "until_text": timezone.localtime(form.cleaned_data["until"] or now).isoformat(),
            }
    return render(request, "webhooks/recover.html", context, status=UNPROCESSABLE if form.errors else 200)


@require_safe
@require_scope(Scope.WEBHOOKS_MANAGE)
def recoveries(request: HttpRequest, endpoint_id: UUID) -> HttpResponse:
    """Show the progress of the last recoveries; pages poll this while one runs."""
    endpoint = get_object_or_404(Endpoint.objects.visible_to(principal_of(request)), pk=endpoint_id)
    jobs = endpoint.jobs.order_by("-created_at")[:3]
    return render(request, "webhooks/recoveries.html", {"endpoint": endpoint, "jobs": jobs})


def _started(request: HttpRequest, endpoint_id: UUID, recovery: recovery.Recovery) -> HttpResponse:
    if recovery.job is None:
        messages.info(request, _("There is nothing to send again."))
    else:
        messages.success(request, _("The recovery has begun: %(total)s events.") % {"total": recovery.job.total})
    return redirect("webhook_endpoint", endpoint_id=endpoint_id)


def _failing_since(endpoint: Endpoint) -> Any:
    return EndpointHealth.objects.values_list("failing_since", flat=True).get(pk=endpoint.pk)
