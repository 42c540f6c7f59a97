"""The shifts of a week, by driver."""

import datetime as dt
from typing import Any, Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of, zone_of
from apps.console.fleet import labels, shift_plan
from apps.console.fleet.board_views import providers
from apps.console.fleet.shift_forms import PlanFilter, times_of
from apps.console.fleet.shift_plan import DayOfDriver, DriverWeek
from apps.console.kit.rights import require_scope
from apps.fleet.models import Activation
from lib import dates
from lib.access import Principal
from lib.scopes import Scope

MOST: Final = 100  # drivers of a page
_WEEK: Final = dt.timedelta(days=shift_plan.DAYS)


@require_safe
@require_scope(Scope.DRIVERS_READ)
def week(request: HttpRequest) -> HttpResponse:
    """Show the shifts of seven days by driver.  The number of queries is independent of the number of drivers."""
    by, today = principal_of(request), timezone.now().astimezone(zone_of(request)).date()
    form = PlanFilter(request.GET, providers=providers(by), today=today)
    weeks = shift_plan.week(form.first, provider_id=form.provider_id, by=by)
    page = Paginator(weeks, MOST).get_page(request.GET.get("page"))
    days = [form.first + number * dt.timedelta(days=1) for number in range(shift_plan.DAYS)]
    context = {
        "form": form,
        "filtered": form.provider_id is not None,
        "title": dates.dated_day(form.first),
        "days": [(day, dates.short_day(day), day == today) for day in days],
        "earlier": f"?{form.query(form.first - _WEEK)}",
        "now": f"?{form.query(today)}",
        "later": f"?{form.query(form.first + _WEEK)}",
        "page": page,
        "rows": [_row(week, by) for week in page],
        "may_change": by.has_scope(Scope.DRIVERS_WRITE),
    }
    return render(request, "fleet/shifts.html", context)


def _row(week: DriverWeek, by: Principal) -> dict[str, Any]:
    driver = week.driver
    return {
        "driver": driver,
        "name": labels.name_of(driver, by),
        "status": None if driver.activation == Activation.ACTIVE else labels.status_badge(driver),
        "days": [_day(day, driver.provider.timezone) for day in week.days],
        "minutes": week.minutes,
    }


def _day(day: DayOfDriver, zone: str) -> dict[str, Any]:
    shifts = [{"shift": shift, "unit": shift.vehicle.unit_number, **times_of(shift, zone)} for shift in day.shifts]
    return {"day": day.day, "title": dates.short_day(day.day), "away": day.away, "shifts": shifts}
