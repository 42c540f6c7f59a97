"""Changes of rides in rows and events, as services make both."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from apps.events import services as events
from apps.rides.models import Ride
from apps.rides.services.status import event_data
from lib.access import system
from tests.reporting import legs


def tell(ride: Ride, event_type: str = "ride.updated", **data: Any) -> Ride:
    """Increment the ride's version, save it, and record the event."""
    ride.version += 1
    ride.save()
    events.record(
        type=event_type,
        subject_type="ride",
        subject_id=ride.pk,
        sequence=ride.version,
        occurred_at=ride.updated_at,
        by=system(),
        facility_id=ride.facility_id,
        provider_id=ride.provider_id,
        data={**event_data(ride.pk, ride.status, None, ride.pickup_at), **data},
    )
    return ride


def move(ride: Ride, by: dt.timedelta) -> Ride:
    """Move the pickup, and all dependent times, to another time."""
    was = ride.pickup_at
    for name in (
        "pickup_at",
        "window_starts_at",
        "window_ends_at",
        "appointment_at",
        "promised_pickup_by",
        "ready_at",
        "departed_at",
        "arrived_pickup_at",
        "boarded_at",
        "arrived_dropoff_at",
        "dropped_off_at",
    ):
        moment = getattr(ride, name)
        setattr(ride, name, None if moment is None else moment + by)
    ride.service_date = ride.pickup_at.astimezone(ZoneInfo(ride.timezone)).date()
    return tell(ride, "ride.rescheduled", changed=["pickupTime"], previousPickupTime=was.isoformat())


def move_to_zone(ride: Ride, zone: str) -> Ride:
    """Move the pickup to a place in another zone, at the same instant."""
    ride.timezone = zone
    ride.service_date = ride.pickup_at.astimezone(ZoneInfo(zone)).date()
    return tell(ride, changed=["pickup"])


def become(ride: Ride, leg: legs.Leg, by: legs.Cast) -> Ride:
    """Turn a ride into another leg, and record its new time, place and status."""
    was = ride.pickup_at
    legs.become(ride, leg, by)
    tell(ride, "ride.rescheduled", changed=["pickupTime", "pickup"], previousPickupTime=was.isoformat())
    return tell(ride, "ride.corrected")
