"""Search of the command palette: drivers, vehicles, riders and rides that the user may open.

The search text comes in the body of a POST request, so that names appear in no URL; it is not stored.
"""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import rider_combo
from apps.console.ride import labels as ride_labels
from apps.fleet import queries as fleet
from apps.riders.labels import may_name, rider_name
from apps.rides.labels import driver_name
from apps.rides.queries.rides import rides_called
from lib.access import Principal
from lib.scopes import Scope

MAX_RESULTS: Final = 5  # results per kind, for each kind that the user may see
MAX_LENGTH: Final = 100  # characters


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search result; `mark` distinguishes it, for example by a status or unit number."""

    kind: str
    url: str
    name: str
    facts: str = ""
    mark: str = ""


@require_POST
def search(request: HttpRequest) -> HttpResponse:
    """Return search results as options of a list; kinds that the user may not open are not queried.

    At most fifteen queries: one for drivers, one for vehicles, those of `rider_combo` for riders, and two for rides.
    """
    by = principal_of(request)
    text = request.POST.get("q", "").replace("\0", "").strip()[:MAX_LENGTH]
    results: list[SearchResult] = []
    if len(text) >= rider_combo.MIN_LENGTH:
        results = [*_drivers(text, by), *_vehicles(text, by), *_riders(text, by), *_rides(text, by)]
    return render(request, "search_results.html", {"results": results})


def _drivers(text: str, by: Principal) -> list[SearchResult]:
    if not by.has_scope(Scope.DRIVERS_READ):
        return []
    rows = fleet.drivers_named(text, by=by).select_related("default_vehicle")
    return [
        SearchResult(
            _("Driver"),
            reverse("fleet_driver", args=[driver.pk]),
            driver_name(driver, by),
            "" if driver.activation == "active" else driver.get_activation_display(),
            driver.default_vehicle.unit_number if driver.default_vehicle else "",
        )
        for driver in rows.order_by("last_name", "first_name", "pk")[:MAX_RESULTS]
    ]


def _vehicles(text: str, by: Principal) -> list[SearchResult]:
    if not by.has_scope(Scope.DRIVERS_READ):
        return []
    return [
        SearchResult(
            _("Vehicle"),
            reverse("fleet_vehicle", args=[vehicle.pk]),
            vehicle.unit_number,
            vehicle.license_plate,
            "" if vehicle.status == "in_service" else vehicle.get_status_display(),
        )
        for vehicle in fleet.vehicles_called(text, by=by).order_by("unit_number", "pk")[:MAX_RESULTS]
    ]


def _riders(text: str, by: Principal) -> list[SearchResult]:
    if not (by.has_scope(Scope.RIDERS_READ) and may_name(by)):
        return []
    return [
        SearchResult(
            _("Rider"),
            reverse("rider_page", args=[option.record.rider.pk]),
            rider_name(option.record.rider, by),
            option.facts,
            "" if option.record.rider.status == "active" else option.record.rider.get_status_display(),
        )
        for option in rider_combo.find(text, by=by, limit=MAX_RESULTS).options
    ]


def _rides(text: str, by: Principal) -> list[SearchResult]:
    if not by.has_scope(Scope.RIDES_READ):
        return []
    rows = list(rides_called(text, by=by).select_related("rider").order_by("-pickup_at", "pk")[:MAX_RESULTS])
    if rows:
        record_read(by=by, action="rides.search", subject_type="ride", rider_ids=[ride.rider_id for ride in rows])
    return [
        SearchResult(
            _("Ride"),
            reverse("ride_page", args=[ride.pk]),
            rider_name(ride.rider, by),
            ride_labels.day_and_clock(ride.pickup_at, ride.timezone),
            str(ride_labels.status_of(ride)[0].text),
        )
        for ride in rows
    ]
