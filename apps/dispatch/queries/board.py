"""The dispatch board of a day: each driver's rides, and the rides without a driver."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, Value

from apps.dispatch.rules.axis import Axis
from apps.fleet.models import Activation, Driver, Leave, Shift, VehicleOutage
from apps.rides.models import Ride, RideQuerySet
from apps.rides.models.ride import Priority
from apps.rides.queries.driver_timelines import timelines_of
from apps.rides.queries.ride_needs import planned_span_of, slot_of
from apps.rides.rules import timeliness
from apps.rides.rules.driver_timeline import Timeline
from apps.rides.rules.eligibility import ViolationCode
from apps.rides.rules.facts import RideSlot, Span
from apps.rides.rules.lifecycle import OPEN, RideStatus
from lib.access import Principal

UNASSIGNED: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED})
_DAY: Final = dt.timedelta(days=1)
# Columns that bars, cards and rows show, or that their times are computed from.
_COLUMNS: Final = (
    "status",
    "status_changed_at",
    "version",
    "service_type",
    "priority",
    "leg_type",
    "facility",
    "pickup_at",
    "appointment_at",
    "window_starts_at",
    "window_ends_at",
    "timezone",
    "pickup",
    "dropoff",
    "will_call",
    "ready_at",
    "promised_pickup_by",
    "after_the_fact",
    "will_call_expires_at",
    "accommodation",
    "spaces_wheelchair",
    "spaces_stretcher",
    "departed_at",
    "arrived_pickup_at",
    "boarded_at",
    "dropped_off_at",
    "eta_pickup_at",
    "estimated_minutes",
    "driver",
    "vehicle",
    "attendant_ids",
    "open_exception_count",
    "max_exception_severity",
    "rider__first_name",
    "rider__last_name",
)


@dataclass(frozen=True, slots=True)
class BoardRide:
    """A ride on the board.  `late`: minutes after the promised, reported or forecast time; 0: in time.

    `is_late`: the promise is already broken.  `predicted_end_at`: the predicted end; None if nothing is predicted.
    `is_context`: outside the filter; shown only because it occupies the driver.  `nobody_fits`: the driver is out,
    or with `is_vehicle_down` the vehicle, and for how many drivers each rule excluded them from the ride then; None for
    other rides.
    """

    ride: Ride
    slot: RideSlot
    late: int = 0
    is_late: bool = False
    predicted_end_at: dt.datetime | None = None
    is_context: bool = False
    nobody_fits: Mapping[ViolationCode, int] | None = None
    is_vehicle_down: bool = False

    @property
    def span(self) -> Span:
        """The time from the start of the ride to its end, the predicted one if that is later than the planned one."""
        ends_at = max(self.slot.span.ends_at, self.predicted_end_at or self.slot.span.ends_at)
        return Span(self.slot.span.starts_at, ends_at)

    @property
    def planned(self) -> Span:
        return planned_span_of(self.ride)


@dataclass(frozen=True, slots=True)
class EndedRide:
    """A ride that is over, and the time in which it occupied its driver: planned where no time was reported."""

    ride: Ride
    slot: RideSlot

    @property
    def span(self) -> Span:
        ends_at = self.ride.dropped_off_at or self.slot.span.ends_at
        return Span(min(self.slot.span.starts_at, ends_at), ends_at)


@dataclass(frozen=True, slots=True)
class DriverRow:
    """A driver's row: open rides in order of their start, ended rides, and working hours.

    `duty` is empty if the driver does not work in shifts.  `timeline`: the predicted rest of the day, None for a day
    that is over or further ahead than tomorrow.  `breaks` are planned.
    """

    driver: Driver
    unit: str
    vehicle_type: str
    vehicle_id: UUID | None
    duty: tuple[Span, ...]
    leave: tuple[Span, ...]
    rides: tuple[BoardRide, ...]
    ended: tuple[EndedRide, ...]
    timeline: Timeline | None
    breaks: tuple[Span, ...] = ()

    @property
    def next_at(self) -> dt.datetime | None:
        return self.rides[0].slot.span.starts_at if self.rides else None


@dataclass(frozen=True, slots=True)
class Board:
    """A day or a filtered part of it: driver rows by start of their next ride, and the rides without a driver."""

    axis: Axis
    rows: tuple[DriverRow, ...]
    waiting: tuple[BoardRide, ...]
    counts: Mapping[str, int]  # rides of the whole day by status

    @property
    def rider_ids(self) -> set[UUID]:
        waiting_ids = {board_ride.ride.rider_id for board_ride in self.waiting}
        return waiting_ids | {board_ride.ride.rider_id for row in self.rows for board_ride in row.rides}


def board(
    axis: Axis, *, by: Principal, at: dt.datetime, driver_ids: Collection[UUID] | None = None, counted: Q | None = None
) -> Board:
    """Return a day within the caller's visibility; with `driver_ids`, only the rows of these drivers.

    All unassigned rides are included.  Has a row for each driver who works that day or has a ride.  `counted` filters
    the rides that are counted by status; None counts all.  Eight queries, independent of the number of rides.
    """
    on_board = Q(driver__isnull=False) | Q(status__in=sorted(UNASSIGNED))
    if driver_ids is not None:
        on_board = Q(driver_id__in=driver_ids) | Q(status__in=sorted(UNASSIGNED))
    day = rides_of(axis, by)
    rides = list(day.filter(on_board).exclude(status=RideStatus.CANCELLED).select_related("rider").only(*_COLUMNS))
    counts = by_status(day.filter(counted or Q()))
    waiting = _with_reasons(waiting_of(rides, at), at)
    of_driver: dict[UUID, list[Ride]] = defaultdict(list)
    for ride in rides:
        if ride.driver_id is not None:
            of_driver[ride.driver_id].append(ride)
    driver_rows = _driver_rows(axis, of_driver, by=by, at=at, driver_ids=driver_ids)
    waiting.sort(key=_by_harm)
    return Board(axis, tuple(sorted(driver_rows, key=_by_what_comes)), tuple(waiting), counts)


def awaits_release(ride: Ride) -> bool:
    """Return whether a will-call ride without a driver has not been released: it needs no driver yet."""
    return ride.will_call and ride.ready_at is None and ride.status in UNASSIGNED


def rides_of(axis: Axis, by: Principal) -> RideQuerySet:
    """Return the rides of a day that are visible to the caller."""
    return Ride.objects.visible_to(by).filter(pickup_at__gte=axis.starts_at, pickup_at__lt=axis.ends_at)


def by_status(day: RideQuerySet) -> Counter[str]:
    return Counter(dict(day.order_by().values_list("status").annotate(Count("pk"))))


def waiting_of(rides: Iterable[Ride], at: dt.datetime) -> list[BoardRide]:
    """Return the rides that have no driver yet, with their delay at `at`."""
    return [BoardRide(ride, slot_of(ride, at=at), *_overdue(ride, at)) for ride in rides if ride.status in UNASSIGNED]


def is_predicted(axis: Axis, at: dt.datetime) -> bool:
    """Return whether the day has something to predict: today and the days beside it; later days go as planned."""
    return at - _DAY < axis.ends_at and axis.starts_at <= at + _DAY


def driven(
    rides: Iterable[Ride], timeline: Timeline | None, at: dt.datetime
) -> tuple[list[BoardRide], list[EndedRide]]:
    """Return one driver's open rides with their delay, and the ended rides; both in order of their start."""
    ordered = [(slot_of(ride, at=at), ride) for ride in rides]
    ordered.sort(key=lambda pair: (pair[0].span.starts_at, pair[1].pk))
    predicted = {} if timeline is None else {ride.ride_id: ride for ride in timeline.rides}
    open_rides, ended_rides = [], []
    for slot, ride in ordered:
        if ride.status in OPEN:
            minutes, broken = _overdue(ride, at)
            forecast = predicted.get(ride.pk)
            late, ends_at = (forecast.late_minutes, forecast.dropoff_at) if forecast else (0, None)
            open_rides.append(BoardRide(ride, slot, max(minutes, late), broken, ends_at))
        else:
            ended_rides.append(EndedRide(ride, slot))
    return open_rides, ended_rides


def driver_ids_of(ride_ids: Collection[UUID], *, by: Principal) -> set[UUID]:
    """Return the ids of the drivers who are assigned to these rides.  One query."""
    rows = Ride.objects.visible_to(by).filter(pk__in=ride_ids, driver__isnull=False)
    return set(rows.values_list("driver_id", flat=True))


def _with_reasons(waiting: Sequence[BoardRide], at: dt.datetime) -> list[BoardRide]:
    """Mark the rides that wait since their driver or vehicle was reported out, and that no other driver could take.

    One query.
    """
    columns = ("undo", "reported_at", "is_vehicle")
    remembered = {"ends_at__gt": at, "undo__has_key": "unplaced"}
    absences = Leave.objects.filter(**remembered).exclude(absence="").annotate(is_vehicle=Value(False))
    outages = VehicleOutage.objects.filter(**remembered).annotate(is_vehicle=Value(True))
    unplaced = {
        (UUID(row["id"]), reported_at): (
            {ViolationCode(code): count for code, count in row["against"].items()},
            is_vehicle,
        )
        for undo, reported_at, is_vehicle in absences.values_list(*columns).union(
            outages.values_list(*columns), all=True
        )
        for row in (undo or {}).get("unplaced", [])
    }
    # A ride that has had a driver since, or was not confirmed then, changed its status at another time.
    reasons = [unplaced.get((each.ride.pk, each.ride.status_changed_at)) for each in waiting]
    return [
        each if reason is None else replace(each, nobody_fits=reason[0], is_vehicle_down=reason[1])
        for each, reason in zip(waiting, reasons, strict=True)
    ]


def _by_harm(waiting_ride: BoardRide) -> tuple[bool, bool, bool, dt.datetime, UUID]:
    """Sort rides without a driver by harm: first those that nobody could take when they lost their driver.

    Then broken promises, life-sustaining ones before others, then by promise.  A promise is the latest pickup.
    """
    ride, slot = waiting_ride.ride, waiting_ride.slot
    is_other = waiting_ride.is_late and ride.priority != Priority.LIFE_SUSTAINING
    return waiting_ride.nobody_fits is None, not waiting_ride.is_late, is_other, slot.latest_pickup_at, ride.pk


def _by_what_comes(row: DriverRow) -> tuple[bool, dt.datetime, str, str, str]:
    """Sort rows by the start of the next ride, then by name; drivers without another ride come last."""
    driver, next_at = row.driver, row.next_at
    last = dt.datetime.max.replace(tzinfo=dt.UTC)
    return next_at is None, next_at or last, driver.last_name, driver.first_name, str(driver.pk)


def _overdue(ride: Ride, at: dt.datetime) -> tuple[int, bool]:
    late = timeliness.late_minutes(ride, at)
    return (0, False) if late is None else (max(late, 1), True)


def _driver_rows(
    axis: Axis,
    of_driver: Mapping[UUID, Sequence[Ride]],
    *,
    by: Principal,
    at: dt.datetime,
    driver_ids: Collection[UUID] | None,
) -> list[DriverRow]:
    shifts = Shift.objects.filter(status=Shift.Status.PLANNED, starts_at__lt=axis.ends_at, ends_at__gt=axis.starts_at)
    on_duty = Exists(shifts.filter(driver_id=OuterRef("pk")))
    drivers = Driver.objects.visible_to(by).select_related("default_vehicle", "provider", "home_base")
    if driver_ids is not None:
        drivers = drivers.filter(pk__in=driver_ids)
    drivers = drivers.filter(Q(pk__in=list(of_driver)) | Q(on_duty, activation=Activation.ACTIVE))
    rows = list(drivers)
    ids = [driver.pk for driver in rows]
    duty: dict[UUID, list[Shift]] = defaultdict(list)
    for shift in shifts.filter(driver_id__in=ids).select_related("vehicle").order_by("starts_at"):
        duty[shift.driver_id].append(shift)
    away: dict[UUID, list[Span]] = defaultdict(list)
    leave = Leave.objects.filter(driver_id__in=ids, starts_at__lt=axis.ends_at, ends_at__gt=axis.starts_at)
    for row in leave.order_by("starts_at"):
        away[row.driver_id].append(Span(row.starts_at, row.ends_at))
    working_hours = {
        driver_id: [Span(shift.starts_at, shift.ends_at) for shift in planned] for driver_id, planned in duty.items()
    }
    not_driving = {driver_id: [*away[driver_id], *_breaks(duty[driver_id])] for driver_id in ids}
    timelines = (
        timelines_of(rows, working_hours, not_driving, at=at, until=axis.ends_at)
        if is_predicted(axis, at) and rows
        else {}
    )
    return [
        _driver_row(
            driver, duty[driver.pk], away[driver.pk], of_driver.get(driver.pk, ()), timelines.get(driver.pk), at
        )
        for driver in rows
    ]


def _driver_row(
    driver: Driver,
    shifts: Sequence[Shift],
    away: Iterable[Span],
    rides: Sequence[Ride],
    timeline: Timeline | None,
    at: dt.datetime,
) -> DriverRow:
    open_rides, ended_rides = driven(rides, timeline, at)
    present = next((shift for shift in shifts if shift.ends_at > at), shifts[-1] if shifts else None)
    vehicle = present.vehicle if present is not None else driver.default_vehicle
    return DriverRow(
        driver=driver,
        unit=vehicle.unit_number if vehicle else "",
        vehicle_type=vehicle.get_type_display() if vehicle else "",
        vehicle_id=vehicle.pk if vehicle else None,
        duty=tuple(Span(shift.starts_at, shift.ends_at) for shift in shifts),
        leave=tuple(away),
        rides=tuple(open_rides),
        ended=tuple(ended_rides),
        timeline=timeline,
        breaks=tuple(_breaks(shifts)),
    )


def _breaks(shifts: Iterable[Shift]) -> list[Span]:
    return [
        Span(shift.break_starts_at, shift.break_ends_at)
        for shift in shifts
        if shift.break_starts_at is not None and shift.break_ends_at is not None
    ]
