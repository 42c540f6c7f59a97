"""Rows that a change of a ride writes: to check that all are there, or that a refusal left none."""

from typing import Any

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Assignment, Milestone, Ride, RideException


def everything() -> dict[str, Any]:
    """Return everything that an assignment could change."""
    return {
        "rides": list(Ride.objects.order_by("pk").values()),
        "assignments": list(Assignment.objects.order_by("pk").values()),
        "milestones": list(Milestone.objects.order_by("pk").values()),
        "exceptions": list(RideException.objects.order_by("pk").values()),
        "events": Event.objects.count(),
        "audit": AuditEntry.objects.count(),
    }


def events_of(ride: Ride) -> list[str]:
    return list(Event.objects.filter(subject_id=ride.pk).order_by("sequence").values_list("type", flat=True))


def exceptions_of(ride: Ride) -> list[tuple[str, str]]:
    return sorted(RideException.objects.filter(ride=ride).values_list("type", "status"))
