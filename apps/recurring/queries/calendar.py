"""Occurrences of standing orders for pages and the API: the plan combined with the recorded rides.  Read only."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from apps.recurring.models import ReturnMode, StandingOrder
from apps.recurring.queries import plans
from apps.recurring.queries.plans import PlannedOrder, StoredOccurrence
from apps.recurring.rules.reconciliation import LEGS, Decision, Leg, times_of
from apps.recurring.rules.recurrence import FARTHEST_MOVE, ChangeType, Occurrence, OccurrenceStatus, occurrences
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import TERMINAL

# How far from the requested days rides that people moved are searched.
MANUAL_MOVE_RANGE: Final = timedelta(days=31)
# Next occurrences are searched in steps, for two years: an order can start that far ahead.
SEARCH_DAYS: Final = 28
SEARCHES: Final = 26


class LegStatus(StrEnum):
    """The status of one leg of an occurrence."""

    PLANNED = "planned"  # in the pattern, not booked yet
    BOOKED = "booked"
    UNDER_WAY = "under_way"
    DONE = "done"  # the ride has ended; see its status
    CANCELLED = "cancelled"  # by people, only on this day
    HELD = "held"
    SKIPPED = "skipped"
    CLOSED = "closed"
    REFUSED = "refused"  # no ride could be booked
    NOT_BOOKED = "not_booked"  # the day is past and had no ride


_OF_STATUS: Final[Mapping[OccurrenceStatus, LegStatus]] = {
    OccurrenceStatus.HELD: LegStatus.HELD,
    OccurrenceStatus.SKIPPED: LegStatus.SKIPPED,
    OccurrenceStatus.CLOSED: LegStatus.CLOSED,
}
_OF_DECISION: Final[Mapping[Decision, LegStatus]] = {
    Decision.HELD: LegStatus.HELD,
    Decision.SKIPPED: LegStatus.SKIPPED,
    Decision.CLOSED: LegStatus.CLOSED,
    Decision.REFUSED: LegStatus.REFUSED,
}


@dataclass(frozen=True, slots=True)
class LegView:
    """One leg with the times of its ride, or of the plan if there is no ride.

    `ride_id` and `ride_status` are those of the latest ride; `refusal` is the error code if no ride could be booked.
    The pickup time of a `will_call` return is an estimate.
    """

    leg: Leg
    status: LegStatus
    pickup_at: datetime
    appointment_at: datetime | None
    ride_id: UUID | None
    ride_status: str | None
    refusal: str
    will_call: bool


@dataclass(frozen=True, slots=True)
class OccurrenceView:
    """One occurrence, identified by `pattern_date`; `service_date` is the day of the visit.  Both are facility days.

    `status` is None if the pattern no longer includes the date, but a ride that people changed remains.
    """

    pattern_date: date
    service_date: date
    status: OccurrenceStatus | None
    change: ChangeType
    moved_by_clock_change: bool
    legs: tuple[LegView, ...]


@dataclass(frozen=True, slots=True)
class NextOccurrence:
    """A future occurrence in wall time of the order's zone; `service_date` is the day of the chair time.

    A pickup time later than the chair time means the evening before; an earlier return time means the next morning.
    """

    pattern_date: date
    service_date: date
    change: ChangeType
    pickup_time: time
    chair_time: time | None  # None: a person removed the appointment from the ride
    return_time: time | None  # None: no return


def next_occurrences(order: StandingOrder, most: int, *, at: datetime) -> list[NextOccurrence]:
    """List up to `most` next occurrences that are booked or planned, by day, within two years.  Five queries."""
    first = timing.local_day(at, order.timezone)
    (planned_order,) = plans.read([order], since=first - MANUAL_MOVE_RANGE)
    zone, upcoming = ZoneInfo(order.timezone), list[NextOccurrence]()
    for number in range(SEARCHES):
        start = first + timedelta(days=number * SEARCH_DAYS)
        views = _views(planned_order, start, start + timedelta(days=SEARCH_DAYS - 1), at)
        upcoming += [_next_occurrence(view, zone) for view in views if _is_upcoming(view.legs[0], at)]
        if len(upcoming) >= most:
            break
    return upcoming[:most]


def _takes_place(leg: LegView) -> bool:
    return leg.status in (LegStatus.BOOKED, LegStatus.PLANNED)


def _is_upcoming(first: LegView, at: datetime) -> bool:
    return first.leg is Leg.OUTBOUND and _takes_place(first) and first.pickup_at > at


def _next_occurrence(view: OccurrenceView, zone: ZoneInfo) -> NextOccurrence:
    outbound, last = view.legs[0], view.legs[-1]
    return NextOccurrence(
        view.pattern_date,
        view.service_date,
        view.change,
        outbound.pickup_at.astimezone(zone).time(),
        outbound.appointment_at.astimezone(zone).time() if outbound.appointment_at else None,
        last.pickup_at.astimezone(zone).time() if last.leg is Leg.RETURN and _takes_place(last) else None,
    )


def calendar(order: StandingOrder, first: date, last: date, *, at: datetime) -> list[OccurrenceView]:
    """List the occurrences from `first` to `last`, both included, by day, also canceled ones.  Five queries."""
    return calendars([order], first, last, at=at)[order.pk]


def calendars(
    orders: Collection[StandingOrder], first: date, last: date, *, at: datetime
) -> dict[UUID, list[OccurrenceView]]:
    """Return the same for several orders, by their ids.  Five queries."""
    planned_orders = plans.read(orders, since=first - MANUAL_MOVE_RANGE)
    return {planned.order.pk: _views(planned, first, last, at) for planned in planned_orders}


def _views(planned_order: PlannedOrder, first: date, last: date, at: datetime) -> list[OccurrenceView]:
    planned = {
        occurrence.pattern_date: occurrence
        for occurrence in occurrences(planned_order.plan, first - FARTHEST_MOVE, last + FARTHEST_MOVE)
    }
    rows: dict[date, dict[Leg, StoredOccurrence]] = {}
    for (day, leg), row in planned_order.occurrence_rows.items():
        rows.setdefault(day, {})[leg] = row
    moved = {day for day in rows if day not in planned and day <= last + MANUAL_MOVE_RANGE}
    views = []
    for day in {*planned, *moved}:
        occurrence = planned.get(day) or next(occurrences(planned_order.plan, day, day), None)
        view = _view(planned_order, day, occurrence, rows.get(day, {}), at)
        if view is not None and first <= view.service_date <= last:
            views.append(view)
    return sorted(views, key=lambda view: (view.service_date, view.legs[0].pickup_at))


def _view(
    planned_order: PlannedOrder,
    day: date,
    occurrence: Occurrence | None,
    rows: Mapping[Leg, StoredOccurrence],
    at: datetime,
) -> OccurrenceView | None:
    legs = tuple(_legs(planned_order, day, occurrence, rows, at))
    if not legs:
        return None
    if any(leg.ride_id and rows[leg.leg].recorded.customized for leg in legs):
        change = ChangeType.CUSTOMIZED
    else:
        change = occurrence.change if occurrence else ChangeType.AS_GENERATED
    status = occurrence.status if occurrence else None
    is_clock_change = occurrence is not None and occurrence.moved_by_clock_change
    return OccurrenceView(day, _service_date(planned_order, occurrence, legs[0]), status, change, is_clock_change, legs)


def _service_date(planned_order: PlannedOrder, occurrence: Occurrence | None, leg: LegView) -> date:
    """Return the day of the chair time: the pickup may be on the evening before."""
    if occurrence is not None and leg.pickup_at == occurrence.pickup_at:
        return occurrence.service_date
    return timing.local_day(leg.appointment_at or leg.pickup_at, planned_order.order.timezone)


def _legs(
    planned_order: PlannedOrder,
    day: date,
    occurrence: Occurrence | None,
    rows: Mapping[Leg, StoredOccurrence],
    at: datetime,
) -> Iterator[LegView]:
    terms = planned_order.terms_on(day)
    for leg in LEGS:
        row = rows.get(leg)
        will_call = leg is Leg.RETURN and terms.return_mode == ReturnMode.WILL_CALL
        if row is not None and _has_ride(row):
            yield _of_ride(leg, row, will_call)
        elif occurrence is not None and leg in terms.legs:
            yield _of_plan(leg, occurrence, row, will_call, at)


def _has_ride(row: StoredOccurrence) -> bool:
    """Check for a ride that is open, under way or ended; a canceled ride does not count."""
    return row.recorded.pending or row.recorded.begun


def _of_ride(leg: Leg, row: StoredOccurrence, will_call: bool) -> LegView:
    if row.recorded.pending:
        status = LegStatus.BOOKED
    else:
        status = LegStatus.DONE if row.ride_status in TERMINAL else LegStatus.UNDER_WAY
    pickup_at = cast(datetime, row.recorded.pickup_at)  # a ride has one
    return LegView(leg, status, pickup_at, row.recorded.appointment_at, row.ride_id, row.ride_status, "", will_call)


def _of_plan(leg: Leg, occurrence: Occurrence, row: StoredOccurrence | None, will_call: bool, at: datetime) -> LegView:
    pickup_at, appointment_at = times_of(occurrence, leg)
    ride_id, ride_status = (row.ride_id, row.ride_status) if row else (None, None)
    status = _leg_status(occurrence, row, at)
    refusal = row.refusal if row and status is LegStatus.REFUSED else ""
    return LegView(leg, status, pickup_at, appointment_at, ride_id, ride_status, refusal, will_call)


def _leg_status(occurrence: Occurrence, row: StoredOccurrence | None, at: datetime) -> LegStatus:
    if row is not None and row.recorded.decision is Decision.GENERATED:
        return LegStatus.CANCELLED
    if occurrence.status is not OccurrenceStatus.DUE:
        return _OF_STATUS[occurrence.status]
    is_past = occurrence.pickup_at <= at
    if row is not None and (is_past or row.recorded.decision is Decision.REFUSED):
        return _OF_DECISION.get(row.recorded.decision, LegStatus.NOT_BOOKED)
    return LegStatus.NOT_BOOKED if is_past else LegStatus.PLANNED
