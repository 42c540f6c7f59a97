"""A vehicle is down: takes it out of service, and gives its drivers other vehicles for their shifts and rides."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from apps.fleet.models import Shift, Vehicle, VehicleStatus
from apps.fleet.queries import lock_crews
from apps.fleet.services import shifts, vehicles
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment
from lib.access import Principal
from lib.scopes import Scope

# Rides with an earlier pickup time were never closed.
_PAST: Final = timedelta(hours=24)
_REASON: Final = "The vehicle is out of service: the driver has another one."  # stored in the database: not translated


@dataclass(frozen=True, slots=True)
class VehicleDown:
    """The vehicle, and the rides that have another vehicle now, soonest first."""

    vehicle: Vehicle
    moved_ids: list[UUID]


@transaction.atomic
def report(
    *, vehicle_id: UUID, reason: str, replacements: Mapping[UUID, UUID], until: datetime, by: Principal, at: datetime
) -> VehicleDown:
    """Take a vehicle out of service; `replacements` names another vehicle for drivers, by driver.

    A driver with a replacement keeps the shifts that start before `until` and the rides that have not departed and
    have their pickup before it: a running shift ends and goes on with the other vehicle.  All or nothing.  Rides under
    way, and drivers without a replacement, keep the vehicle, so that a dispatcher hands them over or reports the driver
    out.  Locks rides by id, then drivers and vehicles by id, as an assignment does.

    Raises:
        NotFound: the vehicle is not in the caller's data scope.
        InvalidInput, ShiftTaken, ShiftChangedHands: see `apps.fleet.services.shifts`.
        AssignmentRejected: a driver may not take a ride with the other vehicle.
    """
    rides = list(
        Ride.objects.in_charge_of(by)
        .filter(vehicle_id=vehicle_id, driver_id__in=replacements, status=RideStatus.ASSIGNED)
        .filter(pickup_at__gt=at - _PAST, pickup_at__lt=until)
        .select_for_update(of=("self",))
        .order_by("pk")
    )
    lock_crews(replacements, {vehicle_id, *replacements.values()})
    vehicle = vehicles.change_status(
        vehicle_id=vehicle_id, to=VehicleStatus.OUT_OF_SERVICE, reason=reason, by=by, at=at
    )
    planned = Shift.objects.filter(vehicle_id=vehicle_id, driver_id__in=replacements, status=Shift.Status.PLANNED)
    for shift in planned.filter(starts_at__lt=until, ends_at__gt=at).order_by("starts_at"):
        _move_shift(shift, replacements[shift.driver_id], by=by, at=at)
    dispatcher = by.elevated(Scope.RIDES_OVERRIDE)
    for ride in rides:
        if ride.driver_id is not None:
            assignment.assign(
                ride_id=ride.pk,
                driver_id=ride.driver_id,
                vehicle_id=replacements[ride.driver_id],
                attendant_ids=ride.attendant_ids,
                override=True,
                override_reason=_REASON,
                by=dispatcher,
                at=at,
            )
    return VehicleDown(vehicle, [ride.pk for ride in sorted(rides, key=lambda ride: (ride.pickup_at, ride.pk))])


def _move_shift(shift: Shift, vehicle_id: UUID, *, by: Principal, at: datetime) -> None:
    if shift.starts_at >= at:
        shifts.amend(shift_id=shift.pk, changes={"vehicle_id": vehicle_id}, expected_version=None, by=by, at=at)
        return
    ends_at = shift.ends_at
    shifts.amend(shift_id=shift.pk, changes={"ends_at": at}, expected_version=None, by=by, at=at)
    shifts.plan(driver_id=shift.driver_id, vehicle_id=vehicle_id, starts_at=at, ends_at=ends_at, by=by, at=at)
