"""Simulated people beside the drivers: facilities that release riders, and dispatchers who do routine work.

Dispatchers confirm requests, assign rides without a driver after some minutes, and close what only a person closes.
They leave an exception alone that somebody else has taken on.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from uuid import UUID

from apps.demo.behavior import RideBehavior
from apps.demo.dice import HOUR, MINUTE, Dice
from apps.demo.drivers import Step, moment_of, second_of
from apps.fleet.models import Driver, Shift, VehicleStatus
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.queries.candidates import candidates
from apps.rides.queries.driver_timelines import driver_timelines, drivers_now
from apps.rides.queries.ride_needs import slot_of
from apps.rides.rules.driver_timeline import DriverNow, insert
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.facts import RideSlot, Span
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import assignment, exceptions, status_report, will_call
from apps.rides.services.eligibility_checks import AssignmentRejected
from lib.access import Principal

_S: Final = RideStatus
DRIVERS_TRIED: Final = 3
GIVEN_UP_AFTER: Final = 50 * MINUTE  # past the promised time without a driver
# Rides are assigned days ahead, those to dialysis earlier; as `PLANNED_DAYS_AHEAD` of apps/demo/plot.py.
ASSIGNED_AHEAD: Final = {False: 60 * HOUR, True: 84 * HOUR}
SOON: Final = 20 * HOUR  # from then on a ride without a driver is worked on
TAKEN_BACK_BEFORE: Final = HOUR  # from a driver whose vehicle is out of service
DELAYS_EVERY: Final = 10 * MINUTE
DELAYS_WITHIN: Final = HOUR
WORTH_REASSIGNING: Final = 5  # minutes past the promise
CHOSEN_FOR: Final = 12 * HOUR  # a driver whom a person has chosen
NO_RIDE: Final = UUID(int=0)
AGAIN_AFTER: Final = {False: 2 * HOUR, True: 8 * MINUTE}  # until dispatchers look for a driver again; True: soon
# Exceptions that a dispatcher closes after a while; the others end by themselves.
_CLOSED_BY_HAND: Final = frozenset(
    {
        ExceptionType.RIDER_NO_SHOW,
        ExceptionType.RIDE_UNFULFILLED,
        ExceptionType.VEHICLE_BREAKDOWN,
        ExceptionType.MEDICAL_EMERGENCY,
        ExceptionType.MISSING_DOCUMENTATION,
        ExceptionType.MILESTONE_GAP,
        ExceptionType.ADDRESS_PROBLEM,
        ExceptionType.DUPLICATE_RIDE,
    }
)


@dataclass(frozen=True, slots=True)
class Staff:
    """Who acts in the events: dispatcher, facilities and drivers."""

    dispatcher: Principal
    dispatcher_id: UUID | None
    facilities: Principal
    drivers: Principal


@dataclass(slots=True)
class RideDesk:
    """What facility and dispatchers do with one ride that no driver has begun."""

    ride: Ride
    staff: Staff
    behavior: RideBehavior
    brought_at: int | None  # when the rider came to the place of the pickup; None: by other means, or not yet
    is_brought: bool
    dispatch: "Dispatch"
    pace: float = 1.0
    not_before: int = 0
    is_refused: bool = False  # the driver is not allowed to leave

    def next_step(self, now: int) -> Step | None:
        ride, behavior = self.ride, self.behavior
        if ride.status == _S.REQUESTED:
            return self._step(second_of(ride.requested_at) + behavior.answer, now, self._confirm)
        if ride.status not in (_S.SCHEDULED, _S.ASSIGNED):
            return None
        if behavior.outcome == "cancel_same_day" and not ride.will_call:
            due = second_of(ride.pickup_at) - behavior.cancelled_before
            if now <= second_of(ride.pickup_at):
                return self._step(max(due, second_of(ride.requested_at) + 10 * MINUTE), now, self._cancel)
        if ride.will_call and ride.ready_at is None:
            return self._step(self._ready_at(), now, self._release) if self.is_brought else None
        if ride.status == _S.ASSIGNED:
            if not self._has_vehicle():
                return self._step(second_of(ride.pickup_at) - TAKEN_BACK_BEFORE, now, self._take_back)
            return self._step(now, now, self._take_back) if self.is_refused else None
        begun = second_of(ride.status_changed_at if ride.ready_at is None else ride.ready_at)
        due = begun + min(behavior.answer, 6 * MINUTE if ride.will_call else behavior.answer)
        pickup_at = second_of(ride.pickup_at)
        due = max(due, pickup_at - ASSIGNED_AHEAD[ride.service_type == "dialysis"])
        if now >= pickup_at - SOON:
            due = max(due, pickup_at - SOON)
        # Looks again at fixed times, so that it makes no difference how often the simulator runs.
        again = AGAIN_AFTER[now >= pickup_at - SOON]
        tries = max(0, math.ceil((now - due) / again))
        return self._step(due + tries * again, now, self._assign)

    def _has_vehicle(self) -> bool:
        return self.ride.vehicle is None or self.ride.vehicle.status == VehicleStatus.IN_SERVICE

    def _ready_at(self) -> int:
        due = second_of(self.ride.pickup_at) + int(self.behavior.ready_delay * self.pace)
        return due if self.brought_at is None else max(due, self.brought_at + int(20 * MINUTE * self.pace))

    def _step(self, due: int, now: int, act: Callable[[int, int], Ride | None]) -> Step:
        at = max(due, now, self.not_before)
        return Step(at, partial(act, max(min(due, at), second_of(self.ride.requested_at)), at), self.ride.pk)

    def _confirm(self, due: int, at: int) -> Ride:
        return self._change(StatusReport(_S.SCHEDULED, "dispatcher_manual"), self.staff.dispatcher, at)

    def _cancel(self, due: int, at: int) -> Ride:
        reason = "discharge_cancelled" if self.ride.service_type == "hospital_discharge" else "rider_request"
        return self._change(StatusReport(_S.CANCELLED, "integration", reason_code=reason), self.staff.facilities, at)

    def _change(self, report: StatusReport, by: Principal, at: int) -> Ride:
        return status_report.change_status(ride_id=self.ride.pk, report=report, by=by, at=moment_of(at))

    def _release(self, due: int, at: int) -> Ride:
        source = Dice(0, "release", self.ride.rider_id, self.ride.service_date).choice(("facility_portal", "api"))
        return will_call.mark_ready(
            ride_id=self.ride.pk,
            ready_at=moment_of(due),
            ready_source=source,
            override=True,
            override_reason="Confirmed by phone",
            by=self.staff.facilities,
            at=moment_of(at),
        )

    def _take_back(self, due: int, at: int) -> Ride:
        self.is_refused, self.not_before = False, at + MINUTE
        return assignment.unassign(
            ride_id=self.ride.pk, reason_code="replanned", by=self.staff.dispatcher, at=moment_of(at)
        )

    def _assign(self, due: int, at: int) -> Ride | None:
        self.not_before = at + 1
        promised = self.ride.promised_pickup_by or self.ride.window_ends_at
        if self.dispatch.assign(self.ride, at):
            return Ride.objects.get(pk=self.ride.pk)
        if at < second_of(promised) + GIVEN_UP_AFTER:
            return None
        report = StatusReport(_S.UNFULFILLED, "dispatcher_manual", reason_code="no_driver_available")
        return self._change(report, self.staff.dispatcher, at)


@dataclass(slots=True)
class ExceptionDesk:
    """How a dispatcher closes one exception: some minutes after it was opened."""

    exception: RideException
    staff: Staff
    seed: int
    not_before: int = 0
    is_closed: bool = False

    def next_step(self, now: int) -> Step | None:
        exception = self.exception
        taken = exception.owner_id is not None and exception.owner_id != self.staff.dispatcher_id
        if self.is_closed or taken or exception.ride_id is None:
            return None
        minutes = Dice(self.seed, "closing", exception.ride_id, exception.type).randrange(8, 45)
        at = max(second_of(exception.opened_at) + minutes * MINUTE, now, self.not_before)
        return Step(at, partial(self._close, at), exception.ride_id)

    def _close(self, at: int) -> None:
        self.is_closed = True
        by, moment = self.staff.dispatcher, moment_of(at)
        ride_id = self.exception.ride_id
        if self.exception.type == ExceptionType.RETURN_LEG_AT_RISK and ride_id is not None:
            # Riders who did not go need no ride back; the end of the ride closes the exception.
            report = StatusReport(_S.CANCELLED, "dispatcher_manual", reason_code="rider_request")
            status_report.change_status(ride_id=ride_id, report=report, by=by, at=moment)
        code = ResolutionCode.HANDLED_ELSEWHERE
        if RideException.objects.unsettled().filter(pk=self.exception.pk).exists():
            exceptions.resolve(exception_id=self.exception.pk, code=code, by=by, at=moment)


def exceptions_to_close(at: dt.datetime) -> list[RideException]:
    """Read the open exceptions of rides that a dispatcher closes."""
    types = [*sorted(_CLOSED_BY_HAND), ExceptionType.RETURN_LEG_AT_RISK]
    return list(RideException.objects.unsettled().filter(type__in=types, ride__isnull=False, opened_at__lte=at))


@dataclass(slots=True)
class DelayDesk:
    """How dispatchers keep promises: every ten minutes they give rides of delayed drivers to others who come sooner.

    `mark` is the next time, in seconds since 1970; `late_ids` are the rides that are left of the last one.
    """

    dispatch: "Dispatch"
    mark: int
    late_ids: list[UUID] = field(default_factory=list)

    def next_step(self, now: int) -> Step:
        if self.late_ids:
            return Step(now, partial(self._reassign, self.late_ids[0], now), self.late_ids[0])
        return Step(max(self.mark, now), partial(self._look, max(self.mark, now)), NO_RIDE)

    def _look(self, at: int) -> None:
        self.mark += DELAYS_EVERY
        self.late_ids = self.dispatch.late_rides(at)

    def _reassign(self, ride_id: UUID, at: int) -> None:
        self.late_ids.remove(ride_id)
        ride = Ride.objects.select_related("rider").get(pk=ride_id)
        if ride.status == _S.ASSIGNED:
            self.dispatch.assign(ride, at)


@dataclass(slots=True)
class Dispatch:
    """Finds drivers for rides by the prediction that pages use."""

    by: Principal
    shifts: Mapping[UUID, list[Shift]]
    drivers: Mapping[UUID, Driver]
    attendants: Mapping[UUID, list[Driver]]  # by provider

    def late_rides(self, second: int) -> list[UUID]:
        """Return the rides of the next hour whose driver is predicted to break the promise.

        A driver whom a person has just chosen is left alone.
        """
        at = moment_of(second)
        until = at + dt.timedelta(seconds=DELAYS_WITHIN)
        timelines = driver_timelines(list(self.drivers), at=at, until=until)
        late = {
            ride.ride_id: ride.late_minutes
            for timeline in timelines.values()
            for ride in timeline.rides
            if ride.late_minutes >= WORTH_REASSIGNING and ride.earliest_pickup_at is not None
        }
        chosen = Assignment.objects.filter(ride_id__in=late, status=Assignment.Status.ACCEPTED)
        chosen = chosen.filter(method=Assignment.Method.MANUAL, offered_at__gt=at - dt.timedelta(seconds=CHOSEN_FOR))
        for ride_id in chosen.values_list("ride_id", flat=True):
            del late[ride_id]
        return sorted(late, key=lambda ride_id: (-late[ride_id], str(ride_id)))

    def assign(self, ride: Ride, second: int) -> bool:
        """Assign the driver who comes soonest among those whom the checks allow; return whether there is one.

        A ride that has a driver stays with that driver if nobody comes sooner.
        """
        at = moment_of(second)
        for driver_id, vehicle_id, attendant_ids in self._ranked(ride, at)[:DRIVERS_TRIED]:
            if driver_id == ride.driver_id:
                return False
            try:
                assignment.assign(
                    ride_id=ride.pk,
                    driver_id=driver_id,
                    vehicle_id=vehicle_id,
                    attendant_ids=attendant_ids,
                    method=Assignment.Method.AUTO,
                    by=self.by,
                    at=at,
                )
            except AssignmentRejected:
                continue
            return True
        return False

    def _ranked(self, ride: Ride, at: dt.datetime) -> list[tuple[UUID, UUID, list[UUID]]]:
        """Return driver, vehicle and attendants whom the checks allow, the soonest and least delayed first."""
        vehicles = {
            row.driver_id: row.vehicle_id
            for row in candidates(ride_id=ride.pk, by=self.by, at=at)
            if row.vehicle_id is not None and not row.violations and row.driver_id in self.shifts
        }
        slot = slot_of(ride, at=at)
        with_second = _needs_second_person(ride)
        if slot.span.starts_at > at + dt.timedelta(seconds=SOON):
            # The plan of later days: candidates are sorted by it already.
            return [(id_, vehicle_id, self._crew(id_) if with_second else []) for id_, vehicle_id in vehicles.items()]
        drivers = [self.drivers[driver_id] for driver_id in vehicles]
        duty = {id_: [Span(shift.starts_at, shift.ends_at) for shift in self.shifts[id_]] for id_ in vehicles}
        until = max(at, slot.span.starts_at) + dt.timedelta(hours=3)
        present = drivers_now(drivers, duty, {}, at=at, until=until)
        if ride.driver_id in present:
            now = present[ride.driver_id]
            rest = tuple(other for other in now.rides if other.slot.ride_id != ride.pk)
            present[ride.driver_id] = replace(now, rides=rest)
        ranked = sorted(present, key=lambda driver_id: self._cost(slot, present[driver_id], str(driver_id), at))
        return [(id_, vehicles[id_], self._crew(id_) if with_second else []) for id_ in ranked]

    def _cost(self, slot: RideSlot, driver: DriverNow, driver_id: str, at: dt.datetime) -> tuple[int, float, str]:
        insertion = insert(slot, driver, at=at)
        broken = sum(delay.breaks_promise for delay in insertion.delays)
        late = insertion.late_minutes + sum(delay.minutes for delay in insertion.delays if delay.breaks_promise)
        return broken, late * 4 + insertion.added_drive_minutes + len(driver.rides), driver_id

    def _crew(self, driver_id: UUID) -> list[UUID]:
        provider_id = self.drivers[driver_id].provider_id
        return [driver.pk for driver in self.attendants.get(provider_id, [])[:1]]


def read_dispatch(by: Principal, start: dt.datetime, end: dt.datetime) -> Dispatch:
    """Read the shifts and drivers of a period.  Two queries."""
    shifts: dict[UUID, list[Shift]] = {}
    until = end + dt.timedelta(seconds=max(ASSIGNED_AHEAD.values())) + dt.timedelta(hours=8)
    rows = Shift.objects.filter(status=Shift.Status.PLANNED, starts_at__lt=until, ends_at__gt=start)
    for shift in rows.order_by("starts_at"):
        shifts.setdefault(shift.driver_id, []).append(shift)
    drivers = {driver.pk: driver for driver in Driver.objects.filter(activation="active").select_related("home_base")}
    attendants: dict[UUID, list[Driver]] = {}
    for driver in drivers.values():
        if driver.default_vehicle_id is None:
            attendants.setdefault(driver.provider_id, []).append(driver)
    known = {driver_id: rows for driver_id, rows in shifts.items() if driver_id in drivers}
    return Dispatch(by, known, drivers, attendants)


def _needs_second_person(ride: Ride) -> bool:
    stairs = ride.accommodation.get("stairs") or {}
    return bool(ride.spaces_stretcher or ride.accommodation.get("bariatric") or stairs.get("secondPerson"))
