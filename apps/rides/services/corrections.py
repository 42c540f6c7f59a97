"""Reopens rides that were ended by mistake (T29): by a supervisor, within 72 hours, with a reason."""

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride, RideException, RideLock
from apps.rides.models.ride import ONE_OCCURRENCE
from apps.rides.rules.eligibility import ViolationCode
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import TERMINAL, WITH_DRIVER, Guard, RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import eligibility_checks, exceptions, milestones
from apps.rides.services.eligibility_checks import Override, recheck
from apps.rides.services.guards import require
from apps.rides.services.outcomes import DECIDE_WITHIN
from apps.rides.services.status import InvalidTransition, Note, locked, move_back
from lib.access import Principal
from lib.constraints import constraint_of
from lib.errors import Code, Detail, DomainError, InvalidInput, ScopeMissing
from lib.scopes import Scope

ENDING_COLUMNS: Final = ["reason_code", "fault", "cancellation_timing", "ended_by", "end_note"]
_DELIVERY: Final = [Milestone.Type.ARRIVED_DROPOFF, Milestone.Type.DROPPED_OFF, Milestone.Type.HANDOFF]


class AssignmentGone(DomainError):
    """The ride has no assignment to restore."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _("The ride has no assignment to restore.")


class LockedByExport(DomainError):
    """The ride is part of a locked export."""

    code = Code.LOCKED_BY_EXPORT
    template = _("The ride is part of a locked export. Unlock the export first.")

    def __init__(self, lock: RideLock) -> None:
        super().__init__(
            details=[Detail(code="locked_by_export", message=_("Handled."), also={"exportId": str(lock.export_id)})],
        )


class OccurrenceTaken(DomainError):
    """This ride was canceled, and the standing order has another ride in its place."""

    code = Code.RULE_VIOLATION

    def __init__(self, existing: Ride | None) -> None:
        message = _("The standing order has a replacement for this ride. Cancel the replacement first.")
        also = {"existingId": str(existing.pk)} if existing else {}
        super().__init__(message, details=[Detail(field="status", code="occurrence_taken", message=message, also=also)])


def correct(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    """Return a locked, ended ride to its previous status; return the overridden checks.

    Voids the milestones of the delivery, takes the assignment up again, settles the exception of the ending as a false
    alarm, and looks at later legs again: one that was held is free, and one that was cancelled because of this ride
    opens `return_leg_at_risk`, for the rider may have no way home; a person decides.  A crew that may not drive the
    ride by now stays on it under an exception (`recheck`); one that has been given another ride meanwhile is asked
    about.

    Raises:
        ScopeMissing: the caller may not correct, or not override.
        InvalidTransition: the ride has not ended, or the status asked for is not the one before.
        InvalidInput: there is no note that says why, or no reason for the override.
        GuardFailed: more than 72 hours have passed.
        LockedByExport: its record was handed on for good.
        AssignmentRejected: driver, attendants or vehicle have another ride at that time, and there is no override.
        OccurrenceTaken: the ride is one of a series, which has made another in its place.
    """
    if not by.has_scope(Scope.RIDES_CORRECT):
        raise ScopeMissing(Scope.RIDES_CORRECT)
    was = RideStatus(ride.status)
    if was not in TERMINAL or report.status.value != ride.status_before_end:
        raise InvalidTransition(was, report.status.value)
    if not report.note.strip():
        raise InvalidInput("note", _("%(field)s is required: the reason for the correction."), detail_code="required")
    require([Guard.CORRECTION_WINDOW_OPEN], ride, report, occurred_at=at, by=by)
    if lock := RideLock.objects.filter(pk=ride.pk).first():
        raise LockedByExport(lock)
    held, cancelled = held_legs(ride, by), cancelled_legs(ride, by)
    overridden = _require_free_crew(ride, report, by=by, at=at)
    columns = [*ENDING_COLUMNS, *_undo_delivery(ride)]
    note = Note(data={"endedAs": was.value, "reasonCode": ride.reason_code, **_named(overridden)})
    ride.reason_code = ride.fault = ride.cancellation_timing = ride.ended_by = ride.end_note = ""
    _take_up_assignment(ride, report, overridden)
    reopen(ride, columns, note, by=by, at=at)
    exceptions.settle(
        ride,
        [ExceptionType.RIDER_NO_SHOW, ExceptionType.RIDE_UNFULFILLED],
        by=by,
        at=at,
        code=ResolutionCode.FALSE_ALARM,
    )
    settle_later_legs(ride, held, cancelled, by=by, at=at)
    if ride.status in WITH_DRIVER:
        recheck(ride, by=by, at=at, detected_by="correct")
    return overridden


def settle_later_legs(
    ride: Ride, held: Sequence[Ride], cancelled: Sequence[Ride], *, by: Principal, at: datetime
) -> None:
    """Release legs that were held because a reopened ride had ended; a person decides about canceled ones."""
    for leg in held:
        exceptions.settle(leg, [ExceptionType.RETURN_LEG_AT_RISK], by=by, at=at, code=ResolutionCode.FALSE_ALARM)
    for leg in cancelled:
        exceptions.open_exception(
            leg,
            ExceptionType.RETURN_LEG_AT_RISK,
            by=by,
            at=at,
            detected_by="T29",
            due_at=at + DECIDE_WITHIN,
            details={"correctedRideId": str(ride.pk)},
        )


def reopen(ride: Ride, columns: list[str], note: Note, *, by: Principal, at: datetime) -> None:
    """Return a locked, ended ride to `status_before_end`.

    Raises:
        OccurrenceTaken: the standing order has another ride in its place.
    """
    try:
        with transaction.atomic():  # the unique constraint decides between this ride and one created at the same time
            move_back(ride, by=by, at=at, also=columns, note=note)
    except IntegrityError as refusal:
        if constraint_of(refusal) != ONE_OCCURRENCE:
            raise
        same = Ride.objects.visible_to(by).filter(occurrence_key=ride.occurrence_key)
        raise OccurrenceTaken(same.exclude(status=RideStatus.CANCELLED).first()) from refusal


def _require_free_crew(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    """Check conflicts with rides that the crew got after this ride had ended; return the overridden checks."""
    if report.status not in WITH_DRIVER or ride.driver_id is None or ride.vehicle_id is None:
        return []
    crew = eligibility_checks.locked_crew(
        driver_id=ride.driver_id,
        vehicle_id=ride.vehicle_id,
        attendant_ids=ride.attendant_ids,
        by=by.elevated(),
    )
    reopened = copy.copy(ride)
    reopened.status = report.status
    violations = eligibility_checks.judge(reopened, crew, by=by, at=at)
    conflicts = [violation for violation in violations if violation.code is ViolationCode.SCHEDULE_CONFLICT]
    return eligibility_checks.require_fit(conflicts, Override(report.override, report.override_reason), by)


def _named(overridden: list[str]) -> dict[str, list[str]]:
    return {"overridden": overridden} if overridden else {}


def _undo_delivery(ride: Ride) -> list[str]:
    """Void the milestones and columns of a completed ride."""
    if ride.status != RideStatus.COMPLETED:
        return []
    milestones.void(ride, _DELIVERY)
    ride.arrived_dropoff_at = ride.dropped_off_at = None
    ride.onboard_minutes = None
    ride.missing_documents = []
    return ["arrived_dropoff_at", "dropped_off_at", "onboard_minutes", "missing_documents"]


def _take_up_assignment(ride: Ride, report: StatusReport, overridden: list[str]) -> None:
    if report.status not in WITH_DRIVER:
        return
    row = Assignment.objects.filter(pk=ride.assignment_id).first() if ride.assignment_id else None
    if row is None:
        raise AssignmentGone
    row.status, row.ended_at, row.end_reason, row.miles_attributed = Assignment.Status.ACCEPTED, None, "", None
    if overridden:
        row.overridden = list(dict.fromkeys([*row.overridden, *overridden]))
        row.override_reason = report.override_reason
    row.save(update_fields=["status", "ended_at", "end_reason", "miles_attributed", "overridden", "override_reason"])


def held_legs(ride: Ride, by: Principal) -> list[Ride]:
    """Lock the later legs that wait for a decision because this ride ended.  Lock order: rides before crews."""
    if ride.trip_id is None:
        return []
    open_exceptions = RideException.objects.unsettled().filter(
        trip_id=ride.trip_id, type=ExceptionType.RETURN_LEG_AT_RISK, details__endedRideId=str(ride.pk)
    )
    legs = Ride.objects.filter(exceptions__in=open_exceptions).order_by("leg_sequence", "pk")
    return [locked(leg_id, by.elevated()) for leg_id in legs.values_list("pk", flat=True)]


def cancelled_legs(ride: Ride, by: Principal) -> list[Ride]:
    """Lock the later legs that were canceled because this ride ended (`returnLegPolicy` cancel)."""
    if ride.trip_id is None:
        return []
    later_legs = Ride.objects.filter(
        trip_id=ride.trip_id, leg_sequence__gt=ride.leg_sequence, status=RideStatus.CANCELLED
    ).order_by("leg_sequence", "pk")
    legs = [locked(leg_id, by.elevated()) for leg_id in later_legs.values_list("pk", flat=True)]
    return [leg for leg in legs if leg.status == RideStatus.CANCELLED and _ended_because_of(leg, ride)]


def _ended_because_of(leg: Ride, ride: Ride) -> bool:
    """Check the latest cancellation: the leg may have been reopened and canceled for another reason since."""
    events = Event.objects.filter(subject_type="ride", subject_id=leg.pk, type="ride.cancelled").order_by("-sequence")
    latest = events.values_list("data", flat=True).first() or {}
    return bool(latest.get("endedRideId") == str(ride.pk))


# The row lock waits for corrections in progress: they change the version.  Quoting JSON costs a tenth of two arrays.
_LOCK: Final = """
    WITH unchanged AS (
        SELECT r.id
        FROM rides_ride r
        JOIN json_to_recordset(%(rides)s::json) AS exported(id uuid, version int)
            ON r.id = exported.id AND r.version = exported.version
        ORDER BY r.id FOR SHARE OF r
    )
    INSERT INTO rides_ridelock (ride_id, export_id, locked_at)
    SELECT id, %(export)s, %(at)s FROM unchanged ON CONFLICT (ride_id) DO NOTHING
"""


@transaction.atomic
def lock_rides(versions: Sequence[tuple[UUID, int]], *, export_id: UUID, at: datetime) -> int:
    """Lock rides that still have the exported version and return their number; a later export reports the others."""
    rides = orjson.dumps([{"id": ride_id, "version": version} for ride_id, version in versions]).decode()
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"rides": rides, "export": export_id, "at": at})
        return int(cursor.rowcount)


def release_rides(*, export_id: UUID) -> int:
    """Unlock the rides of an export, and return their number."""
    return RideLock.objects.filter(export_id=export_id).delete()[0]
