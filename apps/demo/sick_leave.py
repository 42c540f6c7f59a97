"""A driver who goes home sick: the shift ends, and the rides wait for other drivers."""

import datetime as dt
import logging

from django.db import transaction

from apps.demo.behavior import sick_at
from apps.demo.desk import Dispatch
from apps.demo.dice import MINUTE, local
from apps.demo.drivers import moment_of, second_of
from apps.fleet.models import Shift
from apps.fleet.services import shifts
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment
from lib.access import Principal
from lib.errors import DomainError

log = logging.getLogger(__name__)


def report(dispatch: Dispatch, seed: int, start: dt.datetime, end: dt.datetime, *, by: Principal) -> None:
    """End the shifts of drivers who become sick in a period, and unassign their rides.

    A driver whose shift or ride cannot be changed stays; the others go home.
    """
    for driver_id, planned in dispatch.shifts.items():
        for shift in planned:
            begins = second_of(shift.starts_at)
            after = sick_at(seed, str(driver_id), local(begins).date())
            if after is None or not start <= moment_of(begins + after) < end:
                continue
            if begins + after + 30 * MINUTE < second_of(shift.ends_at) and not _is_busy(shift):
                try:
                    with transaction.atomic():
                        _send_home(shift, moment_of(begins + after), by=by)
                except DomainError as error:
                    log.info("sick leave of the demo refused", extra={"code": error.code.value})


def _is_busy(shift: Shift) -> bool:
    underway = [RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS]
    return Ride.objects.filter(driver_id=shift.driver_id, status__in=underway).exists()


def _send_home(shift: Shift, at: dt.datetime, *, by: Principal) -> None:
    rides = Ride.objects.filter(
        driver_id=shift.driver_id, status=RideStatus.ASSIGNED, pickup_at__range=(at, shift.ends_at)
    )
    for ride_id in list(rides.order_by("pickup_at").values_list("pk", flat=True)):
        assignment.unassign(ride_id=ride_id, reason_code="driver_ill", by=by, at=at)
    shifts.amend(shift_id=shift.pk, changes={"ends_at": at}, expected_version=None, by=by, at=at)
    shift.ends_at = at
