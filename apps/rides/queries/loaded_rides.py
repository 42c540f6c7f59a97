"""Reads the rides of drivers as plain values, for checks and predictions that go over hundreds of them.

A row with three JSON columns and eight instants as a model takes most of the time of ranking 80 drivers.  So the
places and minutes are read by key, and instants as text, which Python's own parser reads ten times faster than the
driver's; sessions are in UTC.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import FloatField, QuerySet, TextField
from django.db.models.expressions import Combinable, Expression
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from apps.rides.models import Ride
from apps.rides.models.ride import Priority
from apps.rides.rules import ride_times
from apps.rides.rules.driver_timeline import Phase, RemainingRide
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.ride_times import RideTimes
from lib.travel.places import place_at

_PHASES: Final = {
    RideStatus.ASSIGNED: Phase.AHEAD,
    RideStatus.EN_ROUTE: Phase.EN_ROUTE,
    RideStatus.ARRIVED: Phase.AT_PICKUP,
    RideStatus.IN_PROGRESS: Phase.ON_BOARD,
}


@dataclass(frozen=True, slots=True)
class LoadedRide:
    """A ride with a driver.  `is_unreleased`: a will-call leg whose rider has not been reported ready."""

    pickup_at: datetime
    is_unreleased: bool
    after_the_fact: bool
    remaining: RemainingRide


def load(rides: QuerySet[Ride], *, at: datetime) -> list[LoadedRide]:
    """Read rides that are assigned or under way, as they are at `at`, in the order of the queryset.  One query."""
    return [_loaded(row, at) for row in rides.values_list(*_COLUMNS)]


def label_of(name: str | None, city: str | None, facility_id: str | None) -> str:
    """Name a stop: an address without a facility may be a rider's home, so that only its town is named."""
    return (name if facility_id else city) or ""


def _number(path: str) -> Expression:
    return Cast(KT(path), FloatField())


def _minutes(stop: str, key: str) -> Expression:
    return Coalesce(_number(f"{stop}__loadMinutes"), _number(f"accommodation__{key}"), 0.0)


_COLUMNS: Final[tuple[str | Combinable, ...]] = (
    "pk",
    "status",
    "will_call",
    "after_the_fact",
    "priority",
    "estimated_minutes",
    "driver_id",
    "vehicle_id",
    "attendant_ids",
    *(
        Cast(name, TextField())
        for name in (
            "pickup_at",
            "window_ends_at",
            "ready_at",
            "promised_pickup_by",
            "arrived_pickup_at",
            "boarded_at",
            "eta_pickup_at",
        )
    ),
    *(_number(f"{stop}__{name}") for stop in ("pickup", "dropoff") for name in ("lat", "lng")),
    _minutes("pickup", "loadMinutes"),
    _minutes("dropoff", "unloadMinutes"),
    *(KT(f"dropoff__{name}") for name in ("name", "city", "facilityId")),
)


def _loaded(row: tuple[Any, ...], at: datetime) -> LoadedRide:
    (
        ride_id,
        status,
        will_call,
        after_the_fact,
        priority,
        estimated_minutes,
        driver_id,
        vehicle_id,
        attendant_ids,
        pickup,
        window_ends,
        ready,
        promised,
        arrived,
        boarded,
        eta,
        pickup_lat,
        pickup_lng,
        dropoff_lat,
        dropoff_lng,
        load_minutes,
        unload_minutes,
        name,
        city,
        facility_id,
    ) = row
    pickup_at = datetime.fromisoformat(pickup)
    times = RideTimes(
        ride_id=ride_id,
        status=status,
        pickup_at=pickup_at,
        window_ends_at=datetime.fromisoformat(window_ends),
        ready_at=_instant(ready) if will_call else None,
        promised_at=_instant(promised) if will_call else None,
        arrived_pickup_at=_instant(arrived),
        boarded_at=_instant(boarded),
        estimated_minutes=estimated_minutes,
        pickup=place_at(pickup_lat, pickup_lng),
        dropoff=place_at(dropoff_lat, dropoff_lng),
        load_minutes=int(load_minutes),
        unload_minutes=int(unload_minutes),
        driver_id=driver_id,
        vehicle_id=vehicle_id,
        attendant_ids=frozenset(attendant_ids),
        after_the_fact=after_the_fact,
    )
    remaining = RemainingRide(
        slot=ride_times.slot(times, at=at),
        planned=ride_times.planned_span(times),
        phase=_PHASES[status],
        eta_at=_instant(eta),
        dropoff_label=label_of(name, city, facility_id),
        life_sustaining=priority == Priority.LIFE_SUSTAINING,
    )
    return LoadedRide(pickup_at, will_call and ready is None, after_the_fact, remaining)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
