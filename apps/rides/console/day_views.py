"""A facility's day: what needs its planners, who waits to be released, and when vehicles come."""

import datetime as dt
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_safe

from apps.accounts.console.rights import UNPROCESSABLE, needs
from apps.accounts.services import audit
from apps.accounts.sessions import principal_of
from apps.rides.console import day_rows
from apps.rides.console.ride_forms import Overridable, Versioned
from apps.rides.queries import facility_day
from lib.access import Principal
from lib.scopes import Scope

CONFLICT = 409  # the page was about an older version
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for; None: the first facility by name, and today there."""

    facility_id: UUID | None
    day: dt.date | None

    def query(self, **changes: Any) -> str:
        values = {"facility": self.facility_id, "day": self.day} | changes
        return urlencode({name: value for name, value in values.items() if value is not None})

    def url(self, **changes: Any) -> str:
        query = self.query(**changes)
        return reverse("planner_day") + (f"?{query}" if query else "")


@require_safe
@needs(Scope.RIDES_WRITE)
def day(request: HttpRequest) -> HttpResponse:
    """Show a day of one facility in reach.  Seven queries at most, for any number of rides."""
    return page(request)


@require_safe
@needs(Scope.RIDES_WRITE)
def day_part(request: HttpRequest) -> HttpResponse:
    """Show the list alone, as pages fetch it when something has changed."""
    return _rendered(request, "rides/day_list.html", _shown(request))


def page(request: HttpRequest, *, returned: Versioned | None = None, of: UUID | None = None) -> HttpResponse:
    """Show the day; `returned` is a form about the ride `of` that comes back with its errors."""
    by = principal_of(request)
    context = {
        **_shown(request),
        "returned": returned,
        "of": of,
        "again": returned if isinstance(returned, Overridable) else None,
        "may_override": by.may(Scope.RIDES_OVERRIDE),
    }
    status = 200 if returned is None else CONFLICT if returned.is_stale else UNPROCESSABLE
    return _rendered(request, "rides/day.html", context, status)


def asked_of(request: HttpRequest) -> Asked:
    """Read the facility and the day out of an address; a day that is none is today, a facility that is none no page."""
    facility = request.GET.get("facility", "")
    try:
        facility_id = UUID(facility) if facility else None
    except ValueError:
        raise Http404 from None
    return Asked(facility_id, _day(request.GET.get("day", "")))


def _day(text: str) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return day if 2000 <= day.year < 2200 else None


def _rendered(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    zone = context["zone"] or timezone.get_current_timezone()
    with timezone.override(zone):
        return render(request, template, context, status=status)


def _shown(request: HttpRequest) -> dict[str, Any]:
    """Read what an address asks for, and leave the row of the look."""
    by, now, asked = principal_of(request), timezone.now(), asked_of(request)
    places = facility_day.facilities(by)
    facility_id = asked.facility_id or next((pk for pk, _name in places), None)
    if facility_id is None:
        return {"places": [], "zone": None}
    if facility_id not in {pk for pk, _name in places}:
        raise Http404
    found = facility_day.facility_day(facility_id, asked.day, by=by, at=now)
    _record(found, by)
    return {
        "places": places,
        "zone": ZoneInfo(found.facility.timezone),
        "facility": found.facility,
        "day": found.day,
        "day_words": date_format(found.day, "D j M Y"),
        "is_today": found.day == found.today,
        "asked": asked,
        "query": asked.query(),
        "before": asked.url(day=found.day - _DAY),
        "after": asked.url(day=found.day + _DAY),
        "today": asked.url(day=None),
        "sections": day_rows.sections(found, by, now),
    }


def _record(found: facility_day.FacilityDay, by: Principal) -> None:
    audit.record(
        by=by,
        action="rides.day",
        subject_type="facility",
        subject_id=found.facility.pk,
        rider_ids=[ride.rider_id for ride in found.rides],
        facility_id=found.facility.pk,
        phi=by.phi.name.lower(),
        details={"day": found.day.isoformat()},
    )
