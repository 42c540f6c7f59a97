"""The home page, with counts of the day, and the start page that each user is redirected to after login."""

from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.sessions import principal_of, zone_of
from apps.console.shell.navigation import BOARD, CREDENTIALS, DAY, DELIVERIES, EXCEPTIONS, HOME, contents_for
from apps.console.shell.setup_checklist import checklist
from apps.dispatch.queries.downtime import newest
from apps.dispatch.services import downtime_page
from apps.rides.labels import STORED_STATUSES
from apps.rides.queries import day_counts
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal
from lib.local_time import local_time
from lib.scopes import Scope

# The color of a tile's edge shows how a status affects the day; its label names the status.
EDGES = {
    RideStatus.REQUESTED: "warn",
    RideStatus.SCHEDULED: "warn",
    RideStatus.COMPLETED: "ok",
    RideStatus.NO_SHOW: "bad",
    RideStatus.UNFULFILLED: "bad",
}


# Start pages by permissions; the first match is used.
STARTS: Final[tuple[tuple[Callable[[Principal], bool], str], ...]] = (
    # Administrators start with the setup checklist, whatever else they may do.
    (lambda by: by.has_scope(Scope.USERS_MANAGE), HOME.address),
    # Dispatch supervisors (they may correct ended rides): their queue has the board's counters on top.
    (lambda by: by.has_scope(Scope.RIDES_CORRECT) and by.has_scope(Scope.EXCEPTIONS_READ), EXCEPTIONS.address),
    (lambda by: by.has_scope(Scope.ASSIGNMENTS_WRITE), BOARD.address),
    (lambda by: by.has_scope(Scope.RIDES_WRITE) and by.provider_ids is None and bool(by.facility_ids), DAY.address),
    (lambda by: by.has_scope(Scope.DRIVERS_WRITE) and by.has_scope(Scope.DRIVERS_READ), CREDENTIALS.address),
    (lambda by: by.has_scope(Scope.WEBHOOKS_MANAGE), DELIVERIES.address),
)


def start_of(by: Principal) -> str:
    """Return the URL name of the user's start page; the home page if none matches."""
    return next((address for matches, address in STARTS if matches(by)), HOME.address)


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the start page, after login and from the root URL."""
    return redirect(start_of(principal_of(request)))


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the counts of the day and the table of contents; up to one query each for rides, exceptions, setup, pack."""
    by = principal_of(request)
    now = timezone.localtime()
    context: dict[str, Any] = {"today": now, "contents": contents_for(request.user)}
    if by.has_scope(Scope.USERS_MANAGE):
        context["setup"] = checklist(cast(User, request.user), by=by, at=now)
    context["has_day"] = by.has_scope(Scope.RIDES_WRITE) and bool(by.facility_ids)
    if by.has_scope(Scope.RIDES_READ):
        day = day_counts.day(by=by, at=now)
        context |= {"total": day.total, "statuses": [_status_tile(day, *row) for row in day.by_status]}
    if by.has_scope(Scope.EXCEPTIONS_READ):
        context["exceptions"] = _exception_tiles(by)
    if by.has_scope(Scope.USERS_MANAGE) or by.has_scope(Scope.RIDES_CORRECT):
        context["downtime"] = _downtime(zone_of(request).key)
    return render(request, "home.html", context)


def _status_tile(day: day_counts.RideCounts, status: RideStatus, count: int) -> dict[str, Any]:
    rows = {
        "status__exact": status.value,
        "pickup_at__gte": day.starts_at.isoformat(),
        "pickup_at__lt": day.ends_at.isoformat(),
    }
    return {
        "label": STORED_STATUSES[status],
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
        for severity, count in day_counts.unsettled_exceptions(by=by)
    ]


def _downtime(zone: str) -> dict[str, Any]:
    """Return the template context of the downtime pack; only `is_on` if no passphrase is set."""
    if not settings.DOWNTIME_PASSPHRASE:
        return {"is_on": False}
    pack, at = newest(), timezone.now()
    made_at = pack.made_at if pack else None
    minutes = int((at - made_at).total_seconds() // 60) if made_at else 0
    copy_is_missing = bool(settings.DOWNTIME_COPY_DIR) and (pack is None or pack.copied_at != made_at)
    return {
        "is_on": True,
        "pack": pack,
        "made": local_time(made_at, zone),
        "minutes": minutes,
        "is_old": downtime_page.is_old(made_at, at),
        "copy_is_missing": copy_is_missing,
    }
