"""Compares the plan of a standing order with its recorded occurrences, and lists the steps that bring rides in line.

The plan is the truth: every edit, hold, skip and calendar shift changes the plan.  A row per (pattern date, leg) stores
the last decision and is never deleted, so a ride that a person canceled is not booked again.  Only rows whose decision
is in `REBOOKABLE`, all of them decisions of the order itself, can get a new ride.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple, cast
from uuid import UUID

from apps.recurring.rules.recurrence import Occurrence, OccurrenceStatus


class Leg(StrEnum):
    OUTBOUND = "outbound"
    RETURN = "return"


LEGS: Final = tuple(Leg)


class Decision(StrEnum):
    """The last decision about a (pattern date, leg)."""

    GENERATED = "generated"
    HELD = "held"
    SKIPPED = "skipped"
    CLOSED = "closed"
    WITHDRAWN = "withdrawn"  # the pattern no longer has the day, or the order ended
    REFUSED = "refused"  # no ride could be booked; an exception has the reason


REBOOKABLE: Final = frozenset({Decision.HELD, Decision.SKIPPED, Decision.CLOSED, Decision.WITHDRAWN, Decision.REFUSED})
_DECISION_OF_STATUS: Final[Mapping[OccurrenceStatus, Decision]] = {
    OccurrenceStatus.HELD: Decision.HELD,
    OccurrenceStatus.SKIPPED: Decision.SKIPPED,
    OccurrenceStatus.CLOSED: Decision.CLOSED,
}


Key = tuple[date, Leg]  # (pattern date, leg) identifies a leg within its order


def occurrence_key(order_id: UUID, pattern_date: date, leg: Leg) -> str:
    """Return the permanent key of one leg of one date, which all its rides carry."""
    return f"{order_id}:{pattern_date.isoformat()}:{leg}"


class EveryDate:
    """A container of all dates."""

    def __contains__(self, day: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class DesiredLeg:
    """One leg as planned; `content` is a digest of everything in the ride except its times."""

    occurrence: Occurrence
    content: str = ""


class RecordedLeg(NamedTuple):  # a named tuple, because a nightly run reads hundreds of thousands
    """The recorded state of one leg, with its latest ride if there is one.

    `pending`: the ride is open and its driver is not en route.  `begun`: the ride is under way, or has ended other than
    by cancellation.  Times and `content` are those of the ride when it was last booked or amended.
    """

    decision: Decision
    pending: bool = False
    begun: bool = False
    customized: bool = False
    pickup_at: datetime | None = None
    appointment_at: datetime | None = None
    content: str = ""


class StepType(StrEnum):
    CREATE = "create"
    AMEND = "amend"
    CANCEL = "cancel"
    LEAVE = "leave"  # a person changed the ride, and it differs from the plan: only reported


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one leg; `decision` is recorded afterwards."""

    type: StepType
    pattern_date: date
    leg: Leg
    decision: Decision
    occurrence: Occurrence | None

    @property
    def due(self) -> Occurrence:
        """The occurrence of a create or amend step, which has one."""
        return cast(Occurrence, self.occurrence)


def steps(
    desired: Mapping[Key, DesiredLeg],
    recorded: Mapping[Key, RecordedLeg],
    *,
    now: datetime,
    overwrite: Container[date] = (),
) -> list[Step]:
    """List the steps that bring rides in line with the plan, by date, the outbound leg before the return.

    Both mappings cover the same range of pattern dates.  Rides that a person changed stay unless their date is in
    `overwrite`.  A day that has begun is left alone, so that a rider in treatment still gets the return ride.
    """
    days: dict[date, list[Leg]] = {}
    for day, leg in sorted({*desired, *recorded}):
        days.setdefault(day, []).append(leg)
    steps = []
    for day, legs in days.items():
        if any(recorded[day, leg].begun for leg in legs if (day, leg) in recorded):
            continue
        for leg in legs:
            step = _step((day, leg), desired.get((day, leg)), recorded.get((day, leg)), now, day in overwrite)
            if step is not None:
                steps.append(step)
    return steps


def _step(
    key: Key, desired: DesiredLeg | None, recorded: RecordedLeg | None, now: datetime, overwrite: bool
) -> Step | None:
    if recorded is not None and recorded.pending:
        return _step_of_pending(key, desired, recorded, now, overwrite)
    if desired is None or not _is_due(desired, now):
        return None
    if recorded is None or recorded.decision in REBOOKABLE:
        return Step(StepType.CREATE, *key, Decision.GENERATED, desired.occurrence)
    return None


def _step_of_pending(
    key: Key, desired: DesiredLeg | None, recorded: RecordedLeg, now: datetime, overwrite: bool
) -> Step | None:
    if recorded.pickup_at is not None and recorded.pickup_at <= now:
        return None
    is_protected = recorded.customized and not overwrite
    occurrence = desired.occurrence if desired else None
    if desired is None or desired.occurrence.status is not OccurrenceStatus.DUE:
        decision = _DECISION_OF_STATUS[desired.occurrence.status] if desired else Decision.WITHDRAWN
        # With a hold or a skip the rider is away, so that a customized ride is canceled too.  A changed pattern or a
        # closed day does not say so.
        if is_protected and decision in (Decision.WITHDRAWN, Decision.CLOSED):
            return Step(StepType.LEAVE, *key, Decision.GENERATED, occurrence)
        return Step(StepType.CANCEL, *key, decision, occurrence)
    has_same_times = (recorded.pickup_at, recorded.appointment_at) == times_of(desired.occurrence, key[1])
    if (has_same_times and recorded.content == desired.content) or not _is_due(desired, now):
        return None
    return Step(StepType.LEAVE if is_protected else StepType.AMEND, *key, Decision.GENERATED, occurrence)


def _is_due(desired: DesiredLeg, now: datetime) -> bool:
    """Check the pickup of the outbound leg also for returns: no ride is booked for the past, and no return alone."""
    return desired.occurrence.status is OccurrenceStatus.DUE and desired.occurrence.pickup_at > now


def times_of(occurrence: Occurrence, leg: Leg) -> tuple[datetime, datetime | None]:
    """Return the pickup and appointment times of one leg; a return has no appointment."""
    if leg is Leg.OUTBOUND:
        return occurrence.pickup_at, occurrence.chair_at
    return occurrence.return_at, None
