"""The road: departed, arrived, boarded, delivered (T11, T12, T15, T20, T27)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, TERMINAL, Action, RideStatus
from apps.rides.rules.standing import promised_at
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import (
    arrival_times,
    documents,
    exceptions,
    milestones,
    outcomes,
    return_leg,
)
from apps.rides.services.guards import require
from apps.rides.services.status import Note, move, require_permission, touch, transition_of
from lib.access import Principal
from lib.errors import InvalidInput

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
    """Take one step of the road on a locked ride; answer the soft guards that were overridden.

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
    _settle(ride, action, skipped_departure=skipped_departure, by=by, at=at)
    milestones.check_reported_location(ride, moment, by=by, at=at)
    return overridden


def set_right(ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime) -> None:
    """Record a moment that a locked ride has passed: one that was missing, or a better word on one that was reported.

    The status stays, and so does the row of the first word, voided.  Settles `milestone_gap` once
    nothing is missing.  A ride that has ended takes what is missing alone.

    Raises:
        ScopeMissing: the caller does not report from the road.
        InvalidInput: the ride has ended, and the moment is recorded otherwise: the ending has to be corrected first.
        MilestoneOutOfOrder: see `milestones.check_order`.
    """
    require_permission(BY_ACTION[RideStatus.EN_ROUTE, Action.ARRIVE], by)
    milestone = Milestone.Type(moment.type)
    if ride.status in TERMINAL and getattr(ride, milestones.COLUMN_OF[milestone]) is not None:
        template = _("%(milestone)s is recorded otherwise: correct the ending first.")
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
    # The driver waits from the promised time on: coming early is the driver's own choice.
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


def _settle(ride: Ride, action: Action, *, skipped_departure: bool, by: Principal, at: datetime) -> None:
    """Open and settle the exceptions that the step brings about, after its own event."""
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
        arrival_times.arrived(ride, delivered=True, by=by, at=at)
        return_leg.reschedule_return(ride, by=by, at=at)
        outcomes.settle_what_ended(ride, by=by, at=at, code=_recovered(ride))


def _start_assignment(ride: Ride, started_at: datetime | None) -> None:
    """Say when the crew set out; a rescue vehicle did when the rider was moved to it."""
    # Whoever has set out has one: `ride_underway_has_driver_and_vehicle`.
    assignment_id = cast(UUID, ride.assignment_id)
    Assignment.objects.filter(pk=assignment_id, sequence=1).update(started_at=started_at)


def _recovered(ride: Ride) -> ResolutionCode:
    late = ride.arrived_pickup_at is None or ride.arrived_pickup_at > promised_at(ride)
    return ResolutionCode.RECOVERED_LATE if late else ResolutionCode.RECOVERED_ON_TIME


def _whole_minutes(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds() // 60))
