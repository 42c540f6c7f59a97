"""The drivers of a vehicle that is down, and other vehicles that can take its rides."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from apps.fleet.models import Driver, Shift, Vehicle, VehicleStatus
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import Facts, gather_of
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.eligibility import CHECKS, Pairing, ViolationCode
from apps.rides.rules.facts import RideNeeds
from apps.rides.rules.lifecycle import WITH_DRIVER, RideStatus
from lib.access import Principal

# What a driver does for the rest of the day with another vehicle.
WITHIN: Final = dt.timedelta(hours=14)
# Rides with an earlier pickup time were never closed.
PAST: Final = dt.timedelta(hours=24)
_OF_VEHICLE: Final = (
    ViolationCode.VEHICLE_OUT_OF_SERVICE,
    ViolationCode.PROVIDER_MISMATCH,
    ViolationCode.CREDENTIAL_INVALID,
    ViolationCode.VEHICLE_NOT_SUITABLE,
)


@dataclass(frozen=True, slots=True)
class VehicleCrew:
    """A driver with the vehicle: shifts and rides that have not departed, those under way, and vehicles that fit.

    `spares` fit every one of `rides` and are free until then; rides are soonest first.
    """

    driver: Driver
    shifts: tuple[Shift, ...]
    rides: tuple[Ride, ...]
    under_way: tuple[Ride, ...]
    spares: tuple[Vehicle, ...]


def vehicle_crews(
    vehicle: Vehicle, *, until: dt.datetime | None = None, by: Principal, at: dt.datetime
) -> list[VehicleCrew]:
    """Return who drives this vehicle from now `until` (default: for `WITHIN`).

    At most ten queries; reads without locks.
    """
    until = until or at + WITHIN
    shifts: dict[UUID, list[Shift]] = defaultdict(list)
    planned = Shift.objects.filter(status=Shift.Status.PLANNED, starts_at__lt=until, ends_at__gt=at)
    for shift in planned.filter(vehicle=vehicle).order_by("starts_at"):
        shifts[shift.driver_id].append(shift)
    rides: dict[UUID | None, list[Ride]] = defaultdict(list)
    open_rides = Ride.objects.filter(status__in=sorted(WITH_DRIVER), pickup_at__gt=at - PAST, pickup_at__lt=until)
    for ride in open_rides.visible_to(by).filter(vehicle=vehicle).select_related("rider").order_by("pickup_at", "pk"):
        rides[ride.driver_id].append(ride)
    drivers = list(
        Driver.objects.visible_to(by).filter(pk__in=[*shifts, *rides]).order_by("last_name", "first_name", "pk")
    )
    spares = list(
        Vehicle.objects.visible_to(by)
        .filter(provider_id=vehicle.provider_id, status=VehicleStatus.IN_SERVICE)
        .exclude(pk=vehicle.pk)
        .exclude(pk__in=planned.values("vehicle_id"))
        .exclude(pk__in=open_rides.values("vehicle_id"))
        .order_by("unit_number", "pk")
    )
    ahead = {driver.pk: [ride for ride in rides[driver.pk] if ride.status == RideStatus.ASSIGNED] for driver in drivers}
    needs = {ride.pk: needs_of(ride, at=at) for driver_rides in ahead.values() for ride in driver_rides}
    # What the checks below read of a vehicle does not depend on the time of the ride.
    first = next(iter(needs.values()), None)
    facts = None if first is None else gather_of(first, drivers=drivers, vehicles=spares, at=at)
    return [
        VehicleCrew(
            driver=driver,
            shifts=tuple(shifts[driver.pk]),
            rides=tuple(ahead[driver.pk]),
            under_way=tuple(ride for ride in rides[driver.pk] if ride.status != RideStatus.ASSIGNED),
            spares=tuple(
                spare for spare in spares if _fits(spare, driver, [needs[ride.pk] for ride in ahead[driver.pk]], facts)
            ),
        )
        for driver in drivers
    ]


def first_choices(crews: Sequence[VehicleCrew]) -> dict[UUID, UUID]:
    """Return the first vehicle that fits, by driver: one that no driver before has.  Drivers without one are absent."""
    chosen: dict[UUID, UUID] = {}
    for crew in crews:
        first = next((spare.pk for spare in crew.spares if spare.pk not in chosen.values()), None)
        if first is not None:
            chosen[crew.driver.pk] = first
    return chosen


def _fits(spare: Vehicle, driver: Driver, needs: Sequence[RideNeeds], facts: Facts | None) -> bool:
    if facts is None:
        return True
    pairings = (Pairing(each, facts.drivers[driver.pk], facts.vehicles[spare.pk]) for each in needs)
    return not any(
        subject_id == spare.pk
        for pairing in pairings
        for code in _OF_VEHICLE
        for _, subject_id in CHECKS[code][1](pairing)
    )
