"""Judge the driver and vehicle on a ride again, after the ride has changed under them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from apps.rides.models import Ride
from apps.rides.rules.eligibility import Kind, ViolationCode
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import exceptions, pairing
from lib.access import Principal

# Which exception tells of a hard violation: the rider needs another crew, or the crew may not be on the road that day.
_OPENED_BY: Final[Mapping[ViolationCode, ExceptionType]] = {
    ViolationCode.VEHICLE_NOT_SUITABLE: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.DRIVER_NOT_QUALIFIED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.ATTENDANT_REQUIRED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.PAIRING_EXCLUDED: ExceptionType.ACCOMMODATION_MISMATCH,
    ViolationCode.CREDENTIAL_INVALID: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.DRIVER_INACTIVE: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.VEHICLE_OUT_OF_SERVICE: ExceptionType.CREDENTIAL_LAPSE,
    ViolationCode.PROVIDER_MISMATCH: ExceptionType.CREDENTIAL_LAPSE,
}


def recheck(ride: Ride, *, by: Principal, at: datetime, detected_by: str) -> bool:
    """Check the assignment of a locked ride; answer whether it still fits.

    Driver and vehicle stay either way: where the rider needs others, `accommodation_mismatch` opens; where they may
    not be on the road that day, `credential_lapse`, critical once the day has come.  What holds again is settled.  A
    ride without an assignment fits.  Looks beyond the caller's reach, for whoever may change a ride need not see its
    driver.  Locks the crew; five queries where nothing has changed.
    """
    if ride.driver_id is None or ride.vehicle_id is None:
        return True
    crew = pairing.locked_crew(
        driver_id=ride.driver_id,
        vehicle_id=ride.vehicle_id,
        attendant_ids=ride.attendant_ids,
        by=by.elevated(),
    )
    hard = [one.code for one in pairing.judge(ride, crew, by=by, at=at) if one.kind is Kind.HARD]
    has_come = ride.service_date <= at.astimezone(ZoneInfo(ride.timezone)).date()
    for type_ in dict.fromkeys(_OPENED_BY.values()):
        found = [code.value for code in hard if _OPENED_BY[code] is type_]
        if found:
            exceptions.open_exception(
                ride,
                type_,
                by=by,
                at=at,
                detected_by=detected_by,
                severity=ExceptionSeverity.CRITICAL if has_come else None,
                details={"violations": found},
            )
        else:
            exceptions.settle(ride, [type_], by=by, at=at, code=ResolutionCode.RECOVERED_ON_TIME)
    return not hard
