"""Trips that come to be after their first leg: a way back that is added to a ride which was booked alone."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.audit.services import audit
from apps.rides.models import Trip
from apps.rides.models.ride import LegType
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal


@transaction.atomic
def trip_of(*, ride_id: UUID, by: Principal, at: datetime) -> UUID:
    """Answer the trip of a ride; one that was booked alone becomes the way there of a new one (`ride.updated`).

    Raises:
        NotFound: there is no such ride in reach.
    """
    ride = locked(ride_id, by)
    if ride.trip_id is not None:
        return ride.trip_id
    trip = Trip.objects.create(rider_id=ride.rider_id, service_date=ride.service_date)
    ride.trip, ride.leg_type = trip, LegType.OUTBOUND
    touch(ride, "ride.updated", by=by, at=at, also=["trip", "leg_type"], note=Note({"changed": ["tripId", "legType"]}))
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        details={"fields": ["trip", "leg_type"]},
    )
    return trip.pk
