"""What booking and amending have to know before they decide."""

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
from apps.rides.rules.distance import METERS_PER_MILE, meters_between
from lib.access import Principal
from lib.compiled import Asked, Compiled, together

LONGEST_RIDE: Final = timedelta(hours=6)  # no ride that started earlier can still be on its way
_FACILITY: Compiled[Facility] = Compiled(lambda by, pk: _usable_facilities(by).filter(pk=pk), pk=UUID)
_PAYER: Compiled[Payer] = Compiled(lambda pk: _paying().filter(pk=pk), pk=UUID)
# Not FOR UPDATE: other tables' references to the rider may go on.
_RIDER_LOCKED: Compiled[Rider] = Compiled(
    lambda by, pk: Rider.objects.visible_to(by).select_for_update(no_key=True).filter(pk=pk), pk=UUID
)
_CURRENT_PROFILE: Compiled[AccommodationProfile] = Compiled(
    lambda rider_id: AccommodationProfile.objects.filter(rider_id=rider_id, current=True), rider_id=UUID
)
_OPEN_RIDES: Compiled[tuple[UUID, datetime, int | None]] = Compiled(
    lambda by, rider_id, since, until: (
        Ride.objects.visible_to(by)
        .open()
        .filter(rider_id=rider_id, pickup_at__gt=since, pickup_at__lt=until)
        .order_by("pickup_at")
        .values_list("pk", "pickup_at", "estimated_minutes")
    ),
    rider_id=UUID,
    since=datetime,
    until=datetime,
)
# Of every vehicle in service with the places: its type, and whether it carries bariatric riders.
_FITTING: Compiled[tuple[str, bool]] = Compiled(
    lambda ambulatory, wheelchair, stretcher: (
        CapacityConfig.objects.filter(
            vehicle__status=VehicleStatus.IN_SERVICE,
            ambulatory__gte=ambulatory,
            wheelchair__gte=wheelchair,
            stretcher__gte=stretcher,
        )
        .values_list("vehicle__type", "vehicle__bariatric")
        .distinct()
    ),
    ambulatory=int,
    wheelchair=int,
    stretcher=int,
)


def _usable_facilities(by: Principal) -> QuerySet[Facility]:
    return Facility.objects.visible_to(by).filter(active=True)


def _paying() -> QuerySet[Payer]:
    return Payer.objects.filter(active=True)


@dataclass(slots=True)
class Agenda:
    """Open rides of one rider by pickup: (pickup, until when it keeps the rider busy, id)."""

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
class FirstLook:
    """What a booking begins with: the facilities it names, and its rider, locked, with the profile that counts."""

    facilities: Mapping[UUID, Facility]
    rider: Rider | None
    profile: AccommodationProfile | None


def first_look(facility_ids: Iterable[UUID], rider_id: UUID | None, by: Principal) -> FirstLook:
    """Read what a booking names inside the caller's data scope, and lock its rider.  One round trip."""
    asked: list[Asked[Any]] = [_FACILITY.asked(by, pk=one) for one in set(facility_ids)]
    if rider_id is None:
        return FirstLook({one.pk: one for (one,) in filter(None, together(*asked))}, None, None)
    # The profile comes after the lock, so that nobody changes it in between.
    asked += [_RIDER_LOCKED.asked(by, pk=rider_id), _CURRENT_PROFILE.asked(rider_id=rider_id)]
    *places, rider, profile = together(*asked)
    known = {one.pk: one for (one,) in filter(None, places)}
    return FirstLook(known, next(iter(rider), None), next(iter(profile), None))


def facilities(ids: Iterable[UUID], by: Principal) -> dict[UUID, Facility]:
    """Read the active facilities of these ids inside the caller's data scope.  One query each: there are one or two."""
    found = (_FACILITY.one(by, pk=one) for one in set(ids))
    return {one.pk: one for one in found if one is not None}


def many_facilities(ids: Iterable[UUID], by: Principal) -> dict[UUID, Facility]:
    """Read what `facilities` reads, however many there are.  One query, none for no ids."""
    return _usable_facilities(by).in_bulk(set(ids))


def payer(payer_id: UUID) -> Payer | None:
    """Read somebody who pays; None where they no longer do."""
    return _PAYER.one(pk=payer_id)


def payers(ids: Iterable[UUID]) -> dict[UUID, Payer]:
    """Read those who pay.  One query, none for no ids."""
    return _paying().in_bulk(set(ids))


def entrances_of(ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Answer the facility of each entrance.  One query, none for no ids."""
    wanted = set(ids)
    if not wanted:
        return {}
    return dict(Entrance.objects.filter(pk__in=wanted).values_list("pk", "facility_id"))


def current_profile(rider_id: UUID) -> AccommodationProfile | None:
    return _CURRENT_PROFILE.one(rider_id=rider_id)


def overlapping(
    rider_id: UUID,
    *,
    starts_at: datetime,
    ends_at: datetime,
    by: Principal,
    besides: Sequence[UUID] = (),
) -> list[UUID]:
    """List the open rides of the rider, inside the caller's data scope, that are under way in `[starts_at, ends_at)`.

    Only rides the caller may see: a refusal would otherwise tell of the others.
    """
    near = _OPEN_RIDES.all(by, rider_id=rider_id, since=starts_at - LONGEST_RIDE, until=ends_at)
    agenda = Agenda([(pickup_at, timing.busy_until(pickup_at, minutes), pk) for pk, pickup_at, minutes in near])
    return [pk for pk in agenda.under_way(starts_at, ends_at) if pk not in besides]


def booked_on(rider_id: UUID, day: date, *, by: Principal) -> list[Ride]:
    """List the rides in reach that a rider has on a service date, by pickup, but those called off.  One query."""
    rows = Ride.objects.visible_to(by).filter(rider_id=rider_id, service_date=day).exclude(status="cancelled")
    return list(rows.order_by("pickup_at", "pk"))


def agendas(rider_ids: Iterable[UUID], *, starts_at: datetime, ends_at: datetime, by: Principal) -> dict[UUID, Agenda]:
    """Read what `overlapping` looks at of many riders, for any time within `[starts_at, ends_at)`.  One query."""
    found = {rider_id: Agenda() for rider_id in rider_ids}
    near = (
        Ride.objects.visible_to(by)
        .open()
        .filter(rider_id__any_of=list(found), pickup_at__gt=starts_at - LONGEST_RIDE, pickup_at__lt=ends_at)
        .order_by("pickup_at")
        .values_list("rider_id", "pickup_at", "estimated_minutes", "pk")
    )
    for rider_id, pickup_at, minutes, pk in near:
        found[rider_id].add(pickup_at, timing.busy_until(pickup_at, minutes), pk)
    return found


def fleet_can_carry(spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool:
    """Say whether any vehicle in service has the places.  One query where it has.

    An operator who keeps no vehicles here is not asked for them.
    """
    places: dict[str, Any] = dict(spaces)
    fitting = _FITTING.all(**places)
    if any(vehicle_type in ("", kind) and carries >= bariatric for kind, carries in fitting):
        return True
    return not Vehicle.objects.exclude(status=VehicleStatus.RETIRED).exists()


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
