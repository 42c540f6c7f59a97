"""Assigns driver and vehicle to a ride, reassigns, transfers a rider on board, and unassigns.

Transitions T06, T09, T10, T16, T17, T24 to T26.  Locks the ride, then drivers by id, then the vehicle (`locked_crew`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Employment
from apps.riders.models import Rider
from apps.rides.models import Assignment, Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import Action, Guard, ReasonList, RideStatus
from apps.rides.rules.reasons import AT_DOOR_UNASSIGN_REASONS, OUT_REASONS
from apps.rides.rules.status_report import Place as ReportedPlace
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import exceptions, milestones
from apps.rides.services.eligibility_checks import Crew, Override, judge, locked_crew, require_fit
from apps.rides.services.guards import require
from apps.rides.services.outcomes import check_reason
from apps.rides.services.status import InvalidTransition, Note, locked, move, require_permission, touch, transition_of
from lib.access import Principal
from lib.errors import Detail, FieldRefused, InvalidInput
from lib.messages import FieldName
from lib.travel.places import Place

LATE_RELEASE_WITHIN = timedelta(hours=4)  # before pickup; opens driver_released_late
OFFER_VALID_FOR = timedelta(minutes=15)  # the first step of the escalation ladder

_ACTION: Final[Mapping[RideStatus, Action]] = {
    RideStatus.SCHEDULED: Action.ASSIGN,
    RideStatus.ASSIGNED: Action.REASSIGN,
    RideStatus.EN_ROUTE: Action.REASSIGN,
    RideStatus.ARRIVED: Action.REASSIGN,
    RideStatus.IN_PROGRESS: Action.TRANSFER,
}
# Exceptions that are settled by assigning a driver who passes the checks.
SETTLED_BY_ASSIGNMENT: Final = (
    ExceptionType.UNASSIGNED_AT_RISK,
    ExceptionType.NO_DRIVER_AVAILABLE,
    ExceptionType.ASSIGNMENT_DECLINED,
    ExceptionType.DRIVER_RELEASED_LATE,
    ExceptionType.ACCOMMODATION_MISMATCH,
    ExceptionType.CREDENTIAL_LAPSE,
)
_OPENED_BY_REASON: Final[Mapping[str, ExceptionType]] = {
    "vehicle_breakdown": ExceptionType.VEHICLE_BREAKDOWN,
    "accident": ExceptionType.ACCIDENT,
    "accommodation_mismatch": ExceptionType.ACCOMMODATION_MISMATCH,
    "credential_lapsed": ExceptionType.CREDENTIAL_LAPSE,
}
_DRIVER_COLUMNS: Final = ["assignment_id", "provider", "driver", "vehicle", "attendant_ids"]
_APPROACH_COLUMNS: Final = ["departed_at", "arrived_pickup_at", "eta_pickup_at"]


@dataclass(frozen=True, slots=True)
class Handover:
    """Additional input for reassigning a driver en route, or a vehicle with the rider on board.

    `counts_as` is the built-in reason that `reason_code` stands for; `rider_location` and `place` say where the rider
    waits; `miles` is what the first vehicle drove with the rider.
    """

    reason_code: str = ""
    counts_as: str = ""
    note: str = ""
    rider_location: str = ""
    place: ReportedPlace | None = None
    miles: Decimal | None = None


@transaction.atomic
def assign(
    *,
    ride_id: UUID,
    driver_id: UUID,
    vehicle_id: UUID,
    attendant_ids: Collection[UUID] = (),
    method: str = Assignment.Method.MANUAL,
    override: bool = False,
    override_reason: str = "",
    offer: bool = False,
    respond_by: datetime | None = None,
    handover: Handover | None = None,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Assignment:
    """Assign a scheduled ride, reassign an assigned one, or transfer a rider on board to a rescue vehicle.

    With `offer`, a driver who is not an employee gets an offer until `respond_by` (default 15 minutes): the ride stays
    scheduled, and `ride.driver_offered` notifies the provider.  Assigning the current crew again is a no-op.
    The returned assignment's `ride` is up to date.

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing: the caller may not assign, or not override.
        InvalidTransition: the status of the ride does not allow it.
        AssignmentRejected: checks fail; lists all of them.
        InvalidInput: a driver, attendant or vehicle does not exist, a reason is missing or unknown, or `respond_by` has
            passed.
        FieldRefused: data about a rider on board, but the rider is not on board.
        GuardFailed: a transfer does not say where the rider is.
    """
    ride = locked(ride_id, by, expected_version=expected_version)
    action = _ACTION.get(RideStatus(ride.status))
    if action is None:
        raise InvalidTransition(RideStatus(ride.status), RideStatus.ASSIGNED)
    if offer and action is not Action.ASSIGN:
        raise InvalidTransition(RideStatus(ride.status), "offer")
    row = transition_of(ride, action)
    require_permission(row, by)
    if offer and ride.after_the_fact:
        raise InvalidInput("offer", _("This ride has taken place: assign the driver who served it."))
    checked_handover = _checked(handover or Handover(), ride, action, by, at)
    if respond_by is not None and not offer:
        raise InvalidInput(
            "respondBy",
            _("%(field)s is allowed only with %(other)s."),
            detail_code="not_here",
            other=FieldName("offer"),
        )
    crew = locked_crew(driver_id=driver_id, vehicle_id=vehicle_id, attendant_ids=attendant_ids, by=by)
    current, ride.rider = _current_assignment(ride)
    if current is not None and crew.is_on(current):
        return current
    picked_up_at = (
        Place(float(checked_handover.place.lat), float(checked_handover.place.lng))
        if checked_handover.place and row.number == "T26"
        else None
    )
    violations = judge(ride, crew, by=by, at=at, picked_up_at=picked_up_at)
    overridden = require_fit(violations, Override(override, override_reason), by)
    new = _row_for(ride, crew, method=method, by=by, at=at)
    new.overridden, new.override_reason = overridden, override_reason if overridden else ""
    if offer and crew.driver.employment != Employment.EMPLOYEE:
        _offer(new, respond_by or at + OFFER_VALID_FOR, by=by, at=at)
        _audit("rides.offer", new, by)
        return new
    attach(new, action, checked_handover, current, by=by, at=at)
    _audit(f"rides.{action.value}", new, by, reason=override_reason or checked_handover.note)
    return new


@transaction.atomic
def unassign(
    *,
    ride_id: UUID,
    reason_code: str,
    note: str = "",
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Unassign the driver.  No effect on a ride without a driver.

    Raises:
        NotFound, StaleVersion: see `locked`.
        InvalidTransition: the ride is over, or the rider on board: that is a transfer.
        ScopeMissing: the caller may neither dispatch nor report.
        InvalidInput: the reason is missing, unknown, needs a note, or is not one for giving a ride back at the door.
    """
    ride = locked(ride_id, by, expected_version=expected_version)
    if ride.status == RideStatus.SCHEDULED:
        return ride
    detach(ride, reason_code=reason_code, note=note, by=by, at=at)
    audit_release(ride, reason_code=reason_code, note=note, by=by)
    return ride


def detach(ride: Ride, *, reason_code: str, note: str, by: Principal, at: datetime) -> None:
    """Unassign the driver of a locked ride; see `unassign`.  The caller writes the audit entry."""
    row = transition_of(ride, Action.UNASSIGN)
    require_permission(row, by)
    parent = check_reason(ReasonList.UNASSIGN, Action.UNASSIGN, reason_code, note)
    if ride.status == RideStatus.ARRIVED and parent not in AT_DOOR_UNASSIGN_REASONS:
        raise InvalidInput(
            "reasonCode",
            _("At the pickup, use one of %(reasons)s."),
            detail_code="not_here",
            reasons=AT_DOOR_UNASSIGN_REASONS,
        )
    was_assigned = ride.status == RideStatus.ASSIGNED
    former_crew, former_driver_id = _former_crew(ride), ride.driver_id
    _close(ride, Assignment.Status.RELEASED, reason_code, at)
    ride.assignment_id = ride.provider_id = ride.driver_id = ride.vehicle_id = None
    ride.attendant_ids = []
    columns = [*_DRIVER_COLUMNS, *_undo_approach(ride)]
    notes = {"ride.driver_unassigned": Note({**former_crew.data, "reasonCode": reason_code}, former_crew.provider_id)}
    move(ride, Action.UNASSIGN, by=by, at=at, also=columns, notes=notes)
    if not was_assigned or at > ride.pickup_at - LATE_RELEASE_WITHIN:
        cause = former_driver_id if parent in OUT_REASONS else None
        _open_for(ride, parent, row.number, cause_driver_id=cause, by=by, at=at)


def audit_release(ride: Ride, *, reason_code: str, note: str, by: Principal) -> None:
    """Write the audit entry of unassigning."""
    audit.record(
        by=by,
        action="rides.unassign",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=note,
        details={"reasonCode": reason_code},
    )


def attach(
    new: Assignment, action: Action, handover: Handover, current: Assignment | None, *, by: Principal, at: datetime
) -> None:
    """Make a checked row the accepted assignment of its locked ride, replacing the current one.

    Withdraws other offers, moves the ride, opens the exception of a change at the door or on board, and resolves the
    exceptions in `SETTLED_BY_ASSIGNMENT`.
    """
    ride = new.ride
    row = transition_of(ride, action)
    former_crew = _former_crew(ride)
    if current is not None:
        new.sequence = current.sequence + (1 if action is Action.TRANSFER else 0)
        if action is Action.TRANSFER:
            current.miles_attributed = handover.miles
            current.save(update_fields=["miles_attributed"])
        _close(ride, Assignment.Status.SUPERSEDED, handover.reason_code or action.value, at)
    _withdraw_offers(ride, new, at)
    is_offer = new.status == Assignment.Status.OFFERED
    new.status, new.responded_at = Assignment.Status.ACCEPTED, at
    if action is Action.TRANSFER:
        new.started_at = at
    if is_offer:
        new.save(update_fields=["sequence", "status", "responded_at", "started_at"])
    else:
        new.save(force_insert=True)
    ride.assignment_id, ride.provider_id = new.pk, new.provider_id
    ride.driver_id, ride.vehicle_id, ride.attendant_ids = new.driver_id, new.vehicle_id, new.attendant_ids
    columns = list(_DRIVER_COLUMNS)
    if action is Action.REASSIGN:
        columns += _undo_approach(ride)
    if handover.rider_location and action is Action.TRANSFER:
        ride.dispatcher_notes = f"{ride.dispatcher_notes}\nTransferred at: {handover.rider_location}".strip()[-1000:]
        columns.append("dispatcher_notes")
    notes = {
        "ride.driver_unassigned": former_crew,
        "ride.driver_assigned": Note(_named(new)),
    }
    move(ride, action, by=by, at=at, also=columns, notes=notes)
    if "ride.exception" in row.events:
        _open_for(ride, handover.counts_as, row.number, by=by, at=at)
    exceptions.settle(ride, SETTLED_BY_ASSIGNMENT, by=by, at=at, code=ResolutionCode.REASSIGNED)


def reassign(ride: Ride, crew: Crew, *, overridden: list[str], reason: str, by: Principal, at: datetime) -> Assignment:
    """Replace the crew of a locked ride before boarding by a locked and checked one; see `assign`.

    `overridden` are the checks that the caller's `reason` overrides.  The caller writes the audit entry.

    Raises:
        InvalidTransition, ScopeMissing: see `transition_of` and `require_permission`.
    """
    require_permission(transition_of(ride, Action.REASSIGN), by)
    current, ride.rider = _current_assignment(ride)
    new = _row_for(ride, crew, method=Assignment.Method.MANUAL, by=by, at=at)
    new.overridden, new.override_reason = overridden, reason if overridden else ""
    attach(new, Action.REASSIGN, Handover(), current, by=by, at=at)
    return new


def assign_checked(ride: Ride, crew: Crew, *, method: str, by: Principal, at: datetime) -> Assignment:
    """Assign a locked and checked crew to a locked scheduled ride.  The caller writes the audit entry."""
    _current, ride.rider = _current_assignment(ride)
    new = _row_for(ride, crew, method=method, by=by, at=at)
    attach(new, Action.ASSIGN, Handover(), None, by=by, at=at)
    return new


@transaction.atomic
def hand_over(
    *, ride_id: UUID, expected_version: int | None = None, by: Principal, at: datetime, **crew: Any
) -> Assignment:
    """Hand a rider on board over to another driver; `crew` are the other arguments of `assign`.

    The assignments of both drivers keep their times.

    Raises:
        InvalidTransition: no rider is on board.
        Other errors: as `assign`.
    """
    ride = locked(ride_id, by, expected_version=expected_version)
    if ride.status != RideStatus.IN_PROGRESS:
        raise InvalidTransition(RideStatus(ride.status), "handover")
    return assign(ride_id=ride_id, by=by, at=at, **crew)


def _checked(handover: Handover, ride: Ride, action: Action, by: Principal, at: datetime) -> Handover:
    """Check that a transfer, and only a transfer, has a reason and the data about a rider on board."""
    if handover.reason_code or action is Action.TRANSFER:
        parent = check_reason(ReasonList.UNASSIGN, action, handover.reason_code, handover.note)
        handover = replace(handover, counts_as=parent)
    if action is not Action.TRANSFER:
        transfer_fields = {
            "riderLocation": handover.rider_location,
            "location": handover.place,
            "milesDriven": handover.miles,
        }
        if misplaced := [name for name, value in transfer_fields.items() if value not in (None, "")]:
            raise FieldRefused(
                [
                    Detail(field=name, code="not_here", message=_("%(field)s is allowed only with a rider on board."))
                    for name in misplaced
                ]
            )
        return handover
    report = StatusReport(
        status=RideStatus(ride.status), source="system", rider_location=handover.rider_location, place=handover.place
    )
    require([Guard.RIDER_LOCATION_KNOWN], ride, report, occurred_at=at, by=by)
    return handover


def _current_assignment(ride: Ride) -> tuple[Assignment | None, Rider]:
    """Read the accepted assignment of a locked ride, and the ride's rider.  Two queries."""
    accepted = Assignment.objects.filter(ride=ride, status=Assignment.Status.ACCEPTED).first()
    if accepted is not None:
        accepted.ride = ride
    return accepted, Rider.objects.get(pk=ride.rider_id)


def _row_for(ride: Ride, crew: Crew, *, method: str, by: Principal, at: datetime) -> Assignment:
    row = Assignment(
        ride=ride,
        provider_id=crew.driver.provider_id,
        driver=crew.driver,
        vehicle=crew.vehicle,
        attendant_ids=crew.attendant_ids,
        method=method,
        offered_at=at,
        assigned_by=by.actor,
        driver_name=f"{crew.driver.first_name} {crew.driver.last_name}",
        vehicle_plate=crew.vehicle.license_plate,
    )
    row.license_number = crew.driver.license_number
    return row


def _offer(new: Assignment, respond_by: datetime, *, by: Principal, at: datetime) -> None:
    if respond_by <= at:
        raise InvalidInput("respondBy", _("%(field)s must be in the future."))
    Assignment.objects.filter(ride=new.ride, driver=new.driver, status=Assignment.Status.OFFERED).update(
        status=Assignment.Status.EXPIRED, ended_at=at, end_reason="offered_again"
    )
    new.status, new.respond_by = Assignment.Status.OFFERED, respond_by
    new.save(force_insert=True)
    until = respond_by.isoformat().replace("+00:00", "Z")
    note = Note({**_named(new), "respondBy": until}, new.provider_id)  # so that the offered provider gets the event
    touch(new.ride, "ride.driver_offered", by=by, at=at, note=note)


def _close(ride: Ride, status: Assignment.Status, reason: str, at: datetime) -> None:
    Assignment.objects.filter(ride=ride, status=Assignment.Status.ACCEPTED).update(
        status=status, ended_at=at, end_reason=reason
    )


def _withdraw_offers(ride: Ride, accepted: Assignment, at: datetime) -> None:
    open_offers = Assignment.objects.filter(ride=ride, status=Assignment.Status.OFFERED).exclude(pk=accepted.pk)
    open_offers.update(status=Assignment.Status.EXPIRED, ended_at=at, end_reason="given_to_another")


def _undo_approach(ride: Ride) -> list[str]:
    """Void the milestones of the former driver's way to the pickup; return the columns to save.

    A new driver has to try to reach the rider again before a no-show.
    """
    milestones.void_approach(ride)
    ride.departed_at = ride.arrived_pickup_at = ride.eta_pickup_at = None
    return list(_APPROACH_COLUMNS)


def _open_for(
    ride: Ride, reason: str, number: str, *, cause_driver_id: UUID | None = None, by: Principal, at: datetime
) -> None:
    exceptions.open_exception(
        ride,
        _OPENED_BY_REASON.get(reason, ExceptionType.DRIVER_RELEASED_LATE),
        by=by,
        at=at,
        detected_by=number,
        details={"reasonCode": reason},
        cause_driver_id=cause_driver_id,
    )


def _former_crew(ride: Ride) -> Note:
    """Return the event data about the former crew, for their provider."""
    named = {"assignmentId": ride.assignment_id, "driverId": ride.driver_id, "vehicleId": ride.vehicle_id}
    return Note({key: None if value is None else str(value) for key, value in named.items()}, ride.provider_id)


def _named(assignment: Assignment) -> dict[str, Any]:
    named = {
        "assignmentId": str(assignment.pk),
        "driverId": str(assignment.driver_id),
        "vehicleId": str(assignment.vehicle_id),
    }
    return named | ({"overridden": assignment.overridden} if assignment.overridden else {})


def _audit(action: str, assignment: Assignment, by: Principal, reason: str = "") -> None:
    ride = assignment.ride
    audit.record(
        by=by,
        action=action,
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=reason,
        details={"assignmentId": str(assignment.pk), "overridden": assignment.overridden},
    )
