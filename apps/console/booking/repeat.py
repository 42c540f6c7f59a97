"""Prefill a new booking from a ride: rider, purpose, places and needs, for another day.

`second_ride_values` also copies the time: for a planner who decided to split a ride, a second ride carries the rest.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import Http404

from apps.console.booking.form import BookingForm
from apps.console.booking.needs_fields import COMPANIONS, NEEDS
from apps.console.booking.place_fields import ADDRESS, TYPED
from apps.console.booking.presets import ARRIVE, NONE, PICKUP, PRESETS, WILL_CALL
from apps.riders.queries import RiderRecord
from apps.rides.models import Ride
from lib.access import Principal
from lib.clocks import clock
from lib.ids import uuid_or_none

NOW: Final = "now"  # as users type it, see `lib.time_parsing`
_DISCHARGE: Final = {
    "unit": "unit",
    "unit_phone": "unitPhone",
    "room": "room",
    "meet_at": "meetAt",
    "destination_kind": "destinationKind",
}
_SAME_PLACE: Final = ("facilityId", "addressLine1", "city", "postalCode")


def ride_to_repeat(ride_id: str, by: Principal) -> Ride | None:
    """Return the ride to repeat; None if `ride_id` is empty.  One query.

    Raises:
        Http404: the ride does not exist or is not visible to the user.
    """
    if not ride_id:
        return None
    pk = uuid_or_none(ride_id)
    ride = None if pk is None else Ride.objects.visible_to(by).filter(pk=pk).first()
    if ride is None:
        raise Http404
    return ride


def query_params_of(ride: Ride) -> dict[str, str]:
    """Return the query parameters of a booking for the ride's rider, facility and purpose."""
    reasons = {preset.service.value: key for key, preset in PRESETS.items()}
    facility: UUID | None = ride.facility_id
    return {
        "rider": str(ride.rider_id),
        "facility": str(facility or ""),
        "for": reasons.get(ride.service_type, "other"),
    }


def values_of(ride: Ride, form: BookingForm, rider: RiderRecord) -> dict[str, Any]:
    """Return form values from a ride, except day and time.  Needs equal to the rider's profile stay empty."""
    is_arrival = ride.scheduling_anchor == "appointment" or ride.service_type == "dialysis"
    when = WILL_CALL if ride.will_call else ARRIVE if is_arrival else PICKUP
    needs = {
        need.name: need.kind.to_initial(need.of(ride.accommodation))
        for need in NEEDS
        if need.name in form.fields and need.of(ride.accommodation) != need.of(rider.needs)
    }
    companions = {need.name: need.kind.to_initial(need.of(ride.companions)) for need in COMPANIONS}
    return {
        "when": when,
        "way_back": NONE if ride.leg_type == "one_way" else form["way_back"].initial,
        "driver_notes": ride.driver_notes,
        "facility_notes": ride.facility_notes,
        "payer": str(ride.payer_id or ""),
        **needs,
        **companions,
        **_place(form, "pickup_from", "", ride.pickup),
        **_place(form, "dropoff_at", "dropoff_", ride.dropoff),
    }


def second_ride_values(ride: Ride, zone: str, now: datetime) -> dict[str, Any]:
    """Return further form values for a second ride beside this one: its time, and the discharge contacts.

    The time is in the form's zone; it is now if the rider is ready or the time has passed.
    """
    is_arrival = ride.appointment_at is not None and ride.scheduling_anchor == "appointment"
    at = ride.appointment_at if is_arrival and ride.appointment_at is not None else ride.pickup_at
    if ride.ready_at is not None or at <= now:
        when = {"when": PICKUP, "day": now.astimezone(ZoneInfo(zone)).date(), "clock": NOW}
    else:
        local = at.astimezone(ZoneInfo(zone))
        when = {"day": local.date(), "clock": clock(local)}
    return when | _discharge(ride.discharge or {})


def _discharge(discharge: Mapping[str, Any]) -> dict[str, Any]:
    planner = discharge.get("planner") or {}
    values = {field: discharge.get(key) for field, key in _DISCHARGE.items()}
    values |= {"planner_name": planner.get("name"), "planner_phone": planner.get("phone")}
    return {field: value for field, value in values.items() if value}


def _place(form: BookingForm, choice: str, prefix: str, stop: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form values of a stop: the offered place that equals it, else a typed address."""
    part = form.pickup if choice == "pickup_from" else form.dropoff
    for key, offered in part.offered.items():
        if _is_same(stop, offered[1]):
            return {choice: key}
    return {choice: TYPED, **{prefix + name: stop.get(key) or "" for name, key in ADDRESS.items()}}


def _is_same(stop: Mapping[str, Any], offered: Mapping[str, Any]) -> bool:
    if offered.get("facilityId"):
        return bool(stop.get("facilityId") == offered["facilityId"])
    return all((stop.get(key) or "") == (offered.get(key) or "") for key in _SAME_PLACE)
