"""Needs and times of a ride for checks and schedules, from its loaded row.  No queries."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from apps.rides.models import Ride
from apps.rides.rules import ride_times
from apps.rides.rules.facts import (
    RideNeeds,
    RideSlot,
    Spaces,
    Span,
)
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ride_times import RideTimes
from apps.rides.rules.timing import MINUTES_WHEN_UNKNOWN
from lib.travel.places import Place, place_at
from lib.travel.times import drive_between

# Oxygen tanks have to be fastened; a concentrator stands on the floor.
NEEDS_NO_MOUNT: Final = "concentrator"
# Riders who need no help on steps.
WALKS_UNAIDED: Final = "ambulatory"
_BEFORE_PICKUP: Final = frozenset({RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.EN_ROUTE})


def needs_of(ride: Ride, *, at: datetime, picked_up_at: Place | None = None) -> RideNeeds:
    """Return the facts of the checks from a ride with its loaded rider.

    `at` is the present: a ride on board lasts until then at least, and a pickup that is overdue takes place now, unless
    the ride is recorded after the fact.
    `picked_up_at` is where a rider on board changes vehicles; the ride then begins there and now.
    """
    slot = slot_of(ride, at=at) if picked_up_at is None else _rescue(ride, at, picked_up_at)
    overdue = ride.status in _BEFORE_PICKUP and slot.span.starts_at < at and not ride.after_the_fact
    if overdue:
        slot = replace(slot, span=Span(at, at + (slot.span.ends_at - slot.span.starts_at)))
    profile = ride.accommodation
    chair, oxygen, stairs = (profile.get(key) or {} for key in ("chair", "oxygen", "stairs"))
    rider = ride.rider
    language = rider.language.split("-")[0].lower()
    return RideNeeds(
        slot=slot,
        service_date=ride.service_date,
        rider_id=ride.rider_id,
        spaces=Spaces(ride.spaces_ambulatory, ride.spaces_wheelchair, ride.spaces_stretcher),
        in_chair=ride.spaces_wheelchair > 0,
        on_stretcher=ride.spaces_stretcher > 0,
        bariatric=bool(profile.get("bariatric")),
        chair_width_in=chair.get("widthIn"),
        combined_weight_lb=profile.get("combinedWeightLb"),
        oxygen=bool(oxygen.get("uses")),
        oxygen_mount=bool(oxygen.get("uses")) and oxygen.get("source") != NEEDS_NO_MOUNT,
        ambulance=ride.vehicle_type_requested == "bls_ambulance",
        steps=_steps(ride, stairs),
        second_person=bool(stairs.get("secondPerson")),
        excluded_driver_ids=frozenset(rider.excluded_driver_ids),
        preferred_driver_ids=frozenset([*rider.preferred_driver_ids, *ride.preferred_driver_ids]),
        driver_gender=rider.driver_gender_preference,
        # English is the language of the service; only other languages need a matching driver.
        language="" if language == "en" else language,
        overdue=overdue,
        after_the_fact=ride.after_the_fact,
    )


def slot_of(ride: Ride, *, at: datetime) -> RideSlot:
    """Return the period in which a ride occupies its driver and vehicle, see `ride_times.slot`."""
    return ride_times.slot(times_of(ride), at=at)


def planned_span_of(ride: Ride) -> Span:
    return ride_times.planned_span(times_of(ride))


def times_of(ride: Ride) -> RideTimes:
    return RideTimes(
        ride_id=ride.pk,
        status=ride.status,
        pickup_at=ride.pickup_at,
        window_ends_at=ride.window_ends_at,
        ready_at=ride.ready_at if ride.will_call else None,
        promised_at=ride.promised_pickup_by if ride.will_call else None,
        arrived_pickup_at=ride.arrived_pickup_at,
        boarded_at=ride.boarded_at,
        estimated_minutes=ride.estimated_minutes,
        pickup=place_of(ride.pickup),
        dropoff=place_of(ride.dropoff),
        load_minutes=loading_minutes(ride),
        unload_minutes=_unloading(ride),
        driver_id=ride.driver_id,
        vehicle_id=ride.vehicle_id,
        attendant_ids=frozenset(ride.attendant_ids),
        after_the_fact=ride.after_the_fact,
    )


def expected_dropoff_at(ride: Ride) -> datetime | None:
    """Estimate the arrival at the drop-off, by the latest information about the pickup.

    None where the drive is not known.
    """
    if ride.estimated_minutes is None:
        return None
    if ride.boarded_at is not None:
        return ride.boarded_at + timedelta(minutes=ride.estimated_minutes)
    begins_at = ride.arrived_pickup_at or ride.eta_pickup_at or ride.pickup_at
    return begins_at + timedelta(minutes=loading_minutes(ride) + ride.estimated_minutes)


def place_of(stop: Mapping[str, Any]) -> Place | None:
    return place_at(stop.get("lat"), stop.get("lng"))


def _rescue(ride: Ride, at: datetime, place: Place) -> RideSlot:
    dropoff = place_of(ride.dropoff)
    drive = drive_between(place, dropoff, depart_at=at)
    onward = MINUTES_WHEN_UNKNOWN if drive is None or not drive.seconds else drive.seconds / 60
    # A transfer is not at a stop, so that it takes the rider's own boarding minutes.
    load, unload = _minutes_of_rider(ride, "loadMinutes"), _unloading(ride)
    return RideSlot(
        ride_id=ride.pk,
        span=Span(at, at + timedelta(minutes=load + onward + unload)),
        latest_pickup_at=at,
        pickup=place,
        dropoff=dropoff,
        load_minutes=load,
        unload_minutes=unload,
    )


def loading_minutes(ride: Ride) -> int:
    """Return the boarding minutes of the place, or by default those of the rider."""
    at_the_stop = ride.pickup.get("loadMinutes")
    return _minutes_of_rider(ride, "loadMinutes") if at_the_stop is None else int(at_the_stop)


def _unloading(ride: Ride) -> int:
    at_the_stop = ride.dropoff.get("loadMinutes")
    return _minutes_of_rider(ride, "unloadMinutes") if at_the_stop is None else int(at_the_stop)


def _minutes_of_rider(ride: Ride, key: str) -> int:
    return int(ride.accommodation.get(key) or 0)


def _steps(ride: Ride, stairs: Mapping[str, Any]) -> int:
    if ride.accommodation.get("mobility") == WALKS_UNAIDED:
        return 0
    at_home = int(stairs.get("home") or 0) if stairs.get("equipment") != "ramp" else 0
    return max(_steps_at(stop, at_home) for stop in (ride.pickup, ride.dropoff))


def _steps_at(stop: Mapping[str, Any], at_home: int) -> int:
    """Count the steps at a stop; an address without a facility is taken as the rider's home."""
    if stop.get("elevator") or stop.get("stairEquipment") == "ramp":
        return 0
    counted = int(stop.get("steps") or 0)
    return counted if stop.get("facilityId") else max(counted, at_home)
