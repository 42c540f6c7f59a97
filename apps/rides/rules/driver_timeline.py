"""When a driver is free, and where: the remaining stops of one driver, predicted from the present moment.

Every time that Carelane predicts comes from `predict`: the driver's next free moment, arrivals at pickups, delays of
promises, and the effect of one more ride.  It takes the rides that a driver still has to serve and where the driver
is, and walks from stop to stop:

- The walk starts now, never at a planned time.  A driver who should have left at 08:40 and has not reported leaves now.
- Riders on board are taken to their destination first, unless a pickup was planned on the way and is not overdue.
- A driver who comes early boards the rider before the planned time, as far as the rider is ready, and leaves the pickup
  at the planned time.  Boarding and leaving take as long as the rider's needs ask for.
- A drive to the next pickup does not start during leave or a break, nor before the shift.
  Leave or a break that begins on the way prolongs it.
- A reported arrival time replaces the computed one, as long as it lies ahead.

Without a known location the first drive has no length: `pickup_at` is None, and `earliest_pickup_at` is the time that
the driver cannot beat.  The same holds for every later stop of that walk.

Pure: no query, no clock.  Instants are aware, lengths are in minutes unless the name says otherwise.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import Final
from uuid import UUID

from apps.rides.rules.facts import RideSlot, Span
from lib.messages import Text
from lib.travel.places import Place
from lib.travel.times import Drive, drive_between

_MINUTE: Final = dt.timedelta(minutes=1)
# A reported position counts for so long; a vehicle in town is elsewhere after that.
POSITION_GOOD_FOR: Final = dt.timedelta(minutes=5)
# So long before the planned time a rider is ready to board a vehicle that waits; an assumption.  The vehicle leaves at
# the planned time all the same: "shall not leave the pick-up location prior to the pre-scheduled pick-up time" (Ohio
# Department of Medicaid, managed care provider agreements).
READY_BEFORE: Final = dt.timedelta(minutes=5)


class LocationSource(StrEnum):
    POSITION = "position"
    LAST_STOP = "last_stop"
    HOME_BASE = "home_base"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a driver is, as far as it is known.  `label` names the stop or home base, never a rider."""

    place: Place | None
    source: LocationSource
    label: Text = ""


UNKNOWN_LOCATION: Final = Location(None, LocationSource.UNKNOWN)


class Phase(StrEnum):
    """How far a driver has come with a ride."""

    AHEAD = "ahead"
    EN_ROUTE = "en_route"
    AT_PICKUP = "at_pickup"
    ON_BOARD = "on_board"


@dataclass(frozen=True, slots=True)
class RemainingRide:
    """A ride that the driver still has to serve.

    `slot` goes by what has happened, `planned` by the plan.  `eta_at`: the arrival at the pickup that was reported.
    `may_share`: stops of other rides that overlap in the plan may come between its pickup and its drop-off.
    `dropoff_label` names the place, never a rider.
    """

    slot: RideSlot
    planned: Span
    phase: Phase = Phase.AHEAD
    eta_at: dt.datetime | None = None
    may_share: bool = True
    dropoff_label: str = ""
    life_sustaining: bool = False


@dataclass(frozen=True, slots=True)
class PredictedRide:
    """The predicted times of a ride, none of them before now.

    The pickup times are arrivals of the vehicle, and None for a ride whose pickup the driver has reached.
    `boarded_at` is when the vehicle leaves the pickup with the rider, None for a rider on board.  `dropoff_at` is the
    end of the ride, when the rider has got out; `earliest_dropoff_at` the arrival before, which the driver cannot beat.
    """

    ride_id: UUID
    pickup_at: dt.datetime | None
    earliest_pickup_at: dt.datetime | None
    dropoff_at: dt.datetime | None
    late_minutes: int
    earliest_dropoff_at: dt.datetime | None = None
    boarded_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A driver's remaining day.

    `available_at` is when the last ride is over, or now; None if the shift is over by then, or if the location is not
    known and rides remain.
    """

    location: Location
    on_board: tuple[UUID, ...]
    current_ride_id: UUID | None
    rides: tuple[PredictedRide, ...]
    available_at: dt.datetime | None
    available_from: Place | None
    drive_minutes: float

    def ride(self, ride_id: UUID) -> PredictedRide:
        return next(ride for ride in self.rides if ride.ride_id == ride_id)


@dataclass(frozen=True, slots=True)
class Delay:
    """A ride that one more ride delays, and whether that breaks its promise.

    `ride_id` is None where the reader may not see the ride.
    """

    ride_id: UUID | None
    minutes: int
    breaks_promise: bool
    life_sustaining: bool = False


@dataclass(frozen=True, slots=True)
class Insertion:
    """What one more ride means for a driver.

    `available_at` and `available_from`: when and where the driver is free to drive to it; `approach`: that drive, if
    both ends are known.  `on_board`: the driver comes from the drop-off of a rider who is on board now.
    `pickup_at` is None if it cannot be predicted; the other figures are lower bounds then.
    """

    available_at: dt.datetime
    available_from: Location
    approach: Drive | None
    on_board: bool
    pickup_at: dt.datetime | None
    late_minutes: int
    added_drive_minutes: float
    delays: tuple[Delay, ...]


@dataclass(frozen=True, slots=True)
class DriverNow:
    """A driver at the present moment.

    `duty`: the planned shifts, empty if the driver does not work in shifts.  `away`: leave and breaks.
    """

    location: Location
    rides: tuple[RemainingRide, ...] = ()
    duty: tuple[Span, ...] = ()
    away: tuple[Span, ...] = ()


def predict(driver: DriverNow, *, at: dt.datetime) -> Timeline:
    """Walk through the remaining stops of a driver from `at`."""
    walk = _Walk(driver, at)
    for stop in _stops(driver.rides):
        walk.visit(stop)
    walk.depart()
    underway = [ride for ride in driver.rides if ride.phase is not Phase.AHEAD]
    return Timeline(
        location=driver.location,
        on_board=tuple(ride.slot.ride_id for ride in underway if ride.phase is Phase.ON_BOARD),
        current_ride_id=underway[0].slot.ride_id if underway else None,
        rides=tuple(_predicted(ride, walk) for ride in driver.rides),
        available_at=walk.now if walk.is_on_duty and (walk.is_located or not driver.rides) else None,
        available_from=walk.place,
        drive_minutes=walk.drive_minutes,
    )


def insert(slot: RideSlot, driver: DriverNow, *, at: dt.datetime) -> Insertion:
    """Predict what one more ride would mean: when the driver would reach it, and which rides it delays."""
    ride = RemainingRide(slot, slot.span, may_share=False)
    stops, longer = _stops(driver.rides), _stops((*driver.rides, ride))
    position = next(number for number, stop in enumerate(longer) if stop.ride is ride)
    differ = (number for number, pair in enumerate(zip(stops, longer, strict=False)) if not pair[0].is_same(pair[1]))
    common = next(differ, len(stops))
    before = _Walk(driver, at)
    for stop in stops[:common]:
        before.visit(stop)
    after = before.fork()
    for stop in stops[common:]:
        before.visit(stop)
    for stop in longer[common:]:
        after.visit(stop)
    predicted = _predicted(ride, after)
    available_at, place = after.departures[slot.ride_id]
    available_from = driver.location
    if position:
        available_from = Location(place, LocationSource.LAST_STOP, longer[position - 1].ride.dropoff_label)
    return Insertion(
        available_at=available_at,
        available_from=available_from,
        approach=drive_between(place, slot.pickup, depart_at=available_at),
        on_board=bool(position) and all(stop.ride.phase is Phase.ON_BOARD for stop in longer[:position]),
        pickup_at=predicted.pickup_at,
        late_minutes=predicted.late_minutes,
        added_drive_minutes=round(after.drive_minutes - before.drive_minutes, 1),
        delays=tuple(_delays([stop.ride for stop in stops[common:] if stop.is_pickup], before, after)),
    )


def _delays(rides: Iterable[RemainingRide], before: "_Walk", after: "_Walk") -> Iterable[Delay]:
    for ride in rides:
        ride_id = ride.slot.ride_id
        if ride_id not in before.arrivals or ride_id not in after.arrivals:
            continue
        earliest_at, later_at = before.arrivals[ride_id][1], after.arrivals[ride_id][1]
        minutes = math.ceil((later_at - earliest_at) / _MINUTE)
        if minutes > 0:
            breaks_promise = later_at > ride.slot.latest_pickup_at >= earliest_at
            yield Delay(ride_id, minutes, breaks_promise, life_sustaining=ride.life_sustaining)


@dataclass(frozen=True, slots=True)
class _Stop:
    ride: RemainingRide
    is_pickup: bool

    def is_same(self, other: "_Stop") -> bool:
        return self.ride is other.ride and self.is_pickup is other.is_pickup


def _stops(rides: Sequence[RemainingRide]) -> list[_Stop]:
    """List the remaining stops in the order in which the driver serves them.

    Rides under way come first, however long another one is overdue, together with the rides that share the vehicle with
    them in the plan; the others follow by their planned start.
    """
    underway = [ride for ride in rides if ride.phase is not Phase.AHEAD]
    runs: list[list[RemainingRide]] = [[]]
    ahead: list[RemainingRide] = []
    for ride in rides:
        is_first = ride.phase is not Phase.AHEAD or _shares(ride, underway)
        (runs[0] if is_first else ahead).append(ride)
    for ride in sorted(ahead, key=lambda ride: (ride.planned.starts_at, ride.slot.ride_id)):
        if len(runs) > 1 and _shares(ride, runs[-1]):
            runs[-1].append(ride)
        else:
            runs.append([ride])
    return [stop for run in runs for stop in _stops_of_run(run)]


def _shares(ride: RemainingRide, run: Iterable[RemainingRide]) -> bool:
    return ride.may_share and any(other.may_share and ride.planned.overlaps(other.planned) for other in run)


def _stops_of_run(run: Sequence[RemainingRide]) -> list[_Stop]:
    """Order the stops of rides that share the vehicle by their planned times."""
    if len(run) == 1 and run[0].phase is not Phase.ON_BOARD:
        return [_Stop(run[0], is_pickup=True), _Stop(run[0], is_pickup=False)]
    stops = []
    for ride in run:
        if ride.phase is not Phase.ON_BOARD:
            stops.append(((_RANKS[ride.phase], ride.planned.starts_at, True), _Stop(ride, is_pickup=True)))
        stops.append(((_LAST_RANK, ride.planned.ends_at, False), _Stop(ride, is_pickup=False)))
    return [stop for _key, stop in sorted(stops, key=itemgetter(0))]


# The driver finishes the pickup that has begun, then drives to the one that was announced.
_LAST_RANK: Final = 2
_RANKS: Final = {Phase.AT_PICKUP: 0, Phase.EN_ROUTE: 1, Phase.AHEAD: _LAST_RANK}


class _Walk:
    """A driver on the way from stop to stop: the time, the place, and the times of the stops so far."""

    def __init__(self, driver: DriverNow, at: dt.datetime) -> None:
        self.now, self.place = at, driver.location.place
        self.is_located = self.place is not None
        self.drive_minutes = 0.0
        self.arrivals: dict[UUID, tuple[dt.datetime | None, dt.datetime]] = {}  # predicted, earliest
        self.boardings: dict[UUID, dt.datetime | None] = {}
        self.dropoffs: dict[UUID, dt.datetime | None] = {}
        self.reached: dict[UUID, dt.datetime] = {}  # arrivals at drop-offs, the earliest possible
        self.departures: dict[UUID, tuple[dt.datetime, Place | None]] = {}  # from where to each pickup ahead
        self._at, self._driver = at, driver
        self._away = sorted(driver.away, key=lambda span: span.starts_at)
        self._boarded: UUID | None = None  # the ride whose pickup was the stop before
        self._knows_place = driver.location.source is LocationSource.POSITION
        self._on_board = sum(ride.phase is Phase.ON_BOARD for ride in driver.rides)

    def fork(self) -> "_Walk":
        """Return a walk that goes on from here by itself."""
        other = copy(self)
        other.arrivals, other.dropoffs = dict(self.arrivals), dict(self.dropoffs)
        other.departures, other.reached = dict(self.departures), dict(self.reached)
        other.boardings = dict(self.boardings)
        return other

    @property
    def is_on_duty(self) -> bool:
        return not self._driver.duty or any(span.starts_at <= self.now < span.ends_at for span in self._driver.duty)

    def visit(self, stop: _Stop) -> None:
        if stop.is_pickup:
            self._pick_up(stop.ride)
        else:
            self._drop_off(stop.ride)

    def depart(self, *, by: dt.datetime | None = None) -> None:
        """Wait until the driver is on duty and present, unless riders are on board.

        A ride that is assigned outside of the shifts does not wait for one that starts after `by`.
        """
        if self._on_board:
            return
        if not self.is_on_duty:
            starts = (span.starts_at for span in self._driver.duty if span.starts_at > self.now)
            self.now = min((start for start in starts if by is None or start <= by), default=self.now)
        for span in self._away:
            if span.starts_at <= self.now < span.ends_at:
                self.now = span.ends_at

    def _pick_up(self, ride: RemainingRide) -> None:
        slot = ride.slot
        if ride.phase is not Phase.AT_PICKUP:
            self.now = self._reach_pickup(ride)
        else:
            self.is_located = True
        self.now = max(self.now + slot.load_minutes * _MINUTE, ride.planned.starts_at)
        self.boardings[slot.ride_id] = self.now if self.is_located else None
        self._boarded = slot.ride_id
        self._on_board += 1
        self._arrived(slot.pickup)

    def _reach_pickup(self, ride: RemainingRide) -> dt.datetime:
        """Drive to a pickup, and return when the rider begins to board."""
        slot = ride.slot
        if ride.phase is Phase.AHEAD:
            self.depart(by=max(slot.span.starts_at, self._at))
            self.departures[slot.ride_id] = (self.now, self.place)
        drive = self._drive(slot.pickup)
        if ride.phase is Phase.AHEAD and not self._on_board:
            drive += self._time_away(drive)
        there_at = self.now + drive
        arrives_at = max(there_at, slot.span.starts_at)
        if ride.eta_at is not None and ride.eta_at >= self._at:
            there_at = arrives_at = max(ride.eta_at, self.now)
            self.is_located = True
        self.arrivals[slot.ride_id] = (arrives_at if self.is_located else None, arrives_at)
        return max(there_at, slot.span.starts_at - READY_BEFORE)

    def _time_away(self, drive: dt.timedelta) -> dt.timedelta:
        """Return the time of leave and breaks that begin during a drive without riders."""
        away, counted_until = dt.timedelta(0), self.now
        for span in self._away:
            starts_at = max(span.starts_at, counted_until)
            if starts_at < self.now + drive + away and starts_at < span.ends_at:
                away += span.ends_at - starts_at
                counted_until = span.ends_at
        return away

    def _drop_off(self, ride: RemainingRide) -> None:
        slot = ride.slot
        if ride.phase is Phase.ON_BOARD and not self._knows_place:
            # When the rider boarded is known, where the vehicle is by now is not.
            arrives_at = max(slot.span.ends_at - dt.timedelta(minutes=slot.unload_minutes), self.now)
            self.drive_minutes += (arrives_at - self.now) / _MINUTE
            self.now, self.is_located = arrives_at, True
        elif self._boarded == slot.ride_id:
            # The ride's own estimate, which may come from a better source than the distance.
            length = (slot.span.ends_at - slot.span.starts_at) / _MINUTE - slot.load_minutes - slot.unload_minutes
            self.drive_minutes += max(0.0, length)
            self.now += max(0.0, length) * _MINUTE
        else:
            self.now += self._drive(slot.dropoff)
        self.reached[slot.ride_id] = self.now
        self.now += slot.unload_minutes * _MINUTE
        self.dropoffs[slot.ride_id] = self.now if self.is_located else None
        self._boarded = None
        self._on_board -= 1
        self._arrived(slot.dropoff)

    def _arrived(self, place: Place | None) -> None:
        self.place, self._knows_place = place, True

    def _drive(self, place: Place | None) -> dt.timedelta:
        """Drive to a place.  Without coordinates the drive takes no time, so that only what is known delays a ride."""
        drive = drive_between(self.place, place, depart_at=self.now)
        duration = dt.timedelta(0) if drive is None else drive.duration
        self.drive_minutes += duration / _MINUTE
        return duration


def _predicted(ride: RemainingRide, walk: _Walk) -> PredictedRide:
    slot = ride.slot
    pickup_at, earliest_at = walk.arrivals.get(slot.ride_id, (None, None))
    late = dt.timedelta(0) if earliest_at is None else earliest_at - slot.latest_pickup_at
    return PredictedRide(
        ride_id=slot.ride_id,
        pickup_at=pickup_at,
        earliest_pickup_at=earliest_at,
        dropoff_at=walk.dropoffs[slot.ride_id],
        late_minutes=max(0, math.ceil(late / _MINUTE)),
        earliest_dropoff_at=walk.reached[slot.ride_id],
        boarded_at=walk.boardings.get(slot.ride_id),
    )
