"""Gather what the checks look at, for one pairing or for a whole list of drivers, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q

from apps.fleet.models import CapacityConfig, Driver, Leave, Shift, Vehicle
from apps.fleet.queries import papers_in_force
from apps.rides.facts import DriverFacts, Errand, RideNeeds, ShiftFact, Spaces, Span, VehicleFacts
from apps.rides.lifecycle import WITH_DRIVER
from apps.rides.models import Ride
from apps.rides.queries.ride_needs import errand_of

# Rides further away than this touch neither the road nor the duty hours of this one.
ERRANDS_WITHIN: Final = timedelta(hours=24)
# Nobody who works by shifts has none for a week either way.
SHIFTS_WITHIN: Final = timedelta(days=7)

# What `errand_of` reads; a list of hundreds of rides leaves the rest in the database.
_COLUMNS_OF_ERRANDS: Final = (
    "status",
    "pickup_at",
    "will_call",
    "ready_at",
    "promised_pickup_by",
    "window_ends_at",
    "arrived_pickup_at",
    "boarded_at",
    "estimated_minutes",
    "accommodation",
    "pickup",
    "dropoff",
    "driver",
    "vehicle",
    "attendant_ids",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything known about drivers and vehicles around one ride."""

    drivers: Mapping[UUID, DriverFacts]
    vehicles: Mapping[UUID, VehicleFacts]
    units: Mapping[UUID, str]  # unit numbers, by vehicle
    vehicle_of: Mapping[UUID, UUID]  # by driver: of the shift covering the pickup, else the default one


def gather(needs: RideNeeds, *, drivers: Collection[Driver], vehicle_ids: Collection[UUID] = (), at: datetime) -> Facts:
    """Collect the facts of `drivers`, their vehicles and `vehicle_ids` around the ride.

    Six queries, however many drivers: shifts, leave, vehicles, configurations, papers, rides.  Reads without locks; who
    decides by the answer locks the rows of drivers and vehicles first.
    """
    mine = needs.errand.span
    driver_ids = [driver.pk for driver in drivers]
    shifts = _shifts_around(mine, driver_ids, vehicle_ids)
    vehicle_of = _vehicle_of(mine, drivers, shifts)
    wanted = {*vehicle_ids, *vehicle_of.values()}
    leave: dict[UUID, list[Span]] = defaultdict(list)
    for row in Leave.objects.filter(driver_id__in=driver_ids, starts_at__lt=mine.ends_at, ends_at__gt=mine.starts_at):
        leave[row.driver_id].append(Span(row.starts_at, row.ends_at))
    vehicles = list(Vehicle.objects.filter(pk__in=wanted))
    configs: dict[UUID, list[Spaces]] = defaultdict(list)
    for config in CapacityConfig.objects.filter(vehicle_id__in=wanted):
        configs[config.vehicle_id].append(Spaces(config.ambulatory, config.wheelchair, config.stretcher))
    papers = papers_in_force(driver_ids, wanted)
    shifts_of: dict[UUID, list[ShiftFact]] = defaultdict(list)
    for shift in shifts:
        shifts_of[shift.driver_id].append(shift)
        shifts_of[shift.vehicle_id].append(shift)
    errands_of: dict[UUID | None, list[Errand]] = defaultdict(list)
    for errand in _errands_around(needs, driver_ids, wanted, at):
        for taken in {errand.driver_id, errand.vehicle_id, *errand.attendant_ids}:
            errands_of[taken].append(errand)
    return Facts(
        drivers={
            driver.pk: DriverFacts(
                id=driver.pk,
                provider_id=driver.provider_id,
                activation=driver.activation,
                papers=tuple(papers[driver.pk]),
                qualifications=frozenset(driver.qualifications),
                excluded_rider_ids=frozenset(driver.excluded_rider_ids),
                gender=driver.gender,
                languages=frozenset(tag.split("-")[0].lower() for tag in driver.languages),
                shifts=tuple(shifts_of[driver.pk]),
                leave=tuple(leave[driver.pk]),
                errands=tuple(errands_of[driver.pk]),
            )
            for driver in drivers
        },
        vehicles={
            vehicle.pk: VehicleFacts(
                id=vehicle.pk,
                provider_id=vehicle.provider_id,
                type=vehicle.type,
                status=vehicle.status,
                papers=tuple(papers[vehicle.pk]),
                configs=tuple(configs[vehicle.pk]),
                lift_type=vehicle.lift_type,
                lift_rating_lb=vehicle.lift_rating_lb,
                max_chair_width_in=None if vehicle.max_chair_width_in is None else float(vehicle.max_chair_width_in),
                oxygen_mount=vehicle.oxygen_mount,
                bariatric=vehicle.bariatric,
                shifts=tuple(shifts_of[vehicle.pk]),
                errands=tuple(errands_of[vehicle.pk]),
            )
            for vehicle in vehicles
        },
        units={vehicle.pk: vehicle.unit_number for vehicle in vehicles},
        vehicle_of=vehicle_of,
    )


def _shifts_around(mine: Span, driver_ids: Collection[UUID], vehicle_ids: Collection[UUID]) -> list[ShiftFact]:
    """Read shifts of the drivers within `SHIFTS_WITHIN`, and whoever's shift holds one of their vehicles then."""
    of_drivers = Q(
        driver_id__in=driver_ids,
        starts_at__lt=mine.ends_at + SHIFTS_WITHIN,
        ends_at__gt=mine.starts_at - SHIFTS_WITHIN,
    )
    defaults = Driver.objects.filter(pk__in=driver_ids, default_vehicle__isnull=False).values("default_vehicle_id")
    of_vehicles = (Q(vehicle_id__in=vehicle_ids) | Q(vehicle_id__in=defaults)) & Q(
        starts_at__lt=mine.ends_at, ends_at__gt=mine.starts_at
    )
    rows = Shift.objects.filter(of_drivers | of_vehicles, status=Shift.Status.PLANNED)
    return [ShiftFact(row.driver_id, row.vehicle_id, Span(row.starts_at, row.ends_at)) for row in rows]


def _vehicle_of(mine: Span, drivers: Iterable[Driver], shifts: Iterable[ShiftFact]) -> dict[UUID, UUID]:
    at_pickup = Span(mine.starts_at, mine.starts_at + timedelta(microseconds=1))
    chosen = {driver.pk: driver.default_vehicle_id for driver in drivers if driver.default_vehicle_id is not None}
    chosen |= {shift.driver_id: shift.vehicle_id for shift in shifts if shift.span.covers(at_pickup)}
    known = {driver.pk for driver in drivers}
    return {driver_id: vehicle_id for driver_id, vehicle_id in chosen.items() if driver_id in known}


def _errands_around(
    needs: RideNeeds, driver_ids: Collection[UUID], vehicle_ids: Collection[UUID], at: datetime
) -> list[Errand]:
    """Read the other rides under way or assigned near this one, whoever of the list drives or attends them."""
    mine = needs.errand.span
    rows = (
        Ride.objects.filter(
            Q(driver_id__in=driver_ids) | Q(vehicle_id__in=vehicle_ids) | Q(attendant_ids__overlap=list(driver_ids)),
            status__in=sorted(WITH_DRIVER),
            pickup_at__gt=mine.starts_at - ERRANDS_WITHIN,
            pickup_at__lt=mine.ends_at + ERRANDS_WITHIN,
        )
        .exclude(pk=needs.errand.ride_id)
        .only(*_COLUMNS_OF_ERRANDS)
        .order_by("pickup_at", "id")
    )
    return [errand_of(row, at=at) for row in rows]
