"""Will-call rides: mark the rider ready, or undo it."""

import copy
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.organizations.service_levels import service_levels
from apps.rides.models import Milestone, Ride
from apps.rides.rules import timing
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import OPEN, Guard, RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import edit_checks, exceptions, milestones
from apps.rides.services.eligibility_checks import recheck
from apps.rides.services.guards import require
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Code, DomainError, ScopeMissing
from lib.scopes import Scope

RELEASABLE: Final = frozenset({RideStatus.SCHEDULED, RideStatus.ASSIGNED})
_COLUMNS: Final = ["ready_at", "ready_source", "promised_pickup_by", "window_starts_at", "window_ends_at"]
_SOURCE_OF: Final = {
    "rider_sms": Milestone.Source.SMS,
    "rider_app": Milestone.Source.INTEGRATION,
    "facility_portal": Milestone.Source.DISPATCHER_MANUAL,
    "phone": Milestone.Source.DISPATCHER_MANUAL,
    "api": Milestone.Source.INTEGRATION,
    "hl7_adt": Milestone.Source.HL7,
    "driver": Milestone.Source.DRIVER_APP,
}


class NotWillCall(DomainError):
    """The ride is not a will-call ride."""

    code = Code.RULE_VIOLATION
    template = _("The ride has a fixed pickup time; only will-call rides are marked ready.")


class NotReleasable(DomainError):
    """The ride is not scheduled or assigned: it is a request, under way, or ended."""

    code = Code.INVALID_TRANSITION
    template = _("The ride cannot be marked ready or not ready in its current status.")


@transaction.atomic
def mark_ready(
    *,
    ride_id: UUID,
    ready_at: datetime | None = None,
    ready_source: str = "api",
    override: bool = False,
    override_reason: str = "",
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Mark the rider of a will-call ride ready, at `ready_at` or now.  Idempotent, even with the driver en route.

    Promises a pickup within the facility's response minutes.  The eligibility of an assigned driver and vehicle is
    checked again, but needs no confirmation, because the patient is waiting: new soft violations are listed as
    `violations` of the event, and an ineligible driver or vehicle opens an exception (`recheck`).

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing: the caller may neither book nor report.
        NotWillCall, NotReleasable: the ride is not a will-call ride, or not scheduled or assigned.
        GuardFailed: the discharge checklist has open items, and there is no override.
        MilestoneOutOfOrder: `ready_at` is in the future.
    """
    ride = _locked(ride_id, expected_version, by)
    if ride.ready_at is not None and ride.status in OPEN:
        return ride
    _require_waiting(ride)
    moment = ready_at or at
    report = StatusReport(
        status=RideStatus(ride.status), source="system", override=override, override_reason=override_reason
    )
    overridden = require([Guard.DISCHARGE_CHECKLIST], ride, report, occurred_at=moment, by=by)
    milestones.record(
        ride,
        MilestoneReport(type=Milestone.Type.READY, occurred_at=moment),
        source=_SOURCE_OF[ready_source],
        by=by,
        at=at,
    )
    before = copy.copy(ride)
    minutes = service_levels(ride.facility or ride.pickup_facility).will_call_response_minutes
    ride.ready_at = moment
    ride.ready_source = ready_source
    ride.promised_pickup_by = moment + timedelta(minutes=minutes)
    ride.window_starts_at, ride.window_ends_at = moment, ride.promised_pickup_by
    brought_about = edit_checks.new_violations(before, ride, by=by, at=at)
    violation_codes = list(dict.fromkeys(violation.code.value for violation in brought_about))
    named = {name: codes for name, codes in (("overridden", overridden), ("violations", violation_codes)) if codes}
    touch(ride, "ride.ready", by=by, at=at, occurred_at=moment, also=_COLUMNS, note=Note(data=named))
    recheck(ride, by=by, at=at, detected_by="ready")
    exceptions.settle(
        ride,
        [ExceptionType.WILL_CALL_UNACTIVATED, ExceptionType.DISCHARGE_SLIPPED],
        by=by,
        at=at,
        code=ResolutionCode.RECOVERED_ON_TIME,
    )
    _audit("rides.ready", ride, by, reason=override_reason, details=named)
    return ride


@transaction.atomic
def retract_ready(*, ride_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> Ride:
    """Mark the rider not ready.  The minutes since ready count as delay by the facility.  Idempotent.

    Raises:
        NotFound, StaleVersion, ScopeMissing, NotWillCall, NotReleasable: as for `mark_ready`.
    """
    ride = _locked(ride_id, expected_version, by)
    _require_waiting(ride)
    if ride.ready_at is None:
        return ride
    window = _window_before(ride)
    ride.facility_delay_minutes += max(0, int((at - ride.ready_at).total_seconds() // 60))
    ride.ready_at = ride.promised_pickup_by = None
    ride.ready_source = ""
    ride.window_starts_at, ride.window_ends_at = window.starts_at, window.ends_at
    milestones.void(ride, [Milestone.Type.READY])
    touch(
        ride,
        "ride.updated",
        by=by,
        at=at,
        also=[*_COLUMNS, "facility_delay_minutes"],
        note=Note(data={"changed": ["readyAt"]}),
    )
    exceptions.settle(ride, [ExceptionType.WILL_CALL_OVERDUE], by=by, at=at, code=ResolutionCode.FALSE_ALARM)
    _audit("rides.unready", ride, by)
    return ride


def _locked(ride_id: UUID, expected_version: int | None, by: Principal) -> Ride:
    ride = locked(ride_id, by, expected_version=expected_version)
    if not (by.has_scope(Scope.RIDES_WRITE) or by.has_scope(Scope.RIDES_STATUS)):
        raise ScopeMissing(Scope.RIDES_WRITE, Scope.RIDES_STATUS)
    if not ride.will_call:
        raise NotWillCall
    return ride


def _require_waiting(ride: Ride) -> None:
    if ride.status not in RELEASABLE:
        raise NotReleasable


def _window_before(ride: Ride) -> timing.Window:
    """Recompute the pickup window around the estimate, as booking does (`legs.columns`)."""
    arrive_by = None
    if ride.appointment_at is not None and ride.scheduling_anchor == "appointment":
        arrive_by = timing.latest_arrival(ride.appointment_at, service_levels(ride.dropoff_facility or ride.facility))
    levels = service_levels(ride.pickup_facility or ride.facility)
    return timing.pickup_window(ride.pickup_at, levels, arrive_by=arrive_by, drive_minutes=ride.estimated_minutes)


def _audit(
    action: str, ride: Ride, by: Principal, reason: str = "", details: dict[str, list[str]] | None = None
) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=reason,
        details=details,
    )
