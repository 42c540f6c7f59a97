"""Reads the facts of eligibility checks, for one pairing or many drivers, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.fleet.models import CapacityConfig, Driver, Leave, Shift, Vehicle
from apps.fleet.queries import active_credentials
from apps.rides.models import Ride
from apps.rides.queries.loaded_rides import LoadedRide, load
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    ShiftFact,
    Spaces,
    Span,
    VehicleFacts,
)
from apps.rides.rules.lifecycle import WITH_DRIVER

# Rides further away than this affect neither travel nor duty hours.
SLOTS_WITHIN: Final = timedelta(hours=24)
# Drivers with shifts have at least one within a week.
SHIFTS_WITHIN: Final = timedelta(days=7)

# What `slot_of` reads; a list of hundreds of rides leaves the rest in the database.
SLOT_COLUMNS: Final = (
    "status",
    "pickup_at",
    "will_call",
    "ready_at",
    "promised_pickup_by",
    "window_ends_at",
    "arrived_pickup_at",
    "boarded_at",
    "estimated_minutes",
    "after_the_fact",
    "accommodation",
    "pickup",
    "dropoff",
    "driver",
    "vehicle",
    "attendant_ids",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of drivers and vehicles around one ride, and the rides of the drivers that they were read from."""

    drivers: Mapping[UUID, DriverFacts]
    vehicles: Mapping[UUID, VehicleFacts]
    units: Mapping[UUID, str]  # unit numbers, by vehicle
    vehicle_of: Mapping[UUID, UUID]  # by driver: of the shift at the pickup time, otherwise the default
    rides: Sequence[LoadedRide]


def gather(
    needs: RideNeeds,
    *,
    drivers: Collection[Driver],
    at: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Facts:
    """Collect the facts of `drivers` around the ride, each with the vehicle of the shift, otherwise the default.

    Seven queries, however many drivers.  `since`, `until`: see `gather_of`.
    """
    mine = needs.slot.span
    defaults = [driver.default_vehicle_id for driver in drivers if driver.default_vehicle_id is not None]
    vehicle_of = _vehicle_of(mine, drivers, _shifts(mine, [driver.pk for driver in drivers], defaults))
    vehicles = Vehicle.objects.filter(pk__in=set(vehicle_of.values()))
    return gather_of(
        needs, drivers=drivers, vehicles=list(vehicles), at=at, vehicle_of=vehicle_of, since=since, until=until
    )


def gather_of(
    needs: RideNeeds,
    *,
    drivers: Collection[Driver],
    vehicles: Collection[Vehicle],
    at: datetime,
    vehicle_of: Mapping[UUID, UUID] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Facts:
    """Collect the facts of these drivers and vehicles around the ride.

    Five queries, however many.  Reads without locks; who decides by the answer locks their rows first.  `rides` of the
    answer goes back to pickups at `since` if that is earlier than what the checks need.  Rides after `until` are left
    out, of the checks as well.
    """
    driver_ids, vehicle_ids = [driver.pk for driver in drivers], [vehicle.pk for vehicle in vehicles]
    mine = needs.slot.span
    shifts_of: dict[UUID, list[ShiftFact]] = defaultdict(list)
    for shift in _shifts(mine, driver_ids, vehicle_ids):
        shifts_of[shift.driver_id].append(shift)
        shifts_of[shift.vehicle_id].append(shift)
    leave_of: dict[UUID, list[Span]] = defaultdict(list)
    leaves = Leave.objects.filter(driver_id__in=driver_ids, starts_at__lt=mine.ends_at, ends_at__gt=mine.starts_at)
    for driver_id, starts_at, ends_at in leaves.values_list("driver_id", "starts_at", "ends_at"):
        leave_of[driver_id].append(Span(starts_at, ends_at))
    configs_of: dict[UUID, list[Spaces]] = defaultdict(list)
    configs = CapacityConfig.objects.filter(vehicle_id__in=vehicle_ids)
    for vehicle_id, *spaces in configs.values_list("vehicle_id", "ambulatory", "wheelchair", "stretcher"):
        configs_of[vehicle_id].append(Spaces(*spaces))
    credentials_of = active_credentials(driver_ids, vehicle_ids)
    slots_of: dict[UUID | None, list[RideSlot]] = defaultdict(list)
    first = mine.starts_at - SLOTS_WITHIN
    rides = load(_rides(needs, driver_ids, vehicle_ids, min(first, since or first), until), at=at)
    for ride in rides:
        if ride.pickup_at > first:
            slot = ride.remaining.slot
            for resource_id in {slot.driver_id, slot.vehicle_id, *slot.attendant_ids}:
                slots_of[resource_id].append(slot)
    return Facts(
        drivers={
            driver.pk: DriverFacts(
                id=driver.pk,
                provider_id=driver.provider_id,
                activation=driver.activation,
                credentials=tuple(credentials_of[driver.pk]),
                qualifications=frozenset(driver.qualifications),
                excluded_rider_ids=frozenset(driver.excluded_rider_ids),
                gender=driver.gender,
                languages=frozenset(tag.split("-")[0].lower() for tag in driver.languages),
                shifts=tuple(shifts_of[driver.pk]),
                leave=tuple(leave_of[driver.pk]),
                slots=tuple(slots_of[driver.pk]),
            )
            for driver in drivers
        },
        vehicles={
            vehicle.pk: VehicleFacts(
                id=vehicle.pk,
                provider_id=vehicle.provider_id,
                type=vehicle.type,
                status=vehicle.status,
                credentials=tuple(credentials_of[vehicle.pk]),
                configs=tuple(configs_of[vehicle.pk]),
                lift_type=vehicle.lift_type,
                lift_rating_lb=vehicle.lift_rating_lb,
                max_chair_width_in=None if vehicle.max_chair_width_in is None else float(vehicle.max_chair_width_in),
                oxygen_mount=vehicle.oxygen_mount,
                bariatric=vehicle.bariatric,
                shifts=tuple(shifts_of[vehicle.pk]),
                slots=tuple(slots_of[vehicle.pk]),
            )
            for vehicle in vehicles
        },
        units={vehicle.pk: vehicle.unit_number for vehicle in vehicles},
        vehicle_of=vehicle_of or {},
        rides=rides,
    )


def without_rides(facts: Facts, ride_ids: Collection[UUID]) -> Facts:
    """Return the facts as they are once these rides have lost their driver, vehicle and attendants."""
    lost = frozenset(ride_ids)

    def remaining(slots: Iterable[RideSlot]) -> tuple[RideSlot, ...]:
        return tuple(slot for slot in slots if slot.ride_id not in lost)

    return replace(
        facts,
        drivers={pk: replace(driver, slots=remaining(driver.slots)) for pk, driver in facts.drivers.items()},
        vehicles={pk: replace(vehicle, slots=remaining(vehicle.slots)) for pk, vehicle in facts.vehicles.items()},
        rides=[ride for ride in facts.rides if ride.remaining.slot.ride_id not in lost],
    )


def _shifts(mine: Span, driver_ids: list[UUID], vehicle_ids: list[UUID]) -> list[ShiftFact]:
    """Read shifts of the drivers within `SHIFTS_WITHIN`, and shifts with one of the vehicles during the ride."""
    of_drivers = Q(
        driver_id__in=driver_ids,
        starts_at__lt=mine.ends_at + SHIFTS_WITHIN,
        ends_at__gt=mine.starts_at - SHIFTS_WITHIN,
    )
    of_vehicles = Q(vehicle_id__in=vehicle_ids, starts_at__lt=mine.ends_at, ends_at__gt=mine.starts_at)
    rows = Shift.objects.filter(of_drivers | of_vehicles, status=Shift.Status.PLANNED)
    columns = rows.values_list("driver_id", "vehicle_id", "starts_at", "ends_at", "break_starts_at", "break_ends_at")
    return [
        ShiftFact(driver_id, vehicle_id, Span(starts_at, ends_at), _break(break_starts_at, break_ends_at))
        for driver_id, vehicle_id, starts_at, ends_at, break_starts_at, break_ends_at in columns
    ]


def _break(starts_at: datetime | None, ends_at: datetime | None) -> Span | None:
    return None if starts_at is None or ends_at is None else Span(starts_at, ends_at)


def _rides(
    needs: RideNeeds, driver_ids: list[UUID], vehicle_ids: list[UUID], since: datetime, until: datetime | None
) -> QuerySet[Ride]:
    """Select other rides near this one, assigned or under way, with any of these drivers or vehicles."""
    mine = needs.slot.span
    shared = Q(driver_id__in=driver_ids) | Q(vehicle_id__in=vehicle_ids) | Q(attendant_ids__overlap=driver_ids)
    near = Ride.objects.filter(
        shared,
        status__in=sorted(WITH_DRIVER),
        pickup_at__gt=since,
        pickup_at__lt=until or mine.ends_at + SLOTS_WITHIN,
    )
    return near.exclude(pk=needs.slot.ride_id).order_by("pickup_at", "id")


def _vehicle_of(mine: Span, drivers: Iterable[Driver], shifts: Iterable[ShiftFact]) -> dict[UUID, UUID]:
    at_pickup = Span(mine.starts_at, mine.starts_at + timedelta(microseconds=1))
    chosen = {driver.pk: driver.default_vehicle_id for driver in drivers if driver.default_vehicle_id is not None}
    chosen |= {shift.driver_id: shift.vehicle_id for shift in shifts if shift.span.covers(at_pickup)}
    driver_ids = {driver.pk for driver in drivers}
    return {driver_id: vehicle_id for driver_id, vehicle_id in chosen.items() if driver_id in driver_ids}
