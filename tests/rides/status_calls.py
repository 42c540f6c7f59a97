"""What tests of the status call share: a report, and the traces that a refusal must not leave."""

import datetime as dt
from typing import Any

from apps.accounts.models import AuditEntry
from apps.events.models import Event
from apps.rides.lifecycle import RideStatus
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.status_report import StatusReport
from tests.rides.rides_in import DROPPED_OFF

AT = DROPPED_OFF + dt.timedelta(minutes=10)


def traces(ride: Ride) -> dict[str, Any]:
    """Everything a refused call must leave as it was."""
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
