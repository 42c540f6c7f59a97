"""Columns of a ride that booking fills."""

import datetime as dt
from typing import Any

from apps.demo.dice import ZONE, local
from apps.demo.legs import DemoLeg
from apps.rides.rules.timing import default_priority, will_call_expires_at

FACILITY_ACCOUNT = 2  # index of the payer of half of the discharges


def payer_of(leg: DemoLeg) -> int:
    """Return the index of the leg's payer in the list of payers."""
    return FACILITY_ACCOUNT if leg.service == "hospital_discharge" and leg.person.number % 2 else leg.person.payer


def booking_columns(leg: DemoLeg, payers: list[str], ride_id: str) -> dict[str, Any]:
    """Return the columns that booking fills; later steps add status, driving and outcome."""
    person, estimate = leg.person, leg.estimate
    returning = leg.leg_type == "return"
    payer = payer_of(leg)
    spaces = leg.spaces
    row: dict[str, Any] = {
        "id": ride_id,
        "leg_type": leg.leg_type,
        "leg_sequence": leg.sequence,
        "rider_id": person.id,
        "facility_id": leg.owner.id,
        "service_type": leg.service,
        "priority": default_priority(leg.service),
        "pickup_at": leg.pickup_at,
        "pickup_time_kind": "estimated" if leg.will_call else "firm",
        "appointment_at": leg.appointment_at,
        "scheduling_anchor": "appointment" if leg.appointment_at else "pickup",
        "window_starts_at": leg.window_starts,
        "window_ends_at": leg.window_ends,
        "timezone": ZONE,
        "service_date": local(leg.pickup_at).date(),
        "pickup": leg.origin.stop_json,
        "dropoff": leg.destination.stop_json,
        "pickup_facility_id": leg.origin.place and leg.origin.place.id,
        "dropoff_facility_id": leg.destination.place and leg.destination.place.id,
        "will_call": leg.will_call,
        "promised_pickup_by": None if leg.will_call else leg.window_ends,
        "accommodation": person.return_needs_json if returning else person.needs_json,
        "accommodation_version": person.profile,
        "companions": {"escorts": 0, "attendantsProvided": 0, "children": 0, "serviceAnimal": False},
        "spaces_ambulatory": spaces.ambulatory,
        "spaces_wheelchair": spaces.wheelchair,
        "spaces_stretcher": spaces.stretcher,
        "discharge": leg.discharge,
        "dialysis": leg.dialysis,
        "payer_id": payers[payer],
        "authorization_number": f"PA{person.number:04}{leg.day:%m%y}" if payer == 1 and not leg.question else "",
        "authorization_expires_on": leg.day + dt.timedelta(days=30) if payer == 1 and not leg.question else None,
        "requested_by": {"userId": None, "name": "Front desk", "phone": leg.owner.phone, "role": "scheduling"},
        "requested_at": leg.requested_at,
        "estimated_miles": estimate.miles if estimate else None,
        "estimated_minutes": estimate.minutes if estimate else None,
    }
    if leg.service == "dialysis":
        row |= {
            "standing_order_id": person.order,
            "occurrence_key": f"{person.order}:{leg.day.isoformat()}:{leg.leg_type}",
            "occurrence_state": "as_generated",
        }
    if leg.will_call:
        moment = dt.datetime.fromtimestamp(leg.pickup_at, dt.UTC)
        row["will_call_expires_at"] = will_call_expires_at(moment, ZONE)
    return row
