"""Whether a stop is where it is said to be: devices that report from elsewhere, and corrections."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from apps.rides.models import Milestone, Ride, RideException
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import exceptions, milestones
from lib.access import Principal

MISMATCH_METERS: Final = 250  # `address_problem`


def compare(ride: Ride, moment: MilestoneReport, *, by: Principal, at: datetime) -> None:
    """Open `address_problem` on a locked ride where a moment at a stop was reported from too far off.

    A better word on the same moment, from near enough, settles it.  No query where the distance is not known, or is
    small and nothing open.
    """
    milestone = Milestone.Type(moment.type)
    meters = milestones.distance_from_stop(ride, milestone, moment)
    if meters is None:
        return
    if meters > MISMATCH_METERS:
        exceptions.open_exception(
            ride,
            ExceptionType.ADDRESS_PROBLEM,
            by=by,
            at=at,
            detected_by="distance",
            details={"stop": milestones.stop_of(milestone), "milestone": milestone.value, "distanceMeters": meters},
        )
    elif ride.open_exception_count:
        _settle(ride, "milestone", [milestone.value], by=by, at=at)


def corrected(ride: Ride, stops: Collection[str], *, by: Principal, at: datetime) -> None:
    """Settle `address_problem` of a locked ride about one of these stops ("pickup", "dropoff"), which were changed."""
    if ride.open_exception_count:
        _settle(ride, "stop", stops, by=by, at=at)


def _settle(ride: Ride, key: str, about: Collection[str], *, by: Principal, at: datetime) -> None:
    problem = RideException.objects.unsettled().filter(ride=ride, type=ExceptionType.ADDRESS_PROBLEM).first()
    if problem is not None and problem.details.get(key) in about:
        code = ResolutionCode.RECOVERED_ON_TIME
        exceptions.settle(ride, [ExceptionType.ADDRESS_PROBLEM], by=by, at=at, code=code)
