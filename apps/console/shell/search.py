"""Search of the command palette: riders, rides, drivers, vehicles and facilities that the user may open.

The search text comes in the body of a POST request, so that names appear in no URL; it is not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import rider_combo
from apps.console.ride import labels as ride_labels
from apps.fleet import queries as fleet
from apps.fleet.models import Driver
from apps.organizations import queries as organizations
from apps.organizations.models import Facility
from apps.riders.labels import may_name, rider_name
from apps.rides.labels import driver_name
from apps.rides.queries.rider_rides import next_rides
from apps.rides.queries.rides import rides_called, rides_ending
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.disclosure import stop as disclosed_stop
from lib.access import Principal
from lib.phone_input import e164
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

    The number of queries does not depend on what is found: those of `rider_combo`, three for rides, three for drivers,
    one for vehicles and one for facilities.
    """
    by = principal_of(request)
    text = request.POST.get("q", "").replace("\0", "").strip()[:MAX_LENGTH]
    results: list[SearchResult] = []
    if len(text) >= rider_combo.MIN_LENGTH:
        riders = _find_riders(text, by)
        results = [
            *map(partial(_rider, by), riders),
            *_rides(text, [option.record.rider.pk for option in riders], by),
            *_drivers(text, by),
            *_vehicles(text, by),
            *_facilities(text, request),
        ]
    return render(request, "search_results.html", {"results": results})


def _find_riders(text: str, by: Principal) -> Sequence[rider_combo.Option]:
    if not (by.has_scope(Scope.RIDERS_READ) and may_name(by)):
        return []
    return rider_combo.find(text, by=by, limit=MAX_RESULTS, fill_up=True).options


def _rider(by: Principal, option: rider_combo.Option) -> SearchResult:
    rider = option.record.rider
    status = "" if rider.status == "active" else rider.get_status_display()
    return SearchResult(_("Rider"), reverse("rider_page", args=[rider.pk]), rider_name(rider, by), option.facts, status)


def _rides(text: str, rider_ids: Sequence[UUID], by: Principal) -> list[SearchResult]:
    """Return rides by reference, external id, id or its end; then the next ride of each rider found."""
    if not by.has_scope(Scope.RIDES_READ):
        return []
    rows = list(rides_called(text, by=by).select_related("rider").order_by("-pickup_at", "pk")[:MAX_RESULTS])
    if not rows:
        rows = list(rides_ending(text, by=by).select_related("rider").order_by("-pickup_at", "pk")[:MAX_RESULTS])
    if rider_ids:
        upcoming = next_rides(rider_ids, by=by, at=timezone.now())
        known = {ride.pk for ride in rows}
        rows += [upcoming[pk] for pk in rider_ids if pk in upcoming and upcoming[pk].pk not in known]
    rows = rows[:MAX_RESULTS]
    if rows:
        record_read(by=by, action="rides.search", subject_type="ride", rider_ids=[ride.rider_id for ride in rows])
    to = disclosure_of(by)
    return [
        SearchResult(
            _("Ride"),
            reverse("ride_page", args=[ride.pk]),
            rider_name(ride.rider, by),
            _("%(time)s, to %(place)s")
            % {
                "time": ride_labels.day_and_clock(ride.pickup_at, ride.timezone),
                "place": ride_labels.place_name(disclosed_stop(ride.dropoff, to)),
            },
            str(ride_labels.status_of(ride)[0].text),
        )
        for ride in rows
    ]


def _drivers(text: str, by: Principal) -> list[SearchResult]:
    """Return drivers by name, external id or phone; then those with similar names; then reporting them out."""
    if not by.has_scope(Scope.DRIVERS_READ):
        return []
    phone = e164(text, region=settings.PHONE_REGION)
    matches = fleet.drivers_named(text, by=by) | fleet.drivers_called(text, phone=phone, by=by)
    rows = _first_drivers(matches)
    if len(rows) < MAX_RESULTS:
        rows += _first_drivers(fleet.drivers_named_alike(text, by=by).exclude(pk__in=[row.pk for row in rows]))
    rows = rows[:MAX_RESULTS]
    results = [
        SearchResult(
            _("Driver"),
            reverse("fleet_driver", args=[driver.pk]),
            driver_name(driver, by),
            " · ".join(
                filter(
                    None,
                    (
                        driver.provider.name,
                        "" if driver.activation == "active" else str(driver.get_activation_display()),
                    ),
                )
            ),
            driver.default_vehicle.unit_number if driver.default_vehicle else "",
        )
        for driver in rows
    ]
    if by.has_scope(Scope.ASSIGNMENTS_WRITE):
        working = [driver for driver in rows if driver.activation == "active"]
        results += [
            SearchResult(_("Driver out"), reverse("driver_out", args=[driver.pk]), driver_name(driver, by))
            for driver in working
        ]
    return results


def _first_drivers(matches: QuerySet[Driver]) -> list[Driver]:
    rows = matches.select_related("default_vehicle", "provider").order_by("last_name", "first_name", "pk")
    return list(rows[:MAX_RESULTS])


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


def _facilities(text: str, request: HttpRequest) -> list[SearchResult]:
    """Return facilities by name, external id or phone, with the page on which the user works with them."""
    by = principal_of(request)
    if not by.has_scope(Scope.FACILITIES_READ) or _facility_url(None, request) is None:
        return []
    phone = e164(text, region=settings.PHONE_REGION)
    rows = organizations.facilities_called(text, phone=phone, by=by).filter(active=True).order_by("name", "pk")
    return [
        SearchResult(
            _("Facility"),
            str(_facility_url(facility, request)),
            facility.name,
            ", ".join(filter(None, (facility.address_line1, facility.city))),
            str(facility.get_kind_display()),
        )
        for facility in rows[:MAX_RESULTS]
    ]


def _facility_url(facility: Facility | None, request: HttpRequest) -> str | None:
    """Return the board or the day of the facility, else its record; None if the user may open none of them."""
    by, pk = principal_of(request), facility.pk if facility else UUID(int=0)
    if by.has_scope(Scope.ASSIGNMENTS_WRITE):
        return f"{reverse('board')}?facility={pk}"
    if by.has_scope(Scope.RIDES_WRITE) and by.provider_ids is None:
        return f"{reverse('planner_day')}?facility={pk}"
    if request.user.has_perm("organizations.view_facility"):
        return reverse("admin:organizations_facility_change", args=[pk])
    return None
