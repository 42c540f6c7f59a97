"""The status call: whatever a driver's system, an integration or a dispatcher says of a ride, in one transaction."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.fleet.services import drivers
from apps.rides.models import Milestone, Ride
from apps.rides.rules.lifecycle import BY_STATUSES, TERMINAL, Action, RideStatus, Transition
from apps.rides.rules.status_report import MilestoneReport, StatusReport, misplaced
from apps.rides.services import (
    arrival_times,
    assignment,
    booking,
    confirming,
    corrections,
    documents,
    milestones,
    outcomes,
    progress,
    return_leg,
)
from apps.rides.services.editing import wire_name
from apps.rides.services.status import (
    InvalidTransition,
    Note,
    audit_step,
    locked,
    require_permission,
    touch,
    transition_of,
)
from lib.access import Principal
from lib.errors import Detail, FieldRefused, InvalidInput

# What a milestone in a batch means for the status; the others are recorded only.
ACTION_OF: Final = {milestone: action for action, milestone in progress.MILESTONE_OF.items()}
_RECORDED_ONLY: Final = frozenset(
    {Milestone.Type.ARRIVED_DROPOFF, Milestone.Type.CONTACT_ATTEMPT, Milestone.Type.HANDOFF}
)
_DEVICES: Final = frozenset({Milestone.Source.DRIVER_APP, Milestone.Source.INTEGRATION})


@transaction.atomic
def change_status(
    *, ride_id: UUID, report: StatusReport, expected_version: int | None = None, by: Principal, at: datetime
) -> Ride:
    """Bring a ride to the status reported, through every milestone reported with it.

    Naming the present status and nothing else is a no-op without an event: drivers tap twice, and messages repeat.
    With it may come a new estimate of the arrival (eta.py), or papers of a ride on board or completed (documents.py).
    A milestone that the ride has passed completes or corrects its record (`progress.set_right`).  All or nothing: one
    refused milestone leaves the ride as it was.

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing, InvalidTransition, GuardFailed, MilestoneOutOfOrder: the step is refused.
        FieldRefused: the report holds what its status has no use for, or confirms what breaks a hard rule by now.
        InvalidInput: a reason or note is missing or wrong, or the status is set by another operation.
        booking.RiderNotBookable, booking.OverlappingRide: a request is to be confirmed that could not be booked by now.
        AssignmentRejected: an ending is to be corrected, and those on the ride have another one by now.
    """
    if report.status is RideStatus.SCHEDULED:
        booking.locked_rider(ride_id, by)  # a request may be confirmed: nobody books its rider meanwhile
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
        arrival_times.keep(ride, report.eta_pickup, said_at=report.occurred_at or at, by=by, at=at)
    if ride.version != version:
        # A correction says why in its note, which stands nowhere else.
        told = [report.note if was in TERMINAL else "", report.override_reason]
        reason_code, reason = report.reason_code, "; ".join(filter(None, told))
        audit_step(ride, was, by=by, overridden=overridden, reason_code=reason_code, reason=reason)
        if driver_id is not None:
            _locate(driver_id, report, at=at)


def _require_place(report: StatusReport, was: RideStatus) -> None:
    lost = [wire_name(name) for name in misplaced(report, corrects=was in TERMINAL and report.status is not was)]
    if lost:
        raise FieldRefused(
            [Detail(field=name, code="not_here", message=_("%(field)s has no place in this report.")) for name in lost]
        )


def _locate(driver_id: UUID, report: StatusReport, *, at: datetime) -> None:
    """Keep the last place that the driver's own device reported; what a dispatcher enters is no device's place."""
    if report.source not in _DEVICES:
        return
    seen = [(moment.occurred_at, moment.place) for moment in report.milestones]
    seen.append((report.occurred_at or at, report.place))
    places = [(moment, place) for moment, place in seen if place is not None]
    if places:
        moment, place = max(places, key=lambda one: one[0])
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
        raise InvalidInput("milestones", _("A release is POST /rides/{id}/ready."), detail_code="not_here")
    if getattr(ride, milestones.COLUMN_OF[milestone]) == moment.occurred_at:
        return []  # a device repeats what it is not sure has arrived
    if milestones.has_passed(ride, milestone):
        progress.set_right(ride, moment, report, by=by, at=at)
        return []
    return progress.advance(ride, ACTION_OF[milestone], moment, report, by=by, at=at)


def _record_only(ride: Ride, moment: MilestoneReport, report: StatusReport, *, by: Principal, at: datetime) -> None:
    """Record a moment that moves no status: an arrival at the drop-off, a hand-over, a try to reach somebody."""
    where = {
        Milestone.Type.CONTACT_ATTEMPT: RideStatus.ARRIVED,
        Milestone.Type.ARRIVED_DROPOFF: RideStatus.IN_PROGRESS,
        Milestone.Type.HANDOFF: RideStatus.IN_PROGRESS,
    }[Milestone.Type(moment.type)]
    if ride.status != where:
        raise InvalidTransition(RideStatus(ride.status), moment.type)
    require_permission(transition_of(ride, Action.START if where is RideStatus.ARRIVED else Action.COMPLETE), by)
    columns = milestones.record(ride, moment, source=report.source, by=by, at=at)
    note = Note(data={"changed": ["milestones"], "milestone": moment.type})
    touch(ride, "ride.updated", by=by, at=at, occurred_at=moment.occurred_at, also=columns, note=note)
    if moment.type == Milestone.Type.ARRIVED_DROPOFF:
        arrival_times.arrived(ride, by=by, at=at)
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
    if row.action in progress.MILESTONE_OF:
        moment = MilestoneReport(
            type=progress.MILESTONE_OF[row.action],
            occurred_at=occurred_at,
            place=report.place,
            note=report.note,
        )
        return progress.advance(ride, row.action, moment, report, by=by, at=at)
    milestones.check_ending(ride, occurred_at, at=at)
    return _dispatch(ride, row, report, occurred_at=occurred_at, by=by, at=at)


def _dispatch(
    ride: Ride, row: Transition, report: StatusReport, *, occurred_at: datetime, by: Principal, at: datetime
) -> list[str]:
    """Take a step that is a decision rather than a moment of the road."""
    if row.action is Action.CONFIRM:
        return confirming.confirm(ride, report, by=by, at=at)
    if row.action in (Action.ASSIGN, Action.REASSIGN):
        raise InvalidInput("status", _("A driver is assigned by PUT /rides/{id}/assignment."), detail_code="not_here")
    if row.action is Action.UNASSIGN:
        assignment.take_off(ride, reason_code=report.reason_code, note=report.note, by=by, at=at)
        return []
    return outcomes.record_outcome(ride, row.action, report, occurred_at=occurred_at, by=by, at=at)
