"""Driver suggestions for unassigned rides: the most urgent ride is assigned first.

Pure: no query, no clock.  A suggestion violates no rule, not even one that an override reason could waive, so that
assigning it is not refused, and counts as an assignment for the next rides: no driver gets two rides at the same time.
Drivers are compared as candidates are (`rides/rules/ranking.py`), by what is predicted from now.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from apps.rides.rules.driver_timeline import DriverNow, RemainingRide, insert
from apps.rides.rules.eligibility import CHECKS, Pairing, ViolationCode, violations
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    VehicleFacts,
)
from apps.rides.rules.ranking import Prospect, Reason, order, reasons

# Rules that do not depend on the driver's other rides: checked once per driver, vehicle and day, not for every ride.
_OF_THE_DAY: Final = (
    ViolationCode.DRIVER_INACTIVE,
    ViolationCode.VEHICLE_OUT_OF_SERVICE,
    ViolationCode.PROVIDER_MISMATCH,
    ViolationCode.CREDENTIAL_INVALID,
)


@dataclass(frozen=True, slots=True)
class Available:
    """A driver who may be assigned, and the driver's remaining day."""

    facts: DriverFacts
    now: DriverNow
    default_vehicle_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A driver and vehicle for a ride; `reasons` explain the choice to a dispatcher and name no person.

    `late_minutes` counts from the promise; None, like the added driving, if the arrival cannot be predicted.
    """

    ride_id: UUID
    driver_id: UUID
    vehicle_id: UUID
    late_minutes: int | None
    added_drive_minutes: float | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class UnplacedRide:
    """A ride without a suggestion; `against` counts the drivers by the first rule that excludes them."""

    ride_id: UUID
    against: Mapping[ViolationCode, int]

    def as_row(self) -> dict[str, Any]:
        """Return it for a JSON column."""
        return {"id": str(self.ride_id), "against": {code.value: count for code, count in self.against.items()}}


@dataclass(frozen=True, slots=True)
class SuggestionPlan:
    """The suggestions, and the rides without one, each in the order of urgency."""

    suggestions: tuple[Suggestion, ...]
    unplaced: tuple[UnplacedRide, ...]


def most_frequent(against: Mapping[ViolationCode, int]) -> list[tuple[ViolationCode, int]]:
    """Return the rules that exclude drivers, with the number of drivers, most frequent first."""
    return sorted(against.items(), key=lambda item: (-item[1], item[0]))


def suggest(
    waiting: Iterable[RideNeeds],
    drivers: Sequence[Available],
    vehicles: Mapping[UUID, VehicleFacts],
    *,
    shared_rides: Mapping[tuple[UUID, UUID], int],
    zones: Mapping[UUID, str],
    at: datetime,
) -> SuggestionPlan:
    """Assign each ride the best driver who violates no rule, in the order of `ranking`.

    `shared_rides` counts earlier rides by rider and driver, `zones` are the time zones of the rides.  Rides are
    assigned in order of their latest pickup.
    """
    day = _Day(drivers, vehicles, shared_rides, at)
    suggestions: list[Suggestion] = []
    unplaced: list[UnplacedRide] = []
    due_first = sorted(waiting, key=lambda ride_needs: (ride_needs.slot.latest_pickup_at, str(ride_needs.slot.ride_id)))
    for needs in due_first:
        result = day.give(needs, zones[needs.slot.ride_id])
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
        at: datetime,
    ) -> None:
        self._drivers = {driver.facts.id: driver for driver in drivers}
        self._vehicles = dict(vehicles)
        self._shared = shared_rides
        self._at = at
        self._known: dict[tuple[UUID, UUID, date], ViolationCode | None] = {}

    def give(self, needs: RideNeeds, zone: str) -> Suggestion | UnplacedRide:
        """Choose a driver and vehicle for one ride, and mark both as occupied by it."""
        against: Counter[ViolationCode] = Counter()
        fitting: list[tuple[tuple[object, ...], Prospect, Available, VehicleFacts]] = []
        for driver in self._drivers.values():
            vehicle_id = _vehicle_at(driver, needs.slot.span.starts_at)
            vehicle = None if vehicle_id is None else self._vehicles.get(vehicle_id)
            if vehicle is None:
                against[ViolationCode.VEHICLE_NOT_SUITABLE] += 1
            elif code := self._first_against(Pairing(needs, driver.facts, vehicle), vehicle.id):
                against[code] += 1
            else:
                prospect = self._prospect(needs, driver, vehicle)
                fitting.append(((*order(prospect, needs), str(driver.facts.id)), prospect, driver, vehicle))
        ride_id = needs.slot.ride_id
        if not fitting:
            return UnplacedRide(ride_id, against)
        _order, prospect, driver, vehicle = min(fitting, key=itemgetter(0))
        self._take(needs.slot, driver, vehicle)
        insertion = prospect.insertion
        is_predicted = insertion.pickup_at is not None
        why = tuple(reasons(prospect, needs, zone=zone, at=self._at))
        return Suggestion(
            ride_id,
            driver.facts.id,
            vehicle.id,
            late_minutes=insertion.late_minutes if is_predicted else None,
            added_drive_minutes=insertion.added_drive_minutes if is_predicted else None,
            reasons=why,
        )

    def _prospect(self, needs: RideNeeds, driver: Available, vehicle: VehicleFacts) -> Prospect:
        return Prospect(
            insertion=insert(needs.slot, driver.now, at=self._at),
            vehicle=vehicle,
            shared_rides=self._shared.get((needs.rider_id, driver.facts.id), 0),
            preferred=driver.facts.id in needs.preferred_driver_ids,
        )

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
        now = replace(driver.now, rides=(*driver.now.rides, RemainingRide(assigned, assigned.span)))
        self._drivers[driver.facts.id] = replace(driver, facts=facts, now=now)
        self._vehicles[vehicle.id] = replace(vehicle, slots=(*vehicle.slots, assigned))


def _vehicle_at(driver: Available, at: datetime) -> UUID | None:
    """Return the vehicle of the driver's shift at `at`, else the driver's default vehicle."""
    on_shift = (shift.vehicle_id for shift in driver.facts.shifts if shift.span.starts_at <= at < shift.span.ends_at)
    return next(on_shift, driver.default_vehicle_id)
