"""Reads of booking and editing."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from apps.fleet.models import CapacityConfig, Vehicle, VehicleStatus
from apps.organizations.models import Entrance, Facility, Payer
from apps.riders.models import AccommodationProfile, Rider
from apps.rides.models import Ride
from apps.rides.rules import timing
from lib.access import Principal
from lib.travel.places import METERS_PER_MILE, meters_between

LONGEST_RIDE: Final = timedelta(hours=6)  # rides that started earlier are over


def _usable_facilities(by: Principal) -> QuerySet[Facility]:
    return Facility.objects.visible_to(by).filter(active=True)


def _paying() -> QuerySet[Payer]:
    return Payer.objects.filter(active=True)


@dataclass(slots=True)
class Agenda:
    """Open rides of one rider by pickup time: (pickup, end of the time that the rider is busy, id)."""

    rides: list[tuple[datetime, datetime, UUID]] = field(default_factory=list)

    def add(self, pickup_at: datetime, busy_until: datetime, ride_id: UUID) -> None:
        insort(self.rides, (pickup_at, busy_until, ride_id))

    def under_way(self, starts_at: datetime, ends_at: datetime) -> list[UUID]:
        """List the rides that are under way in `[starts_at, ends_at)`."""
        first = bisect_right(self.rides, starts_at - LONGEST_RIDE, key=_pickup_at)
        last = bisect_left(self.rides, ends_at, key=_pickup_at)
        return [ride_id for _, busy_until, ride_id in self.rides[first:last] if busy_until > starts_at]


def _pickup_at(ride: tuple[datetime, datetime, UUID]) -> datetime:
    return ride[0]


@dataclass(frozen=True, slots=True)
class BookingRecords:
    """The facilities of a booking, and its locked rider with the current profile."""

    facilities: Mapping[UUID, Facility]
    rider: Rider | None
    profile: AccommodationProfile | None


def booking_records(facility_ids: Iterable[UUID], rider_id: UUID | None, by: Principal) -> BookingRecords:
    """Read the records of a booking inside the caller's data scope, and lock its rider.  Up to three queries."""
    facilities_by_id = facilities(facility_ids, by)
    if rider_id is None:
        return BookingRecords(facilities_by_id, None, None)
    # Not FOR UPDATE, which would block foreign keys to the rider.
    rider = Rider.objects.visible_to(by).select_for_update(no_key=True).filter(pk=rider_id).first()
    # Read the profile after the lock, so that it cannot change in between.
    return BookingRecords(facilities_by_id, rider, current_profile(rider_id))


def facilities(ids: Iterable[UUID], by: Principal) -> dict[UUID, Facility]:
    """Read active facilities inside the caller's data scope.  One query, none without ids."""
    return _usable_facilities(by).in_bulk(set(ids))


def payer(payer_id: UUID) -> Payer | None:
    """Read an active payer; None if there is none."""
    return _paying().filter(pk=payer_id).first()


def payers(ids: Iterable[UUID]) -> dict[UUID, Payer]:
    """Read active payers.  One query, none without ids."""
    return _paying().in_bulk(set(ids))


def entrances_of(ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Return the facility of each entrance.  One query, none without ids."""
    entrance_ids = set(ids)
    if not entrance_ids:
        return {}
    return dict(Entrance.objects.filter(pk__in=entrance_ids).values_list("pk", "facility_id"))


def current_profile(rider_id: UUID) -> AccommodationProfile | None:
    return AccommodationProfile.objects.filter(rider_id=rider_id, current=True).first()


def overlapping(
    rider_id: UUID,
    *,
    starts_at: datetime,
    ends_at: datetime,
    by: Principal,
    besides: Sequence[UUID] = (),
) -> list[UUID]:
    """List the open rides of the rider, inside the caller's data scope, that are under way in `[starts_at, ends_at)`.

    Only visible rides: a refusal would otherwise reveal that the others exist.
    """
    agenda = agendas([rider_id], starts_at=starts_at, ends_at=ends_at, by=by)[rider_id]
    return [pk for pk in agenda.under_way(starts_at, ends_at) if pk not in besides]


def booked_on(rider_id: UUID, day: date, *, by: Principal) -> list[Ride]:
    """List the rides of a rider on a service date, by pickup time, without canceled ones.  One query."""
    rows = Ride.objects.visible_to(by).filter(rider_id=rider_id, service_date=day).exclude(status="cancelled")
    return list(rows.order_by("pickup_at", "pk"))


def agendas(rider_ids: Iterable[UUID], *, starts_at: datetime, ends_at: datetime, by: Principal) -> dict[UUID, Agenda]:
    """Read the facts of `overlapping` for many riders and any time within `[starts_at, ends_at)`.  One query."""
    agenda_of = {rider_id: Agenda() for rider_id in rider_ids}
    near = (
        Ride.objects.visible_to(by)
        .open()
        .filter(rider_id__in=list(agenda_of), pickup_at__gt=starts_at - LONGEST_RIDE, pickup_at__lt=ends_at)
        .order_by("pickup_at")
        .values_list("rider_id", "pickup_at", "estimated_minutes", "pk")
    )
    for rider_id, pickup_at, minutes, pk in near:
        agenda_of[rider_id].add(pickup_at, timing.busy_until(pickup_at, minutes), pk)
    return agenda_of


def fleet_can_carry(spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool:
    """Check whether any vehicle in service has the spaces.  One query if so.

    Always true for an operator without vehicles in the system.
    """
    fitting = (
        CapacityConfig.objects.filter(
            vehicle__status=VehicleStatus.IN_SERVICE,
            **{f"{kind}__gte": count for kind, count in spaces.items()},
        )
        .values_list("vehicle__type", "vehicle__bariatric")
        .distinct()
    )
    if any(vehicle_type in ("", kind) and carries >= bariatric for kind, carries in fitting):
        return True
    return not Vehicle.objects.exclude(status=VehicleStatus.RETIRED).exists()


def within_service_area(stops: Iterable[Mapping[str, Any]]) -> bool | None:
    """Check whether all stops are in the service area; None without an area or coordinates.

    False if one stop is outside, even if another has no coordinates.
    """
    if not settings.SERVICE_AREA:
        return None
    lat, lng, radius_miles = settings.SERVICE_AREA
    points = [(stop["lat"], stop["lng"]) for stop in stops]
    inside = [
        meters_between(lat, lng, stop_lat, stop_lng) <= radius_miles * METERS_PER_MILE
        for stop_lat, stop_lng in points
        if stop_lat is not None and stop_lng is not None
    ]
    if not all(inside):
        return False
    return True if len(inside) == len(points) else None
