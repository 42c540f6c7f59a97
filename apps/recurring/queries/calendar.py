"""What an order's days look like to people: what the plan has, and what has become of it.  Nothing is written."""

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

# Rides that people moved themselves are looked for this far from the days asked for.
MANUAL_MOVE_RANGE: Final = timedelta(days=31)
# What comes next is looked for this many days at a time, and as often: two years, as far as an order may begin.
SEARCH_DAYS: Final = 28
SEARCHES: Final = 26


class LegStatus(StrEnum):
    """What has become of one leg of one day."""

    PLANNED = "planned"  # within the pattern, not booked yet
    BOOKED = "booked"
    UNDER_WAY = "under_way"
    DONE = "done"  # the ride has ended; its status says how
    CANCELLED = "cancelled"  # by people, for this day alone
    HELD = "held"
    SKIPPED = "skipped"
    CLOSED = "closed"
    REFUSED = "refused"  # no ride could be made
    NOT_BOOKED = "not_booked"  # the day is over, and there never was a ride


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
    """One leg: when it is, by its ride where there is one, or else by the plan.

    `ride_id` is the latest ride of the leg, `ride_status` that one's; `refusal` the code of why none could be made.
    A way back `by_call` begins when somebody says so: its time is what the treatment comes to.
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
    """One occurrence.  `pattern_date` names it, `service_date` is the day it takes place on, both facility days.

    `status` is None where the pattern has no such date: a ride that people changed stays, though the order no longer
    asks for it.
    """

    pattern_date: date
    service_date: date
    status: OccurrenceStatus | None
    change: ChangeType
    moved_by_clock_change: bool
    legs: tuple[LegView, ...]


@dataclass(frozen=True, slots=True)
class NextOccurrence:
    """An occurrence that lies ahead, in wall time of the order's zone; `service_date` is the day of the chair.

    A pickup later than the chair is of the evening before, a return earlier than it of the next morning.
    """

    pattern_date: date
    service_date: date
    change: ChangeType
    pickup_time: time
    chair_time: time | None  # None: a person took the appointment off the ride
    return_time: time | None  # None: nobody is brought back


def next_occurrences(order: StandingOrder, most: int, *, at: datetime) -> list[NextOccurrence]:
    """List the next occurrences that are booked or planned, by day, up to `most` within two years.  Five queries."""
    first = timing.local_day(at, order.timezone)
    (planned_order,) = plans.read([order], since=first - MANUAL_MOVE_RANGE)
    zone, found = ZoneInfo(order.timezone), list[NextOccurrence]()
    for look in range(SEARCHES):
        start = first + timedelta(days=look * SEARCH_DAYS)
        days = _shown(planned_order, start, start + timedelta(days=SEARCH_DAYS - 1), at)
        found += [_coming(one, zone) for one in days if _is_ahead(one.legs[0], at)]
        if len(found) >= most:
            break
    return found[:most]


def _is_on(leg: LegView) -> bool:
    return leg.status in (LegStatus.BOOKED, LegStatus.PLANNED)


def _is_ahead(there: LegView, at: datetime) -> bool:
    return there.leg is Leg.OUTBOUND and _is_on(there) and there.pickup_at > at


def _coming(one: OccurrenceView, zone: ZoneInfo) -> NextOccurrence:
    there, back = one.legs[0], one.legs[-1]
    return NextOccurrence(
        one.pattern_date,
        one.service_date,
        one.change,
        there.pickup_at.astimezone(zone).time(),
        there.appointment_at.astimezone(zone).time() if there.appointment_at else None,
        back.pickup_at.astimezone(zone).time() if back.leg is Leg.RETURN and _is_on(back) else None,
    )


def calendar(order: StandingOrder, first: date, last: date, *, at: datetime) -> list[OccurrenceView]:
    """List what takes place, or would have, from `first` to `last`, both included, by day.  Five queries."""
    return calendars([order], first, last, at=at)[order.pk]


def calendars(
    orders: Collection[StandingOrder], first: date, last: date, *, at: datetime
) -> dict[UUID, list[OccurrenceView]]:
    """List the same of many orders, by their ids.  Five queries."""
    planned_orders = plans.read(orders, since=first - MANUAL_MOVE_RANGE)
    return {one.order.pk: _shown(one, first, last, at) for one in planned_orders}


def _shown(planned_order: PlannedOrder, first: date, last: date, at: datetime) -> list[OccurrenceView]:
    planned = {
        one.pattern_date: one for one in occurrences(planned_order.plan, first - FARTHEST_MOVE, last + FARTHEST_MOVE)
    }
    days: dict[date, dict[Leg, StoredOccurrence]] = {}
    for (day, leg), row in planned_order.occurrence_rows.items():
        days.setdefault(day, {})[leg] = row
    moved = {day for day in days if day not in planned and day <= last + MANUAL_MOVE_RANGE}
    found = []
    for day in {*planned, *moved}:
        occurrence = planned.get(day) or next(occurrences(planned_order.plan, day, day), None)
        one = _occurrence(planned_order, day, occurrence, days.get(day, {}), at)
        if one is not None and first <= one.service_date <= last:
            found.append(one)
    return sorted(found, key=lambda one: (one.service_date, one.legs[0].pickup_at))


def _occurrence(
    planned_order: PlannedOrder,
    day: date,
    occurrence: Occurrence | None,
    rows: Mapping[Leg, StoredOccurrence],
    at: datetime,
) -> OccurrenceView | None:
    legs = tuple(_legs(planned_order, day, occurrence, rows, at))
    if not legs:
        return None
    if any(one.ride_id and rows[one.leg].recorded.customized for one in legs):
        change = ChangeType.CUSTOMIZED
    else:
        change = occurrence.change if occurrence else ChangeType.AS_GENERATED
    status = occurrence.status if occurrence else None
    is_clock_change = occurrence is not None and occurrence.moved_by_clock_change
    return OccurrenceView(day, _service_date(planned_order, occurrence, legs[0]), status, change, is_clock_change, legs)


def _service_date(planned_order: PlannedOrder, occurrence: Occurrence | None, leg: LegView) -> date:
    """Give the day of the chair: a pickup may be on the evening before."""
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
        if row is not None and _rides(row):
            yield _of_ride(leg, row, will_call)
        elif occurrence is not None and leg in terms.legs:
            yield _of_plan(leg, occurrence, row, will_call, at)


def _rides(row: StoredOccurrence) -> bool:
    """Say whether there is a ride to go by: one that is open, or has ended on the road."""
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
    is_over = occurrence.pickup_at <= at
    if row is not None and (is_over or row.recorded.decision is Decision.REFUSED):
        return _OF_DECISION.get(row.recorded.decision, LegStatus.NOT_BOOKED)
    return LegStatus.NOT_BOOKED if is_over else LegStatus.PLANNED
