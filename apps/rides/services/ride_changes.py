"""Applies the changes of an edit to a ride: its stops, needs and other parts after them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from apps.organizations.rules import stops
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.queries import bookings
from apps.rides.rules.draft import Notes, Payment, RideDraft
from apps.rides.services import booking, legs
from apps.rides.services.legs import Leg
from lib.access import Principal

_ADDRESS: Final = ("addressLine1", "city", "state", "postalCode")


def leg_after(ride: Ride, changes: Mapping[str, Any], by: Principal, *, replace_needs: bool = False) -> Leg:
    """Apply the changes to the current ride.

    With `replace_needs` accommodation and companions replace those of the ride and apply to the rider's profile, as in
    a booking.
    """
    draft = draft_of(ride)
    replaced = {"companions"} if replace_needs else set[str]()
    merged = {
        name: value if name in replaced else _merged(name, getattr(draft, name), value)
        for name, value in changes.items()
    }
    if "service_type" in changes and "priority" not in changes:
        merged["priority"] = ""
    draft = replace(draft, **merged)
    facilities = bookings.facilities(
        [UUID(str(draft_stop["facilityId"])) for draft_stop in _changed_stops(draft, changes)], by
    )
    entrances = legs.entrances_of([draft])
    pickup, pickup_facility = dict(draft.pickup), ride.pickup_facility
    dropoff, dropoff_facility = dict(draft.dropoff), ride.dropoff_facility
    access: list[Mapping[str, str] | None] = [None, None]
    if "pickup" in changes:
        pickup, pickup_facility = legs.resolved_stop(
            draft.pickup, path="pickup", facilities=facilities, entrances=entrances
        )
    if "dropoff" in changes:
        dropoff, dropoff_facility = legs.resolved_stop(
            draft.dropoff, path="dropoff", facilities=facilities, entrances=entrances
        )
    if "pickupEntranceId" in (changes.get("discharge") or {}):
        legs.require_meeting_point(draft, pickup_facility, entrances)
    if "accessCode" in (changes.get("pickup") or {}):
        access[0] = legs.access_of(changes["pickup"])
    if "accessCode" in (changes.get("dropoff") or {}) or "homeAccess" in (changes.get("discharge") or {}):
        access[1] = _ways_in(legs.opened_access(ride.dropoff_access), changes)
    return replace(
        leg_of(ride),
        draft=replace(draft, pickup=pickup, dropoff=dropoff),
        pickup_facility=pickup_facility,
        dropoff_facility=dropoff_facility,
        # An inactive payer stays on existing rides.
        payer=booking.payer_of(draft.payment.payer_id) if draft.payment.payer_id != ride.payer_id else ride.payer,
        needs=_replaced_needs(ride, changes["accommodation"])
        if replace_needs and "accommodation" in changes
        else _needs_after(ride, changes),
        access=(access[0], access[1]),
    )


def leg_of(ride: Ride) -> Leg:
    """Convert a ride into a leg; encrypted parts stay encrypted."""
    return Leg(
        draft=draft_of(ride),
        leg_type=ride.leg_type,
        sequence=ride.leg_sequence,
        owner=ride.facility,
        pickup_facility=ride.pickup_facility,
        dropoff_facility=ride.dropoff_facility,
        payer=ride.payer,
        needs=ride.accommodation,
        needs_version=ride.accommodation_version,
    )


def _ways_in(current: Mapping[str, str], changes: Mapping[str, Any]) -> dict[str, str]:
    """Merge the access to the drop-off: door code and key change separately, and an empty text removes one."""
    dropoff, home = changes.get("dropoff") or {}, (changes.get("discharge") or {}).get("homeAccess") or {}
    changed = {key: source[key] for key, source in (("accessCode", dropoff), (legs.KEY_INFO, home)) if key in source}
    return {key: text for key, text in {**current, **changed}.items() if text}


def draft_of(ride: Ride) -> RideDraft:
    """Convert a ride into a draft; encrypted parts stay encrypted."""
    return RideDraft(
        pickup_at=ride.pickup_at,
        pickup=stops.normal(ride.pickup),
        dropoff=stops.normal(ride.dropoff),
        rider_id=ride.rider_id,
        service_type=ride.service_type,
        priority=ride.priority,
        appointment_at=ride.appointment_at,
        scheduling_anchor=ride.scheduling_anchor,
        will_call=ride.will_call,
        companions=ride.companions,
        vehicle_type_requested=ride.vehicle_type_requested,
        discharge=ride.discharge,
        dialysis=ride.dialysis,
        payment=Payment(
            payer_id=ride.payer_id,
            program_code=ride.program_code,
            authorization_number=ride.authorization_number,
            authorization_expires_on=ride.authorization_expires_on,
        ),
        notes=Notes(ride.driver_notes, ride.dispatcher_notes, ride.facility_notes),
        requested_by=ride.requested_by,
        after_the_fact=ride.after_the_fact,
    )


def _merged(name: str, before: Any, change: Any) -> Any:
    if name == "vehicle_type_requested":
        return change or ""
    if name in ("payment", "notes"):
        empty = type(before)()
        values = {key: getattr(empty, key) if value is None else value for key, value in change.items()}
        return replace(before, **values)
    if name in ("pickup", "dropoff"):
        return _merged_stop(before, change)
    if isinstance(change, Mapping) and name != "accommodation":
        return merge(before or {}, change)
    return change


def merge(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a JSON merge patch (RFC 7396): null removes, objects merge, everything else replaces."""
    merged = {key: value for key, value in before.items() if key not in patch or patch[key] is not None}
    for key, value in patch.items():
        if isinstance(value, Mapping):
            merged[key] = merge(before.get(key) or {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def _merged_stop(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a stop; after a move, details of the old place are removed."""
    moved = "facilityId" in patch and patch["facilityId"] != before.get("facilityId")
    moved = moved or any(key in patch and patch[key] != before.get(key) for key in _ADDRESS)
    if not moved:
        return merge(before, patch)
    stale = {"lat", "lng", "entranceId", "entranceText"}
    if "facilityId" in patch and patch["facilityId"] is not None:
        stale |= {"name", "addressLine1", "addressLine2", "city", "state", "postalCode"}
    elif "facilityId" not in patch:
        stale |= {"facilityId"}
    return merge({key: value for key, value in before.items() if key not in stale}, patch)


def _changed_stops(draft: RideDraft, changes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    draft_stops = {"pickup": draft.pickup, "dropoff": draft.dropoff}
    return [stop for name, stop in draft_stops.items() if name in changes and stop.get("facilityId")]


def _replaced_needs(ride: Ride, ride_needs: Mapping[str, Any]) -> dict[str, Any]:
    profile = bookings.current_profile(ride.rider_id)
    base = accommodation.snapshot(profile) if profile else accommodation.complete({})
    return legs.needs_of(base, ride_needs, leg_type=ride.leg_type)


def _needs_after(ride: Ride, changes: Mapping[str, Any]) -> dict[str, Any]:
    before = dict(ride.accommodation)
    if "accommodation" not in changes:
        return {**accommodation.complete(before), "overridden": before.get("overridden", [])}
    base = accommodation.complete(before)
    after = accommodation.overridden(base, changes["accommodation"])
    marked = {*before.get("overridden", []), *(key for key in accommodation.KEYS if after[key] != base[key])}
    return {**after, "overridden": [key for key in accommodation.KEYS if key in marked]}
