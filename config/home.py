"""The home page: what is here for this person, and how the day stands."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.rides.lifecycle import RideStatus
from apps.rides.queries import today
from config.console import contents_for
from lib.access import Principal
from lib.scopes import Scope

# The edge of a tile says how a status bears on the day; its words say which one it is.
EDGES = {
    RideStatus.REQUESTED: "warn",
    RideStatus.SCHEDULED: "warn",
    RideStatus.COMPLETED: "ok",
    RideStatus.NO_SHOW: "bad",
    RideStatus.UNFULFILLED: "bad",
}


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the day and the contents; at most two queries beyond the session's."""
    by = principal_of(request)
    now = timezone.localtime()
    context: dict[str, Any] = {"today": now, "contents": contents_for(request.user)}
    context["has_day"] = by.may(Scope.RIDES_WRITE) and bool(by.facility_ids)
    if by.may(Scope.RIDES_READ):
        day = today.day(by=by, at=now)
        context |= {"total": day.total, "statuses": [_status_tile(day, *row) for row in day.by_status]}
    if by.may(Scope.EXCEPTIONS_READ):
        context["exceptions"] = _exception_tiles(by)
    return render(request, "home.html", context)


def _status_tile(day: today.Day, status: RideStatus, count: int) -> dict[str, Any]:
    rows = {
        "status__exact": status.value,
        "pickup_at__gte": day.starts_at.isoformat(),
        "pickup_at__lt": day.ends_at.isoformat(),
    }
    return {
        "label": status.label,
        "count": count,
        "edge": EDGES.get(status, "brand-edge"),
        "url": f"{reverse('admin:rides_ride_changelist')}?{urlencode(rows)}",
    }


def _exception_tiles(by: Principal) -> list[dict[str, Any]]:
    page = reverse("exceptions")
    return [
        {
            "label": severity.label,
            "count": count,
            "edge": {"critical": "bad", "warning": "warn"}.get(severity, "brand-edge"),
            "url": f"{page}?{urlencode({'severity': severity.value})}",
        }
        for severity, count in today.unsettled_exceptions(by=by)
    ]
