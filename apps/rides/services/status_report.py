"""Status reports of a ride from departure to drop-off (T11, T12, T15, T20, T27)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.fleet.services import drivers
from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.queries import rides
from apps.rides.rules import booking_rules
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, BY_STATUSES, TERMINAL, Action, RideStatus, Transition
from apps.rides.rules.status_report import MilestoneReport, StatusReport, misplaced
from apps.rides.rules.timeliness import promised_at
from apps.rides.services import (
    arrival_times,
    assignment,
    booking,
    corrections,
    documents,
    eligibility_checks,
    exceptions,
    legs,
    milestones,
    outcomes,
    return_leg,
    ride_changes,
)
from apps.rides.services.edit_checks import wire_name
from apps.rides.services.eligibility_checks import Override
from apps.rides.services.guards import require
from apps.rides.services.status import (
    InvalidTransition,
    Note,
    audit_step,
    locked,
    move,
    require_permission,
    touch,
    transition_of,
)
from lib.access import Principal
from lib.errors import Detail, FieldRefused, InvalidInput

MILESTONE_OF: Final = {
    Action.DEPART: Milestone.Type.DEPARTED,
    Action.ARRIVE: Milestone.Type.ARRIVED_PICKUP,
    Action.START: Milestone.Type.BOARDED,
    Action.COMPLETE: Milestone.Type.DROPPED_OFF,
}
_ENDED_BY_ARRIVAL: Final = (ExceptionType.LATE_PICKUP_PREDICTED, ExceptionType.LATE_PICKUP)
_ENDED_BY_BOARDING: Final = (
    ExceptionType.RIDER_NOT_READY,
    ExceptionType.WILL_CALL_OVERDUE,
    ExceptionType.WILL_CALL_UNACTIVATED,
    ExceptionType.RIDER_STRANDED_RISK,
    ExceptionType.DISCHARGE_SLIPPED,
)


def advance(
    ride: Ride, action: Action, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime
) -> list[str]:
    """Perform one transition of a locked ride under way; return the overridden soft guards.

    Raises:
        InvalidTransition, ScopeMissing, GuardFailed, MilestoneOutOfOrder: see the functions called.
    """
    row = transition_of(ride, action)
    overridden = require(row.guards, ride, report, occurred_at=moment.occurred_at, by=by)
    skipped_departure = row.source is RideStatus.ASSIGNED and action is Action.ARRIVE
    columns = milestones.record(ride, moment, source=report.source, by=by, at=at)
    if action is Action.START:
        columns += _boarded(ride, moment.occurred_at, report)
    elif action is Action.ARRIVE:
        columns += arrival_times.clear(ride)
    elif action is Action.COMPLETE:
        columns += _delivered(ride, moment, report, by=by, at=at)
    note = Note(data={"overridden": overridden} if overridden else {})
    move(
        ride,
        action,
        by=by,
        at=at,
        occurred_at=moment.occurred_at,
        also=columns,
        notes={row.events[0]: note},
    )
    _resolve_exceptions(ride, action, skipped_departure=skipped_departure, by=by, at=at)
    milestones.check_reported_location(ride, moment, by=by, at=at)
    return overridden


def record_past_milestone(
    ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime
) -> None:
    """Record a past milestone of a locked ride: a missing one, or a corrected time.

    The status does not change, and a corrected row stays, voided.  Resolves `milestone_gap` once no milestone is
    missing.  A ride that has ended accepts only missing milestones.

    Raises:
        ScopeMissing: the caller may not report the status of rides.
        InvalidInput: the ride has ended, and the milestone has another time: the outcome has to be corrected first.
        MilestoneOutOfOrder: see `milestones.check_order`.
    """
    require_permission(BY_ACTION[RideStatus.EN_ROUTE, Action.ARRIVE], by)
    milestone = Milestone.Type(moment.type)
    if ride.status in TERMINAL and getattr(ride, milestones.COLUMN_OF[milestone]) is not None:
        template = _("%(milestone)s already has another time. Correct the outcome of the ride first.")
        raise InvalidInput("milestones", template, detail_code="taken", milestone=milestone.value)
    columns = milestones.record(ride, moment, source=report.source, by=by, at=at)
    if ride.boarded_at is not None:
        columns += _set_wait(ride, ride.boarded_at)
    note = Note(data={"changed": ["milestones"], "milestone": moment.type})
    touch(ride, "ride.updated", by=by, at=at, occurred_at=moment.occurred_at, also=columns, note=note)
    _start_assignment(ride, ride.departed_at or ride.arrived_pickup_at)
    if not milestones.missing(ride):
        code = ResolutionCode.RECOVERED_LATE
        exceptions.settle(ride, [ExceptionType.MILESTONE_GAP], by=by, at=at, code=code)
    milestones.check_reported_location(ride, moment, by=by, at=at)


def _boarded(ride: Ride, boarded_at: datetime, report: StatusReport) -> list[str]:
    columns = _set_wait(ride, boarded_at)
    documents.set_odometer_start(ride, report)
    ride.signatures = [*ride.signatures, *report.signatures]
    return [*columns, "odometer_start", "signatures"]


def _set_wait(ride: Ride, boarded_at: datetime) -> list[str]:
    arrived_at = ride.arrived_pickup_at or boarded_at
    # Waiting counts from the promised time: arriving early is the driver's choice.
    since = arrived_at if ride.will_call else max(arrived_at, ride.pickup_at)
    ride.wait_minutes = _whole_minutes(since, boarded_at)
    return ["wait_minutes"]


def _delivered(ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    columns: Sequence[str] = []
    if ride.arrived_dropoff_at is None:
        # Five taps know no arrival at the drop-off; the delivery stands for it, which counts against us, not for us.
        arrival = MilestoneReport(
            type=Milestone.Type.ARRIVED_DROPOFF,
            occurred_at=report.arrived_dropoff_at or moment.occurred_at,
            place=moment.place,
        )
        columns = milestones.record(ride, arrival, source=report.source, by=by, at=at)
    ride.onboard_minutes = _whole_minutes(ride.boarded_at or moment.occurred_at, moment.occurred_at)
    documents.set_odometer_end(ride, report)
    documents.set_miles(ride, report)
    ride.signatures = [*ride.signatures, *report.signatures]
    ride.attestation = report.attestation or ride.attestation
    ride.handoff_name = report.handoff_name or ride.handoff_name
    ride.missing_documents = documents.missing_of(ride)
    outcomes.end_assignment(
        ride,
        Assignment.Status.COMPLETED,
        reason="completed",
        at=moment.occurred_at,
        miles=documents.miles_of_the_last(ride),
    )
    return [
        *columns,
        "onboard_minutes",
        "odometer_start",
        "odometer_end",
        "loaded_miles",
        "loaded_miles_source",
        "signatures",
        "attestation",
        "handoff_name",
        "missing_documents",
    ]


def _resolve_exceptions(ride: Ride, action: Action, *, skipped_departure: bool, by: Principal, at: datetime) -> None:
    """Open and resolve exceptions because of the transition, after its event."""
    if action is Action.DEPART:
        _start_assignment(ride, ride.departed_at)
    elif action is Action.ARRIVE:
        if skipped_departure:
            _start_assignment(ride, ride.arrived_pickup_at)
            exceptions.open_exception(
                ride, ExceptionType.MILESTONE_GAP, by=by, at=at, detected_by="T12", details={"missing": "departed"}
            )
        exceptions.settle(ride, _ENDED_BY_ARRIVAL, by=by, at=at, code=_recovered(ride))
    elif action is Action.START:
        exceptions.settle(ride, _ENDED_BY_BOARDING, by=by, at=at, code=_recovered(ride))
    else:
        arrival_times.settle_on_arrival(ride, delivered=True, by=by, at=at)
        return_leg.reschedule_return(ride, by=by, at=at)
        outcomes.settle_what_ended(ride, by=by, at=at, code=_recovered(ride))


def _start_assignment(ride: Ride, started_at: datetime | None) -> None:
    """Return when the crew departed; for a rescue vehicle, the time of the transfer."""
    # Rides under way have one: `ride_underway_has_driver_and_vehicle`.
    assignment_id = cast(UUID, ride.assignment_id)
    Assignment.objects.filter(pk=assignment_id, sequence=1).update(started_at=started_at)


def _recovered(ride: Ride) -> ResolutionCode:
    late = ride.arrived_pickup_at is None or ride.arrived_pickup_at > promised_at(ride)
    return ResolutionCode.RECOVERED_LATE if late else ResolutionCode.RECOVERED_ON_TIME


def _whole_minutes(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds() // 60))


_COLUMNS: Final = ["scheduled_at", "review_reasons", "confirm_by"]


def confirm(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    """Confirm a locked request whose rider is locked too; return the overridden rules.

    The hard rules of booking hold as they did then.  That the rider has another ride at the time by now gives way to an
    override, as it gives way to `allowDuplicate` at booking.

    Raises:
        booking.RiderNotBookable: the rider's record no longer allows it.
        legs.PickupInPast: the pickup was more than 15 minutes ago; the ride needs a new time first.
        FieldRefused: another hard rule is broken by now; the field is named.
        booking.OverlappingRide: the rider has another ride then, and there is no override.
        ScopeMissing, InvalidInput: see `require_override_right`.
        InvalidTransition: see `move`.
    """
    require_permission(transition_of(ride, Action.CONFIRM), by)
    booking.require_bookable(ride.rider, ride.service_date)
    if booking_rules.is_past(ride.pickup_at, at=at):
        message = _("The pickup time of this request has passed. Change the time, then confirm the request.")
        raise legs.PickupInPast([Detail(field="pickupTime", code=booking_rules.IN_PAST, message=message)])
    legs.require_sound(ride_changes.leg_of(ride), at=at)
    overlapping_ids = booking.require_free(
        ride.rider_id,
        {"pickup_at": ride.pickup_at, "estimated_minutes": ride.estimated_minutes},
        besides=booking.legs_of_trip(ride),
        allowed=report.override,
        override_field="override",
        by=by,
    )
    overridden = [ExceptionType.DUPLICATE_RIDE.value] if overlapping_ids else []
    if overlapping_ids:
        eligibility_checks.require_override_right(Override(report.override, report.override_reason), by)
    ride.scheduled_at = at
    ride.review_reasons = []
    ride.confirm_by = None
    notes = {"ride.scheduled": Note(data={"overridden": overridden})} if overridden else {}
    move(ride, Action.CONFIRM, by=by, at=at, also=_COLUMNS, notes=notes)
    code = ResolutionCode.RECOVERED_ON_TIME
    exceptions.settle(ride, [ExceptionType.UNCONFIRMED_REQUEST], by=by, at=at, code=code)
    booking.open_duplicate(ride, overlapping_ids, detected_by="T03", by=by, at=at)
    return overridden


_LEADS_TO: Final = {
    Milestone.Type.DEPARTED: RideStatus.EN_ROUTE,
    Milestone.Type.ARRIVED_PICKUP: RideStatus.ARRIVED,
    Milestone.Type.BOARDED: RideStatus.IN_PROGRESS,
    Milestone.Type.DROPPED_OFF: RideStatus.COMPLETED,
}


@dataclass(frozen=True, slots=True)
class ManualMilestone:
    """One reported milestone; `handoff_name` only with the drop-off, `contacted` only with contact attempts."""

    type: Milestone.Type
    occurred_at: datetime
    note: str = ""
    contacted: str = ""
    secured: bool = False
    handoff_name: str = ""
    override: Override = field(default_factory=Override)


def enter_milestone(
    *, ride_id: UUID, moment: ManualMilestone, expected_version: int, by: Principal, at: datetime
) -> Ride:
    """Apply a milestone to a ride; a past milestone completes or corrects the record.

    Raises:
        As `change_status`.
    """
    ride = rides.ride(ride_id, by)  # a later version raises StaleVersion under the lock
    leads_to = _LEADS_TO.get(moment.type)
    moves = leads_to is not None and not milestones.has_passed(ride, moment.type)
    milestone_report = MilestoneReport(
        type=moment.type.value, occurred_at=moment.occurred_at, note=moment.note, contacted=moment.contacted
    )
    report = StatusReport(
        status=leads_to if leads_to is not None and moves else RideStatus(ride.status),
        source=Milestone.Source.DISPATCHER_MANUAL.value,
        milestones=(milestone_report,),
        securement_confirmed=moment.secured,
        handoff_name=moment.handoff_name if moves and leads_to is RideStatus.COMPLETED else "",
        override=moment.override.requested,
        override_reason=moment.override.reason,
    )
    return change_status(ride_id=ride_id, report=report, expected_version=expected_version, by=by, at=at)


# Statuses that follow from milestones in a batch; other milestones are only recorded.
ACTION_OF: Final = {milestone: action for action, milestone in MILESTONE_OF.items()}
_RECORDED_ONLY: Final = frozenset(
    {Milestone.Type.ARRIVED_DROPOFF, Milestone.Type.CONTACT_ATTEMPT, Milestone.Type.HANDOFF}
)
# Before the rider is on board, people call rider and facility; a request is no promise yet.
CALLED_IN: Final = frozenset({RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.EN_ROUTE, RideStatus.ARRIVED})
_ON_BOARD: Final = frozenset({RideStatus.IN_PROGRESS})
_DEVICES: Final = frozenset({Milestone.Source.DRIVER_APP, Milestone.Source.INTEGRATION})


@transaction.atomic
def change_status(
    *, ride_id: UUID, report: StatusReport, expected_version: int | None = None, by: Principal, at: datetime
) -> Ride:
    """Move a ride to the reported status, through every milestone reported with it.

    A report of the current status and nothing else is a no-op without an event: drivers tap twice, and messages repeat.
    The report may have a new arrival estimate (`arrival_times.save_eta`), or documents of a ride that is on board or
    completed (`documents`).  A milestone that the ride has passed completes or corrects its record
    (`record_past_milestone`).  If one milestone is refused, nothing changes.

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing, InvalidTransition, GuardFailed, MilestoneOutOfOrder: the transition is refused.
        FieldRefused: a field does not apply to the status, or a request that now breaks a hard rule is confirmed.
        InvalidInput: a reason or note is missing or invalid, or another operation sets this status.
        booking.RiderNotBookable, booking.OverlappingRide: a confirmed request can no longer be booked.
        AssignmentRejected: an outcome is corrected, but the driver or vehicle of the ride has another ride now.
    """
    if report.status is RideStatus.SCHEDULED:
        booking.locked_rider(ride_id, by)  # a request may be confirmed, which needs the lock of its rider
    ride = locked(ride_id, by, expected_version=expected_version)
    _report(ride, report, by=by, at=at)
    return ride


def _report(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> None:
    was = RideStatus(ride.status)
    _require_place(report, was)
    version, driver_id = ride.version, ride.driver_id
    overridden: list[str] = []
    for moment in report.milestones:
        overridden += _apply_milestone(ride, moment, report, by=by, at=at)
    if ride.status != report.status:
        overridden += _take(ride, report, by=by, at=at)
    else:
        documents.complete(ride, report, by=by, at=at)
    if report.eta_pickup is not None:
        arrival_times.save_eta(ride, report.eta_pickup, reported_at=report.occurred_at or at, by=by, at=at)
    if ride.version != version:
        # The reason of a correction is only in its note.
        reasons = [report.note if was in TERMINAL else "", report.override_reason]
        reason_code, reason = report.reason_code, "; ".join(filter(None, reasons))
        audit_step(ride, was, by=by, overridden=overridden, reason_code=reason_code, reason=reason)
        if driver_id is not None:
            _locate(driver_id, report, at=at)


def _require_place(report: StatusReport, was: RideStatus) -> None:
    unused = [wire_name(name) for name in misplaced(report, corrects=was in TERMINAL and report.status is not was)]
    if unused:
        raise FieldRefused(
            [
                Detail(field=name, code="not_here", message=_("%(field)s does not apply to this status."))
                for name in unused
            ]
        )


def _locate(driver_id: UUID, report: StatusReport, *, at: datetime) -> None:
    """Save the last position reported by the driver's device, not of manual entries."""
    if report.source not in _DEVICES:
        return
    positions = [(moment.occurred_at, moment.place) for moment in report.milestones]
    positions.append((report.occurred_at or at, report.place))
    places = [(moment, place) for moment, place in positions if place is not None]
    if places:
        moment, place = max(places, key=lambda position: position[0])
        drivers.locate(driver_id=driver_id, lat=place.lat, lng=place.lng, at=min(moment, at))


def _apply_milestone(
    ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime
) -> list[str]:
    milestone = Milestone.Type(moment.type)
    if milestone in _RECORDED_ONLY:
        if not milestones.is_known(ride, moment):
            _record_only(ride, moment, report, by=by, at=at)
        return []
    if milestone is Milestone.Type.READY:
        raise InvalidInput(
            "milestones", _("To mark the rider ready, use POST /rides/{id}/ready."), detail_code="not_here"
        )
    if getattr(ride, milestones.COLUMN_OF[milestone]) == moment.occurred_at:
        return []  # devices repeat unconfirmed reports
    if milestones.has_passed(ride, milestone):
        record_past_milestone(ride, moment, report, by=by, at=at)
        return []
    return advance(ride, ACTION_OF[milestone], moment, report, by=by, at=at)


def _record_only(ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime) -> None:
    """Record a milestone without a change of status: arrival at the drop-off, handoff, contact attempt."""
    is_call = moment.type == Milestone.Type.CONTACT_ATTEMPT
    if ride.status not in (CALLED_IN if is_call else _ON_BOARD):
        raise InvalidTransition(RideStatus(ride.status), moment.type)
    require_permission(BY_ACTION[RideStatus.ARRIVED, Action.START], by)
    columns = milestones.record(ride, moment, source=report.source, by=by, at=at)
    note = Note(data={"changed": ["milestones"], "milestone": moment.type})
    touch(ride, "ride.updated", by=by, at=at, occurred_at=moment.occurred_at, also=columns, note=note)
    if moment.type == Milestone.Type.ARRIVED_DROPOFF:
        arrival_times.settle_on_arrival(ride, by=by, at=at)
        return_leg.reschedule_return(ride, by=by, at=at)
    milestones.check_reported_location(ride, moment, by=by, at=at)


def _take(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    was = RideStatus(ride.status)
    if was in TERMINAL:
        return corrections.correct(ride, report, by=by, at=at)
    row = BY_STATUSES.get((was, report.status))
    if row is None:
        raise InvalidTransition(was, report.status.value)
    occurred_at = report.occurred_at or at
    if row.action in MILESTONE_OF:
        moment = MilestoneReport(
            type=MILESTONE_OF[row.action],
            occurred_at=occurred_at,
            place=report.place,
            note=report.note,
        )
        return advance(ride, row.action, moment, report, by=by, at=at)
    milestones.check_ending(ride, occurred_at, at=at)
    return _dispatch(ride, row, report, occurred_at=occurred_at, by=by, at=at)


def _dispatch(
    ride: Ride, row: Transition, report: StatusReport, *, occurred_at: datetime, by: Principal, at: datetime
) -> list[str]:
    """Perform a transition that is a decision, not a milestone."""
    if row.action is Action.CONFIRM:
        return confirm(ride, report, by=by, at=at)
    if row.action in (Action.ASSIGN, Action.REASSIGN):
        raise InvalidInput("status", _("To assign a driver, use PUT /rides/{id}/assignment."), detail_code="not_here")
    if row.action is Action.UNASSIGN:
        assignment.detach(ride, reason_code=report.reason_code, note=report.note, by=by, at=at)
        return []
    return outcomes.record_outcome(ride, row.action, report, occurred_at=occurred_at, by=by, at=at)
