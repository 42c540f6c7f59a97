"""Whether a rider comes in time to what the ride is for."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from apps.rides.models import Ride
from apps.rides.queries.ride_needs import expected_dropoff_at
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from lib.access import Principal

CHAIR_LOST_AFTER: Final = timedelta(minutes=15)  # of dialysis


def awaited_by(ride: Ride) -> datetime | None:
    """Say by when the rider is awaited; None where nobody said."""
    return first_awaited(ride.appointment_at, ride.discharge)


def first_awaited(appointment_at: datetime | None, discharge: Mapping[str, Any] | None) -> datetime | None:
    """Give the appointment, or until when the receiving side of a discharge takes the rider in: the earlier of them."""
    accept_by = ((discharge or {}).get("receiving") or {}).get("acceptBy")
    told = [appointment_at, datetime.fromisoformat(accept_by) if accept_by else None]
    return min((one for one in told if one is not None), default=None)


def expect(ride: Ride, *, detected_by: str, by: Principal, at: datetime) -> None:
    """Open `late_to_appointment` on a locked ride that will come too late by what is known now, or settle it.

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
    """Settle `late_to_appointment` of a locked ride that has reached its drop-off in time; late, once it is over."""
    awaited, reached = awaited_by(ride), ride.arrived_dropoff_at
    in_time = awaited is None or (reached is not None and reached <= awaited)
    if in_time or delivered:
        code = ResolutionCode.RECOVERED_ON_TIME if in_time else ResolutionCode.RECOVERED_LATE
        _settle(ride, code, by=by, at=at)


def _settle(ride: Ride, code: ResolutionCode, *, by: Principal, at: datetime) -> None:
    exceptions.settle(ride, [ExceptionType.LATE_TO_APPOINTMENT], by=by, at=at, code=code)
