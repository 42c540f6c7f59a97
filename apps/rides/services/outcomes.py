"""Outcomes other than completed: canceled, no-show and unfulfilled, each with a reason and a fault."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import ReturnLegPolicy
from apps.organizations.service_levels import service_levels
from apps.rides.models import Assignment, ReasonCode, Ride
from apps.rides.rules.exception_types import PERSON_ONLY, ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, OPEN, WITH_DRIVER, Action, ReasonList, RideStatus
from apps.rides.rules.reasons import (
    ABORT_REASONS,
    CODES,
    NEEDS_NOTE,
    PROVIDER_REASONS,
    Cancelled,
    Fault,
    cancellation_timing,
    default_fault,
    earlier_leg_ended_note,
)
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import exceptions
from apps.rides.services.guards import require
from apps.rides.services.status import Note, audit_step, locked, move, require_permission, transition_of
from lib.access import Principal
from lib.errors import InvalidInput, ScopeMissing
from lib.scopes import Scope

DECIDE_WITHIN = timedelta(minutes=30)  # for the later legs of a trip
# Outcomes that open an exception for a person to close.
_OPENS: Final = {
    RideStatus.NO_SHOW: ExceptionType.RIDER_NO_SHOW,
    RideStatus.UNFULFILLED: ExceptionType.RIDE_UNFULFILLED,
}
# Exceptions that a reason opens, by its built-in code: incidents, and stops that could not be found.
OPENED_BY_REASON: Final = {
    "vehicle_breakdown": ExceptionType.VEHICLE_BREAKDOWN,
    "accident": ExceptionType.ACCIDENT,
    "aborted_medical_emergency": ExceptionType.MEDICAL_EMERGENCY,
    "aborted_safety": ExceptionType.SAFETY_INCIDENT,
    "bad_pickup_details": ExceptionType.ADDRESS_PROBLEM,
}
# Exceptions that stay open after the end of the ride.
_OUTLIVES_THE_RIDE: Final = PERSON_ONLY | {
    ExceptionType.MISSING_DOCUMENTATION,
    ExceptionType.MILESTONE_GAP,
    ExceptionType.ADDRESS_PROBLEM,
    ExceptionType.STANDING_ORDER_REVIEW,
    ExceptionType.AUTHORIZATION_ENDING,
    ExceptionType.RIDER_HOSPITALIZED_SUSPECTED,
}
_CODE_OF: Final = {
    RideStatus.CANCELLED: ResolutionCode.CANCELLED,
    RideStatus.NO_SHOW: ResolutionCode.UNFULFILLED,
    RideStatus.UNFULFILLED: ResolutionCode.UNFULFILLED,
}
_COLUMNS: Final = ["reason_code", "fault", "cancellation_timing", "ended_by", "end_note"]


def record_outcome(
    ride: Ride,
    action: Action,
    report: StatusReport,
    *,
    occurred_at: datetime,
    because_of: UUID | None = None,
    by: Principal,
    at: datetime,
) -> list[str]:
    """End a locked ride with a reason; return the soft guards that were overridden.

    `because_of` is the earlier leg whose outcome caused this one; the event names it.

    Releases the driver, settles what the ending makes moot, opens the exception of a no-show or failure and of an
    incident that the reason reports, and decides about later legs of the trip by the facility's policy.

    Raises:
        InvalidTransition, ScopeMissing, GuardFailed: see the functions called.
        InvalidInput: the reason is missing, unknown, or not one for this ending; or `other` came without a note.
    """
    row = transition_of(ride, action)
    require_permission(row, by)
    reasons = ReasonList(row.target.value)  # each of these statuses has the list of its name
    parent_code = check_reason(reasons, action, report.reason_code, report.note)
    if action is Action.MARK_UNFULFILLED and row.source in WITH_DRIVER and parent_code not in PROVIDER_REASONS:
        raise InvalidInput(
            "reasonCode",
            _("With a driver assigned, use one of %(reasons)s."),
            detail_code="not_here",
            reasons=PROVIDER_REASONS,
        )
    overridden = require(row.guards, ride, report, occurred_at=occurred_at, by=by)
    _set_ending(ride, reasons, parent_code, report, occurred_at=occurred_at, by=by)
    end_assignment(ride, Assignment.Status.RELEASED, reason=report.reason_code, at=occurred_at)
    note = Note(
        data={
            "reasonCode": ride.reason_code,
            "fault": ride.fault,
            **({"timing": ride.cancellation_timing} if ride.cancellation_timing else {}),
            **({"overridden": overridden} if overridden else {}),
            **({"endedRideId": str(because_of)} if because_of else {}),
        }
    )
    move(ride, action, by=by, at=at, occurred_at=occurred_at, also=_COLUMNS, notes={row.events[0]: note})
    settle_what_ended(ride, by=by, at=at, code=_CODE_OF[row.target])
    if row.target in _OPENS:
        exceptions.open_exception(ride, _OPENS[row.target], by=by, at=at, detected_by=row.number)
    if row.source in WITH_DRIVER and parent_code in OPENED_BY_REASON:
        details = {"reasonCode": parent_code}
        type_ = OPENED_BY_REASON[parent_code]
        exceptions.open_exception(ride, type_, by=by, at=at, detected_by=row.number, details=details)
    _decide_about_later_legs(ride, by=by, at=at)
    return overridden


def check_reason(reasons: ReasonList, action: Action, code: str, note: str) -> str:
    """Check a reason against its list and the action; return its built-in code.

    One query where the code is none of the built-in ones.

    Raises:
        InvalidInput: it is missing, unknown, not one for this step, or needs a note.
    """
    if not code:
        raise InvalidInput("reasonCode", _("%(field)s is required for this status."), detail_code="required")
    parent = code
    if code not in CODES[reasons]:
        operator_code = ReasonCode.objects.filter(reason_list=reasons.value, code=code, active=True).first()
        if operator_code is None:
            raise InvalidInput(
                "reasonCode", _("This reason is not in the list %(list)s."), detail_code="unknown", list=reasons.value
            )
        parent = operator_code.parent_code
    if action is Action.ABORT and parent not in ABORT_REASONS:
        raise InvalidInput(
            "reasonCode",
            _("With the rider on board, use one of %(reasons)s."),
            detail_code="not_here",
            reasons=ABORT_REASONS,
        )
    if reasons is ReasonList.UNFULFILLED and action is not Action.ABORT and parent in ABORT_REASONS:
        raise InvalidInput("reasonCode", _("Only a ride in progress can be aborted."), detail_code="not_here")
    if code in NEEDS_NOTE and not note.strip():
        raise InvalidInput(
            "note", _("%(field)s is required with the reason %(code)s."), detail_code="required", code=code
        )
    return parent


def end_assignment(
    ride: Ride, status: Assignment.Status, *, reason: str, at: datetime, miles: Combinable | None = None
) -> None:
    """End the accepted assignment and the offers of a locked ride; the columns of the ride keep its driver."""
    Assignment.objects.filter(ride=ride, status=Assignment.Status.ACCEPTED).update(
        status=status, ended_at=at, end_reason=reason, miles_attributed=miles
    )
    Assignment.objects.filter(ride=ride, status=Assignment.Status.OFFERED).update(
        status=Assignment.Status.EXPIRED, ended_at=at, end_reason="ride_ended"
    )


def settle_what_ended(ride: Ride, *, by: Principal, at: datetime, code: ResolutionCode) -> None:
    """Resolve the exceptions that no longer matter once the ride has ended."""
    exceptions.settle(ride, set(ExceptionType) - _OUTLIVES_THE_RIDE, by=by, at=at, code=code)


def _set_ending(
    ride: Ride, reasons: ReasonList, parent_code: str, report: StatusReport, *, occurred_at: datetime, by: Principal
) -> None:
    by_default = default_fault(reasons, parent_code, at_facility=ride.pickup_facility_id is not None)
    if report.fault is not None and report.fault != by_default:
        if not by.has_scope(Scope.ASSIGNMENTS_WRITE):
            raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)  # drivers and bookers do not decide who is at fault
        if not report.note.strip():
            raise InvalidInput("note", _("%(field)s is required when you change the fault."), detail_code="required")
    ride.reason_code = report.reason_code
    ride.fault = (report.fault or by_default).value
    ride.ended_by = by.actor
    ride.end_note = "; ".join(text for text in (report.note, report.rider_location) if text)
    ride.cancellation_timing = ""
    if reasons is ReasonList.CANCELLED:
        ride.cancellation_timing = cancellation_timing(
            Cancelled(
                status=RideStatus(ride.status),
                pickup_at=ride.pickup_at,
                at=occurred_at,
                zone=ride.timezone,
                late_minutes=service_levels(ride.facility).late_cancel_minutes,
            )
        ).value


def _decide_about_later_legs(ride: Ride, *, by: Principal, at: datetime) -> None:
    """Hold, cancel or keep later legs by the policy of the facility.

    Includes legs outside the caller's data scope: a driver who reports a no-show is bound to a provider, and the return
    has no driver yet, or one of another provider.
    """
    if ride.trip_id is None:
        return
    later_legs = Ride.objects.filter(trip_id=ride.trip_id, leg_sequence__gt=ride.leg_sequence, status__in=sorted(OPEN))
    policy = ride.facility.return_leg_policy if ride.facility else ReturnLegPolicy.HOLD
    if policy == ReturnLegPolicy.KEEP:
        return
    by = by.elevated(Scope.RIDES_WRITE, Scope.ASSIGNMENTS_WRITE)
    for leg_id in later_legs.order_by("leg_sequence", "id").values_list("pk", flat=True):
        leg = locked(leg_id, by)
        if leg.status not in OPEN:
            continue
        if policy == ReturnLegPolicy.CANCEL and (RideStatus(leg.status), Action.CANCEL) in BY_ACTION:
            report = StatusReport(
                status=RideStatus.CANCELLED,
                source="system",
                reason_code="other",
                fault=Fault(ride.fault),
                note=earlier_leg_ended_note(ride.status, ride.reason_code),
            )
            was = RideStatus(leg.status)
            record_outcome(leg, Action.CANCEL, report, occurred_at=at, because_of=ride.pk, by=by, at=at)
            audit_step(leg, was, by=by, reason_code=report.reason_code)
        else:
            exceptions.open_exception(
                leg,
                ExceptionType.RETURN_LEG_AT_RISK,
                by=by,
                at=at,
                detected_by="linked_legs",
                due_at=at + DECIDE_WITHIN,
                details={"endedRideId": str(ride.pk), "endedStatus": ride.status},
            )
