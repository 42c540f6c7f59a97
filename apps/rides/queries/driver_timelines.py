"""Reads what `rules.driver_timeline` needs about drivers, and predicts their remaining stops."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from apps.fleet.models import Driver, Leave, Shift
from apps.rides.models import Ride
from apps.rides.queries.loaded_rides import LoadedRide, label_of, load
from apps.rides.queries.ride_needs import place_of
from apps.rides.rules.driver_timeline import (
    POSITION_GOOD_FOR,
    UNKNOWN_LOCATION,
    DriverNow,
    Location,
    LocationSource,
    Phase,
    RemainingRide,
    Timeline,
    predict,
)
from apps.rides.rules.facts import Span
from apps.rides.rules.lifecycle import WITH_DRIVER
from lib.travel.places import Place

# Rides that should have begun earlier were never closed and are ignored; stops before that say nothing about today.
_PAST: Final = dt.timedelta(hours=24)


def driver_timelines(
    driver_ids: Collection[UUID], *, at: dt.datetime, until: dt.datetime | None = None
) -> dict[UUID, Timeline]:
    """Predict the remaining stops of these drivers, up to pickups at `until`.  Five queries, none without drivers.

    The rides of a driver may be outside the caller's data scope: a caller shows nothing but times of rides inside it.
    """
    if not driver_ids:
        return {}
    drivers = Driver.objects.filter(pk__in=driver_ids).select_related("home_base")
    drivers = drivers.only("last_lat", "last_lng", "last_located_at", "home_base")
    present = drivers_on_duty(drivers, at=at, until=at + _PAST if until is None else until)
    return {driver_id: predict(driver, at=at) for driver_id, driver in present.items()}


def drivers_on_duty(
    drivers: Iterable[Driver], *, at: dt.datetime, until: dt.datetime, rides: Iterable[LoadedRide] | None = None
) -> dict[UUID, DriverNow]:
    """Read shifts, leave, remaining rides and last stops of drivers with their home bases.  Four queries.

    `rides`: the rides with a driver since `earliest(at)`, if the caller has read them already.
    """
    drivers_by_id = {driver.pk: driver for driver in drivers}
    duty: dict[UUID, list[Span]] = defaultdict(list)
    shifts = Shift.objects.filter(driver_id__in=drivers_by_id, status=Shift.Status.PLANNED)
    shifts = shifts.filter(starts_at__lt=until, ends_at__gt=at - _PAST).order_by("starts_at")
    away: dict[UUID, list[Span]] = defaultdict(list)
    columns = shifts.values_list("driver_id", "starts_at", "ends_at", "break_starts_at", "break_ends_at")
    for driver_id, starts_at, ends_at, break_starts_at, break_ends_at in columns:
        duty[driver_id].append(Span(starts_at, ends_at))
        if break_starts_at is not None and break_ends_at is not None:
            away[driver_id].append(Span(break_starts_at, break_ends_at))
    leave = Leave.objects.filter(driver_id__in=drivers_by_id, starts_at__lt=until, ends_at__gt=at)
    for driver_id, starts_at, ends_at in leave.values_list("driver_id", "starts_at", "ends_at"):
        away[driver_id].append(Span(starts_at, ends_at))
    return drivers_now(drivers_by_id.values(), duty, away, at=at, until=until, rides=rides)


def earliest(at: dt.datetime) -> dt.datetime:
    """Return since when the pickup of a remaining ride may have been planned."""
    return at - _PAST


def timelines_of(
    drivers: Iterable[Driver],
    duty: Mapping[UUID, Sequence[Span]],
    away: Mapping[UUID, Sequence[Span]],
    *,
    at: dt.datetime,
    until: dt.datetime,
) -> dict[UUID, Timeline]:
    """Predict the remaining stops of drivers with home bases and shifts; `away`: leave and breaks.  Two queries."""
    present = drivers_now(drivers, duty, away, at=at, until=until)
    return {driver_id: predict(driver, at=at) for driver_id, driver in present.items()}


def predicted_arrivals_of(rides: Collection[Ride], *, at: dt.datetime) -> dict[UUID, dt.datetime]:
    """Predict when the vehicle is at the pickup of these rides, by ride; rides without a prediction are left out."""
    awaited = {ride.pk: ride for ride in rides if ride.status in WITH_DRIVER}
    driver_ids = {ride.driver_id for ride in awaited.values() if ride.driver_id is not None}
    until = max((ride.pickup_at for ride in awaited.values()), default=None)
    return {
        ride.ride_id: ride.pickup_at
        for timeline in driver_timelines(driver_ids, at=at, until=until).values()
        for ride in timeline.rides
        if ride.pickup_at is not None and ride.ride_id in awaited
    }


def drivers_now(
    drivers: Iterable[Driver],
    duty: Mapping[UUID, Sequence[Span]],
    away: Mapping[UUID, Sequence[Span]],
    *,
    at: dt.datetime,
    until: dt.datetime,
    rides: Iterable[LoadedRide] | None = None,
) -> dict[UUID, DriverNow]:
    """Read the remaining rides and last stops of drivers with their home bases, shifts and leave.  Two queries.

    `rides`: see `drivers_on_duty`.
    """
    drivers_by_id = {driver.pk: driver for driver in drivers}
    loaded = _load(drivers_by_id, at, until) if rides is None else rides
    remaining = _remaining_rides(loaded, at, until)
    stops = _last_stops(drivers_by_id, at)
    return {
        driver_id: DriverNow(
            location=_location_of(driver, stops.get(driver_id), at),
            rides=tuple(remaining[driver_id]),
            duty=tuple(duty.get(driver_id, ())),
            away=tuple(away.get(driver_id, ())),
        )
        for driver_id, driver in drivers_by_id.items()
    }


def _load(driver_ids: Collection[UUID], at: dt.datetime, until: dt.datetime) -> Iterable[LoadedRide]:
    rows = Ride.objects.filter(
        driver__in=driver_ids, status__in=sorted(WITH_DRIVER), pickup_at__gt=earliest(at), pickup_at__lte=until
    )
    return load(rows.order_by("pickup_at", "pk"), at=at)


def _remaining_rides(
    loaded: Iterable[LoadedRide], at: dt.datetime, until: dt.datetime
) -> Mapping[UUID | None, list[RemainingRide]]:
    rides: dict[UUID | None, list[RemainingRide]] = defaultdict(list)
    first = earliest(at)
    for ride in loaded:
        remaining = ride.remaining
        if ride.after_the_fact or not first < ride.pickup_at <= until:
            continue
        # Nobody knows when an unreleased will-call begins; past its estimate it holds up no other ride.
        if ride.is_unreleased and ride.pickup_at < at and remaining.phase is Phase.AHEAD:
            continue
        rides[remaining.slot.driver_id].append(remaining)
    return rides


def _last_stops(driver_ids: Collection[UUID], at: dt.datetime) -> dict[UUID | None, tuple[dt.datetime, Location]]:
    """Return the latest stop that each driver reported as reached, and when."""
    rows = Ride.objects.filter(driver__in=driver_ids, pickup_at__gt=at - _PAST, pickup_at__lte=at + _PAST)
    rows = rows.filter(arrived_pickup_at__isnull=False).order_by("driver", "-arrived_pickup_at").distinct("driver")
    stops: dict[UUID | None, tuple[dt.datetime, Location]] = {}
    for ride in rows.only("driver", "pickup", "dropoff", "arrived_pickup_at", "boarded_at", "dropped_off_at"):
        reached_at = ride.dropped_off_at or ride.boarded_at or ride.arrived_pickup_at
        stop = ride.pickup if ride.dropped_off_at is None else ride.dropoff
        place = place_of(stop)
        if place is not None and reached_at is not None:
            stops[ride.driver_id] = (reached_at, Location(place, LocationSource.LAST_STOP, _label_of(stop)))
    return stops


def _label_of(stop: Mapping[str, Any]) -> str:
    return label_of(stop.get("name"), stop.get("city"), stop.get("facilityId"))


def _location_of(driver: Driver, stop: tuple[dt.datetime, Location] | None, at: dt.datetime) -> Location:
    """Choose the position of the last five minutes, else the last stop of the day, else the home base."""
    located_at = driver.last_located_at
    if located_at is not None and driver.last_lat is not None and driver.last_lng is not None:
        is_newer = stop is None or stop[0] <= located_at
        if at - POSITION_GOOD_FOR <= located_at and is_newer:
            return Location(Place(float(driver.last_lat), float(driver.last_lng)), LocationSource.POSITION)
    if stop is not None:
        return stop[1]
    base = driver.home_base
    if base is None or base.lat is None or base.lng is None:
        return UNKNOWN_LOCATION
    return Location(Place(float(base.lat), float(base.lng)), LocationSource.HOME_BASE, base.name)
