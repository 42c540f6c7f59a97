"""Simulated drivers: each works through the rides that it has, as they are in the database now.

A driver serves one stop after the other in the order of the plan, takes as long as `behavior` says, and reports by the
services that a driver's app uses.  Nothing is stored here: what a driver does next follows from the statuses and times
of the rides, so a ride that a dispatcher has given to another driver is driven by that one.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import UUID

from apps.demo.behavior import RideBehavior, late_start_of
from apps.demo.dice import HOUR, MINUTE, Dice, local
from apps.demo.geography import Spot, bearing, drive_seconds, miles_between
from apps.fleet.models import Driver, VehicleStatus
from apps.fleet.services.positions import Position
from apps.organizations.models import Payer
from apps.rides.models import Milestone, Ride
from apps.rides.queries.ride_needs import loading_minutes, place_of, planned_span_of
from apps.rides.rules.guards import wait_minutes
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.rules.status_report import Place as ReportedPlace
from apps.rides.services import status_report
from lib.access import Principal

_S: Final = RideStatus
_AT_HOME: Final = ("rider_not_at_pickup", "rider_unreachable", "rider_already_left")
_AT_FACILITY: Final = ("not_found_at_facility", "not_ready_wait_exceeded")
EARLY_BOARDING: Final = 8 * MINUTE  # riders are ready that long before the pickup time
BETWEEN_RIDES: Final = 90  # seconds to close the doors and read the next address


def second_of(moment: dt.datetime) -> int:
    return int(moment.timestamp())


def moment_of(second: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, dt.UTC)


def spot_of(stop: Mapping[str, Any]) -> Spot | None:
    place = place_of(stop)
    return None if place is None else Spot("", "", "", place.lat, place.lng)


@dataclass(frozen=True, slots=True)
class Step:
    """What happens next: reported at `at` (seconds since 1970)."""

    at: int
    perform: Callable[[], object]
    ride_id: UUID


@dataclass(slots=True)
class DriverAgent:
    """A driver on the road.  `place` and `since`: the last stop and when it was left; `shift` in seconds, if any.

    `is_absent`: reported out; somebody has to take over the rides under way.
    """

    driver: Driver
    seed: int
    by: Principal
    behavior: Callable[[Ride], RideBehavior]
    place: Spot | None
    since: int
    shift: tuple[int, int] | None = None
    pace: float = 1.0
    is_absent: bool = False
    rides: dict[UUID, Ride] = field(default_factory=dict)
    blocked: dict[UUID, int] = field(default_factory=dict)

    def next_step(self, now: int) -> Step | None:
        """Return the next report of this driver, none of them before `now`; None: nothing to do."""
        if self.is_absent or self._is_stranded():
            return None
        at_pickup = [ride for ride in self.rides.values() if ride.status == _S.ARRIVED]
        if at_pickup:
            return min((self._at_pickup(ride, now) for ride in at_pickup), key=lambda step: step.at)
        for ride in self.rides.values():
            if ride.status == _S.EN_ROUTE:
                return self._approach(ride, now)
        following = self._following_stop()
        if following is None:
            return None
        ride, is_pickup = following
        return self._depart(ride, now) if is_pickup else self._drop_off(ride, now)

    def position(self, now: int) -> Position | None:
        """Return where the driver is now, on the straight line between two stops."""
        if self.place is None:
            return None
        spot, heading = self.place, None
        leg = self._leg_under_way()
        if leg is not None:
            goal, left_at, length = leg
            heading = bearing(spot, goal)
            share = min(1.0, max(0.0, (now - left_at) / max(1, length)))
            spot = Spot("", "", "", spot.lat + (goal.lat - spot.lat) * share, spot.lng + (goal.lng - spot.lng) * share)
        return Position(
            at=moment_of(now),
            lat=_coordinate(spot.lat),
            lng=_coordinate(spot.lng),
            driver_id=self.driver.pk,
            heading=heading,
        )

    def take(self, ride: Ride) -> None:
        """Replace a ride by its new state, and forget it once it has ended."""
        if ride.driver_id == self.driver.pk and ride.status in (_S.ASSIGNED, _S.EN_ROUTE, _S.ARRIVED, _S.IN_PROGRESS):
            self.rides[ride.pk] = ride
        else:
            self.rides.pop(ride.pk, None)

    def _is_stranded(self) -> bool:
        """Return whether the vehicle was taken out of service on the way."""
        underway = [ride for ride in self.rides.values() if ride.status != _S.ASSIGNED]
        return any(ride.vehicle is not None and ride.vehicle.status != VehicleStatus.IN_SERVICE for ride in underway)

    def _following_stop(self) -> tuple[Ride, bool] | None:
        """Return the next stop in the order of the plan, and whether it is a pickup."""
        aboard = [ride for ride in self.rides.values() if ride.status == _S.IN_PROGRESS]
        ahead = [
            ride
            for ride in self.rides.values()
            if ride.status == _S.ASSIGNED and (not ride.will_call or ride.ready_at is not None)
        ]
        first = min(ahead, key=lambda ride: (planned_span_of(ride).starts_at, str(ride.pk)), default=None)
        if not aboard:
            return None if first is None else (first, True)
        drop_off = min(aboard, key=lambda ride: (planned_span_of(ride).ends_at, str(ride.pk)))
        if first is not None:
            span = planned_span_of(first)
            shares = any(span.overlaps(planned_span_of(ride)) for ride in aboard)
            if shares and span.starts_at < planned_span_of(drop_off).ends_at:
                return first, True
        return drop_off, False

    def _length(self, goal: Spot | None, ride: Ride, left_at: int) -> int:
        """Return the seconds of the drive from the last stop to a goal."""
        if goal is None or self.place is None:
            return int(15 * MINUTE * self.pace)
        return max(30, int(drive_seconds(self.place, goal, left_at) * self.behavior(ride).traffic * self.pace))

    def _leg_under_way(self) -> tuple[Spot, int, int] | None:
        for ride in self.rides.values():
            if ride.status == _S.EN_ROUTE and (goal := spot_of(ride.pickup)) is not None:
                left_at = self._left_at(ride)
                return goal, left_at, self._length(goal, ride, left_at)
        if any(ride.status == _S.ARRIVED for ride in self.rides.values()):
            return None
        following = self._following_stop()
        if following is None or following[1] or (goal := spot_of(following[0].dropoff)) is None:
            return None
        return goal, self.since, self._length(goal, following[0], self.since)

    def _left_at(self, ride: Ride) -> int:
        return max(self.since, second_of(ride.departed_at or ride.status_changed_at))

    def _depart(self, ride: Ride, now: int) -> Step:
        behavior, goal = self.behavior(ride), spot_of(ride.pickup)
        is_first = not any(other.status == _S.IN_PROGRESS for other in self.rides.values())
        leaves_at = self.since + int(BETWEEN_RIDES * self.pace if is_first else 0)
        if ride.will_call and ride.ready_at is not None:
            leaves_at = max(leaves_at, second_of(ride.ready_at) + int(2 * MINUTE * self.pace))
        elif self.place is not None and goal is not None:
            due = second_of(ride.pickup_at)
            leaves_at = max(leaves_at, due - int(drive_seconds(self.place, goal, due) * 1.06) - behavior.early)
        if self.shift is not None and is_first:
            starts = self.shift[0]
            leaves_at = max(leaves_at, starts + late_start_of(self.seed, str(self.driver.pk), local(starts).date()))
        if ride.assignment_id is not None:
            leaves_at = max(leaves_at, second_of(ride.status_changed_at) + MINUTE)
        return self._step(ride, leaves_at, now, partial(self._report_departure, ride))

    def _approach(self, ride: Ride, now: int) -> Step:
        behavior, left_at = self.behavior(ride), self._left_at(ride)
        length = self._length(spot_of(ride.pickup), ride, left_at)
        if behavior.outcome == "cancel_en_route":
            return self._step(ride, left_at + length // 2, now, partial(self._report_cancel, ride, "rider_ill"))
        return self._step(ride, left_at + length, now, partial(self._report_arrival, ride))

    def _at_pickup(self, ride: Ride, now: int) -> Step:
        behavior = self.behavior(ride)
        arrived = second_of(ride.arrived_pickup_at or ride.status_changed_at)
        due = second_of(ride.pickup_at)
        if behavior.outcome == "cancel_door":
            report = partial(self._report_cancel, ride, "rider_refused_at_door")
            return self._step(ride, arrived + int(5 * MINUTE * self.pace), now, report)
        promised = ride.promised_pickup_by if ride.will_call else ride.window_ends_at
        in_time = promised is None or arrived <= second_of(promised)
        if behavior.outcome == "no_show" and in_time:
            since = arrived if ride.will_call else max(arrived, due)
            return self._step(
                ride, since + (_wait_minutes(ride) + 2) * MINUTE, now, partial(self._report_no_show, ride)
            )
        ready = arrived if ride.will_call else max(arrived, due - EARLY_BOARDING)
        loading = loading_minutes(ride) * MINUTE * behavior.boarding + behavior.boarding_delay
        boards_at = max(ready, self.since) + int(loading * self.pace)
        if not ride.will_call and not behavior.leaves_early:
            boards_at = max(boards_at, due)
        return self._step(ride, max(boards_at, arrived + 20), now, partial(self._report_boarding, ride))

    def _drop_off(self, ride: Ride, now: int) -> Step:
        goal = spot_of(ride.dropoff)
        reached = self.since + self._length(goal, ride, self.since)
        unloading = int(ride.accommodation.get("unloadMinutes") or 2) * MINUTE * self.behavior(ride).unloading
        done = reached + max(60, int(unloading * self.pace))
        return self._step(ride, done, now, partial(self._report_drop_off, ride, reached))

    def _step(self, ride: Ride, due: int, now: int, report: Callable[[int, int], Ride]) -> Step:
        """Return a step that happens at `due`, or now if it should have happened before; the report may lag."""
        at = max(due + int(self.behavior(ride).lag * self.pace), now, self.blocked.get(ride.pk, 0))
        happened = max(min(due, at), second_of(ride.status_changed_at))
        return Step(at, partial(report, happened, max(at, happened)), ride.pk)

    def _report_departure(self, ride: Ride, due: int, at: int) -> Ride:
        goal = spot_of(ride.pickup)
        length = drive_seconds(self.place, goal, due) * self.pace if self.place is not None and goal is not None else 0
        eta = moment_of(max(at, due + int(length))) if length else None
        return self._report(ride, StatusReport(_S.EN_ROUTE, "driver_app", moment_of(due), eta_pickup=eta), at)

    def _report_arrival(self, ride: Ride, due: int, at: int) -> Ride:
        place = _reported(ride.pickup)
        changed = self._report(ride, StatusReport(_S.ARRIVED, "driver_app", moment_of(due), place), at)
        self._move(spot_of(ride.pickup), due)
        return changed

    def _report_boarding(self, ride: Ride, due: int, at: int) -> Ride:
        report = StatusReport(
            _S.IN_PROGRESS,
            "driver_app",
            moment_of(due),
            _reported(ride.pickup),
            securement_confirmed=True,
            odometer=self._odometer(ride),
            signatures=_signatures(ride, "pickup", due),
        )
        changed = self._report(ride, report, at)
        self._move(spot_of(ride.pickup), due)
        return changed

    def _report_drop_off(self, ride: Ride, reached: int, due: int, at: int) -> Ride:
        start, end = spot_of(ride.pickup), spot_of(ride.dropoff)
        miles = round(miles_between(start, end) * 1.04, 1) if start is not None and end is not None else 3.0
        begun, driver = ride.odometer_start, f"{self.driver.first_name} {self.driver.last_name}"
        boarded = second_of(ride.boarded_at or ride.status_changed_at)
        report = StatusReport(
            _S.COMPLETED,
            "driver_app",
            moment_of(due),
            _reported(ride.dropoff),
            arrived_dropoff_at=moment_of(min(due, max(boarded, reached))),
            odometer=None if begun is None else begun + Decimal(str(miles)),
            loaded_miles=Decimal(str(miles)),
            loaded_miles_source="gps",
            signatures=_signatures(ride, "dropoff", due),
            attestation={"driverName": driver, "at": _text(due), "text": "I drove this leg as recorded."},
            handoff_name="Front desk" if ride.accommodation.get("handoffRequired") else "",
        )
        changed = self._report(ride, report, at)
        self._move(end, due)
        return changed

    def _report_no_show(self, ride: Ride, due: int, at: int) -> Ride:
        dice = Dice(self.seed, "no-show", ride.rider_id, ride.service_date)
        code = dice.choice(_AT_FACILITY if ride.pickup_facility_id is not None else _AT_HOME)
        attempts = (("rider", 4), ("facility", 2)) if ride.service_type in ("hospital_discharge", "dialysis") else (
            ("rider", 3),
        )  # fmt: skip
        calls = tuple(
            MilestoneReport(
                Milestone.Type.CONTACT_ATTEMPT.value,
                moment_of(due - minutes * MINUTE),
                contacted=contacted,
                note="No answer",
            )
            for contacted, minutes in attempts
        )
        report = StatusReport(_S.NO_SHOW, "driver_app", moment_of(due), reason_code=code, milestones=calls)
        changed = self._report(ride, report, at)
        self._move(self.place, due)
        return changed

    def _report_cancel(self, ride: Ride, reason: str, due: int, at: int) -> Ride:
        changed = self._report(ride, StatusReport(_S.CANCELLED, "driver_app", moment_of(due), reason_code=reason), at)
        self._move(self.place, due)
        return changed

    def _report(self, ride: Ride, report: StatusReport, at: int) -> Ride:
        return status_report.change_status(ride_id=ride.pk, report=report, by=self.by, at=moment_of(at))

    def _move(self, place: Spot | None, at: int) -> None:
        self.place, self.since = place or self.place, at

    def _odometer(self, ride: Ride) -> Decimal | None:
        if ride.payer is None or not ride.payer.odometer_required or ride.vehicle is None:
            return None
        driven = (second_of(ride.pickup_at) % (24 * HOUR)) / 240
        return Decimal(ride.vehicle.odometer_miles or 20_000) + Decimal(str(round(driven, 1)))


def _wait_minutes(ride: Ride) -> int:
    owner = ride.facility or ride.pickup_facility
    return wait_minutes(
        facility_minutes=owner.no_show_wait_minutes if owner else None,
        will_call=ride.will_call,
        service_type=ride.service_type,
        at_facility=ride.pickup_facility_id is not None,
    )


def _signatures(ride: Ride, stop: str, at: int) -> tuple[dict[str, Any], ...]:
    """Return the signatures that the payer wants at a stop; about one rider in a hundred forgets."""
    payer: Payer | None = ride.payer
    if payer is None or payer.signature_rule not in (stop, "both"):
        return ()
    forgets = stop == "dropoff" and Dice(0, "signature", ride.rider_id, ride.service_date).hit(0.01)
    signers = [("rider", f"{ride.rider.first_name} {ride.rider.last_name}")] if not forgets else []
    if payer.signers in ("both", "driver") and ride.driver is not None:
        signers.append(("driver", f"{ride.driver.first_name} {ride.driver.last_name}"))
    return tuple({"signer": signer, "stop": stop, "name": name, "at": _text(at)} for signer, name in signers)


def _reported(stop: Mapping[str, Any]) -> ReportedPlace | None:
    spot = spot_of(stop)
    return None if spot is None else ReportedPlace(_coordinate(spot.lat), _coordinate(spot.lng), 12)


def _coordinate(value: float) -> Decimal:
    return Decimal(str(round(value, 6)))


def _text(second: int) -> str:
    return f"{moment_of(second).isoformat()[:19]}Z"
