"""The rides behind a figure, a page at a time; names for those alone who may see them."""

from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.accounts.console.lists import arranged
from apps.accounts.console.rights import needs
from apps.accounts.services import audit
from apps.accounts.sessions import principal_of
from apps.reporting.console import words
from apps.reporting.console.forms import ReportFilter, filters
from apps.reporting.defining import REASONS, Definition, Way
from apps.reporting.definitions import BY_KEY
from apps.reporting.queries import behind
from apps.reporting.queries.behind import Behind, rides_behind
from apps.riders.words import may_name, rider_name
from apps.rides.console import words as ride_words
from apps.rides.models import Ride
from lib.access import Principal
from lib.console_forms import ListFilter
from lib.errors import InvalidInput
from lib.listing import Listing, spelled
from lib.newest_first import uuid_or_none
from lib.replica import alias
from lib.retelling import retold
from lib.scopes import Scope

LIST: Final = Listing("report_rides", sorts={}, size=50)
COUNTED: Final = {
    "denominator": _("All that it is about"),
    "numerator": _("Those it counts"),
    "excluded": _("Those it leaves out"),
}


class PointFilter(ListFilter):
    """Which point of a trend."""

    counted = forms.ChoiceField(required=False, choices=[("", ""), *COUNTED.items()])
    reason = forms.CharField(required=False, max_length=60)
    weekday = forms.IntegerField(required=False, min_value=1, max_value=7)
    hour = forms.IntegerField(required=False, min_value=0, max_value=23)
    pattern = forms.ChoiceField(required=False, choices=[("", ""), *((one, one) for one in ("mwf", "tts", "other"))])
    shift = forms.ChoiceField(required=False, choices=[("", ""), *((one, one) for one in ("first", "second", "third"))])

    def narrowed(self) -> dict[str, object]:
        """Give what narrows rides to one point; what does not hold narrows nothing."""
        self.is_valid()
        values = {name: self.cleaned_data.get(name) for name in behind.NARROWED_BY}
        return {name: value for name, value in values.items() if value not in (None, "")}


@require_safe
@needs(Scope.REPORTS_READ)
def rides(request: HttpRequest, key: str) -> HttpResponse:
    """List the rides behind a figure; whose names are shown is recorded.  As many queries for any number of rides."""
    by, at = principal_of(request), timezone.now()
    if key not in BY_KEY:
        raise Http404
    definition = BY_KEY[key]
    form = cast(ReportFilter, filters(by, at=at)(request.GET))
    point = PointFilter(request.GET)
    narrowed = point.narrowed()
    counted = point.cleaned_data.get("counted") or "denominator"
    reason = point.cleaned_data.get("reason") if counted == "excluded" else None
    asked = {**form.known(), "counted": counted, "reason": reason, **{name: str(it) for name, it in narrowed.items()}}
    shown = arranged(request, LIST, {name: value for name, value in asked.items() if value})
    context: dict[str, Any] = {
        "form": form,
        "title": words.title_of(definition),
        "counted": COUNTED[counted],
        "kinds": [(label, f"?{spelled({**asked, 'reason': '', 'counted': one})}", one == counted)
                  for one, label in COUNTED.items() if one != "excluded"],
        "back": f"{reverse('report_figure', args=[key])}?{spelled(form.known())}",
        "shown": shown,
    }  # fmt: skip
    try:
        names = behind.names_of(definition, counted, reason)
    except InvalidInput:
        raise Http404 from None  # an exclusion that the figure does not have
    selection = form.selection(by, most_days=behind.MOST_DAYS)
    if selection is None:
        return render(request, "reports/rides.html", context)
    found = rides_behind(
        by=by, selection=selection, names=names, after=_after(shown.after, by), most=shown.rows, narrowed=narrowed
    )
    rows = _rows(found.rows, definition, by)
    context |= {
        "selection": selection,
        "what": _what(definition, counted, reason),
        "narrowed": bool(narrowed),
        "rows": rows,
        "suppressed": found.suppressed,
        "next": str(found.rows[-1].ride_id) if found.has_more else "",
        "named": may_name(by),
        "has_minutes": any(row["minutes"] for row in rows),
    }
    audit.record(
        by=by,
        action="reports.rides",
        subject_type="ride",
        rider_ids=[row["rider_id"] for row in rows] if may_name(by) else [],
        phi=by.phi.name.lower() if may_name(by) else "",
        details={"figure": key, "counted": counted, "rows": len(rows)},
    )
    return render(request, "reports/rides.html", context)


def _after(text: str, by: Principal) -> tuple[Any, UUID] | None:
    """Find where a page begins: behind a ride, whose id alone stands in the address."""
    ride_id = uuid_or_none(text)
    rides_ = Ride.objects.using(alias()).visible_to(by)
    at = rides_.filter(pk=ride_id).values_list("pickup_at", flat=True).first() if ride_id else None
    return None if at is None or ride_id is None else (at, ride_id)


def _what(definition: Definition, counted: str, reason: str | None) -> str:
    if reason:
        return retold(REASONS[reason])
    is_counted = counted == "numerator" or definition.way is Way.QUANTILE
    return retold(definition.counted if is_counted else definition.population)


def _rows(found: list[Behind], definition: Definition, by: Principal) -> list[dict[str, Any]]:
    """Write rows; rides are read again for names and places, in one query."""
    rides_ = Ride.objects.using(alias()).visible_to(by).select_related("rider", "facility")
    by_id = {ride.pk: ride for ride in rides_.filter(pk__in=[one.ride_id for one in found])}
    opens = by.may(Scope.RIDES_READ)
    return [
        {
            "ride": by_id[one.ride_id],
            "rider_id": by_id[one.ride_id].rider_id,
            "end": str(one.ride_id)[-8:],
            "url": reverse("ride_page", args=[one.ride_id]) if opens else "",
            "name": rider_name(by_id[one.ride_id].rider, by),
            "day": one.service_date,
            "badge": ride_words.STATUSES[one.status],
            "counts": any(name in definition.numerator for name in one.measures),
            "minutes": ", ".join(map(str, one.minutes)),
        }
        for one in found
        if one.ride_id in by_id
    ]
