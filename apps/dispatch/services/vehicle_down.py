"""A vehicle is down: its drivers go on with other vehicles, the other rides wait for a driver; and the undo."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.dispatch.queries.replacements import replacements as replacement_drivers
from apps.dispatch.queries.spare_vehicles import PAST, WITHIN
from apps.dispatch.rules.suggesting import Suggestion, UnplacedRide
from apps.fleet.models import OutageReason, Shift, VehicleOutage
from apps.fleet.queries import lock_crews
from apps.fleet.services import outages, vehicles
from apps.rides.models import Assignment, Ride, RideQuerySet
from apps.rides.queries.absence_rides import soonest_first
from apps.rides.rules.lifecycle import WITH_DRIVER, RideStatus
from apps.rides.services import assignment, restored_rides
from apps.rides.services.fleet_changes import TRIES, RidesKeepComing
from lib.access import Principal
from lib.errors import Code, Detail, DomainError
from lib.scopes import Scope

# Stored in the database: not translated.
_MOVED: Final = "The vehicle is out of service: the driver has another one."
_AS_BEFORE: Final = "The outage of the vehicle was undone."
_UNASSIGN_REASON: Final = "replanned"


class OutageRidesChanged(DomainError):
    """Rides have another driver, vehicle, time or status by now; the details name them."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _(
        "%(count)s of the rides have changed since, so they stay as they are. Put the vehicle back without the rides,"
        " then assign rides to it."
    )

    def __init__(self, ride_ids: Collection[UUID]) -> None:
        message = _("The ride has changed since the vehicle was reported down.")
        super().__init__(
            count=len(ride_ids),
            details=[Detail(code="changed", message=message, also={"rideId": str(ride_id)}) for ride_id in ride_ids],
        )


class _MissedOne(Exception):
    """A ride was assigned between listing and locking; the locks have to be released before a retry."""


@dataclass(frozen=True, slots=True)
class VehicleDown:
    """An outage, and the rides in the data scope, each in order of their pickup.

    `moved` have another vehicle now, by ride; `freed_ids` wait for a driver; the driver is under way, or the rider on
    board, on `handover_ids`, which are unchanged.  Of the freed rides, `best` has a suggestion, and `unplaced` the
    conflicts, by ride.
    """

    outage: VehicleOutage
    moved: Mapping[UUID, UUID]
    freed_ids: list[UUID]
    handover_ids: list[UUID]
    best: Mapping[UUID, Suggestion] = field(default_factory=dict)
    unplaced: Mapping[UUID, UnplacedRide] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UndoneOutage:
    """The shifts that have the vehicle again, and the rides in the data scope that are as before."""

    shifts: list[Shift]
    ride_ids: list[UUID]


def report(
    *,
    vehicle_id: UUID,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    reason: str = OutageReason.BREAKDOWN,
    note: str = "",
    replacements: Mapping[UUID, UUID],
    by: Principal,
    at: datetime,
) -> VehicleDown:
    """Take a vehicle out of service until `ends_at` (default: `WITHIN` from now); drivers get other vehicles.

    `replacements` names another vehicle by driver: the driver keeps the shifts that start before `ends_at`, and the
    rides that have not departed and have their pickup before it.  The other rides of the vehicle lose their driver.
    Rides under way keep both, so that a dispatcher hands them over.  All or nothing.  Rides outside the caller's scope
    are changed but not listed.

    Raises:
        NotFound: the vehicle is not in the caller's data scope.
        InvalidInput, ShiftTaken, ShiftChangedHands: see `apps.fleet.services.outages`.
        AssignmentRejected: a driver may not take a ride with the other vehicle.
        RidesKeepComing: new rides were assigned at every try.
    """
    until = ends_at or at + WITHIN
    ride_ids: set[UUID] = set()
    for _attempt in range(TRIES):
        ride_ids |= set(_ahead(vehicle_id, until, at).values_list("pk", flat=True))
        try:
            down = _report(vehicle_id, ride_ids, starts_at or at, until, reason, note, replacements, by=by, at=at)
        except _MissedOne:
            continue
        return _with_suggestions(down, by=by, at=at)
    raise RidesKeepComing


def _with_suggestions(down: VehicleDown, *, by: Principal, at: datetime) -> VehicleDown:
    """Add who can take the freed rides, and remember for the queue why nobody can take the others."""
    plans = [preview.plan for preview in replacement_drivers(down.freed_ids, by=by, at=at)]
    unplaced = {each.ride_id: each for plan in plans for each in plan.unplaced}
    outages.remember_unplaced(down.outage.pk, [each.as_row() for each in unplaced.values()])
    best = {suggestion.ride_id: suggestion for plan in plans for suggestion in plan.suggestions}
    return replace(down, best=best, unplaced=unplaced)


@transaction.atomic
def undo(
    *, vehicle_id: UUID, outage_id: UUID, without_rides: bool = False, by: Principal, at: datetime
) -> UndoneOutage:
    """Put a vehicle that was reported down back in service, with its shifts and rides, as if nothing had happened.

    `without_rides` puts it back in any case: the rides stay as they are, and so do shifts that cannot be given back.
    Otherwise all or nothing.

    Raises:
        NotFound: there is no such outage in the caller's data scope.
        OutageRidesChanged: a ride has changed since.
        OutageOver, OutageShiftsChanged: see `apps.fleet.services.outages.undo`.
        AssignmentRejected: a driver may no longer drive one of the rides.
    """
    facts = outages.outage_of(vehicle_id, outage_id, by).undo
    rows: Mapping[UUID, Mapping[str, Any]] = (
        {} if without_rides else {UUID(row["id"]): row for row in facts.get("rides", [])}
    )
    rides = restored_rides.locked(rows)
    former = list(Assignment.objects.filter(pk__in=[row["assignmentId"] for row in rows.values()]))
    crews: list[Assignment | Ride] = [*former, *rides]
    lock_crews(
        {person for row in crews for person in (row.driver_id, *row.attendant_ids) if person is not None},
        {vehicle_id, *(row.vehicle_id for row in crews if row.vehicle_id is not None)},
    )
    vehicle = vehicles.locked_vehicle(vehicle_id, by)
    if changed := restored_rides.changed_since(rides, rows):
        raise OutageRidesChanged(changed)
    restored = outages.undo(outage_id, vehicle, as_far_as_possible=without_rides, by=by, at=at)
    restored_rides.assign_again(former, rides, why=_AS_BEFORE, by=by, at=at)
    visible_ids = set(Ride.objects.visible_to(by).filter(pk__in=rows).values_list("pk", flat=True))
    return UndoneOutage(restored, [ride.pk for ride in soonest_first(rides) if ride.pk in visible_ids])


@transaction.atomic
def _report(
    vehicle_id: UUID,
    ride_ids: Collection[UUID],
    starts_at: datetime,
    until: datetime,
    reason: str,
    note: str,
    replacements: Mapping[UUID, UUID],
    *,
    by: Principal,
    at: datetime,
) -> VehicleDown:
    """Do what `report` says with these rides.  Locks rides, then drivers and vehicles, as an assignment does."""
    rides = restored_rides.locked(ride_ids)
    drivers = {ride.driver_id for ride in rides if ride.driver_id is not None}
    lock_crews({*drivers, *replacements}, {vehicle_id, *replacements.values()})
    vehicles.locked_vehicle(vehicle_id, by)
    _require_all_locked(vehicle_id, ride_ids, until, at)
    # Before the rides lose their provider: a partner does not see them afterwards.
    visible_ids = set(Ride.objects.visible_to(by).filter(pk__in=ride_ids).values_list("pk", flat=True))
    outage = outages.start(
        vehicle_id,
        starts_at=starts_at,
        ends_at=until,
        reason=reason,
        note=note,
        replacements=replacements,
        by=by,
        at=at,
    )
    dispatcher = by.elevated(Scope.ASSIGNMENTS_WRITE, Scope.RIDES_OVERRIDE)
    moved, freed, rows = {}, [], []
    for ride in soonest_first(rides):
        if ride.vehicle_id != vehicle_id or ride.status != RideStatus.ASSIGNED or ride.driver_id is None:
            continue
        former_id, other = ride.assignment_id, replacements.get(ride.driver_id)
        if other is None:
            assignment.detach(ride, reason_code=_UNASSIGN_REASON, note=note, by=dispatcher, at=at)
            assignment.audit_release(ride, reason_code=_UNASSIGN_REASON, note=note, by=by)
            freed.append(ride.pk)
            rows.append(restored_rides.remembered(ride, former_id))
        else:
            moved[ride.pk] = other
            changed = _with_vehicle(ride, ride.driver_id, other, by=dispatcher, at=at)
            rows.append(restored_rides.remembered(changed, former_id))
    outages.remember(outage, "rides", rows)
    under_way = Ride.objects.visible_to(by).filter(
        vehicle_id=vehicle_id, status__in=sorted(WITH_DRIVER - {RideStatus.ASSIGNED}), pickup_at__gt=at - PAST
    )
    return VehicleDown(
        outage=outage,
        moved={ride_id: other for ride_id, other in moved.items() if ride_id in visible_ids},
        freed_ids=[ride_id for ride_id in freed if ride_id in visible_ids],
        handover_ids=[ride.pk for ride in soonest_first(under_way)],
    )


def _require_all_locked(vehicle_id: UUID, ride_ids: Collection[UUID], until: datetime, at: datetime) -> None:
    """Require that no ride was assigned to the locked vehicle after the rides were listed."""
    if _ahead(vehicle_id, until, at).exclude(pk__in=ride_ids).exists():
        raise _MissedOne


def _with_vehicle(ride: Ride, driver_id: UUID, vehicle_id: UUID, *, by: Principal, at: datetime) -> Ride:
    """Assign the ride's own crew again, with another vehicle; return the changed ride."""
    row = assignment.assign(
        ride_id=ride.pk,
        driver_id=driver_id,
        vehicle_id=vehicle_id,
        attendant_ids=ride.attendant_ids,
        override=True,
        override_reason=_MOVED,
        by=by,
        at=at,
    )
    return row.ride


def _ahead(vehicle_id: UUID, until: datetime, at: datetime) -> RideQuerySet:
    """Select the rides of the vehicle that have not departed and have their pickup before `until`."""
    soon = Q(pickup_at__gt=at - PAST, pickup_at__lt=until)
    return Ride.objects.filter(soon, vehicle_id=vehicle_id, status=RideStatus.ASSIGNED)
