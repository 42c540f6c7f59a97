"""The demo simulator: plays drivers, facilities and routine dispatch through the services, up to the present.

`play` goes through the time since it last ran, in pieces of a quarter of an hour.  For each piece it reads the open
rides and lets everybody act in order of time.  What is due at 10:03 has happened at 10:03, also when it is played at
10:10 or, after the machine was off, at 14:00: then the hours between are played first, with the exception monitor, so
that the day looks as if the machine had never been off.  Only the time at which an event was recorded is the real one.

Everything follows from the seed, the time at which the demo was loaded and the rides themselves; the simulator stores
only how far it has come.  Whatever a person changes is taken into account: a reassigned ride is driven by its new
driver, and a step that the service refuses is left to people.
"""

import datetime as dt
import heapq
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.roles import UserRole
from apps.demo import accounts, same_day, sick_leave
from apps.demo.behavior import RideBehavior, behavior_of
from apps.demo.desk import (
    ASSIGNED_AHEAD,
    DELAYS_EVERY,
    DelayDesk,
    Dispatch,
    ExceptionDesk,
    RideDesk,
    Staff,
    exceptions_to_close,
    read_dispatch,
)
from apps.demo.dice import MINUTE
from apps.demo.drivers import DriverAgent, Step, moment_of, second_of, spot_of
from apps.demo.geography import Spot
from apps.demo.models import Simulation
from apps.fleet.models import Leave, Shift
from apps.fleet.services import positions
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import OPEN, WITH_DRIVER, RideStatus
from apps.rides.services import exception_monitor
from lib.access import AllScopes, Phi, Principal, system
from lib.errors import DomainError

log = logging.getLogger(__name__)

LOCK: Final = 4_729_321  # of an advisory lock: one process plays at a time
PIECE: Final = dt.timedelta(minutes=15)
BEHIND: Final = dt.timedelta(minutes=5)  # from then on the exception monitor is played too
AHEAD: Final = dt.timedelta(minutes=90)  # rides whose drivers may leave within a piece
_BACK: Final = dt.timedelta(hours=20)
_BLOCKED: Final = 10 * MINUTE  # until a refused step is tried again


class Actor(Protocol):
    def next_step(self, now: int, /) -> Step | None: ...


@dataclass(slots=True)
class World:
    """Everybody who acts in a piece of time."""

    seed: int
    staff: Staff
    dispatch: Dispatch
    agents: dict[UUID, DriverAgent] = field(default_factory=dict)
    desks: dict[UUID, RideDesk] = field(default_factory=dict)
    others: list[ExceptionDesk | DelayDesk] = field(default_factory=list)
    behaviors: dict[UUID, RideBehavior] = field(default_factory=dict)

    def behavior(self, ride: Ride) -> RideBehavior:
        if ride.pk not in self.behaviors:
            key = f"{ride.rider_id}/{ride.service_date}/{ride.leg_sequence}"
            is_return = ride.leg_sequence > 1
            self.behaviors[ride.pk] = behavior_of(self.seed, key, service_type=ride.service_type, is_return=is_return)
        return self.behaviors[ride.pk]

    def actors(self) -> Iterable[Actor]:
        return [*self.agents.values(), *self.desks.values(), *self.others]

    def touched(self, ride_id: UUID) -> list[Actor]:
        """Read a changed ride anew and return who may act because of it."""
        ride = _rides().filter(pk=ride_id).first()
        if ride is None:
            return []
        actors: list[Actor] = []
        for agent in self.agents.values():
            had = ride.pk in agent.rides
            agent.take(ride)
            if had or ride.pk in agent.rides:
                actors.append(agent)
        if (desk := self.desks.get(ride.pk)) is not None:
            desk.ride = ride
            actors.append(desk)
        if ride.status == RideStatus.COMPLETED and ride.trip_id is not None:
            for later in self.desks.values():
                if later.ride.trip_id == ride.trip_id and later.ride.leg_sequence > ride.leg_sequence:
                    later.is_brought, later.brought_at = True, second_of(ride.dropped_off_at or ride.status_changed_at)
                    actors.append(later)
        return actors


def is_behind(*, at: dt.datetime) -> bool:
    """Return whether there are hours to play that the exception monitor has not seen."""
    return Simulation.objects.filter(paused=False, played_until__lt=at - BEHIND).exists()


def play(*, at: dt.datetime) -> int:
    """Play everything up to `at`; return the number of steps.  Does nothing while paused or in another process."""
    steps = 0
    with _exclusive() as is_held:
        simulation = Simulation.objects.filter(paused=False).first() if is_held else None
        while simulation is not None and simulation.played_until < at:
            start, end = simulation.played_until, min(at, simulation.played_until + PIECE)
            steps += play_piece(simulation.seed, start, end, is_last=end == at)
            if at - start > BEHIND:
                exception_monitor.watch(by=system("demo"), at=end)
            Simulation.objects.update(played_until=end)
            simulation = Simulation.objects.filter(paused=False).first()
    return steps


@contextmanager
def _exclusive() -> Iterator[bool]:
    """Hold the simulator's lock, if no other process does.

    A lock of the connection, not of a transaction: each step commits, so that no page waits for a simulated one.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        is_held = bool(cursor.fetchone()[0])
    try:
        yield is_held
    finally:
        if is_held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def play_piece(seed: int, start: dt.datetime, end: dt.datetime, *, is_last: bool = True) -> int:
    """Play one piece of time, in order of time; store the positions at its end if it is the last one."""
    steps = same_day.book(seed, start, end, staff=_staff())
    world = read_world(seed, start, end)
    now, until = second_of(start), second_of(end)
    sick_leave.report(world.dispatch, seed, start, end, by=world.staff.dispatcher)
    actors = dict(enumerate(world.actors()))
    numbers = {id(actor): number for number, actor in actors.items()}
    heap: list[tuple[int, int]] = []

    def schedule(actor: Actor) -> None:
        step = actor.next_step(now)
        if step is not None and step.at <= until:
            heapq.heappush(heap, (step.at, numbers[id(actor)]))

    for actor in actors.values():
        schedule(actor)
    while heap:
        due, number = heapq.heappop(heap)
        now = max(now, due)
        step = actors[number].next_step(now)
        if step is None or step.at > until:
            continue
        if step.at > now:
            schedule(actors[number])
            continue
        steps += _perform(world, step, actors[number], now)
        for other in world.touched(step.ride_id):
            schedule(other)
        schedule(actors[number])
    if is_last:
        _store_positions(world, end)
    return steps


def _perform(world: World, step: Step, actor: Actor, now: int) -> bool:
    try:
        with transaction.atomic():
            step.perform()
    except DomainError as error:
        log.info("step of the demo refused", extra={"ride_id": str(step.ride_id), "code": error.code.value})
    except Exception:  # any error of one ride: the others go on
        log.exception("step of the demo failed", extra={"ride_id": str(step.ride_id)})
    else:
        return True
    if isinstance(actor, DriverAgent):
        actor.blocked[step.ride_id] = now + _BLOCKED
        if step.ride_id in world.desks:
            world.desks[step.ride_id].is_refused = True
    elif isinstance(actor, RideDesk | ExceptionDesk):
        actor.not_before = now + _BLOCKED
    return False


def read_world(seed: int, start: dt.datetime, end: dt.datetime) -> World:
    """Read the open rides around a piece of time and who acts on them."""
    staff = _staff()
    world = World(seed, staff, read_dispatch(staff.dispatcher, start, end))
    pace = 1 / settings.DEMO_SPEED
    rides = list(
        _rides().filter(status__in=sorted(OPEN), pickup_at__gt=start - _BACK, pickup_at__lte=end + AHEAD).order_by("pk")
    )
    unassigned = (
        _rides()
        .filter(
            status__in=[RideStatus.REQUESTED, RideStatus.SCHEDULED],
            pickup_at__gt=end + AHEAD,
            pickup_at__lte=end + dt.timedelta(seconds=max(ASSIGNED_AHEAD.values())),
        )
        .exclude(will_call=True, ready_at=None)
    )
    stops = _last_stops(start)
    absences = Leave.objects.exclude(absence="").filter(starts_at__lt=end, ends_at__gt=start)
    absent = set(absences.values_list("driver_id", flat=True))
    for driver_id, driver in world.dispatch.drivers.items():
        shift = _shift_at(world.dispatch.shifts.get(driver_id, []), end)
        base = driver.home_base
        place, since = stops.get(driver_id, (None, 0))
        if place is None and base is not None and base.lat is not None and base.lng is not None:
            place = Spot("", "", "", float(base.lat), float(base.lng))
        since = max(since, 0 if shift is None else shift[0])
        agent = DriverAgent(driver, seed, staff.drivers, world.behavior, place, since, shift, pace, driver_id in absent)
        world.agents[driver_id] = agent
    brought = _brought([ride for ride in rides if ride.will_call and ride.ready_at is None])
    for ride in [*rides, *unassigned]:
        if ride.status in WITH_DRIVER and ride.driver_id in world.agents:
            world.agents[ride.driver_id].take(ride)
        if ride.status in (RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED):
            is_brought, brought_at = brought.get(ride.pk, (True, None))
            world.desks[ride.pk] = RideDesk(
                ride, staff, world.behavior(ride), brought_at, is_brought, world.dispatch, pace
            )
    first_mark = -(-second_of(start) // DELAYS_EVERY) * DELAYS_EVERY
    world.others = [ExceptionDesk(exception, staff, seed) for exception in exceptions_to_close(end)]
    world.others.append(DelayDesk(world.dispatch, first_mark))
    return world


def _rides() -> Any:
    return Ride.objects.select_related("rider", "payer", "driver", "vehicle", "facility", "pickup_facility")


def _shift_at(shifts: list[Shift], end: dt.datetime) -> tuple[int, int] | None:
    """Return the latest shift that has begun, or will begin within the hours that drivers prepare for."""
    begun = [shift for shift in shifts if shift.starts_at <= end + AHEAD]
    return (second_of(begun[-1].starts_at), second_of(begun[-1].ends_at)) if begun else None


def _last_stops(start: dt.datetime) -> dict[UUID, tuple[Spot | None, int]]:
    """Return the last stop of each driver and when it was left or reached."""
    rides = Ride.objects.filter(pickup_at__gt=start - _BACK, pickup_at__lt=start + _BACK)
    rides = rides.filter(arrived_pickup_at__isnull=False, driver__isnull=False)
    stops: dict[UUID, tuple[Spot | None, int]] = {}
    columns = "driver_id", "pickup", "dropoff", "arrived_pickup_at", "boarded_at", "dropped_off_at", "status"
    for ride in rides.only(*columns, "status_changed_at"):
        ended = ride.status_changed_at if ride.status not in OPEN else None
        left = ride.dropped_off_at or ended or ride.boarded_at or ride.arrived_pickup_at
        if ride.driver_id is None or left is None:
            continue
        stop = ride.dropoff if ride.dropped_off_at is not None else ride.pickup
        if second_of(left) > stops.get(ride.driver_id, (None, 0))[1]:
            stops[ride.driver_id] = (spot_of(stop), second_of(left))
    return stops


def _brought(waiting: list[Ride]) -> dict[UUID, tuple[bool, int | None]]:
    """Return for will-call rides whether an earlier leg has brought the rider, and when."""
    trips = {ride.trip_id: ride for ride in waiting if ride.trip_id is not None and ride.leg_sequence > 1}
    earlier = Ride.objects.filter(trip_id__in=list(trips)).order_by("leg_sequence")
    brought: dict[UUID, tuple[bool, int | None]] = {}
    for leg in earlier.values_list("trip_id", "leg_sequence", "status", "dropped_off_at"):
        ride = trips[leg[0]]
        if leg[1] < ride.leg_sequence:
            brought[ride.pk] = (leg[2] == RideStatus.COMPLETED, second_of(leg[3]) if leg[3] is not None else None)
    return brought


def _staff() -> Staff:
    """Return the people and systems that the loaded rides name in their events."""
    tokens = dict(ApiToken.objects.filter(client__name__in=accounts.SYSTEMS).values_list("client__name", "pk"))
    dispatcher_id = (
        User.objects.filter(email=accounts.email_of(UserRole.DISPATCHER)).values_list("pk", flat=True).first()
    )
    ehr, app = (_principal("token", tokens.get(name)) for name in accounts.SYSTEMS)
    return Staff(_principal("user", dispatcher_id), dispatcher_id, ehr, app)


def _principal(kind: Any, id_: UUID | None) -> Principal:
    if id_ is None:
        return system("demo")
    return Principal(kind=kind, id=id_, role="demo", scopes=AllScopes(), phi=Phi.FULL)


def _store_positions(world: World, end: dt.datetime) -> None:
    now = second_of(end)
    on_road = [
        agent
        for agent in world.agents.values()
        if not agent.is_absent and (agent.rides or (agent.shift and agent.shift[0] <= now < agent.shift[1]))
    ]
    reported = [position for agent in on_road if (position := agent.position(now)) is not None]
    if reported:
        positions.store(positions=reported, by=world.staff.drivers, at=moment_of(now))
