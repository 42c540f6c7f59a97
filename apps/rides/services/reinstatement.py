"""Reinstates canceled rides: the ride waits for its pickup again, with its driver if they are still free."""

import copy
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.rides.models import Assignment, Ride, RideLock
from apps.rides.rules import booking_rules
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, booking, corrections, eligibility_checks, milestones
from apps.rides.services.eligibility_checks import Crew
from apps.rides.services.legs import PickupInPast
from apps.rides.services.status import InvalidTransition, Note, audit_step, locked
from lib.access import Principal
from lib.errors import Detail
from lib.scopes import Scope

_DRIVER_COLUMNS: Final = ["assignment_id", "provider", "driver", "vehicle", "attendant_ids"]
_APPROACH_COLUMNS: Final = ["departed_at", "arrived_pickup_at", "eta_pickup_at"]


@transaction.atomic
def reinstate(
    *,
    ride_id: UUID,
    allow_duplicate: bool = False,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Reinstate a canceled ride whose pickup is not more than 15 minutes ago.

    It is scheduled again, a request again if it was never confirmed; no-op for a ride that has not ended.  The driver
    of before is assigned again if every check passes, else the ride waits for another.  Records `ride.corrected`.
    Locks the rider, the ride, its later legs and the crew.

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing, BoundToProviders: the caller may not book.
        InvalidTransition: the ride is not canceled.
        PickupInPast: the pickup was more than 15 minutes ago.
        LockedByExport, OccurrenceTaken: see `corrections`.
        RiderNotBookable, OverlappingRide: as for a booking.
    """
    rider = booking.locked_rider(ride_id, by)
    ride = locked(ride_id, by, expected_version=expected_version)
    booking.require_right(by)
    if ride.status != RideStatus.CANCELLED:
        raise InvalidTransition(RideStatus(ride.status), "reinstate")
    past = booking_rules.AFTER_THE_FACT_FOR if ride.after_the_fact else booking_rules.NOW_LASTS
    if booking_rules.is_past(ride.pickup_at, at=at, past=past):
        message = _("The pickup was more than 15 minutes ago. Book another ride.")
        raise PickupInPast([Detail(field="pickupTime", code=booking_rules.IN_PAST, message=message)])
    if lock := RideLock.objects.filter(pk=ride.pk).first():
        raise corrections.LockedByExport(lock)
    if rider is not None:
        booking.require_bookable(rider, ride.service_date)
    times = {"pickup_at": ride.pickup_at, "estimated_minutes": ride.estimated_minutes}
    besides = booking.legs_of_trip(ride)
    overlapping_ids = booking.require_free(ride.rider_id, times, besides=besides, allowed=allow_duplicate, by=by)
    held_legs, cancelled_legs = corrections.held_legs(ride, by), corrections.cancelled_legs(ride, by)
    former = copy.copy(ride)
    _reopen(ride, by=by, at=at)
    corrections.settle_later_legs(ride, held_legs, cancelled_legs, by=by, at=at)
    booking.open_duplicate(ride, overlapping_ids, detected_by="reinstate", by=by, at=at)
    if ride.status == RideStatus.SCHEDULED and former.driver_id and former.vehicle_id:
        _assign_again(ride, former, by=by, at=at)
    audit_step(ride, RideStatus.CANCELLED, by=by)
    return ride


def _reopen(ride: Ride, *, by: Principal, at: datetime) -> None:
    note = Note(data={"endedAs": ride.status, "reasonCode": ride.reason_code}, provider_id=ride.provider_id)
    ride.reason_code = ride.fault = ride.cancellation_timing = ride.ended_by = ride.end_note = ""
    milestones.void_approach(ride)
    ride.departed_at = ride.arrived_pickup_at = ride.eta_pickup_at = None
    ride.assignment_id = ride.provider_id = ride.driver_id = ride.vehicle_id = None
    ride.attendant_ids = []
    if ride.status_before_end != RideStatus.REQUESTED:
        ride.status_before_end = RideStatus.SCHEDULED
    columns = [*corrections.ENDING_COLUMNS, *_APPROACH_COLUMNS, *_DRIVER_COLUMNS]
    corrections.reopen(ride, columns, note, by=by, at=at)


def _assign_again(ride: Ride, former: Ride, *, by: Principal, at: datetime) -> None:
    """Assign the former crew if no check fails; as the service, for the caller may book but not assign."""
    by = by.elevated(Scope.ASSIGNMENTS_WRITE)
    crew = _former_crew(former, by)
    if crew is None or eligibility_checks.judge(ride, crew, by=by, at=at):
        return
    assignment.assign_checked(ride, crew, method=Assignment.Method.MANUAL, by=by, at=at)


def _former_crew(former: Ride, by: Principal) -> Crew | None:
    if former.driver_id is None or former.vehicle_id is None:
        return None
    return eligibility_checks.locked_crew(
        driver_id=former.driver_id, vehicle_id=former.vehicle_id, attendant_ids=former.attendant_ids, by=by
    )
