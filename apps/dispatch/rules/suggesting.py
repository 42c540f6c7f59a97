"""Driver suggestions for unassigned rides: the most urgent ride is assigned first.

Pure: no query, no clock.  A suggestion violates no rule, not even one that an override reason could waive, and counts
as an assignment for the next rides: no driver gets two rides at the same time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final
from uuid import UUID

from apps.rides.rules.eligibility import CHECKS, Pairing, ViolationCode, violations
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    Span,
    VehicleFacts,
)
from apps.rides.rules.ranking import Score, approach, score
from lib.messages import Text
from lib.travel.places import Place

# Rules that do not depend on the driver's other rides: checked once per driver, vehicle and day, not for every ride.
_OF_THE_DAY: Final = (
    ViolationCode.DRIVER_INACTIVE,
    ViolationCode.VEHICLE_OUT_OF_SERVICE,
    ViolationCode.PROVIDER_MISMATCH,
    ViolationCode.CREDENTIAL_INVALID,
)


@dataclass(frozen=True, slots=True)
class Available:
    """A driver who may be assigned, and the places from which the driver starts before the first ride."""

    facts: DriverFacts
    default_vehicle_id: UUID | None = None
    last_seen: Place | None = None
    home_base: Place | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A driver and vehicle for a ride; `reason` explains the choice to a dispatcher and names no person."""

    ride_id: UUID
    driver_id: UUID
    vehicle_id: UUID
    cost_minutes: float
    reason: Text


@dataclass(frozen=True, slots=True)
class UnplacedRide:
    """A ride without a suggestion; `against` counts the drivers by the first rule that excludes them."""

    ride_id: UUID
    against: Mapping[ViolationCode, int]


@dataclass(frozen=True, slots=True)
class SuggestionPlan:
    """The suggestions, and the rides without one, each in the order of urgency."""

    suggestions: tuple[Suggestion, ...]
    unplaced: tuple[UnplacedRide, ...]


def suggest(
    waiting: Iterable[RideNeeds],
    drivers: Sequence[Available],
    vehicles: Mapping[UUID, VehicleFacts],
    *,
    shared_rides: Mapping[tuple[UUID, UUID], int],
    at: datetime,
) -> SuggestionPlan:
    """Assign each ride the cheapest driver who violates no rule, as scored by `ranking`.

    `shared_rides` counts earlier rides by rider and driver.  Rides are assigned in order of their latest pickup.  An
    overdue ride occupies its driver from its planned start until the end that it has if it starts now.
    """
    day = _Day(drivers, vehicles, shared_rides)
    suggestions: list[Suggestion] = []
    unplaced: list[UnplacedRide] = []
    due_first = sorted(waiting, key=lambda ride_needs: (ride_needs.slot.latest_pickup_at, str(ride_needs.slot.ride_id)))
    for needs in (_from_now(ride_needs, at) for ride_needs in due_first):
        result = day.give(needs)
        if isinstance(result, Suggestion):
            suggestions.append(result)
        else:
            unplaced.append(result)
    return SuggestionPlan(tuple(suggestions), tuple(unplaced))


class _Day:
    """The drivers and vehicles of a day, with the rides assigned so far."""

    def __init__(
        self,
        drivers: Sequence[Available],
        vehicles: Mapping[UUID, VehicleFacts],
        shared_rides: Mapping[tuple[UUID, UUID], int],
    ) -> None:
        self._drivers = {driver.facts.id: driver for driver in drivers}
        self._vehicles = dict(vehicles)
        self._shared = shared_rides
        self._known: dict[tuple[UUID, UUID, date], ViolationCode | None] = {}

    def give(self, needs: RideNeeds) -> Suggestion | UnplacedRide:
        """Choose a driver and vehicle for one ride, and mark both as occupied by it."""
        against: Counter[ViolationCode] = Counter()
        for weighed, driver, vehicle in self._by_cost(needs):
            if vehicle is None:
                against[ViolationCode.VEHICLE_NOT_SUITABLE] += 1
            elif code := self._first_against(Pairing(needs, driver.facts, vehicle), vehicle.id):
                against[code] += 1
            else:
                self._take(needs.slot, driver, vehicle)
                ride_id, driver_id = needs.slot.ride_id, driver.facts.id
                return Suggestion(ride_id, driver_id, vehicle.id, weighed.cost_minutes, weighed.reason)
        return UnplacedRide(needs.slot.ride_id, against)

    def _by_cost(self, needs: RideNeeds) -> list[tuple[Score, Available, VehicleFacts | None]]:
        ranked = []
        for driver in self._drivers.values():
            vehicle_id = _vehicle_at(driver, needs.slot.span.starts_at)
            vehicle = None if vehicle_id is None else self._vehicles.get(vehicle_id)
            route = approach(needs, driver.facts, last_seen=driver.last_seen, home_base=driver.home_base)
            times = self._shared.get((needs.rider_id, driver.facts.id), 0)
            ranked.append(
                (score(needs, driver.facts, vehicle, route, shared_rides=times, violations=[]), driver, vehicle)
            )
        return sorted(ranked, key=lambda row: (row[0].cost_minutes, str(row[1].facts.id)))

    def _first_against(self, pair: Pairing, vehicle_id: UUID) -> ViolationCode | None:
        key = (pair.driver.id, vehicle_id, pair.needs.service_date)
        if key not in self._known:
            self._known[key] = next((code for code in _OF_THE_DAY if any(True for _ in CHECKS[code][1](pair))), None)
        if self._known[key]:
            return self._known[key]
        conflicts = violations(pair.needs, pair.driver, pair.vehicle)
        return conflicts[0].code if conflicts else None

    def _take(self, slot: RideSlot, driver: Available, vehicle: VehicleFacts) -> None:
        assigned = replace(slot, driver_id=driver.facts.id, vehicle_id=vehicle.id)
        facts = replace(driver.facts, slots=(*driver.facts.slots, assigned))
        self._drivers[driver.facts.id] = replace(driver, facts=facts)
        self._vehicles[vehicle.id] = replace(vehicle, slots=(*vehicle.slots, assigned))


def _vehicle_at(driver: Available, at: datetime) -> UUID | None:
    """Return the vehicle of the driver's shift at `at`, else the driver's default vehicle."""
    on_shift = (shift.vehicle_id for shift in driver.facts.shifts if shift.span.starts_at <= at < shift.span.ends_at)
    return next(on_shift, driver.default_vehicle_id)


def _from_now(needs: RideNeeds, at: datetime) -> RideNeeds:
    """Extend an overdue ride to the end that it has if it starts now."""
    slot = needs.slot
    if slot.span.starts_at >= at:
        return needs
    ends_at = at + (slot.span.ends_at - slot.span.starts_at)
    stretched = replace(slot, span=Span(slot.span.starts_at, ends_at), latest_pickup_at=max(slot.latest_pickup_at, at))
    return replace(needs, slot=stretched)
