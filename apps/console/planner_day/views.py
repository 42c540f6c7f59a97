"""The day of one or several facilities: rides that need a planner, riders to release, and arrivals of vehicles."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.planner_day import day_rows
from apps.console.ride.ride_forms import Overridable, Versioned
from apps.riders.labels import mobility_label
from apps.rides.queries import facility_day
from apps.rides.rules.lifecycle import RideStatus
from lib import dates
from lib.access import Principal
from lib.scopes import Scope

CONFLICT = 409  # the form was of an older version of the ride
MAX_FACILITIES = 10  # facilities on one page
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayParams:
    """The parameters of the URL.

    Without a facility, the user's default ones apply (`_default_facilities`); without a day, today at the facility.
    """

    facility_ids: tuple[UUID, ...]
    day: dt.date | None

    def query(self, **changes: Any) -> str:
        values = {"facility": self.facility_ids, "day": self.day} | changes
        return urlencode({name: value for name, value in values.items() if value is not None}, doseq=True)

    def url(self, **changes: Any) -> str:
        query = self.query(**changes)
        return reverse("planner_day") + (f"?{query}" if query else "")


@require_safe
@require_scope(Scope.RIDES_WRITE)
def day(request: HttpRequest) -> HttpResponse:
    """Show a day of visible facilities.  At most six queries for any number of rides, plus audit entries."""
    return page(request)


@require_safe
@require_scope(Scope.RIDES_WRITE)
def day_part(request: HttpRequest) -> HttpResponse:
    """Render only the list, which the page fetches after a change."""
    return _render(request, "rides/day_list.html", _day_context(request))


@require_safe
@require_scope(Scope.RIDES_WRITE)
def day_print(request: HttpRequest) -> HttpResponse:
    """Render the day for print, sorted by time.

    Printed pages lie around, so they contain no notes, phone numbers, or needs beyond those of the vehicle.
    """
    context = _day_context(request, action="rides.day_print")
    for group in context.get("groups", ()):
        rows = [row for section in group["sections"] for row in section["rows"]]
        # Canceled rides need no preparation.
        rows = [row for row in rows if row["ride"].status != RideStatus.CANCELLED]
        rows.sort(key=lambda row: (row["ride"].pickup_at, row["ride"].pk))
        group["rows"] = [row | {"mobility": mobility_label(row["ride"].accommodation["mobility"])} for row in rows]
    return _render(request, "rides/day_print.html", context)


def page(request: HttpRequest, *, returned: Versioned | None = None, ride_id: UUID | None = None) -> HttpResponse:
    """Render the day; `returned` is a form of the ride `ride_id` with its errors."""
    by = principal_of(request)
    context = {
        **_day_context(request),
        "returned": returned,
        "ride_id": ride_id,
        "retry_form": returned if isinstance(returned, Overridable) else None,
        "may_override": by.has_scope(Scope.RIDES_OVERRIDE),
    }
    status = 200 if returned is None else CONFLICT if returned.is_stale else UNPROCESSABLE
    return _render(request, "rides/day.html", context, status)


def day_params_of(request: HttpRequest) -> DayParams:
    """Parse facilities and day of the URL; an invalid day means today, an invalid facility raises Http404."""
    try:
        facility_ids = tuple(UUID(text) for text in request.GET.getlist("facility") if text)
    except ValueError:
        raise Http404 from None
    return DayParams(facility_ids, _day(request.GET.get("day", "")))


def _day(text: str) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return day if 2000 <= day.year < 2200 else None


def _render(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    zone = context["zone"] or timezone.get_current_timezone()
    with timezone.override(zone):
        return render(request, template, context, status=status)


def _day_context(request: HttpRequest, *, action: str = "rides.day") -> dict[str, Any]:
    """Return the template context of the requested day, and record the read in the audit trail as `action`."""
    by, now, params = principal_of(request), timezone.now(), day_params_of(request)
    places = dict(facility_day.facilities(by))
    chosen = params.facility_ids or _default_facilities(places, by)
    if not chosen:
        return {"places": {}, "zone": None}
    if not places.keys() >= set(chosen) or len(chosen) > MAX_FACILITIES:
        raise Http404
    days = facility_day.facility_days(chosen, params.day, by=by, at=now)
    for day in days:
        _record(day, by, action)
    groups = [_group(day, by, now) for day in days]
    first = days[0]
    return {
        "places": places,
        "chosen": [day.facility.pk for day in days],
        "offers_all": by.facility_ids is not None and 1 < len(places) <= MAX_FACILITIES,
        "zone": ZoneInfo(first.facility.timezone),
        "facility": first.facility,
        "groups": groups,
        "sections": [section for group in groups for section in group["sections"]],
        "day": first.day,
        "day_label": dates.dated_day(first.day),
        "is_today": first.day == first.today,
        "params": params,
        "query": params.query(),
        "previous_url": params.url(day=first.day - _DAY),
        "next_url": params.url(day=first.day + _DAY),
        "today": params.url(day=None),
        "now": now,
    }


def _default_facilities(places: Mapping[UUID, str], by: Principal) -> tuple[UUID, ...]:
    """Return the default facilities: all of a facility user's own if they fit on a page, else the first by name."""
    is_own = by.facility_ids is not None and len(places) <= MAX_FACILITIES
    return tuple(places) if is_own else tuple(places)[:1]


def _group(day: facility_day.FacilityDay, by: Principal, now: dt.datetime) -> dict[str, Any]:
    return {
        "facility": day.facility,
        "zone": ZoneInfo(day.facility.timezone),
        "day_label": dates.dated_day(day.day),
        "sections": day_rows.sections(day, by, now),
    }


def _record(day: facility_day.FacilityDay, by: Principal, action: str) -> None:
    record_read(
        by=by,
        action=action,
        subject_type="facility",
        subject_id=day.facility.pk,
        rider_ids=[ride.rider_id for ride in day.rides],
        facility_id=day.facility.pk,
        details={"day": day.day.isoformat()},
    )
