"""Links booked rides of a rider as the legs of one trip, and unlinks them."""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.rides.models import Ride, Trip
from apps.rides.models.ride import LegType
from apps.rides.rules import booking_rules
from apps.rides.rules.lifecycle import OPEN
from apps.rides.services import booking
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Detail, FieldRefused, InvalidInput, NotFound
from lib.messages import Template

MAX_LEGS: Final = 6
_COLUMNS: Final = ("trip", "leg_type", "leg_sequence")
_CHANGED: Final = ["tripId", "legType", "legSequence"]


@transaction.atomic
def link(*, ride_ids: Sequence[UUID], by: Principal, at: datetime) -> list[Ride]:
    """Make rides the legs of a new trip, in the order of their pickup times; return them in this order.

    A return after midnight is on the next day, as in a booking.

    Records `ride.updated` and an audit entry for each.  Locks the rides by id.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not book.
        FieldRefused: a ride is not there, ended, linked already, of another rider or more than a day apart; the item
            is named.
        InvalidInput: there are fewer than two, or the legs are not in order.
    """
    booking.require_right(by)
    if len(set(ride_ids)) < 2 or len(set(ride_ids)) < len(ride_ids):
        raise InvalidInput("rideIds", _("%(field)s must name at least two different rides."))
    rides = _locked_rides(ride_ids, by)
    first, first_day = rides[ride_ids[0]], min(ride.service_date for ride in rides.values())
    refusals = [
        Detail(field=f"rideIds[{number}]", code=code, message=message)
        for number, ride_id in enumerate(ride_ids)
        for code, message in _problems(rides[ride_id], first, first_day)
    ]
    if refusals:
        raise FieldRefused(refusals)
    legs = sorted(rides.values(), key=lambda ride: (ride.pickup_at, ride.pk))
    for leg, later in pairwise(legs):
        if not booking_rules.follows(later.pickup_at, leg.pickup_at, leg.appointment_at):
            raise InvalidInput("rideIds", _("The legs of a trip must stay in order."), detail_code="leg_order")
    trip = Trip.objects.create(rider_id=first.rider_id, service_date=legs[0].service_date)
    for number, leg in enumerate(legs, 1):
        leg.trip, leg.leg_sequence = trip, number
        leg.leg_type = LegType.OUTBOUND if number == 1 else LegType.INTERMEDIATE
        if number == len(legs):
            leg.leg_type = LegType.RETURN
        _save(leg, "rides.link", by=by, at=at)
    return legs


@transaction.atomic
def unlink(*, trip_id: UUID, ride_id: UUID, by: Principal, at: datetime) -> None:
    """Take a ride out of its trip; the last leg that remains leaves it as well.

    The row of the trip stays, because exceptions name it.  Locks the rides of the trip by id.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not book.
        NotFound: there is no such ride in the trip.
        InvalidInput: the ride has ended.
    """
    rows = Ride.objects.in_charge_of(by).filter(trip_id=trip_id)
    legs = {pk: locked(pk, by) for pk in rows.order_by("pk").values_list("pk", flat=True)}
    ride = legs.pop(ride_id, None)
    if ride is None:
        raise NotFound(_("ride"))
    booking.require_right(by)
    if ride.status not in OPEN:
        raise InvalidInput("rideId", _("The ride has ended."), detail_code="ended")
    leaving = [ride, *(legs.values() if len(legs) == 1 else [])]
    for leg in leaving:
        # The return from dialysis has no chair time: it stays a return.
        is_return = leg.service_type == "dialysis" and leg.appointment_at is None
        leg.trip, leg.leg_sequence = None, 1
        leg.leg_type = LegType.RETURN if is_return else LegType.ONE_WAY
        _save(leg, "rides.unlink", by=by, at=at)


def _locked_rides(ride_ids: Sequence[UUID], by: Principal) -> dict[UUID, Ride]:
    rides = {}
    for ride_id in sorted(ride_ids):
        try:
            rides[ride_id] = locked(ride_id, by)
        except NotFound:
            field = f"rideIds[{list(ride_ids).index(ride_id)}]"
            raise InvalidInput(field, _("There is no such ride.")) from None
    return rides


def _problems(ride: Ride, first: Ride, first_day: date) -> list[tuple[str, Template]]:
    checks: list[tuple[bool, str, Template]] = [
        (ride.status not in OPEN, "ended", _("The ride has ended.")),
        (ride.trip_id is not None, "linked", _("The ride is a leg of a trip. Unlink it first.")),
        (ride.rider_id != first.rider_id, "other_rider", _("The rides are of different riders.")),
        (
            ride.service_date - first_day > booking_rules.LEGS_WITHIN,
            "other_day",
            _("The rides are more than a day apart."),
        ),
    ]
    return [(code, message) for applies, code, message in checks if applies]


def _save(leg: Ride, action: str, *, by: Principal, at: datetime) -> None:
    data: dict[str, Any] = {"changed": _CHANGED}
    touch(leg, "ride.updated", by=by, at=at, also=_COLUMNS, note=Note(data=data))
    audit.record(
        by=by,
        action=action,
        subject_type="ride",
        subject_id=leg.pk,
        rider_ids=[leg.rider_id],
        facility_id=leg.facility_id,
        details={"fields": _CHANGED},
    )
