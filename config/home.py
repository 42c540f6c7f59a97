"""The home page: what is here for this person, and how the day stands."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of, zone_of
from apps.dispatch import downtime
from apps.dispatch.queries.downtime import newest
from apps.rides.lifecycle import RideStatus
from apps.rides.queries import today
from config.console import contents_for
from lib.access import Principal
from lib.local_time import local_time
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
    """Show the day and the contents; at most two queries beyond the session's, and one where a pack is made."""
    by = principal_of(request)
    now = timezone.localtime()
    context: dict[str, Any] = {"today": now, "contents": contents_for(request.user)}
    context["has_day"] = by.may(Scope.RIDES_WRITE) and bool(by.facility_ids)
    if by.may(Scope.RIDES_READ):
        day = today.day(by=by, at=now)
        context |= {"total": day.total, "statuses": [_status_tile(day, *row) for row in day.by_status]}
    if by.may(Scope.EXCEPTIONS_READ):
        context["exceptions"] = _exception_tiles(by)
    if by.may(Scope.USERS_MANAGE) or by.may(Scope.RIDES_CORRECT):
        context["downtime"] = _downtime(zone_of(request).key)
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


def _downtime(zone: str) -> dict[str, Any]:
    """Say how the downtime pack stands to those who answer for it; a pack that nobody wants is one line."""
    if not settings.DOWNTIME_PASSPHRASE:
        return {"is_on": False}
    pack, at = newest(), timezone.now()
    made_at = pack.made_at if pack else None
    minutes = int((at - made_at).total_seconds() // 60) if made_at else 0
    copy_lacks = bool(settings.DOWNTIME_COPY_DIR) and (pack is None or pack.copied_at != made_at)
    return {
        "is_on": True,
        "pack": pack,
        "made": local_time(made_at, zone),
        "minutes": minutes,
        "is_old": downtime.is_old(made_at, at),
        "copy_lacks": copy_lacks,
    }
