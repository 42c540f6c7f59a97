"""A ride in any status, with the columns and rows that the status implies."""

import datetime as dt
from typing import Any

from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.rules.lifecycle import TERMINAL, WITH_DRIVER, RideStatus
from tests import factories

# Actual times of a ride promised for PICKUP; the driver came five minutes early.
DEPARTED = factories.PICKUP - dt.timedelta(minutes=25)
ARRIVED = factories.PICKUP - dt.timedelta(minutes=5)
BOARDED = factories.PICKUP + dt.timedelta(minutes=4)
ARRIVED_DROPOFF = factories.PICKUP + dt.timedelta(minutes=30)
DROPPED_OFF = factories.PICKUP + dt.timedelta(minutes=36)

_MOMENTS = [
    ("departed", "departed_at", DEPARTED, {"en_route", "arrived", "in_progress", "completed"}),
    ("arrived_pickup", "arrived_pickup_at", ARRIVED, {"arrived", "in_progress", "completed"}),
    ("boarded", "boarded_at", BOARDED, {"in_progress", "completed"}),
    ("arrived_dropoff", "arrived_dropoff_at", ARRIVED_DROPOFF, {"completed"}),
    ("dropped_off", "dropped_off_at", DROPPED_OFF, {"completed"}),
]
_BEFORE_END = {"completed": "in_progress", "cancelled": "assigned", "no_show": "arrived", "unfulfilled": "en_route"}
_ENDINGS: dict[str, dict[str, Any]] = {
    "cancelled": {
        "reason_code": "rider_request",
        "fault": "rider",
        "ended_by": "system",
        "cancellation_timing": "advance",
    },
    "no_show": {"reason_code": "rider_unreachable", "fault": "rider", "ended_by": "system"},
    "unfulfilled": {"reason_code": "vehicle_breakdown", "fault": "provider", "ended_by": "system"},
}


def ride_in(status: RideStatus, **columns: Any) -> Ride:
    """Create a ride that has reached `status`; ended rides had a driver before."""
    ride = factories.RideFactory.create(**columns)
    lived = RideStatus(_BEFORE_END.get(status, status))
    if lived in WITH_DRIVER or status in TERMINAL:
        factories.put_driver_on(ride)
    values: dict[str, Any] = {"status": status.value}
    for milestone, column, moment, statuses in _MOMENTS:
        if status in statuses or lived in statuses:
            values[column] = moment
            Milestone.objects.create(ride=ride, type=milestone, occurred_at=moment, source="driver_app", actor="system")
    if status in TERMINAL:
        values |= {"status_before_end": lived.value, "status_changed_at": DROPPED_OFF} | _ENDINGS.get(status, {})
        ended = Assignment.Status.COMPLETED if status is RideStatus.COMPLETED else Assignment.Status.RELEASED
        Assignment.objects.filter(ride=ride).update(status=ended, ended_at=DROPPED_OFF, end_reason="completed")
    Ride.objects.filter(pk=ride.pk).update(**values)
    return Ride.objects.get(pk=ride.pk)
