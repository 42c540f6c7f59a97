"""What booking and amending have to know before they decide."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from apps.fleet.models import CapacityConfig, Vehicle, VehicleStatus
from apps.organizations.models import Entrance, Facility
from apps.riders.models import AccommodationProfile
from apps.rides import timing
from apps.rides.distance import METERS_PER_MILE, meters_between
from apps.rides.models import Ride
from lib.access import Principal
from lib.single_row import single

LONGEST_RIDE: Final = timedelta(hours=6)  # no ride that started earlier can still be on its way


def facilities(ids: Iterable[UUID], by: Principal) -> dict[UUID, Facility]:
    """Read the active facilities of these ids inside the caller's data scope.  One query, none for no ids."""
    wanted = set(ids)
    if not wanted:
        return {}
    return {one.pk: one for one in Facility.objects.visible_to(by).filter(pk__in=wanted, active=True)}


def entrances_of(ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Answer the facility of each entrance.  One query, none for no ids."""
    wanted = set(ids)
    if not wanted:
        return {}
    return dict(Entrance.objects.filter(pk__in=wanted).values_list("pk", "facility_id"))


def current_profile(rider_id: UUID) -> AccommodationProfile | None:
    return single(AccommodationProfile.objects.filter(rider_id=rider_id, current=True))


def overlapping(
    rider_id: UUID,
    *,
    starts_at: datetime,
    ends_at: datetime,
    by: Principal,
    besides: Sequence[UUID] = (),
) -> UUID | None:
    """Find an open ride of the rider, inside the caller's data scope, that is under way in `[starts_at, ends_at)`.

    Only rides the caller may see: a refusal would otherwise tell of the others.
    """
    near = (
        Ride.objects.visible_to(by)
        .open()
        .filter(rider_id=rider_id, pickup_at__lt=ends_at, pickup_at__gt=starts_at - LONGEST_RIDE)
        .exclude(pk__in=besides)
        .order_by("pickup_at")
        .values_list("pk", "pickup_at", "estimated_minutes")
    )
    return next((pk for pk, pickup_at, minutes in near if timing.busy_until(pickup_at, minutes) > starts_at), None)


def fleet_can_carry(spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool:
    """Say whether any vehicle in service has the places.  One query where it has.

    An operator who keeps no vehicles here is not asked for them.
    """
    fits = CapacityConfig.objects.filter(
        vehicle__status=VehicleStatus.IN_SERVICE,
        ambulatory__gte=spaces["ambulatory"],
        wheelchair__gte=spaces["wheelchair"],
        stretcher__gte=spaces["stretcher"],
    )
    if vehicle_type:
        fits = fits.filter(vehicle__type=vehicle_type)
    if bariatric:
        fits = fits.filter(vehicle__bariatric=True)
    return fits.exists() or not Vehicle.objects.exclude(status=VehicleStatus.RETIRED).exists()


def within_service_area(stops: Iterable[Mapping[str, Any]]) -> bool | None:
    """Say whether all stops lie in the operator's service area; None without an area or without coordinates.

    A stop known to lie outside counts even where another has no coordinates.
    """
    if not settings.SERVICE_AREA:
        return None
    lat, lng, radius_miles = settings.SERVICE_AREA
    known = [(stop["lat"], stop["lng"]) for stop in stops]
    inside = [
        meters_between(lat, lng, stop_lat, stop_lng) <= radius_miles * METERS_PER_MILE
        for stop_lat, stop_lng in known
        if stop_lat is not None and stop_lng is not None
    ]
    if not all(inside):
        return False
    return True if len(inside) == len(known) else None
