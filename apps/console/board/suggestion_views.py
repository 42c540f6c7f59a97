"""Suggested drivers for unassigned rides: a preview, then the assignment of the accepted suggestions."""

from collections import Counter
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.board import labels
from apps.console.board.cards import card
from apps.console.board.forms import accepted
from apps.console.board.page import page_of, reader_of
from apps.console.board.selection_views import answered, back
from apps.console.board.timeline import Reader
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.suggestions import Preview, preview
from apps.dispatch.rules.axis import Axis
from apps.dispatch.rules.suggesting import Suggestion
from apps.dispatch.services import planning
from apps.rides.labels import driver_name
from apps.rides.queries.ride_needs import errand_of
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def suggestions(request: HttpRequest) -> HttpResponse:
    """Show suggested drivers for all waiting rides of a day or for selected rides.  Writes only an audit entry."""
    reader = reader_of(request)
    page = page_of(request, reader)
    chosen = _chosen(request)
    found = preview(Axis(page.day, reader.zone.key), ride_ids=chosen, by=reader.by, at=reader.at)
    record_read(
        by=reader.by,
        action="rides.suggestions",
        subject_type="ride",
        rider_ids={ride.rider_id for ride in found.rides.values()},
        details={"day": page.day.isoformat()},
    )
    context = {
        "page": page,
        "back": page.url() if chosen is None else back(request),
        "again": request.get_full_path() if chosen is None else back(request),
        "whole": chosen is None,
        "rows": [_row(one, found, reader) for one in found.plan.suggestions],
        "left": [
            {**_ride(one.ride_id, found, reader), "against": labels.against(one.against)} for one in found.plan.left
        ],
        "drivers": _drivers(found, reader),
        "zone": reader.at.astimezone(reader.zone).strftime("%Z"),
    }
    return render(request, "dispatch/suggestions.html", context)


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def accept(request: HttpRequest) -> HttpResponse:
    """Assign the suggested drivers: all of them, or the suggestion whose button was pressed (`one`).

    A ride that changed after the preview stays unchanged and is listed with the reason.
    """
    one = request.POST.getlist("one")
    try:
        taken = accepted(one or request.POST.getlist("suggestion"))
    except ValueError:
        messages.error(request, _("Accept suggestions of the list."))
        return redirect(back(request))
    outcomes = planning.accept_all(suggestions=taken, by=principal_of(request), at=timezone.now())
    return answered(request, outcomes, to="again" if one else "back")


def _chosen(request: HttpRequest) -> Collection[UUID] | None:
    """Return the selected rides, each posted as `id:version`; None without a selection: all waiting rides."""
    if not request.POST.getlist("ride"):
        return None
    found = set()
    for text in request.POST.getlist("ride"):
        try:
            found.add(UUID(text.partition(":")[0]))
        except ValueError:
            continue
    return found


def _ride(ride_id: UUID, found: Preview, reader: Reader) -> dict[str, Any]:
    ride = found.rides[ride_id]
    return card(BoardRide(ride, errand_of(ride, at=reader.at)), reader)


def _row(one: Suggestion, found: Preview, reader: Reader) -> dict[str, Any]:
    shown = _ride(one.ride_id, found, reader)
    return {
        **shown,
        "driver": driver_name(found.drivers[one.driver_id], reader.by),
        "unit": found.units[one.vehicle_id],
        "reason": one.reason,
        "value": f"{one.ride_id}:{shown['ride'].version}:{one.driver_id}:{one.vehicle_id}",
    }


def _drivers(found: Preview, reader: Reader) -> list[dict[str, Any]]:
    """Return the drivers with suggestions, by name, with their number of rides on that day before and after."""
    given = Counter(one.driver_id for one in found.plan.suggestions)
    rows = [
        {
            "name": driver_name(found.drivers[driver_id], reader.by),
            "before": found.driven[driver_id],
            "after": found.driven[driver_id] + count,
        }
        for driver_id, count in given.items()
    ]
    return sorted(rows, key=lambda row: str(row["name"]).lower())
