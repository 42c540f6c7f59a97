"""Estimated arrival times at the pickup, and exceptions about late arrivals at the destination."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from apps.rides.models import Ride
from apps.rides.queries.ride_needs import expected_dropoff_at
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, Action, RideStatus
from apps.rides.rules.rider_harm import MISSED_AFTER, stake_of
from apps.rides.rules.timeliness import promised_at
from apps.rides.services import exceptions
from apps.rides.services.status import Note, require_permission, touch
from lib.access import Principal
from lib.errors import InvalidInput

AWAITED: Final = frozenset({RideStatus.ASSIGNED, RideStatus.EN_ROUTE})
MIN_ETA_CHANGE: Final = timedelta(minutes=5)  # smaller changes record no `ride.eta_changed`
FARTHEST: Final = timedelta(days=1)  # later times are typing errors


def save_eta(ride: Ride, eta: datetime, *, reported_at: datetime, by: Principal, at: datetime) -> None:
    """Save a new estimate of a locked ride and record `ride.eta_changed`, unless the change is below `MIN_ETA_CHANGE`.

    Opens `late_pickup_predicted` when the estimate is after the promised pickup time, otherwise resolves it; likewise
    `late_to_appointment` when the rider would arrive late at the destination.

    Raises:
        InvalidInput: no vehicle is on its way, the ride is recorded after the fact, or the estimate is before the
            report or more than a day after it.
        ScopeMissing: the caller may not report the status of rides.
    """
    if ride.status not in AWAITED or ride.after_the_fact:
        raise InvalidInput("etaPickup", _("%(field)s is accepted only before the vehicle arrives at the pickup."))
    require_permission(BY_ACTION[RideStatus.EN_ROUTE, Action.ARRIVE], by)
    if not reported_at <= eta <= reported_at + FARTHEST:
        raise InvalidInput("etaPickup", _("%(field)s must be within a day after the report."))
    if ride.eta_pickup_at is not None and abs(eta - ride.eta_pickup_at) < MIN_ETA_CHANGE:
        return
    ride.eta_pickup_at = eta
    note = Note(data={"etaPickup": eta.isoformat().replace("+00:00", "Z")})
    touch(ride, "ride.eta_changed", by=by, at=at, also=["eta_pickup_at"], note=note)
    if eta > promised_at(ride):
        late = ExceptionType.LATE_PICKUP_PREDICTED
        exceptions.open_exception(ride, late, by=by, at=at, detected_by="eta", cause_driver_id=ride.driver_id)
    elif ride.open_exception_count:
        code = ResolutionCode.RECOVERED_ON_TIME
        exceptions.settle(ride, [ExceptionType.LATE_PICKUP_PREDICTED], by=by, at=at, code=code)
    check_appointment(ride, detected_by="eta", by=by, at=at)


def clear(ride: Ride) -> list[str]:
    """Clear the estimate of a ride that the vehicle has reached; return the columns to save."""
    if ride.eta_pickup_at is None:
        return []
    ride.eta_pickup_at = None
    return ["eta_pickup_at"]


def awaited_by(ride: Ride) -> datetime | None:
    """Return when the rider is expected at the destination; None if unknown."""
    return first_awaited(ride.appointment_at, ride.discharge)


def first_awaited(appointment_at: datetime | None, discharge: Mapping[str, Any] | None) -> datetime | None:
    """Return the earlier of the appointment and the latest admission at the destination of a discharge."""
    accept_by = ((discharge or {}).get("receiving") or {}).get("acceptBy")
    times = [appointment_at, datetime.fromisoformat(accept_by) if accept_by else None]
    return min((time for time in times if time is not None), default=None)


def check_appointment(ride: Ride, *, detected_by: str, by: Principal, at: datetime) -> None:
    """Open `late_to_appointment` on a locked ride that is predicted to be late, or settle it.

    Critical if the rider would miss it (`rider_harm`).  No query if the ride is recorded after the fact, or is on time
    and has no open exception.
    """
    if ride.after_the_fact:
        return
    awaited, expected = awaited_by(ride), expected_dropoff_at(ride)
    if awaited is not None and expected is not None and expected > awaited:
        late = expected - awaited
        grace = MISSED_AFTER[stake_of(service_type=ride.service_type, priority=ride.priority, is_awaited=True)]
        is_missed = grace is not None and late > grace
        exceptions.open_exception(
            ride,
            ExceptionType.LATE_TO_APPOINTMENT,
            by=by,
            at=at,
            detected_by=detected_by,
            severity=ExceptionSeverity.CRITICAL if is_missed else None,
            details={"lateMinutes": math.ceil(late / timedelta(minutes=1))},
        )
    elif ride.open_exception_count:
        _resolve_late_to_appointment(ride, ResolutionCode.RECOVERED_ON_TIME, by=by, at=at)


def settle_on_arrival(ride: Ride, *, delivered: bool = False, by: Principal, at: datetime) -> None:
    """Settle `late_to_appointment` of a locked ride at its drop-off: when it arrives in time, or when it ends."""
    awaited, reached = awaited_by(ride), ride.arrived_dropoff_at
    in_time = awaited is None or (reached is not None and reached <= awaited)
    if in_time or delivered:
        code = ResolutionCode.RECOVERED_ON_TIME if in_time else ResolutionCode.RECOVERED_LATE
        _resolve_late_to_appointment(ride, code, by=by, at=at)


def _resolve_late_to_appointment(ride: Ride, code: ResolutionCode, *, by: Principal, at: datetime) -> None:
    exceptions.settle(ride, [ExceptionType.LATE_TO_APPOINTMENT], by=by, at=at, code=code)
