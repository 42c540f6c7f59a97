"""A ride as the beginning of a new one: the same rider, reason, places and needs, on another day.

Or at the same time, where a planner has said to split the ride: the second one, for what the first does not carry.
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

NOW: Final = "now"  # as people type it (lib/time_parsing.py)
_DISCHARGE: Final = {
    "unit": "unit",
    "unit_phone": "unitPhone",
    "room": "room",
    "meet_at": "meetAt",
    "destination_kind": "destinationKind",
}
_SAME_PLACE: Final = ("facilityId", "addressLine1", "city", "postalCode")


def repeated(ride_id: str, by: Principal) -> Ride | None:
    """Give the ride that is to be repeated; None where none was named.  One query.

    Raises:
        Http404: it is absent or out of reach.
    """
    if not ride_id:
        return None
    pk = uuid_or_none(ride_id)
    found = None if pk is None else Ride.objects.visible_to(by).filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def asked_by(ride: Ride) -> dict[str, str]:
    """Say for whom, where and why the desk is opened, as an address would."""
    reasons = {preset.service.value: key for key, preset in PRESETS.items()}
    facility: UUID | None = ride.facility_id
    return {
        "rider": str(ride.rider_id),
        "facility": str(facility or ""),
        "for": reasons.get(ride.service_type, "other"),
    }


def values_of(ride: Ride, form: BookingForm, rider: RiderRecord) -> dict[str, Any]:
    """Give the fields that a ride decides; the day and the time are those of the new one."""
    arrives = ride.scheduling_anchor == "appointment" or ride.service_type == "dialysis"
    when = WILL_CALL if ride.will_call else ARRIVE if arrives else PICKUP
    needs = {
        need.name: need.kind.shown(need.of(ride.accommodation))
        for need in NEEDS
        if need.name in form.fields and need.of(ride.accommodation) != need.of(rider.needs)
    }
    along = {need.name: need.kind.shown(need.of(ride.companions)) for need in COMPANIONS}
    return {
        "when": when,
        "way_back": NONE if ride.leg_type == "one_way" else form["way_back"].initial,
        "driver_notes": ride.driver_notes,
        "facility_notes": ride.facility_notes,
        "payer": str(ride.payer_id or ""),
        **needs,
        **along,
        **_place(form, "pickup_from", "", ride.pickup),
        **_place(form, "dropoff_at", "dropoff_", ride.dropoff),
    }


def beside(ride: Ride, zone: str, now: datetime) -> dict[str, Any]:
    """Give what else a ride beside this one shares: its time by the clock of the form, and whom to ask at a discharge.

    Now for whoever is ready.
    """
    arrives = ride.appointment_at is not None and ride.scheduling_anchor == "appointment"
    at = ride.appointment_at if arrives and ride.appointment_at is not None else ride.pickup_at
    if ride.ready_at is not None or at <= now:
        when = {"when": PICKUP, "day": now.astimezone(ZoneInfo(zone)).date(), "clock": NOW}
    else:
        local = at.astimezone(ZoneInfo(zone))
        when = {"day": local.date(), "clock": clock(local)}
    return when | _discharge(ride.discharge or {})


def _discharge(told: Mapping[str, Any]) -> dict[str, Any]:
    planner = told.get("planner") or {}
    known = {field: told.get(key) for field, key in _DISCHARGE.items()}
    known |= {"planner_name": planner.get("name"), "planner_phone": planner.get("phone")}
    return {field: value for field, value in known.items() if value}


def _place(form: BookingForm, choice: str, prefix: str, stop: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the place that is offered where it is one of those, and else type it."""
    part = form.pickup if choice == "pickup_from" else form.dropoff
    for key, offered in part.offered.items():
        if _is_same(stop, offered[1]):
            return {choice: key}
    return {choice: TYPED, **{prefix + name: stop.get(key) or "" for name, key in ADDRESS.items()}}


def _is_same(stop: Mapping[str, Any], offered: Mapping[str, Any]) -> bool:
    if offered.get("facilityId"):
        return bool(stop.get("facilityId") == offered["facilityId"])
    return all((stop.get(key) or "") == (offered.get(key) or "") for key in _SAME_PLACE)
