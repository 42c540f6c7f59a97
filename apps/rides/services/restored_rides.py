"""Rides that get their former driver and vehicle back, after an absence or an outage was undone."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from apps.events.models import Event
from apps.rides.models import Assignment, Ride
from apps.rides.queries.absence_rides import soonest_first
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, exceptions
from lib.access import Principal
from lib.scopes import Scope

# Exceptions open and resolve by themselves while a ride waits; they are no decision of a person about the ride.
_NO_CHANGE: Final = (exceptions.OPENED, exceptions.NOTED, exceptions.ACKNOWLEDGED, exceptions.RESOLVED)


def remembered(ride: Ride, former_assignment_id: object) -> dict[str, Any]:
    """Return what the undo needs to know of a ride that has just lost its driver or vehicle, for a JSON column."""
    return {"id": str(ride.pk), "version": ride.version, "assignmentId": str(former_assignment_id)}


def locked(ride_ids: Collection[UUID]) -> list[Ride]:
    """Lock rides in the order of their ids."""
    rows = Ride.objects.filter(pk__in=ride_ids).select_for_update(of=("self",))
    return list(rows.select_related("facility", "pickup_facility", "payer").order_by("pk"))


def changed_since(rides: Sequence[Ride], rows: Mapping[UUID, Mapping[str, Any]]) -> list[UUID]:
    """Return the rides that a person or the service has changed since they were `remembered`, soonest first."""
    since: Q = Q(pk__in=[])
    for ride_id, row in rows.items():
        since |= Q(subject_id=ride_id, sequence__gt=row["version"])
    events = Event.objects.filter(since, subject_type="ride").exclude(type__in=_NO_CHANGE)
    changed_ids = set(events.values_list("subject_id", flat=True))
    waiting = {RideStatus.SCHEDULED, RideStatus.ASSIGNED}
    return [ride.pk for ride in soonest_first(rides) if ride.pk in changed_ids or ride.status not in waiting]


def assign_again(former: Sequence[Assignment], rides: Sequence[Ride], *, why: str, by: Principal, at: datetime) -> None:
    """Assign the crews of these former assignments again.

    Soft violations, which the former assignment had or which came with time, are overridden; hard ones refuse.
    """
    dispatcher = by.elevated(Scope.ASSIGNMENTS_WRITE, Scope.RIDES_OVERRIDE)
    assignments = {row.ride_id: row for row in former}
    for ride in rides:
        row = assignments[ride.pk]
        assignment.assign(
            ride_id=ride.pk,
            driver_id=row.driver_id,
            vehicle_id=row.vehicle_id,
            attendant_ids=row.attendant_ids,
            method=row.method,
            override=True,
            override_reason=row.override_reason or why,
            by=dispatcher,
            at=at,
        )
