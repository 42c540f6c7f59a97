"""Brings the rides of standing orders in line with their plans.

The generator, every edit, hold, skip and calendar shift end here; nothing else of an order writes to a ride.

- The plan of an order (terms, holds, skips, shifts, overrides) gives what every leg of every pattern date should be.
- A row of `Occurrence` per (order, pattern date, leg) stores the last decision and the latest ride.  Rows are never
  deleted: a ride that a person canceled stays canceled, because its row still says `generated`.
- `reconciliation.steps` compares both and lists steps (create, amend, cancel, leave); it is pure.
- The steps are carried out by the services of rides, in the caller's transaction, with the orders and then their
  riders locked: cancel and amend ride by ride (few rides change in a day), book in sets (thousands are created).
- A leg that a ride booked by hand covers already (`rules/coverage.py`) is not booked: the order adopts this ride, as
  one that a person changed.
- Rides that a person changed stay as they are and are reported as `unchanged`, unless the date is in `overwrite`.
- A ride that cannot be booked or amended does not stop the others: the date is reported in `refused`, a row with the
  decision `refused` is tried again on the next run, and `conflicts` opens one exception for people.
- Repeating a run is harmless: steps of rides that are in line are empty.  That is why a lost run, or two workers with
  the same order, need no repair: the next run of the generator compares again.

Comparing plan and rows, instead of translating each edit into changes of rides, keeps one path for all of them
(docs/adr/0016).
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID

import orjson
from django.db import connection

from apps.audit.services import audit
from apps.recurring.models import Occurrence as OccurrenceRow
from apps.recurring.models import StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.queries.plans import PlannedOrder
from apps.recurring.rules import reconciliation
from apps.recurring.rules.reconciliation import (
    LEGS,
    Decision,
    DesiredLeg,
    Key,
    Leg,
    RecordedLeg,
    Step,
    StepType,
    occurrence_key,
)
from apps.recurring.rules.recurrence import occurrences
from apps.recurring.services import adopt_rides, booking_templates
from apps.recurring.services.adopt_rides import Adopted, MissingLegs
from apps.recurring.services.booking_templates import TermsSample
from apps.rides.models import Ride
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import (
    booking,
    editing,
    recurring_booking,
    status_report,
)
from apps.rides.services.editing import EditOptions
from apps.rides.services.eligibility_checks import Override
from apps.rides.services.recurring_booking import (
    LegSchedule,
    Refused,
    RidePlan,
    ServiceDay,
)
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.errors import DomainError
from lib.scopes import Scope

NEEDED: Final = (Scope.RIDES_WRITE, Scope.RIDES_STATUS, Scope.RIDES_OVERRIDE, Scope.ASSIGNMENTS_WRITE)
REASON_OF: Final[Mapping[Decision, str]] = {
    Decision.HELD: "standing_order_hold",
    Decision.SKIPPED: "rider_request",
    Decision.CLOSED: "calendar_shift",
    Decision.WITHDRAWN: "standing_order_ended",
}
_UPDATE_ROWS: Final = """
    UPDATE recurring_occurrence o
    SET decision = new.decision, ride_id = coalesce(new.ride_id, o.ride_id), content = new.content,
        refusal = new.refusal, moved_by_clock_change = new.moved_by_clock_change, decided_at = %(at)s
    FROM json_to_recordset(%(rows)s::json) AS new(
        id bigint, decision varchar, ride_id uuid, content varchar, refusal varchar, moved_by_clock_change boolean
    )
    WHERE o.id = new.id
"""


@dataclass(slots=True)
class ReconcileResult:
    """The changes of an order's rides; `unchanged` are customized rides that stay, by pattern date.

    `adopted` are rides booked by hand that the order now has in place of new ones, by pattern date.

    `refused` are pattern dates on which a ride could not be booked or amended, with the reason.
    """

    created: list[UUID] = field(default_factory=list)
    amended: list[UUID] = field(default_factory=list)
    cancelled: list[UUID] = field(default_factory=list)
    adopted: dict[date, list[UUID]] = field(default_factory=dict)
    unchanged: dict[date, list[UUID]] = field(default_factory=dict)
    refused: dict[date, Refused] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.created or self.amended or self.cancelled or self.adopted)


@dataclass(slots=True)
class _Work:
    """The steps of one order and their result."""

    planned_order: PlannedOrder
    steps: list[Step]
    result: ReconcileResult
    rows: dict[Key, dict[str, Any]] = field(default_factory=dict)  # to write, by key
    adopted: Adopted = field(default_factory=dict)

    @property
    def order(self) -> StandingOrder:
        return self.planned_order.order


def today_of(order: StandingOrder, at: datetime) -> date:
    return timing.local_day(at, order.timezone)


def reconcile(
    orders: Sequence[StandingOrder], *, overwrite: Container[date] = (), by: Principal, at: datetime
) -> dict[UUID, ReconcileResult]:
    """Bring the rides of locked orders in line with their plans, through the horizon of each.

    Customized rides stay unless their pattern date is in `overwrite`.  Locks the riders of the orders, then rides.  The
    number of queries depends on canceled, amended and late rides, not on new rides.
    """
    if not orders:
        return {}
    worker = by.elevated(*NEEDED)
    today = {order.pk: today_of(order, at) for order in orders}
    works = [_work(planned, today[planned.order.pk], overwrite, at) for planned in _out_of_sync(orders, today, at)]
    busy = [work for work in works if work.steps]
    if busy:
        # All riders at once, so that two batches with common riders do not deadlock.
        riders = recurring_booking.lock_riders({work.order.rider_id for work in busy})
        _skip_reopened(busy)
        _adopt(busy, by=worker, at=at)
        days = [day for work in busy for day in _days(work)]
        ride_plans = booking_templates.ride_plans(_samples(days), riders, by=worker, at=at)
        for work in busy:
            _cancel(work, by=worker, at=at)
            _amend(work, by=worker, at=at)
        _book(days, ride_plans, by=worker, at=at)
        _write_rows(busy, at=at)
        _audit(busy, by=by)
    _save_generated_through(orders, today)
    return {order_id: ReconcileResult() for order_id in today} | {work.order.pk: work.result for work in works}


def _out_of_sync(orders: Sequence[StandingOrder], today: Mapping[UUID, date], at: datetime) -> list[PlannedOrder]:
    """Read the plans of orders whose future rides differ from the plan, or were customized.

    On most nights most orders are in line, and comparing digests costs a third of a full comparison.
    """
    since = plans.first_relevant_date(min(today.values()))
    planned = plans.planned(orders, since=since)
    last = {order.pk: today[order.pk] + timedelta(days=order.generation_horizon_days) for order in orders}
    ride_digests = plans.ride_digests(list(today), since=since, at=at)
    out_of_sync = [
        planned_order
        for planned_order in planned
        if ride_digests.get(planned_order.order.pk)
        != plans.plan_digest(planned_order, since, last[planned_order.order.pk], at=at)
    ]
    return plans.with_rows(out_of_sync, since=since)


def _work(planned_order: PlannedOrder, today: date, overwrite: Container[date], at: datetime) -> _Work:
    first = plans.first_relevant_date(today)
    recorded = {key: row.recorded for key, row in planned_order.occurrence_rows.items() if key[0] >= first}
    last = max([today + timedelta(days=planned_order.order.generation_horizon_days), *(day for day, _leg in recorded)])
    overwritten = {day for day, _leg in recorded if day in overwrite} if overwrite else set[date]()
    overwritten |= _customized_within_holds(planned_order, recorded)
    steps = reconciliation.steps(desired_legs(planned_order, first, last), recorded, now=at, overwrite=overwritten)
    work = _Work(planned_order, steps, ReconcileResult())
    for step in steps:
        if step.type is StepType.LEAVE:
            work.result.unchanged.setdefault(step.pattern_date, []).append(_ride_of(work, step))
    return work


def _customized_within_holds(planned_order: PlannedOrder, recorded: Mapping[Key, RecordedLeg]) -> set[date]:
    """List dates outside the pattern with a customized ride inside a hold.

    Cancel customized rides that fall inside a hold: the rider is away regardless of the customization.
    """
    plan = planned_order.plan
    if not plan.holds:
        return set()
    return {
        day
        for (day, _leg), leg in recorded.items()
        if leg.pending
        and leg.customized
        and leg.pickup_at is not None
        and not plan.has(day)
        and any(hold.covers(timing.local_day(leg.pickup_at, planned_order.order.timezone)) for hold in plan.holds)
    }


def desired_legs(planned_order: PlannedOrder, first: date, last: date) -> dict[Key, DesiredLeg]:
    """Return every leg of the plan on pattern dates from `first` to `last`."""
    desired = {}
    for occurrence in occurrences(planned_order.plan, first, last):
        terms = planned_order.terms_on(occurrence.pattern_date)
        for leg in terms.legs:
            desired[occurrence.pattern_date, leg] = DesiredLeg(occurrence, planned_order.contents[terms.pk])
    return desired


def _ride_of(work: _Work, step: Step) -> UUID:
    # Cancel, amend and leave steps have a ride.
    return cast(UUID, work.planned_order.occurrence_rows[step.pattern_date, step.leg].ride_id)


def _steps(work: _Work, step_type: StepType) -> list[Step]:
    return [step for step in work.steps if step.type is step_type]


def _skip_reopened(busy: Sequence[_Work]) -> None:
    """Remove steps that would book a second ride beside one that a person has reopened (T29).

    Locks the canceled rides that would be replaced, so that a reopening in progress is seen.
    """
    replaced = {
        row.ride_id
        for work in busy
        for step in _steps(work, StepType.CREATE)
        if (row := work.planned_order.occurrence_rows.get((step.pattern_date, step.leg))) and row.ride_id
    }
    if not replaced:
        return
    rides = Ride.objects.filter(pk__in=replaced).order_by("pk").select_for_update(of=("self",), no_key=True)
    reopened = {ride.pk for ride in rides if ride.status != RideStatus.CANCELLED}
    for work in busy if reopened else ():
        reopened_keys = {key for key, row in work.planned_order.occurrence_rows.items() if row.ride_id in reopened}
        work.steps = [
            step
            for step in work.steps
            if step.type is not StepType.CREATE or (step.pattern_date, step.leg) not in reopened_keys
        ]


def _adopt(busy: Sequence[_Work], *, by: Principal, at: datetime) -> None:
    """Keep rides booked by hand in place of new ones: their steps become rows of the rides."""
    missing = [MissingLegs(work.planned_order, _steps(work, StepType.CREATE)) for work in busy]
    adopted = adopt_rides.adopt(missing, by=by, at=at)
    for work in busy:
        work.adopted = adopted.get(work.order.pk, {})
        for step in _steps(work, StepType.CREATE) if work.adopted else ():
            if ride := work.adopted.get((step.pattern_date, step.leg)):
                work.steps.remove(step)
                work.result.adopted.setdefault(step.pattern_date, []).append(ride.id)
                _write(work, step, ride_id=ride.id)


def _cancel(work: _Work, *, by: Principal, at: datetime) -> None:
    # The return first: without its outbound leg it would open an exception.
    for step in reversed(_steps(work, StepType.CANCEL)):
        ride_id = _ride_of(work, step)
        report = StatusReport(RideStatus.CANCELLED, source="system", reason_code=REASON_OF[step.decision])
        status_report.change_status(ride_id=ride_id, report=report, by=by, at=at)
        work.result.cancelled.append(ride_id)
        _write(work, step, ride_id=ride_id)


def _amend(work: _Work, *, by: Principal, at: datetime) -> None:
    days: dict[date, list[Step]] = defaultdict(list)
    for step in _steps(work, StepType.AMEND):
        days[step.pattern_date].append(step)
    for steps in days.values():
        for step in _in_order(work, steps):
            ride_id = _ride_of(work, step)
            try:
                _amend_one(work, step, ride_id, by=by, at=at)
            except DomainError as error:
                # The ride stays as it was, and a person decides.
                work.result.refused[step.pattern_date] = Refused(error.code, error.text, None)
                continue
            work.result.amended.append(ride_id)
            _write(work, step, ride_id=ride_id)


def _in_order(work: _Work, steps: list[Step]) -> list[Step]:
    """Amend the return first if the day moves later, so that the legs are always in order."""
    recorded = work.planned_order.occurrence_rows[steps[0].pattern_date, steps[0].leg].recorded
    new_pickup_at, _appointment_at = reconciliation.times_of(steps[0].due, steps[0].leg)
    return steps[::-1] if recorded.pickup_at is not None and new_pickup_at > recorded.pickup_at else steps


def _amend_one(work: _Work, step: Step, ride_id: UUID, *, by: Principal, at: datetime) -> None:
    occurrence = step.due
    planned_order, recorded = (
        work.planned_order,
        work.planned_order.occurrence_rows[step.pattern_date, step.leg].recorded,
    )
    terms = planned_order.terms_on(step.pattern_date)
    pickup_at, appointment_at = reconciliation.times_of(occurrence, step.leg)
    changes: dict[str, Any] = {"pickup_at": pickup_at, "appointment_at": appointment_at}
    if recorded.content != planned_order.contents[terms.pk]:
        draft = booking_templates.drafts(planned_order.order, terms, occurrence)[LEGS.index(step.leg)]
        changes |= booking_templates.changes_of(draft)
    editing.edit(
        ride_id=ride_id,
        changes=changes,
        options=EditOptions(
            allow_duplicate=True,
            override=Override(requested=True, reason="standing_order_changed"),
            occurrence_state=occurrence.change,
            replace_needs=True,  # needs and companions that the order no longer has are removed from its rides
        ),
        by=by,
        at=at,
    )


@dataclass(frozen=True, slots=True)
class _MissingDay:
    """A date of an order with the legs to book."""

    work: _Work
    steps: list[Step]
    sample: TermsSample


def _days(work: _Work) -> list[_MissingDay]:
    days: dict[date, list[Step]] = defaultdict(list)
    for step in _steps(work, StepType.CREATE):
        days[step.pattern_date].append(step)
    return [
        _MissingDay(work, steps, TermsSample(work.order, work.planned_order.terms_on(day), steps[0].due))
        for day, steps in days.items()
    ]


def _samples(days: Iterable[_MissingDay]) -> list[TermsSample]:
    """Choose a day for each row of terms, if possible one on which no clock change puts the times out of order."""
    valid_last = sorted(days, key=lambda day: day.sample.occurrence.chair_at < day.sample.occurrence.return_at)
    return list({day.sample.terms.pk: day.sample for day in valid_last}.values())


def _book(
    days: Sequence[_MissingDay], ride_plans: Mapping[UUID, RidePlan | Refused], *, by: Principal, at: datetime
) -> None:
    """Book the missing rides of all orders together; a day of an order is booked as a whole or not at all."""
    bookable: list[tuple[_MissingDay, ServiceDay]] = []
    for day in days:
        ride_plan = ride_plans[day.sample.terms.pk]
        if isinstance(ride_plan, Refused):
            _record_refusal(day, ride_plan)
        else:
            trip = _trip_of_other_leg(day, by=by, at=at)
            schedules = [_schedule(day.work.order, step, trip) for step in day.steps]
            bookable.append((day, ServiceDay(ride_plan, schedules, [LEGS.index(step.leg) for step in day.steps])))
    booked = recurring_booking.book_days([service_day for _day, service_day in bookable], by=by, at=at)
    for (day, _service_day), outcome in zip(bookable, booked, strict=True):
        if isinstance(outcome, Refused):
            _record_refusal(day, outcome)
            continue
        for step, ride_id in zip(day.steps, outcome, strict=True):
            day.work.result.created.append(ride_id)
            _write(day.work, step, ride_id=ride_id)


def _trip_of_other_leg(day: _MissingDay, *, by: Principal, at: datetime) -> dict[str, Any]:
    """Return the trip of the pending other leg for a leg that is booked alone.

    An adopted ride gets a trip only as the outbound leg, and only if it has none.
    """
    if len(day.steps) == len(LEGS):
        return {}
    (step,) = day.steps
    other_leg = next(leg for leg in LEGS if leg is not step.leg)
    if adopted := day.work.adopted.get((step.pattern_date, other_leg)):
        is_first = other_leg is Leg.OUTBOUND and adopted.trip_id is None
        return {"trip_id": booking.trip_of(ride_id=adopted.id, by=by, at=at)} if is_first else {}
    rows = (day.work.planned_order.occurrence_rows.get((step.pattern_date, leg)) for leg in LEGS if leg is not step.leg)
    ride_id = next((row.ride_id for row in rows if row is not None and row.recorded.pending), None)
    return {} if ride_id is None else {"trip_id": booking.trip_of(ride_id=ride_id, by=by, at=at)}


def _schedule(order: StandingOrder, step: Step, trip: Mapping[str, Any]) -> LegSchedule:
    occurrence = step.due
    pickup_at, appointment_at = reconciliation.times_of(occurrence, step.leg)
    columns = {
        **trip,
        "standing_order_id": order.pk,
        "preferred_driver_ids": order.preferred_driver_ids,
        "occurrence_key": occurrence_key(order.pk, step.pattern_date, step.leg),
        "occurrence_state": occurrence.change,
    }
    return LegSchedule(pickup_at, appointment_at, columns)


def _record_refusal(day: _MissingDay, refusal: Refused) -> None:
    for step in day.steps:
        day.work.result.refused[step.pattern_date] = refusal
        _write(day.work, step, decision=Decision.REFUSED, refusal=refusal.code.name)


def _write(
    work: _Work, step: Step, *, ride_id: UUID | None = None, decision: Decision | None = None, refusal: str = ""
) -> None:
    terms: Terms = work.planned_order.terms_on(step.pattern_date)
    work.rows[step.pattern_date, step.leg] = {
        "decision": str(decision or step.decision),
        "ride_id": ride_id,
        "content": work.planned_order.contents[terms.pk],
        "refusal": refusal,
        "moved_by_clock_change": step.occurrence is not None and step.occurrence.moved_by_clock_change,
    }


def _write_rows(busy: Iterable[_Work], *, at: datetime) -> None:
    new, existing = [], []
    for work in busy:
        for key, row in work.rows.items():
            if (stored := work.planned_order.occurrence_rows.get(key)) is not None:
                existing.append({"id": stored.id, **row})
            else:
                identity = {"standing_order_id": work.order.pk, "pattern_date": key[0], "leg": key[1], "decided_at": at}
                new.append(identity | row)
    copy_rows(OccurrenceRow, new)
    if existing:
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE_ROWS, {"rows": orjson.dumps(existing).decode(), "at": at})


def _audit(busy: Iterable[_Work], *, by: Principal) -> None:
    for work in busy:
        result = work.result
        if result.is_empty:
            continue
        counts = {name: len(getattr(result, name)) for name in ("created", "amended", "cancelled", "adopted")}
        audit.record(
            by=by,
            action="standing_orders.reconcile",
            subject_type="standing_order",
            subject_id=work.order.pk,
            rider_ids=[work.order.rider_id],
            facility_id=work.order.facility_id,
            details={name: count for name, count in counts.items() if count},
        )


def _save_generated_through(orders: Iterable[StandingOrder], today: Mapping[UUID, date]) -> None:
    """Save how far orders are generated, if it has changed."""
    through: dict[date, list[UUID]] = defaultdict(list)
    for order in orders:
        last = today[order.pk] + timedelta(days=order.generation_horizon_days)
        if order.generated_through != last:
            order.generated_through = last
            through[last].append(order.pk)
    for last, ids in through.items():
        StandingOrder.objects.filter(pk__in=ids).update(generated_through=last)
