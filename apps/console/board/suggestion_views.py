"""Suggested drivers for unassigned rides: a preview.  `accepting_views` assigns them."""

from collections import Counter
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from apps.audit.views import record_read
from apps.console.board import labels
from apps.console.board.cards import card
from apps.console.board.page import page_of, reader_of
from apps.console.board.selection_views import back
from apps.console.board.timeline import Reader
from apps.console.kit.rights import require_scope
from apps.dispatch.queries.board import BoardRide
from apps.dispatch.queries.suggestions import Preview, preview
from apps.dispatch.rules.axis import Axis
from apps.dispatch.rules.suggesting import Suggestion
from apps.rides.labels import driver_name
from apps.rides.queries.ride_needs import slot_of
from lib import zone_labels
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def suggestions(request: HttpRequest) -> HttpResponse:
    """Show suggested drivers for all waiting rides of a day or for selected rides.  Writes only an audit entry."""
    reader = reader_of(request)
    page = page_of(request, reader)
    chosen = _chosen(request)
    plan_preview = preview(Axis(page.day, reader.zone.key), ride_ids=chosen, by=reader.by, at=reader.at)
    record_read(
        by=reader.by,
        action="rides.suggestions",
        subject_type="ride",
        rider_ids={ride.rider_id for ride in plan_preview.rides.values()},
        details={"day": page.day.isoformat()},
    )
    context = {
        "page": page,
        "back": page.url() if chosen is None else back(request),
        "reload_url": request.get_full_path() if chosen is None else back(request),
        "is_whole_day": chosen is None,
        "rows": [suggestion_row(suggestion, plan_preview, reader) for suggestion in plan_preview.plan.suggestions],
        "unmatched": [
            {
                **ride_card(suggestion.ride_id, plan_preview, reader),
                "conflicts": labels.conflict_summary(suggestion.against),
            }
            for suggestion in plan_preview.plan.unplaced
        ],
        "drivers": _drivers(plan_preview, reader),
        "zone": zone_labels.long_name(reader.zone.key),
    }
    return render(request, "dispatch/suggestions.html", context)


def _chosen(request: HttpRequest) -> Collection[UUID] | None:
    """Return the selected rides, each posted as `id:version`; None without a selection: all waiting rides."""
    if not request.POST.getlist("ride"):
        return None
    ids = set()
    for text in request.POST.getlist("ride"):
        try:
            ids.add(UUID(text.partition(":")[0]))
        except ValueError:
            continue
    return ids


def ride_card(ride_id: UUID, plan_preview: Preview, reader: Reader) -> dict[str, Any]:
    """Return the context of a ride in a preview."""
    ride = plan_preview.rides[ride_id]
    return card(BoardRide(ride, slot_of(ride, at=reader.at)), reader)


def suggestion_row(suggestion: Suggestion, plan_preview: Preview, reader: Reader) -> dict[str, Any]:
    """Return the context of a suggestion; its `value` is what the form posts to accept it."""
    ride_context = ride_card(suggestion.ride_id, plan_preview, reader)
    return {
        **ride_context,
        "driver": driver_name(plan_preview.drivers[suggestion.driver_id], reader.by),
        "unit": plan_preview.units[suggestion.vehicle_id],
        "reasons": [reason.message for reason in suggestion.reasons],
        "is_late": bool(suggestion.late_minutes),
        "value": f"{suggestion.ride_id}:{ride_context['ride'].version}:{suggestion.driver_id}:{suggestion.vehicle_id}",
    }


def _drivers(plan_preview: Preview, reader: Reader) -> list[dict[str, Any]]:
    """Return the drivers with suggestions, by name, with their number of rides on that day before and after."""
    new_rides = Counter(suggestion.driver_id for suggestion in plan_preview.plan.suggestions)
    rows = [
        {
            "name": driver_name(plan_preview.drivers[driver_id], reader.by),
            "before": plan_preview.driven[driver_id],
            "after": plan_preview.driven[driver_id] + count,
        }
        for driver_id, count in new_rides.items()
    ]
    return sorted(rows, key=lambda row: str(row["name"]).lower())
