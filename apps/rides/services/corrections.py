"""Re-open what has ended by mistake (T29): a supervisor, within 72 hours, with a reason; history keeps both."""

from datetime import datetime
from typing import Final

from apps.rides.exception_types import ExceptionType, ResolutionCode
from apps.rides.lifecycle import TERMINAL, WITH_DRIVER, Guard, RideStatus
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.services import exceptions, milestones
from apps.rides.services.guard_check import require
from apps.rides.services.status import InvalidTransition, Note, locked, move_back
from apps.rides.status_report import StatusReport
from lib.access import Principal
from lib.errors import Code, DomainError, InvalidInput, ScopeMissing
from lib.scopes import Scope

_ENDING_COLUMNS: Final = ["reason_code", "fault", "cancellation_timing", "ended_by", "end_note"]
_DELIVERY: Final = [Milestone.Type.ARRIVED_DROPOFF, Milestone.Type.DROPPED_OFF, Milestone.Type.HANDOFF]


class AssignmentGone(DomainError):
    """The ride has no assignment that could be taken up again."""

    code = Code.ASSIGNMENT_CONFLICT


def correct(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> None:
    """Return a locked, ended ride to the status it ended from.

    Voids the milestones of the delivery, takes the assignment up again, settles the exception of the ending as a false
    alarm, and looks at later legs again.

    Raises:
        ScopeMissing: the caller may not correct.
        InvalidTransition: the ride has not ended, or the status asked for is not the one before.
        InvalidInput: there is no note that says why.
        GuardFailed: more than 72 hours have passed.
    """
    if not by.may(Scope.RIDES_CORRECT):
        raise ScopeMissing(Scope.RIDES_CORRECT)
    was = RideStatus(ride.status)
    if was not in TERMINAL or report.status.value != ride.status_before_end:
        raise InvalidTransition(was, report.status.value)
    if not report.note.strip():
        raise InvalidInput("note", "note is required: say why the ending is corrected.", detail_code="required")
    require([Guard.CORRECTION_WINDOW_OPEN], ride, report, occurred_at=at, by=by)
    columns = [*_ENDING_COLUMNS, *_undo_delivery(ride)]
    note = Note(data={"endedAs": was.value, "reasonCode": ride.reason_code})
    ride.reason_code = ride.fault = ride.cancellation_timing = ride.ended_by = ride.end_note = ""
    _take_up_assignment(ride, report.status)
    move_back(ride, by=by, at=at, also=columns, note=note)
    exceptions.settle(
        ride,
        [ExceptionType.RIDER_NO_SHOW, ExceptionType.RIDE_UNFULFILLED],
        by=by,
        at=at,
        code=ResolutionCode.FALSE_ALARM,
    )
    _look_again_at_later_legs(ride, by=by, at=at)


def _undo_delivery(ride: Ride) -> list[str]:
    """Void what only a delivered ride has, when the ride was ended by delivery."""
    if ride.status != RideStatus.COMPLETED:
        return []
    milestones.void(ride, _DELIVERY)
    ride.arrived_dropoff_at = ride.dropped_off_at = None
    ride.onboard_minutes = None
    ride.missing_documents = []
    return ["arrived_dropoff_at", "dropped_off_at", "onboard_minutes", "missing_documents"]


def _take_up_assignment(ride: Ride, status: RideStatus) -> None:
    if status not in WITH_DRIVER:
        return
    taken_up = Assignment.objects.filter(pk__in=[ride.assignment_id]).update(
        status=Assignment.Status.ACCEPTED, ended_at=None, end_reason="", miles_attributed=None
    )
    if not taken_up:
        raise AssignmentGone("The ride has no assignment to take up again.")


def _look_again_at_later_legs(ride: Ride, *, by: Principal, at: datetime) -> None:
    if ride.trip_id is None:
        return
    held = RideException.objects.unsettled().filter(
        trip_id=ride.trip_id, type=ExceptionType.RETURN_LEG_AT_RISK, details__endedRideId=str(ride.pk)
    )
    for leg_id in held.order_by("ride__leg_sequence").values_list("ride_id", flat=True):
        exceptions.settle(
            locked(leg_id, by.for_what_follows()),
            [ExceptionType.RETURN_LEG_AT_RISK],
            by=by,
            at=at,
            code=ResolutionCode.FALSE_ALARM,
        )
