"""Brings the rides of standing orders in line with their plans.

The generator, every edit, hold, skip and calendar shift end here; nothing else of an order writes to a ride.

- The plan of an order (terms, holds, skips, shifts, overrides) gives what every leg of every pattern date should be.
- A row of `Occurrence` per (order, pattern date, leg) stores the last decision and the latest ride.  Rows are never
  deleted: a ride that a person canceled stays canceled, because its row still says `generated`.
- `reconciliation.steps` compares both and lists steps (create, amend, cancel, leave); it is pure.
- The steps are carried out by the services of rides, in the caller's transaction, with the orders and then their
  riders locked: cancel and amend ride by ride (few rides change in a day), book in sets (thousands are created).
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
from apps.recurring.rules.reconciliation import LEGS, Decision, DesiredLeg, Key, Leg, RecordedLeg, Step, StepType
from apps.recurring.rules.recurrence import Occurrence, occurrences
from apps.recurring.services import booking_templates
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
    """What became of an order's rides, by pattern date; `unchanged` rides were changed by people and stay as they are.

    `refused` are dates on which no ride could be made, or none amended, each with why.
    """

    created: list[UUID] = field(default_factory=list)
    amended: list[UUID] = field(default_factory=list)
    cancelled: list[UUID] = field(default_factory=list)
    unchanged: dict[date, list[UUID]] = field(default_factory=dict)
    refused: dict[date, Refused] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.created or self.amended or self.cancelled)


@dataclass(slots=True)
class _Work:
    """What is being done about one order."""

    planned_order: PlannedOrder
    steps: list[Step]
    result: ReconcileResult
    rows: dict[Key, dict[str, Any]] = field(default_factory=dict)  # of the ledger, as they will be

    @property
    def order(self) -> StandingOrder:
        return self.planned_order.order


def occurrence_key(order_id: UUID, pattern_date: date, leg: Leg) -> str:
    """Name one leg of one date for ever: whatever becomes of it, its rides carry this key."""
    return f"{order_id}:{pattern_date.isoformat()}:{leg}"


def today_of(order: StandingOrder, at: datetime) -> date:
    return timing.local_day(at, order.timezone)


def reconcile(
    orders: Sequence[StandingOrder], *, overwrite: Container[date] = (), by: Principal, at: datetime
) -> dict[UUID, ReconcileResult]:
    """Bring the rides of locked orders in line with their plans, through each one's horizon.

    Rides that people changed stay, but on pattern dates of `overwrite`.  Locks the orders' riders, then rides.  Queries
    depend on the number of rides that are called off, amended or late, not on how many are made.
    """
    if not orders:
        return {}
    worker = by.elevated(*NEEDED)
    today = {order.pk: today_of(order, at) for order in orders}
    works = [_work(one, today[one.order.pk], overwrite, at) for one in _out_of_sync(orders, today, at)]
    busy = [work for work in works if work.steps]
    if busy:
        # All at once, whether booked or moved: two batches with riders in common do not wait for each other.
        riders = recurring_booking.lock_riders({work.order.rider_id for work in busy})
        _skip_reopened(busy)
        days = [day for work in busy for day in _days(work)]
        made = booking_templates.ride_plans(_samples(days), riders, by=worker, at=at)
        for work in busy:
            _call_off(work, by=worker, at=at)
            _amend(work, by=worker, at=at)
        _book(days, made, by=worker, at=at)
        _keep(busy, at=at)
        _audit(busy, by=by)
    _remember(orders, today)
    return {order_id: ReconcileResult() for order_id in today} | {work.order.pk: work.result for work in works}


def _out_of_sync(orders: Sequence[StandingOrder], today: Mapping[UUID, date], at: datetime) -> list[PlannedOrder]:
    """Read what decides about those orders whose rides are not what they should be, or were changed by people.

    A draft, which should have none, is never among them.
    On most nights most orders have nothing to do: to see that takes a third of what a full comparison takes.
    """
    since = plans.first_relevant_date(min(today.values()))
    planned = plans.planned(orders, since=since)
    last = {order.pk: today[order.pk] + timedelta(days=order.generation_horizon_days) for order in orders}
    booked = plans.ride_digests(list(today), since=since, at=at)
    plan_digest = [plans.plan_digest(one, since, last[one.order.pk], at=at) for one in planned]
    found = [one for one, text in zip(planned, plan_digest, strict=True) if booked.get(one.order.pk) != text]
    return plans.with_rows(found, since=since)


def _work(planned_order: PlannedOrder, today: date, overwrite: Container[date], at: datetime) -> _Work:
    first = plans.first_relevant_date(today)
    known = {key: row.recorded for key, row in planned_order.occurrence_rows.items() if key[0] >= first}
    last = max([today + timedelta(days=planned_order.order.generation_horizon_days), *(day for day, _ in known)])
    overwritten = {day for day, _ in known if day in overwrite} if overwrite else set[date]()
    overwritten |= _stranded(planned_order, known)
    steps = reconciliation.steps(wanted(planned_order, first, last), known, now=at, overwrite=overwritten)
    work = _Work(planned_order, steps, ReconcileResult())
    for step in steps:
        if step.type is StepType.LEAVE:
            work.result.unchanged.setdefault(step.pattern_date, []).append(_ride_of(work, step))
    return work


def _stranded(planned_order: PlannedOrder, known: Mapping[Key, RecordedLeg]) -> set[date]:
    """List dates that the pattern no longer has, with rides that people changed, on days on which nobody is at home.

    Such a ride would stay; but whoever is away is away, whatever was arranged.
    """
    plan = planned_order.plan
    if not plan.holds:
        return set()
    return {
        day
        for (day, _), recorded in known.items()
        if recorded.pending
        and recorded.customized
        and recorded.pickup_at is not None
        and not plan.has(day)
        and any(hold.covers(timing.local_day(recorded.pickup_at, planned_order.order.timezone)) for hold in plan.holds)
    }


def wanted(planned_order: PlannedOrder, first: date, last: date) -> dict[Key, DesiredLeg]:
    """Say what the plan of an order that rides has for every leg of the pattern dates from `first` to `last`."""
    found = {}
    for occurrence in occurrences(planned_order.plan, first, last):
        terms = planned_order.terms_on(occurrence.pattern_date)
        for leg in terms.legs:
            found[occurrence.pattern_date, leg] = DesiredLeg(occurrence, planned_order.contents[terms.pk])
    return found


def _ride_of(work: _Work, step: Step) -> UUID:
    # What cancel, amend and leave steps have a ride.
    return cast(UUID, work.planned_order.occurrence_rows[step.pattern_date, step.leg].ride_id)


def _steps(work: _Work, act: StepType) -> list[Step]:
    return [step for step in work.steps if step.type is act]


def _skip_reopened(busy: Sequence[_Work]) -> None:
    """Make no ride in place of one that somebody has re-opened meanwhile (T29), or is just re-opening.

    Locks the rides that were called off, where others are to be made in their place.
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
        taken = {key for key, row in work.planned_order.occurrence_rows.items() if row.ride_id in reopened}
        work.steps = [
            one for one in work.steps if one.type is not StepType.CREATE or (one.pattern_date, one.leg) not in taken
        ]


def _call_off(work: _Work, *, by: Principal, at: datetime) -> None:
    # The way back first: without the way there it would be a question for people.
    for step in reversed(_steps(work, StepType.CANCEL)):
        ride_id = _ride_of(work, step)
        said = StatusReport(RideStatus.CANCELLED, source="system", reason_code=REASON_OF[step.decision])
        status_report.change_status(ride_id=ride_id, report=said, by=by, at=at)
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
            except DomainError as refusal:
                # The ride stays as it was, on the road as promised; people decide.
                work.result.refused[step.pattern_date] = Refused(refusal.code, refusal.text, None)
                continue
            work.result.amended.append(ride_id)
            _write(work, step, ride_id=ride_id)


def _in_order(work: _Work, steps: list[Step]) -> list[Step]:
    """Let the way back move first where the day moves later: at no moment does one leg pass the other."""
    recorded = work.planned_order.occurrence_rows[steps[0].pattern_date, steps[0].leg].recorded
    new, _ = reconciliation.times_of(_occurrence(steps[0]), steps[0].leg)
    return steps[::-1] if recorded.pickup_at is not None and new > recorded.pickup_at else steps


def _amend_one(work: _Work, step: Step, ride_id: UUID, *, by: Principal, at: datetime) -> None:
    occurrence = _occurrence(step)
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
        allow_duplicate=True,
        override=Override(wanted=True, reason="standing_order_changed"),
        occurrence_state=occurrence.change,
        afresh=True,  # what the order no longer says of needs and companions, its rides forget
        by=by,
        at=at,
    )


@dataclass(frozen=True, slots=True)
class _Missing:
    """A date of an order with legs that are to be booked."""

    work: _Work
    steps: list[Step]
    asked: TermsSample


def _days(work: _Work) -> list[_Missing]:
    days: dict[date, list[Step]] = defaultdict(list)
    for step in _steps(work, StepType.CREATE):
        days[step.pattern_date].append(step)
    return [
        _Missing(work, steps, TermsSample(work.order, work.planned_order.terms_on(day), _occurrence(steps[0])))
        for day, steps in days.items()
    ]


def _samples(days: Iterable[_Missing]) -> list[TermsSample]:
    """Choose a day for each row of terms; if there is one, of those on which the clocks put nothing out of order."""
    by_soundness = sorted(days, key=lambda one: one.asked.occurrence.chair_at < one.asked.occurrence.return_at)
    return list({one.asked.terms.pk: one.asked for one in by_soundness}.values())


def _occurrence(step: Step) -> Occurrence:
    return cast(Occurrence, step.occurrence)  # what is made or moved is wanted


def _book(days: Sequence[_Missing], made: Mapping[UUID, RidePlan | Refused], *, by: Principal, at: datetime) -> None:
    """Book what is missing, all orders together: a day of one order is booked whole or not at all."""
    sound: list[tuple[_Missing, ServiceDay]] = []
    for one in days:
        course = made[one.asked.terms.pk]
        if isinstance(course, Refused):
            _record_refusal(one, course)
        else:
            also = _beside(one, by=by, at=at)
            times = [_time(one.work.order, step, also) for step in one.steps]
            sound.append((one, ServiceDay(course, times, [LEGS.index(step.leg) for step in one.steps])))
    for (one, _), outcome in zip(
        sound, recurring_booking.book_days([day for _, day in sound], by=by, at=at), strict=True
    ):
        if isinstance(outcome, Refused):
            _record_refusal(one, outcome)
            continue
        for step, ride_id in zip(one.steps, outcome, strict=True):
            one.work.result.created.append(ride_id)
            _write(one.work, step, ride_id=ride_id)


def _beside(day: _Missing, *, by: Principal, at: datetime) -> dict[str, Any]:
    """Let a leg that is booked alone join the other one, where that stands: as if they had been booked together."""
    if len(day.steps) == len(LEGS):
        return {}
    (step,) = day.steps
    rows = (day.work.planned_order.occurrence_rows.get((step.pattern_date, leg)) for leg in LEGS if leg is not step.leg)
    other = next((row.ride_id for row in rows if row is not None and row.recorded.pending), None)
    return {} if other is None else {"trip_id": booking.trip_of(ride_id=other, by=by, at=at)}


def _time(order: StandingOrder, step: Step, beside: Mapping[str, Any]) -> LegSchedule:
    occurrence = _occurrence(step)
    pickup_at, appointment_at = reconciliation.times_of(occurrence, step.leg)
    also = {
        **beside,
        "standing_order_id": order.pk,
        "preferred_driver_ids": order.preferred_driver_ids,
        "occurrence_key": occurrence_key(order.pk, step.pattern_date, step.leg),
        "occurrence_state": occurrence.change,
    }
    return LegSchedule(pickup_at, appointment_at, also)


def _record_refusal(day: _Missing, refusal: Refused) -> None:
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


def _keep(busy: Iterable[_Work], *, at: datetime) -> None:
    new, known = [], []
    for work in busy:
        for key, row in work.rows.items():
            if (was := work.planned_order.occurrence_rows.get(key)) is not None:
                known.append({"id": was.id, **row})
            else:
                named = {"standing_order_id": work.order.pk, "pattern_date": key[0], "leg": key[1], "decided_at": at}
                new.append(named | row)
    copy_rows(OccurrenceRow, new)
    if known:
        with connection.cursor() as cursor:
            cursor.execute(_UPDATE_ROWS, {"rows": orjson.dumps(known).decode(), "at": at})


def _audit(busy: Iterable[_Work], *, by: Principal) -> None:
    for work in busy:
        result = work.result
        if result.is_empty:
            continue
        counts = {name: len(getattr(result, name)) for name in ("created", "amended", "cancelled")}
        audit.record(
            by=by,
            action="standing_orders.reconcile",
            subject_type="standing_order",
            subject_id=work.order.pk,
            rider_ids=[work.order.rider_id],
            facility_id=work.order.facility_id,
            details={name: count for name, count in counts.items() if count},
        )


def _remember(orders: Iterable[StandingOrder], today: Mapping[UUID, date]) -> None:
    """Note how far the generator has been, where that is news."""
    through: dict[date, list[UUID]] = defaultdict(list)
    for order in orders:
        last = today[order.pk] + timedelta(days=order.generation_horizon_days)
        if order.generated_through != last:
            order.generated_through = last
            through[last].append(order.pk)
    for last, ids in through.items():
        StandingOrder.objects.filter(pk__in=ids).update(generated_through=last)
