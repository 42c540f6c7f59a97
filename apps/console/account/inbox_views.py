"""The inbox: alerts for the people who operate the service."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import queries
from apps.accounts.services import alerts
from apps.accounts.sessions import principal_of
from apps.console.kit.rights import require_scope
from lib.pagination import newest_first


@require_safe
@require_scope(*alerts.AUDIENCES)
def inbox(request: HttpRequest) -> HttpResponse:
    """Show open alerts, most severe first, and past ones, newest first.  Three queries."""
    by = principal_of(request)
    past = newest_first(queries.past_alerts(by=by), request.GET.get("before", ""))
    names = queries.names_of(alert.acknowledged_by for alert in past.rows)
    rows = [(alert, names.get(alert.acknowledged_by, "")) for alert in past.rows]
    open_alerts, has_more = queries.open_alerts(by=by)
    context = {
        "alerts": open_alerts,
        "has_more": has_more,
        "past": rows,
        "older": past.next,
        "current_url": request.get_full_path(),
    }
    return render(request, "accounts/inbox.html", context)


@require_safe
@require_scope(*alerts.AUDIENCES)
def count(request: HttpRequest) -> HttpResponse:
    """Render the number of open alerts, which the page fetches after an alert was opened or closed."""
    return render(request, "accounts/inbox_count.html")


@require_safe
@require_scope(*alerts.AUDIENCES)
def news(request: HttpRequest) -> HttpResponse:
    """Return number, ids and severities of open alerts, for the page title, sounds and notifications."""
    newest, count = queries.alerts_at_hand(by=principal_of(request))
    payload = [{"id": str(pk), "severity": severity} for pk, severity in newest]
    return JsonResponse({"open": count, "alerts": payload})


@require_POST
@require_scope(*alerts.AUDIENCES)
def acknowledge(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    """Acknowledge an alert for all users."""
    alerts.acknowledge(alert_id=alert_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The alert is marked as handled."))
    return redirect("inbox")
