"""A request is answered with yes (T03): what was asked is asked again, for time has passed and others have booked."""

from datetime import datetime
from typing import Final

from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import Action
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import (
    booking,
    editing,
    eligibility_checks,
    exceptions,
    legs,
)
from apps.rides.services.eligibility_checks import Override
from apps.rides.services.status import Note, move
from lib.access import Principal

_COLUMNS: Final = ["scheduled_at", "review_reasons", "confirm_by"]


def confirm(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> list[str]:
    """Promise a locked request whose rider is locked too; answer what was overridden.

    The hard rules of booking hold as they did then.  That the rider has another ride at the time by now gives way to an
    override, as it gives way to `allowDuplicate` at booking.

    Raises:
        booking.RiderNotBookable: the rider's record no longer allows it.
        FieldRefused: a hard rule is broken by now, such as a pickup time that has passed; the field is named.
        booking.OverlappingRide: the rider has another ride then, and there is no override.
        ScopeMissing, InvalidInput: see `overriding.require_right`.
        InvalidTransition: see `move`.
    """
    booking.require_bookable(ride.rider, ride.service_date)
    legs.require_sound(editing.leg_of(ride), at=at)
    others = booking.require_free(
        ride.rider_id,
        {"pickup_at": ride.pickup_at, "estimated_minutes": ride.estimated_minutes},
        besides=booking.legs_of_trip(ride),
        allowed=report.override,
        way="override",
        by=by,
    )
    overridden = [ExceptionType.DUPLICATE_RIDE.value] if others else []
    if others:
        eligibility_checks.require_override_right(Override(report.override, report.override_reason), by)
    ride.scheduled_at = at
    ride.review_reasons = []
    ride.confirm_by = None
    notes = {"ride.scheduled": Note(data={"overridden": overridden})} if overridden else {}
    move(ride, Action.CONFIRM, by=by, at=at, also=_COLUMNS, notes=notes)
    code = ResolutionCode.RECOVERED_ON_TIME
    exceptions.settle(ride, [ExceptionType.UNCONFIRMED_REQUEST], by=by, at=at, code=code)
    booking.open_duplicate(ride, others, detected_by="T03", by=by, at=at)
    return overridden
