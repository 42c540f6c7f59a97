"""When the vehicle will be at the pickup, as whoever drives it says."""

from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext_lazy as _

from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, Action, RideStatus
from apps.rides.rules.standing import promised_at
from apps.rides.services import exceptions, punctuality
from apps.rides.services.status import Note, require_permission, touch
from lib.access import Principal
from lib.errors import InvalidInput

AWAITED: Final = frozenset({RideStatus.ASSIGNED, RideStatus.EN_ROUTE})
WORTH_SAYING: Final = timedelta(minutes=5)  # `ride.eta_changed` only then
FARTHEST: Final = timedelta(days=1)  # beyond lie typing errors


def keep(ride: Ride, eta: datetime, *, said_at: datetime, by: Principal, at: datetime) -> None:
    """Keep a new estimate on a locked ride and record `ride.eta_changed`; within five minutes of it nothing is new.

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
    if ride.eta_pickup_at is not None and abs(eta - ride.eta_pickup_at) < WORTH_SAYING:
        return
    ride.eta_pickup_at = eta
    note = Note(data={"etaPickup": eta.isoformat().replace("+00:00", "Z")})
    touch(ride, "ride.eta_changed", by=by, at=at, also=["eta_pickup_at"], note=note)
    if eta > promised_at(ride):
        exceptions.open_exception(ride, ExceptionType.LATE_PICKUP_PREDICTED, by=by, at=at, detected_by="eta")
    elif ride.open_exception_count:
        code = ResolutionCode.RECOVERED_ON_TIME
        exceptions.settle(ride, [ExceptionType.LATE_PICKUP_PREDICTED], by=by, at=at, code=code)
    punctuality.expect(ride, detected_by="eta", by=by, at=at)


def clear(ride: Ride) -> list[str]:
    """Drop the estimate of a ride that the vehicle has reached; answer the columns to save."""
    if ride.eta_pickup_at is None:
        return []
    ride.eta_pickup_at = None
    return ["eta_pickup_at"]
