"""How rides are made to follow their standing order: what is there, what should be, and the steps between (pure).

The plan is the truth, and every edit, hold, skip and moved holiday is a change of the plan.  A ledger row names each
(pattern date, leg) that was ever decided on, and never goes away: it is the tombstone that keeps a cancelled ride from
rising again.  Rows that the order itself gave up (`GIVEN_UP`) may come back; what a person or the
road decided stays.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from apps.recurring.rules.recurrence import Occurrence, OccurrenceStatus


class Leg(StrEnum):
    OUTBOUND = "outbound"
    RETURN = "return"


LEGS: Final = tuple(Leg)


class Decision(StrEnum):
    """What the ledger says of a (pattern date, leg)."""

    GENERATED = "generated"
    HELD = "held"
    SKIPPED = "skipped"
    CLOSED = "closed"
    WITHDRAWN = "withdrawn"  # the pattern no longer has the day, or the order ended
    REFUSED = "refused"  # no ride could be made; an exception says why


REBOOKABLE: Final = frozenset({Decision.HELD, Decision.SKIPPED, Decision.CLOSED, Decision.WITHDRAWN, Decision.REFUSED})
_DECISION_OF_STATUS: Final[Mapping[OccurrenceStatus, Decision]] = {
    OccurrenceStatus.HELD: Decision.HELD,
    OccurrenceStatus.SKIPPED: Decision.SKIPPED,
    OccurrenceStatus.CLOSED: Decision.CLOSED,
}


Key = tuple[date, Leg]  # (pattern date, leg), the name of a ride within its order


class EveryDate:
    """Holds every date."""

    def __contains__(self, day: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class DesiredLeg:
    """What the plan has for one leg; `content` digests what the ride is made of besides its times."""

    occurrence: Occurrence
    content: str = ""


class RecordedLeg(NamedTuple):  # there are hundreds of thousands in a night
    """A row of the ledger with its ride, where it has one.

    `pending` says that the ride is open and its driver has not set out; `begun` that the road has touched it: it is
    under way, or ended in another way than by being called off.  Instants and `content` are those it was made with.
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
    LEAVE = "leave"  # a person changed the ride, and the plan has something else for it: it is listed


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do about one leg; `decision` is what the ledger says afterwards."""

    act: StepType
    pattern_date: date
    leg: Leg
    decision: Decision
    occurrence: Occurrence | None


def steps(
    wanted: Mapping[Key, DesiredLeg],
    occurrence_rows: Mapping[Key, RecordedLeg],
    *,
    now: datetime,
    overwrite: Container[date] = (),
) -> list[Step]:
    """List what makes the rides follow the plan, by date, the way there before the way back.

    Both mappings cover the same span of pattern dates.  What a person changed stays, but on dates of `overwrite`.
    Nothing is done about a day that has begun: who is on the machine is brought home as arranged.
    """
    days: dict[date, list[Leg]] = {}
    for day, leg in sorted({*wanted, *occurrence_rows}):
        days.setdefault(day, []).append(leg)
    found = []
    for day, legs in days.items():
        if any(occurrence_rows[day, leg].begun for leg in legs if (day, leg) in occurrence_rows):
            continue
        steps_of_day = (
            _step((day, leg), wanted.get((day, leg)), occurrence_rows.get((day, leg)), now, day in overwrite)
            for leg in legs
        )
        found += [step for step in steps_of_day if step is not None]
    return found


def _step(
    key: Key, wanted: DesiredLeg | None, recorded: RecordedLeg | None, now: datetime, overwrite: bool
) -> Step | None:
    if recorded is not None and recorded.pending:
        return _of_pending(key, wanted, recorded, now, overwrite)
    if wanted is None or not _is_due(wanted, now):
        return None
    if recorded is None or recorded.decision in REBOOKABLE:
        return Step(StepType.CREATE, *key, Decision.GENERATED, wanted.occurrence)
    return None


def _of_pending(
    key: Key, wanted: DesiredLeg | None, recorded: RecordedLeg, now: datetime, overwrite: bool
) -> Step | None:
    if recorded.pickup_at is not None and recorded.pickup_at <= now:
        return None
    spared = recorded.customized and not overwrite
    occurrence = wanted.occurrence if wanted else None
    if wanted is None or wanted.occurrence.status is not OccurrenceStatus.DUE:
        decision = _DECISION_OF_STATUS[wanted.occurrence.status] if wanted else Decision.WITHDRAWN
        # A hold or a skip says that the rider stays away; a pattern or a closed day says less than a person did.
        if spared and decision in (Decision.WITHDRAWN, Decision.CLOSED):
            return Step(StepType.LEAVE, *key, Decision.GENERATED, occurrence)
        return Step(StepType.CANCEL, *key, decision, occurrence)
    same = (recorded.pickup_at, recorded.appointment_at) == times_of(wanted.occurrence, key[1])
    if (same and recorded.content == wanted.content) or not _is_due(wanted, now):
        return None
    return Step(StepType.LEAVE if spared else StepType.AMEND, *key, Decision.GENERATED, occurrence)


def _is_due(wanted: DesiredLeg, now: datetime) -> bool:
    """Say whether a ride is wanted and its day lies ahead: nobody is booked for the past, or brought home alone."""
    return wanted.occurrence.status is OccurrenceStatus.DUE and wanted.occurrence.pickup_at > now


def times_of(occurrence: Occurrence, leg: Leg) -> tuple[datetime, datetime | None]:
    """Give pickup and appointment of one leg of an occurrence; the way back has no appointment."""
    if leg is Leg.OUTBOUND:
        return occurrence.pickup_at, occurrence.chair_at
    return occurrence.return_at, None
