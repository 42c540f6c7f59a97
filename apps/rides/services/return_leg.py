"""Moves the return from dialysis after a late outbound leg: treatments always take the full time."""

from datetime import datetime
from typing import Final

from apps.audit.services import audit
from apps.rides.models import Ride
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import legs, ride_changes
from apps.rides.services.arrival_times import MIN_ETA_CHANGE
from apps.rides.services.eligibility_checks import recheck
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal

WAITING: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})


def reschedule_return(ride: Ride, *, by: Principal, at: datetime) -> None:
    """Move the legs after a locked ride to dialysis to the end of the treatment, if that is later than planned.

    The treatment counts from the arrival at the drop-off, where that is later than the appointment.  A leg that was
    released, or whose driver has set out, stays as it is; of one that moves, `ride.rescheduled` tells its driver.
    Repeating it changes nothing.  Locks the legs, and the crew of those that have one.
    """
    awaited, reached = ride.appointment_at, ride.arrived_dropoff_at
    if ride.service_type != "dialysis" or ride.trip_id is None or awaited is None or reached is None:
        return
    if reached <= awaited:
        return
    treatment = ride.dialysis or {}
    over_at = timing.end_of_treatment(
        reached.replace(second=0, microsecond=0),
        treatment_minutes=treatment.get("treatmentMinutes"),
        post_treatment_minutes=treatment.get("postTreatmentMinutes"),
    )
    later_legs = Ride.objects.filter(
        trip_id=ride.trip_id, leg_sequence__gt=ride.leg_sequence, status__in=sorted(WAITING)
    )
    by = by.elevated()
    for leg_id in later_legs.order_by("leg_sequence", "id").values_list("pk", flat=True):
        leg = locked(leg_id, by)
        if leg.status in WAITING and leg.ready_at is None and over_at - leg.pickup_at >= MIN_ETA_CHANGE:
            _move(leg, over_at, by=by, at=at)


def _move(leg: Ride, pickup_at: datetime, *, by: Principal, at: datetime) -> None:
    was = leg.pickup_at
    columns = legs.timed_columns(
        ride_changes.leg_of(leg),
        pickup_at,
        leg.appointment_at,
        drive_minutes=leg.estimated_minutes,
        not_before=at,
    )
    changed = [name for name, value in columns.items() if getattr(leg, name) != value]
    for name in changed:
        setattr(leg, name, columns[name])
    data = {"changed": ["pickupTime"], "previousPickupTime": was.isoformat().replace("+00:00", "Z")}
    touch(leg, "ride.rescheduled", by=by, at=at, also=changed, note=Note(data))
    recheck(leg, by=by, at=at, detected_by="late_outbound")
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=leg.pk,
        rider_ids=[leg.rider_id],
        facility_id=leg.facility_id,
        details={"fields": ["pickup_at"]},
    )
