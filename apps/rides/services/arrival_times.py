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
from apps.rides.rules.timeliness import promised_at
from apps.rides.services import exceptions
from apps.rides.services.status import Note, require_permission, touch
from lib.access import Principal
from lib.errors import InvalidInput

AWAITED: Final = frozenset({RideStatus.ASSIGNED, RideStatus.EN_ROUTE})
MIN_ETA_CHANGE: Final = timedelta(minutes=5)  # smaller changes record no `ride.eta_changed`
FARTHEST: Final = timedelta(days=1)  # later times are typing errors


def keep(ride: Ride, eta: datetime, *, said_at: datetime, by: Principal, at: datetime) -> None:
    """Save a new estimate of a locked ride and record `ride.eta_changed`, unless the change is below `MIN_ETA_CHANGE`.

    Opens `late_pickup_predicted` when the vehicle will come after what was promised, and settles it when it will not;
    likewise `late_to_appointment` when the rider will come too late by it.

    Raises:
        InvalidInput: no vehicle is on its way, or the estimate lies before the report or more than a day after it.
        ScopeMissing: the caller does not report from the road.
    """
    if ride.status not in AWAITED:
        raise InvalidInput("etaPickup", _("%(field)s is taken while the vehicle is awaited at the pickup."))
    require_permission(BY_ACTION[RideStatus.EN_ROUTE, Action.ARRIVE], by)
    if not said_at <= eta <= said_at + FARTHEST:
        raise InvalidInput("etaPickup", _("%(field)s has to lie within a day after the report."))
    if ride.eta_pickup_at is not None and abs(eta - ride.eta_pickup_at) < MIN_ETA_CHANGE:
        return
    ride.eta_pickup_at = eta
    note = Note(data={"etaPickup": eta.isoformat().replace("+00:00", "Z")})
    touch(ride, "ride.eta_changed", by=by, at=at, also=["eta_pickup_at"], note=note)
    if eta > promised_at(ride):
        exceptions.open_exception(ride, ExceptionType.LATE_PICKUP_PREDICTED, by=by, at=at, detected_by="eta")
    elif ride.open_exception_count:
        code = ResolutionCode.RECOVERED_ON_TIME
        exceptions.settle(ride, [ExceptionType.LATE_PICKUP_PREDICTED], by=by, at=at, code=code)
    expect(ride, detected_by="eta", by=by, at=at)


def clear(ride: Ride) -> list[str]:
    """Clear the estimate of a ride that the vehicle has reached; return the columns to save."""
    if ride.eta_pickup_at is None:
        return []
    ride.eta_pickup_at = None
    return ["eta_pickup_at"]


CHAIR_LOST_AFTER: Final = timedelta(minutes=15)  # of dialysis


def awaited_by(ride: Ride) -> datetime | None:
    """Return when the rider is expected at the destination; None if unknown."""
    return first_awaited(ride.appointment_at, ride.discharge)


def first_awaited(appointment_at: datetime | None, discharge: Mapping[str, Any] | None) -> datetime | None:
    """Return the earlier of the appointment and the latest admission at the destination of a discharge."""
    accept_by = ((discharge or {}).get("receiving") or {}).get("acceptBy")
    told = [appointment_at, datetime.fromisoformat(accept_by) if accept_by else None]
    return min((one for one in told if one is not None), default=None)


def expect(ride: Ride, *, detected_by: str, by: Principal, at: datetime) -> None:
    """Open `late_to_appointment` on a locked ride that is predicted to be late, or settle it.

    Critical where a chair of dialysis would be lost.  No query while nothing is late and nothing open.
    """
    awaited, expected = awaited_by(ride), expected_dropoff_at(ride)
    if awaited is not None and expected is not None and expected > awaited:
        late = expected - awaited
        lost = ride.service_type == "dialysis" and late > CHAIR_LOST_AFTER
        exceptions.open_exception(
            ride,
            ExceptionType.LATE_TO_APPOINTMENT,
            by=by,
            at=at,
            detected_by=detected_by,
            severity=ExceptionSeverity.CRITICAL if lost else None,
            details={"lateMinutes": math.ceil(late / timedelta(minutes=1))},
        )
    elif ride.open_exception_count:
        _settle(ride, ResolutionCode.RECOVERED_ON_TIME, by=by, at=at)


def arrived(ride: Ride, *, delivered: bool = False, by: Principal, at: datetime) -> None:
    """Settle `late_to_appointment` of a locked ride at its drop-off: when it arrives in time, or when it ends."""
    awaited, reached = awaited_by(ride), ride.arrived_dropoff_at
    in_time = awaited is None or (reached is not None and reached <= awaited)
    if in_time or delivered:
        code = ResolutionCode.RECOVERED_ON_TIME if in_time else ResolutionCode.RECOVERED_LATE
        _settle(ride, code, by=by, at=at)


def _settle(ride: Ride, code: ResolutionCode, *, by: Principal, at: datetime) -> None:
    exceptions.settle(ride, [ExceptionType.LATE_TO_APPOINTMENT], by=by, at=at, code=code)
