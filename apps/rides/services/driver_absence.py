"""A driver is out: takes the driver out of shifts and off the rides that have not departed, and undoes it.

Locks rides by id and then the driver, as an assignment does, and frees all or nothing.  A ride that is assigned or
offered between listing and locking is found after the driver is locked; then everything is rolled back and starts
again.  Open offers are withdrawn, because the driver is not there to answer.
A rider who waits for a driver under way, or is on board, is not left without one: such rides are listed, so that a
dispatcher hands them over.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import AbsenceReason, Driver, Leave, Shift
from apps.fleet.queries import lock_crews
from apps.fleet.services import absences, drivers
from apps.fleet.services.absences import ChangedShift
from apps.rides.models import Assignment, Ride
from apps.rides.queries import absence_rides
from apps.rides.queries.absence_rides import meets, soonest_first
from apps.rides.rules.facts import Span
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, offers, restored_rides
from apps.rides.services.fleet_changes import TRIES, RidesKeepComing
from lib.access import Principal
from lib.errors import Code, Detail, DomainError
from lib.scopes import Scope

UNASSIGN_REASON: Final[Mapping[str, str]] = {AbsenceReason.SICK: "driver_ill"}
_ANY_OTHER: Final = "driver_absent"
_AS_BEFORE: Final = "The absence of the driver was undone."  # stored in the database: not translated


class FreedRidesChanged(DomainError):
    """Freed rides have another driver, time or status by now; the details name them."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _(
        "%(count)s of the freed rides have changed since, so they stay as they are. Bring the driver back without the"
        " rides, then assign rides to the driver."
    )

    def __init__(self, ride_ids: Sequence[UUID]) -> None:
        message = _("The ride has changed since the driver was reported out.")
        super().__init__(
            count=len(ride_ids),
            details=[Detail(code="changed", message=message, also={"rideId": str(ride_id)}) for ride_id in ride_ids],
        )


class _MissedOne(Exception):
    """A ride was assigned between listing and locking; the locks have to be released before a retry."""


@dataclass(frozen=True, slots=True)
class FreedRide:
    """A ride that waits for a driver: its version while the driver had it, and now."""

    ride_id: UUID
    former_version: int
    version: int


@dataclass(frozen=True, slots=True)
class ReportedAbsence:
    """An absence, the changed shifts, and the rides in the data scope that it affects, each in order of their pickup.

    `handover`: the driver is under way or has the rider on board.  `attended`: the driver was to be the attendant.
    `withdrawn`: the ride was offered to the driver.
    """

    leave: Leave
    shifts: list[ChangedShift]
    freed: list[FreedRide]
    handover_ids: list[UUID]
    attended_ids: list[UUID]
    withdrawn_ids: list[UUID]

    @property
    def freed_ids(self) -> list[UUID]:
        return [freed.ride_id for freed in self.freed]


@dataclass(frozen=True, slots=True)
class UndoneAbsence:
    """The shifts that the driver has again, and the rides in the data scope."""

    shifts: list[Shift]
    ride_ids: list[UUID]


def report(
    *,
    driver_id: UUID,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    reason: str,
    note: str = "",
    by: Principal,
    at: datetime,
) -> ReportedAbsence:
    """Take a driver off the road from `starts_at` (default: now) until `ends_at` (default: see `default_end`).

    Rides outside the caller's scope are freed but not listed.

    Raises:
        NotFound: the driver is not in the caller's data scope.
        InvalidInput, AlreadyAbsent: see `apps.fleet.services.absences.start`.
        RidesKeepComing: new rides were assigned at every try.
    """
    ride_ids: set[UUID] = set()
    for _attempt in range(TRIES):
        ride_ids |= {ride.pk for ride in _concerned(driver_id, min(at, starts_at or at))}
        try:
            return _report(driver_id, ride_ids, starts_at or at, ends_at, reason=reason, note=note, by=by, at=at)
        except _MissedOne:
            continue
    raise RidesKeepComing


@transaction.atomic
def undo(
    *, driver_id: UUID, absence_id: UUID, without_rides: bool = False, by: Principal, at: datetime
) -> UndoneAbsence:
    """Give a driver who was reported out their shifts and rides back, as if nothing had happened.

    `without_rides` ends the absence in any case: the freed rides stay as they are, and so do shifts that cannot be
    given back.  Otherwise all or nothing.

    Raises:
        NotFound: there is no such absence in the caller's data scope.
        AbsenceOver: it has ended.
        FreedRidesChanged: a freed ride has changed since.
        ShiftChangedSince: see `apps.fleet.services.absences.undo`.
        AssignmentRejected: the driver may no longer drive one of the rides.
    """
    undo_facts = absences.absence_of(driver_id, absence_id, by).undo or {}
    freed: Mapping[UUID, Mapping[str, Any]] = (
        {} if without_rides else {UUID(row["id"]): row for row in undo_facts.get("rides", [])}
    )
    rides = restored_rides.locked(freed)
    before = list(Assignment.objects.filter(pk__in=[row["assignmentId"] for row in freed.values()]))
    crew_ids = {driver_id, *(person for row in before for person in (row.driver_id, *row.attendant_ids))}
    lock_crews(crew_ids, {row.vehicle_id for row in before})
    driver = drivers.locked_driver(driver_id, by)
    leave = absences.locked_absence(driver, absence_id, at=at)
    if changed := restored_rides.changed_since(rides, freed):
        raise FreedRidesChanged(changed)
    restored = absences.undo(leave, driver, as_far_as_possible=without_rides, by=by, at=at)
    restored_rides.assign_again(before, rides, why=_AS_BEFORE, by=by, at=at)
    visible_ids = set(Ride.objects.visible_to(by).filter(pk__in=freed).values_list("pk", flat=True))
    return UndoneAbsence(restored, [ride.pk for ride in soonest_first(rides) if ride.pk in visible_ids])


@transaction.atomic
def _report(
    driver_id: UUID,
    ride_ids: Collection[UUID],
    starts_at: datetime,
    ends_at: datetime | None,
    *,
    reason: str,
    note: str,
    by: Principal,
    at: datetime,
) -> ReportedAbsence:
    rides = restored_rides.locked(ride_ids)
    driver = drivers.locked_driver(driver_id, by)
    ends_at = ends_at or absences.default_end(driver, starts_at)
    away = Span(starts_at, ends_at)
    _require_all_locked(driver, away, ride_ids, at)
    leave, shifts = absences.start(driver, starts_at=starts_at, ends_at=ends_at, reason=reason, note=note, by=by, at=at)
    # Before the rides lose their provider: a partner does not see them afterwards.
    visible_ids = set(Ride.objects.visible_to(by).filter(pk__in=ride_ids).values_list("pk", flat=True))
    freed = _free(
        [ride for ride in rides if _is_freed(ride, driver, away, at)], leave, reason=reason, note=note, by=by, at=at
    )
    withdrawn_ids = _withdraw_offers(rides, driver, away, by=by, at=at)
    return ReportedAbsence(
        leave=leave,
        shifts=shifts,
        freed=[row for row in freed if row.ride_id in visible_ids],
        handover_ids=[ride.pk for ride in absence_rides.needing_handover(driver_id, away, by=by, at=at)],
        attended_ids=[ride.pk for ride in absence_rides.attended_by(driver_id, away, by=by, at=at)],
        withdrawn_ids=[ride_id for ride_id in withdrawn_ids if ride_id in visible_ids],
    )


def _free(
    rides: Collection[Ride], leave: Leave, *, reason: str, note: str, by: Principal, at: datetime
) -> list[FreedRide]:
    """Unassign locked rides, and remember them for the undo."""
    dispatcher = by.elevated(Scope.ASSIGNMENTS_WRITE)
    reason_code = UNASSIGN_REASON.get(reason, _ANY_OTHER)
    freed, rows = [], []
    for ride in soonest_first(rides):
        former_assignment_id, former_version = ride.assignment_id, ride.version
        assignment.detach(ride, reason_code=reason_code, note=note, by=dispatcher, at=at)
        assignment.audit_release(ride, reason_code=reason_code, note=note, by=by)
        freed.append(FreedRide(ride.pk, former_version, ride.version))
        rows.append(restored_rides.remembered(ride, former_assignment_id))
    absences.remember(leave, "rides", rows)
    return freed


def _withdraw_offers(rides: Collection[Ride], driver: Driver, away: Span, *, by: Principal, at: datetime) -> list[UUID]:
    """Withdraw the open offers of locked rides to the driver; return the rides, soonest first."""
    affected = [ride for ride in soonest_first(rides) if meets(ride, away, at)]
    return [ride.pk for ride in affected if offers.withdraw(ride, driver.pk, why="driver_absent", by=by, at=at)]


def _concerned(driver_id: UUID, since: datetime) -> list[Ride]:
    """Return the rides that are assigned or offered to the driver; the absence may meet some of them.  Two queries."""
    return [
        *absence_rides.assigned_to(driver_id, since=since),
        *absence_rides.offered_to(driver_id, since=since),
    ]


def _require_all_locked(driver: Driver, away: Span, ride_ids: Collection[UUID], at: datetime) -> None:
    """Require that no ride was assigned or offered to the locked driver after the rides were listed."""
    concerned = _concerned(driver.pk, min(at, away.starts_at))
    if any(ride.pk not in ride_ids and meets(ride, away, at) for ride in concerned):
        raise _MissedOne


def _is_freed(ride: Ride, driver: Driver, away: Span, at: datetime) -> bool:
    return ride.driver_id == driver.pk and ride.status == RideStatus.ASSIGNED and meets(ride, away, at)
