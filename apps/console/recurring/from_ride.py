"""What the form of a new standing order takes over from a booked ride and the return trip of its trip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from apps.organizations import queries as organizations
from apps.organizations.rules import stops
from apps.recurring.models import ReturnMode
from apps.recurring.rules import order_validation
from apps.recurring.rules.draft import TermsDraft
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.queries import bookings
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import legs
from apps.rides.services.accommodation_change import own_needs
from lib.access import Principal

_OF_TERMS: Final = (
    "chair_time",
    "pickup_time",
    "treatment_minutes",
    "post_treatment_minutes",
    "return_mode",
    "return_time",
    "return_mobility",
)
_ROUNDED_TO: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class RideTemplate:
    """`terms` are the places and needs of the ride, `initial` the other fields of the form."""

    terms: TermsDraft
    payer_id: UUID | None
    initial: dict[str, Any]


def template_of(ride_id: UUID, rider_id: UUID, *, by: Principal, at: datetime) -> RideTemplate | None:
    """Return what a new order takes over; None if the rider has no such ride in the user's data scope.

    The ride is the outbound leg, or the first leg of its trip; the last leg of the trip is the return.
    """
    ride = Ride.objects.visible_to(by).filter(pk=ride_id, rider_id=rider_id).first()
    if ride is None:
        return None
    outbound, back = _legs(ride, by)
    zone = ZoneInfo(outbound.timezone)
    pickup_at, chair_at = outbound.pickup_at.astimezone(zone), _chair_at(outbound).astimezone(zone)
    terms = TermsDraft(
        days_of_week=(chair_at.weekday(),),
        chair_time=chair_at.time(),
        pickup=_stop(outbound.pickup, outbound.pickup_access),
        dropoff=_dropoff(outbound),
        pickup_time=pickup_at.time(),
        accommodation=_needs(outbound),
        companions=outbound.companions,
        **_return(outbound, back, zone),
        **_treatment(outbound),
    )
    return RideTemplate(terms, outbound.payer_id, _initial(outbound, terms, max(chair_at, at.astimezone(zone))))


def _legs(ride: Ride, by: Principal) -> tuple[Ride, Ride | None]:
    if ride.trip_id is None:
        return ride, None
    rows = Ride.objects.visible_to(by).filter(trip_id=ride.trip_id).exclude(status=RideStatus.CANCELLED)
    trip: Sequence[Ride] = list(rows.order_by("leg_sequence", "pk")) or [ride]
    return trip[0], trip[-1] if len(trip) > 1 else None


def _chair_at(ride: Ride) -> datetime:
    """Return when the rider has to be there: the appointment, else the expected arrival, rounded up."""
    if ride.appointment_at is not None:
        return ride.appointment_at
    arrival = ride.pickup_at + timedelta(minutes=ride.estimated_minutes or 30)
    past = timedelta(minutes=arrival.minute % 5, seconds=arrival.second)
    return arrival + (_ROUNDED_TO - past if past else timedelta())


def _stop(stop: Mapping[str, Any], access: str) -> dict[str, Any]:
    code = legs.opened_access(access).get(stops.ACCESS_CODE)
    return {**stops.normal(stop), **({stops.ACCESS_CODE: code} if code else {})}


def _dropoff(ride: Ride) -> dict[str, Any]:
    """Return the drop-off; {} if it is the facility itself."""
    stop = _stop(ride.dropoff, ride.dropoff_access)
    if ride.dropoff_facility is None:
        return stop
    facility = organizations.place_of(ride.dropoff_facility)
    plain = stops.at_facility(stops.normal({"facilityId": facility["facilityId"]}), facility)
    return {} if stop == plain else stop


def _needs(ride: Ride) -> dict[str, Any]:
    profile = bookings.current_profile(ride.rider_id)
    return own_needs(ride, accommodation.snapshot(profile) if profile else accommodation.complete({}))


def _return(outbound: Ride, back: Ride | None, zone: ZoneInfo) -> dict[str, Any]:
    if back is None:
        return {"return_mode": ReturnMode.NONE.value}
    mobility = back.accommodation["mobility"]
    is_same_place = stops.normal(back.dropoff) == stops.normal(outbound.pickup)
    return {
        "return_mode": (ReturnMode.WILL_CALL if back.will_call else ReturnMode.SCHEDULED).value,
        "return_time": None if back.will_call else back.pickup_at.astimezone(zone).time(),
        "return_mobility": "" if mobility == outbound.accommodation["mobility"] else mobility,
        "return_dropoff": {} if is_same_place else _stop(back.dropoff, back.dropoff_access),
    }


def _treatment(ride: Ride) -> dict[str, Any]:
    treatment = ride.dialysis or {}
    return {
        "treatment_minutes": treatment.get("treatmentMinutes"),
        "post_treatment_minutes": treatment.get("postTreatmentMinutes"),
    }


def _initial(ride: Ride, terms: TermsDraft, first: datetime) -> dict[str, Any]:
    service = {"service_type": ride.service_type} if ride.service_type in order_validation.SERVICES else {}
    return {
        **{name: _whole_minutes(getattr(terms, name)) for name in _OF_TERMS},
        **service,
        "facility": str(ride.dropoff_facility_id or ride.facility_id or ""),
        "start_date": first.date(),
        "days": list(terms.days_of_week),
        "vehicle_type": ride.vehicle_type_requested,
        "payer": str(ride.payer_id or ""),
        "program_code": ride.program_code,
        "authorization_number": ride.authorization_number,
        "authorization_ends_on": ride.authorization_expires_on,
        **{name: getattr(ride, name) for name in ("driver_notes", "dispatcher_notes", "facility_notes")},
    }


def _whole_minutes(value: Any) -> Any:
    return value.replace(second=0, microsecond=0) if isinstance(value, time) else value
