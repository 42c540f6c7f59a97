"""Helpers of status call tests: a report, and the rows that a refusal must not change."""

import datetime as dt
from typing import Any

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.rules.lifecycle import BY_STATUSES, Action, ReasonList, RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from tests.rides.rides_in import BOARDED, DROPPED_OFF

AT = DROPPED_OFF + dt.timedelta(minutes=10)
REASON = {
    ReasonList.CANCELLED: "rider_request",
    ReasonList.UNFULFILLED: "vehicle_breakdown",
    ReasonList.NO_SHOW: "rider_unreachable",
    ReasonList.UNASSIGN: "vehicle_breakdown",
}


def traces(ride: Ride) -> dict[str, Any]:
    """Return everything that a refused call must leave unchanged."""
    return {
        "row": Ride.objects.filter(pk=ride.pk).values().get(),
        "events": Event.objects.filter(subject_id=ride.pk).count(),
        "milestones": list(Milestone.objects.filter(ride=ride).order_by("pk").values()),
        "assignments": list(Assignment.objects.filter(ride=ride).order_by("pk").values()),
        "exceptions": RideException.objects.filter(ride=ride).count(),
        "audit": AuditEntry.objects.count(),
    }


def report_to(status: RideStatus, **more: Any) -> StatusReport:
    return StatusReport(status=status, source="driver_app", **more)


def complete_report(source: RideStatus, target: RideStatus) -> StatusReport:
    """Return a report with all data that the transition may require."""
    row = BY_STATUSES[source, target]
    attempts = [MilestoneReport(type="contact_attempt", occurred_at=BOARDED, contacted="rider")]
    reason = "aborted_safety" if row.action is Action.ABORT else REASON[row.reasons] if row.reasons else ""
    return report_to(
        target,
        reason_code=reason,
        rider_location="At the side of Ashland Ave",
        securement_confirmed=True,
        milestones=tuple(attempts) if row.action is Action.MARK_NO_SHOW else (),
    )
