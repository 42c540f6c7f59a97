"""Changes of drivers and vehicles that affect their rides: activation, suspension, out of service."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Activation, Driver, Vehicle, VehicleStatus
from apps.fleet.services import activation, vehicles
from apps.rides.models import Ride, RideQuerySet
from apps.rides.queries import assigned_rides
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services.assignment import audit_release, detach
from lib.access import Principal
from lib.errors import Code, DomainError
from lib.scopes import Scope

TRIES = 5


class RidesKeepComing(DomainError):
    """The driver was assigned to further rides while these were released."""

    code = Code.RESOURCE_BUSY
    template = _("Rides are being assigned to the driver right now. Try again.")


class _MissedOne(Exception):
    """A ride was assigned between listing and locking; the locks have to be released before a retry."""


@dataclass(frozen=True, slots=True)
class DriverChange:
    """A changed driver, the affected rides, soonest first, and those that were unassigned."""

    driver: Driver
    affected_ride_ids: list[UUID]
    released_ride_ids: list[UUID]


@dataclass(frozen=True, slots=True)
class VehicleChange:
    vehicle: Vehicle
    affected_ride_ids: list[UUID]


def change_activation(
    *,
    driver_id: UUID,
    to: str,
    reason: str,
    release_future_rides: bool = False,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> DriverChange:
    """Activate, suspend or retire a driver; list the assigned rides and unassign them on request.

    Affected are rides that they drive or attend and that are not over; released are those on which they have not set
    out: with a ride under way a dispatcher decides.  All or nothing.  Rides outside the caller's scope are released
    but not listed.  Locks rides by id and then the driver, as an assignment does; a ride assigned meanwhile makes it
    let go and begin again.

    Raises:
        NotFound, StaleVersion, InvalidInput, CredentialsMissing: see `apps.fleet.services.activation.change`.
        RidesKeepComing: new rides were assigned at every try.
    """
    release = release_future_rides and to != Activation.ACTIVE
    ride_ids: set[UUID] = set()
    for _attempt in range(TRIES):
        if release:
            ride_ids |= set(_open_rides(Q(driver_id=driver_id), [RideStatus.ASSIGNED]).values_list("pk", flat=True))
        try:
            return _change(
                driver_id, to, reason, ride_ids, release=release, expected_version=expected_version, by=by, at=at
            )
        except _MissedOne:
            continue
    raise RidesKeepComing


@transaction.atomic
def change_vehicle_status(
    *, vehicle_id: UUID, to: str, reason: str, expected_version: int | None = None, by: Principal, at: datetime
) -> VehicleChange:
    """Put a vehicle in or out of service; list its assigned rides, soonest first.

    Raises:
        NotFound, StaleVersion: see `apps.fleet.services.vehicles.change_status`.
    """
    vehicle = vehicles.change_status(
        vehicle_id=vehicle_id, to=to, reason=reason, expected_version=expected_version, by=by, at=at
    )
    touched = vehicle.status != VehicleStatus.IN_SERVICE
    return VehicleChange(vehicle, _ids(assigned_rides.to_vehicle(vehicle_id, by=by)) if touched else [])


@transaction.atomic
def _change(
    driver_id: UUID,
    to: str,
    reason: str,
    ride_ids: Collection[UUID],
    *,
    release: bool,
    expected_version: int | None,
    by: Principal,
    at: datetime,
) -> DriverChange:
    rides = list(
        Ride.objects.filter(pk__in=ride_ids)
        .select_for_update(of=("self",))
        .select_related("facility", "pickup_facility", "payer")
        .order_by("pk")
    )
    driver = activation.change(
        driver_id=driver_id, to=to, reason=reason, expected_version=expected_version, by=by, at=at
    )
    drives = Q(driver_id=driver_id)
    if release and _open_rides(drives, [RideStatus.ASSIGNED]).exclude(pk__in=ride_ids).exists():
        raise _MissedOne
    out = to != Activation.ACTIVE
    affected = _ids(assigned_rides.for_driver(driver_id, by=by)) if out else []
    released = [ride for ride in rides if ride.status == RideStatus.ASSIGNED and ride.driver_id == driver_id]
    dispatcher = by.elevated(Scope.ASSIGNMENTS_WRITE)
    for ride in sorted(released, key=lambda ride: (ride.pickup_at, ride.pk)):
        detach(ride, reason_code="driver_suspended", note=reason, by=dispatcher, at=at)
        audit_release(ride, reason_code="driver_suspended", note=reason, by=by)
    released_ids = {ride.pk for ride in released}
    return DriverChange(driver, affected, [ride_id for ride_id in affected if ride_id in released_ids])


def _open_rides(crew_filter: Q, statuses: Collection[str]) -> RideQuerySet:
    return Ride.objects.filter(crew_filter, status__in=sorted(statuses))


def _ids(rides: RideQuerySet) -> list[UUID]:
    return list(rides.values_list("pk", flat=True))
