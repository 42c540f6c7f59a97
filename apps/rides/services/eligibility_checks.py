"""Checks of driver and vehicle for a ride, and overrides of soft rules with a reason."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

from apps.fleet import queries as fleet
from apps.fleet.models import Driver, Vehicle
from apps.rides.models import Assignment, Ride
from apps.rides.queries.assignment_facts import gather_of
from apps.rides.queries.conflicts import hide_rides, rides_out_of_reach
from apps.rides.queries.ride_needs import needs_of
from apps.rides.rules.eligibility import Violation, ViolationCode, ViolationKind, violations
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, ScopeMissing
from lib.scopes import Scope
from lib.travel.places import Place


@dataclass(frozen=True, slots=True)
class Override:
    """A request to override soft rules, with its reason."""

    requested: bool = False
    reason: str = ""


def require_override_right(override: Override, by: Principal) -> None:
    """Check that a needed override is allowed.

    Raises:
        ScopeMissing: the caller may not override.
        InvalidInput: it came without a reason.
    """
    if not by.has_scope(Scope.RIDES_OVERRIDE):
        raise ScopeMissing(Scope.RIDES_OVERRIDE)
    if not override.reason.strip():
        raise InvalidInput("overrideReason", _("%(field)s is required with an override."), detail_code="required")


class AssignmentRejected(DomainError):
    """Checks of this driver and vehicle failed; the details list all violations, hard ones first."""

    code = Code.ASSIGNMENT_REJECTED

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__(
            violations[0].message,
            details=[
                Detail(
                    code=violation.code.value,
                    message=violation.message,
                    also={"kind": violation.kind.value, "subjectId": str(violation.subject_id)},
                )
                for violation in violations
            ],
        )
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Crew:
    """Driver, vehicle and attendants of an assignment, locked."""

    driver: Driver
    vehicle: Vehicle
    attendants: tuple[Driver, ...]

    @property
    def attendant_ids(self) -> list[UUID]:
        return [attendant.pk for attendant in self.attendants]

    def is_on(self, assignment: Assignment) -> bool:
        return (
            assignment.driver_id == self.driver.pk
            and assignment.vehicle_id == self.vehicle.pk
            and set(assignment.attendant_ids) == set(self.attendant_ids)
        )


def locked_crew(*, driver_id: UUID, vehicle_id: UUID, attendant_ids: Collection[UUID], by: Principal) -> Crew:
    """Lock drivers by id and then the vehicle, inside the caller's data scope.  One round trip.

    Raises:
        InvalidInput: one of them is not there, or somebody is named twice.
    """
    attendants = list(attendant_ids)
    if driver_id in attendants or len(set(attendants)) < len(attendants):
        raise InvalidInput("attendantIds", _("Each person may be listed only once."), detail_code="repeated")
    people, vehicle = fleet.locked([driver_id, *attendants], vehicle_id, by)
    if driver_id not in people:
        raise InvalidInput("driverId", _("There is no such driver."), detail_code="unknown")
    if len(people) <= len(attendants):
        raise InvalidInput("attendantIds", _("There is no such attendant."), detail_code="unknown")
    if vehicle is None:
        raise InvalidInput("vehicleId", _("There is no such vehicle."), detail_code="unknown")
    return Crew(people[driver_id], vehicle, tuple(people[person] for person in attendants))


def lock_crews(rides: Collection[Ride], *, people: Collection[UUID] = (), vehicles: Collection[UUID] = ()) -> None:
    """Lock all drivers and then all vehicles of rides, each by id, to avoid deadlocks.

    `people` and `vehicles` are others to lock along with them.  Two queries.
    """
    crews = {person for ride in rides for person in (ride.driver_id, *ride.attendant_ids) if person is not None}
    used = {ride.vehicle_id for ride in rides if ride.vehicle_id is not None}
    for rows in (Driver.objects.filter(pk__in=crews | {*people}), Vehicle.objects.filter(pk__in=used | {*vehicles})):
        list(rows.order_by("pk").select_for_update(of=("self",), no_key=True).values_list("pk"))


def judge(ride: Ride, crew: Crew, *, by: Principal, at: datetime, picked_up_at: Place | None = None) -> list[Violation]:
    """List the violations of a locked crew on a locked ride; rides that `by` cannot see count, but are not named.

    One round trip, one for the rider who is not loaded, and one where the caller does not see everything.
    """
    needs = needs_of(ride, at=at, picked_up_at=picked_up_at)
    people = [crew.driver, *crew.attendants]
    facts = gather_of(needs, drivers=people, vehicles=[crew.vehicle], at=at)
    every_violation = violations(
        needs,
        facts.drivers[crew.driver.pk],
        facts.vehicles[crew.vehicle.pk],
        [facts.drivers[attendant.pk] for attendant in crew.attendants],
    )
    return hide_rides(every_violation, rides_out_of_reach(every_violation, by), driver_id=crew.driver.pk)


def require_fit(violations: list[Violation], override: Override, by: Principal) -> list[str]:
    """Refuse an assignment with violations, unless all are soft and overridden; return the overridden codes.

    Raises:
        AssignmentRejected: a hard violation, or a soft one and no override.
        ScopeMissing, InvalidInput: see `require_override_right`.
    """
    if not violations:
        return []
    if not override.requested or any(violation.kind is ViolationKind.HARD for violation in violations):
        raise AssignmentRejected(violations)
    require_override_right(override, by)
    return list(dict.fromkeys(violation.code.value for violation in violations))


# Exceptions of hard violations: the rider needs another crew, or the crew may not drive that day.
_OPENED_BY: Final[Mapping[ViolationCode, ExceptionType]] = {
    ViolationCode.VEHICLE_NOT_SUITABLE: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.DRIVER_NOT_QUALIFIED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.ATTENDANT_REQUIRED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.PAIRING_EXCLUDED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.CREDENTIAL_INVALID: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.DRIVER_INACTIVE: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.VEHICLE_OUT_OF_SERVICE: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.PROVIDER_MISMATCH: ExceptionType.CREDENTIAL_LAPSE,
}


def recheck(ride: Ride, *, by: Principal, at: datetime, detected_by: str) -> bool:
    """Check the assignment of a locked ride, and return whether it still fits.

    Driver and vehicle stay either way: where the rider needs others, `accommodation_mismatch` opens; where they may
    not be on the road that day, `credential_lapse`, critical once the day has come.  What holds again is settled.  A
    ride without an assignment fits.  Looks beyond the caller's reach, for whoever may change a ride need not see its
    driver.  Locks the crew; five queries where nothing has changed.
    """
    if ride.driver_id is None or ride.vehicle_id is None:
        return True
    crew = locked_crew(
        driver_id=ride.driver_id,
        vehicle_id=ride.vehicle_id,
        attendant_ids=ride.attendant_ids,
        by=by.elevated(),
    )
    hard = [violation.code for violation in judge(ride, crew, by=by, at=at) if violation.kind is ViolationKind.HARD]
    has_come = ride.service_date <= at.astimezone(ZoneInfo(ride.timezone)).date()
    for type_ in dict.fromkeys(_OPENED_BY.values()):
        codes = [code.value for code in hard if _OPENED_BY[code] is type_]
        if codes:
            exceptions.open_exception(
                ride,
                type_,
                by=by,
                at=at,
                detected_by=detected_by,
                severity=ExceptionSeverity.CRITICAL if has_come else None,
                details={"violations": codes},
            )
        else:
            exceptions.settle(ride, [type_], by=by, at=at, code=ResolutionCode.RECOVERED_ON_TIME)
    return not hard
