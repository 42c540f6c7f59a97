"""The exception monitor: opens, escalates and settles exceptions of rides as time passes.

Each ride has the time of its next evaluation (`next_check_at`, docs/adr/0019).  A run takes the rides that are due in
sets, evaluates `rules.exception_rules` for them, and writes the changes and the next time of evaluation in one
transaction.  If a worker dies, nothing was written, and the next run evaluates the same rides.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection, transaction

from apps.events import services as events
from apps.organizations.rules.opening_hours import local_instant
from apps.rides.models import RideException, WatchedFacility
from apps.rides.queries import monitored_rides
from apps.rides.queries.monitored_rides import Known, Watched
from apps.rides.rules.exception_rules import (
    TERMS_REACH,
    Finding,
    Terms,
    evaluate,
    on_ladder_since,
    settles,
)
from apps.rides.rules.exception_types import (
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionStatus,
    ExceptionType,
    ResolutionCode,
)
from apps.rides.rules.lifecycle import OPEN, Action, RideStatus
from apps.rides.rules.reasons import LEG_KEPT_NOTE
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import escalation, exceptions, offers
from apps.rides.services import outcomes as outcomes_service
from apps.rides.services.status import audit_step, event_data, locked
from lib.access import Principal
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

log = logging.getLogger(__name__)

RIDES_AT_ONCE: Final = 1_000
SETS: Final = 20  # per run; the next run is seconds later
RETRY_AFTER: Final = timedelta(minutes=5)  # for a ride whose evaluation failed
_UNUSED: Final = "will_call_not_used"
_MOVED: Final = frozenset(
    {
        ExceptionType.LATE_PICKUP,
        ExceptionType.LATE_TO_APPOINTMENT,
        ExceptionType.UNASSIGNED_AT_RISK,
        ExceptionType.NO_DRIVER_AVAILABLE,
    }
)
_LAPSE: Final = ExceptionType.CREDENTIAL_LAPSE
_UNSETTLED: Final = (ExceptionStatus.OPEN.value, ExceptionStatus.ACKNOWLEDGED.value)

# Skips locked rides, to avoid deadlocks.
_REACHED: Final = """
    r.next_check_at > %(at)s AND r.next_check_at <= %(until)s
    AND (r.facility_id = ANY(%(facilities)s) OR r.pickup_facility_id = ANY(%(facilities)s))
"""
_REACH: Final = f"""
    UPDATE rides_ride SET next_check_at = %(at)s
    WHERE id IN (SELECT r.id FROM rides_ride r WHERE {_REACHED} FOR NO KEY UPDATE SKIP LOCKED)
"""  # noqa: S608  # constants
_LEFT: Final = f"SELECT EXISTS (SELECT FROM rides_ride r WHERE {_REACHED})"  # noqa: S608  # constants
_CHANGE: Final = """
    UPDATE rides_rideexception e
    SET severity = c.severity, escalation_level = c.level, due_at = c.due_at, details = e.details || c.details,
        snoozed_until = CASE WHEN c.wakes THEN NULL ELSE e.snoozed_until END,
        version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(severities)s::text[], %(levels)s::int[], %(dues)s::timestamptz[],
        %(details)s::jsonb[], %(wakes)s::bool[]) c (id, severity, level, due_at, details, wakes)
    WHERE e.id = c.id
"""
_SETTLE: Final = """
    UPDATE rides_rideexception e
    SET status = 'resolved', resolved_at = %(at)s, resolved_by = %(by)s, resolution_code = c.code,
        resolution_note = c.note, version = e.version + 1, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(codes)s::text[], %(notes)s::text[]) c (id, code, note)
    WHERE e.id = c.id
"""
_TELL: Final = """
    UPDATE rides_ride r
    SET version = c.version, open_exception_count = c.count, max_exception_severity = c.worst,
        next_check_at = c.next_check_at, updated_at = %(at)s
    FROM unnest(%(ids)s::uuid[], %(versions)s::int[], %(counts)s::int[], %(worst)s::text[],
        %(next_check_at)s::timestamptz[]) c (id, version, count, worst, next_check_at)
    WHERE r.id = c.id
"""
_SAVE_NEXT_CHECKS: Final = """
    UPDATE rides_ride r SET next_check_at = c.next_check_at
    FROM unnest(%(ids)s::uuid[], %(next_check_at)s::timestamptz[]) c (id, next_check_at)
    WHERE r.id = c.id
"""


class Opening(NamedTuple):
    """An exception to open; `due_at` is when its severity rises."""

    type: ExceptionType
    severity: ExceptionSeverity
    level: int
    due_at: datetime | None
    details: Mapping[str, Any]


class Change(NamedTuple):
    """An unsettled exception with a new severity, level or details."""

    known: Known
    to: Opening


class Settlement(NamedTuple):
    """An unsettled exception to resolve."""

    known: Known
    code: ResolutionCode
    note: str = ""


@dataclass(slots=True)
class ExceptionChanges:
    """The result of evaluating a locked ride, and its next evaluation; `unsettled` are its exceptions before."""

    ride: Watched
    unsettled: Sequence[Known]
    next_check_at: datetime | None = None
    opened: list[Opening] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    settled: list[Settlement] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.opened or self.changed or self.settled)


class _Left(NamedTuple):
    """Work after the set: unused legs to cancel, and rides to offer with the time since when."""

    unused: list[UUID]
    offered: dict[UUID, datetime]

    def take(self, other: "_Left") -> None:
        self.unused.extend(other.unused)
        self.offered.update(other.offered)


class _Step(NamedTuple):
    """An escalation step that a ride has reached."""

    ride: Watched
    type: ExceptionType
    level: int
    minutes: int


def watch(*, by: Principal, at: datetime) -> int:
    """Evaluate the rides that are due, and return their number.  Several workers can run it at once.

    A set at a time, each in its own transaction.  A ride that somebody is changing is left for the next run; one that
    cannot be judged is put off by five minutes and is in the way of no other.
    """
    follow_settings(at=at)
    looked = 0
    for _ in range(SETS):
        try:
            found, left = _look_at_due(by=by, at=at)
        except Exception:  # any error, possibly of one ride
            log.exception("rides not watched together")
            found, left = _one_by_one(by=by, at=at)
        for ride_id in left.unused:
            _guarded(ride_id, lambda pk=ride_id: _end_unused(pk, by=by, at=at), at=at)
        for ride_id in offers.rides_with_preferred_drivers(left.offered):
            _offer(ride_id, since=left.offered[ride_id], by=by, at=at)
        looked += found
        if found < RIDES_AT_ONCE:
            break
    return looked


@transaction.atomic
def _look_at_due(*, by: Principal, at: datetime) -> tuple[int, _Left]:
    rides = monitored_rides.lock_due(at=at, most=RIDES_AT_ONCE)
    return len(rides), _look(rides, by=by, at=at)


def _one_by_one(*, by: Principal, at: datetime) -> tuple[int, _Left]:
    ride_ids = monitored_rides.due_ids(at=at, most=RIDES_AT_ONCE)
    left = _Left([], {})
    for ride_id in ride_ids:
        _guarded(ride_id, lambda pk=ride_id: left.take(_look_at_one(pk, by=by, at=at)), at=at)
    return len(ride_ids), left


def _look_at_one(ride_id: UUID, *, by: Principal, at: datetime) -> _Left:
    return _look(monitored_rides.lock_one(ride_id, at=at), by=by, at=at)


def _guarded(ride_id: UUID, act: Any, *, at: datetime) -> None:
    """Run a step in a transaction; postpone the ride if it fails."""
    try:
        with transaction.atomic():
            act()
    except Exception:  # any error of this ride: the others continue
        log.exception("ride not watched", extra={"ride_id": str(ride_id)})
        with transaction.atomic():
            if monitored_rides.lock_one(ride_id, at=at):
                postpone(ride_id, until=at + RETRY_AFTER)


def _offer(ride_id: UUID, *, since: datetime, by: Principal, at: datetime) -> None:
    """Offer the ride to preferred drivers; if that fails, escalation continues and the next evaluation tries again."""
    try:
        offers.offer_to_preferred_drivers(ride_id, since=since, by=by, at=at)
    except Exception:  # any error of this ride: the others continue
        log.exception("ride not offered", extra={"ride_id": str(ride_id)})


def _look(rides: Sequence[Watched], *, by: Principal, at: datetime) -> _Left:
    """Evaluate locked rides and save the results; return the remaining work: unused legs and offers."""
    if not rides:
        return _Left([], {})
    terms, known = monitored_rides.terms_of(rides), monitored_rides.exceptions_of([ride.id for ride in rides])
    outcomes: list[ExceptionChanges] = []
    steps: list[_Step] = []
    left = _Left([], {})
    for ride in rides:
        try:
            outcome = _outcome(ride, terms[ride.id], known.get(ride.id, []), steps, left, at)
        except Exception:  # unexpected JSON of one ride
            log.exception("ride not judged", extra={"ride_id": str(ride.id)})
            outcome = ExceptionChanges(ride, [], next_check_at=at + RETRY_AFTER)
        if outcome is not None:
            outcomes.append(outcome)
    apply(outcomes, by=by, at=at)
    for step in steps:
        escalation.notify(step.ride.id, step.ride.facility_id, step.type, step.level, minutes=step.minutes, at=at)
    return left


def _outcome(
    ride: Watched, terms: Terms, known: Sequence[Known], steps: list[_Step], left: _Left, at: datetime
) -> ExceptionChanges | None:
    """Evaluate a ride; None: an unused will-call leg.  Adds to escalation `steps` and to `left`."""
    outlook = evaluate(ride.facts, terms, at)
    if outlook.ends_unused:
        left.unused.append(ride.id)
        return None
    unsettled = {one.type: one for one in known if one.status in _UNSETTLED}
    outcome = ExceptionChanges(ride, list(unsettled.values()), next_check_at=outlook.next_at)
    new_steps: list[_Step] = []
    for type_, finding in outlook.findings.items():
        present = unsettled.get(type_.value)
        is_new = present is None and not _is_put_aside(known, type_, finding)
        if not is_new and (present is None or present.severity == finding.severity):
            continue
        details: dict[str, Any] = {}
        if type_ in escalation.TYPES and on_ladder_since(ride.facts, terms) is not None:
            details[escalation.NOTIFIED] = escalation.notified_by(type_, finding.level)
            new_steps += _steps(ride, terms, type_, finding, present)
        to = Opening(type_, finding.severity, finding.level, finding.next_at, details)
        if present is None:
            outcome.opened.append(to)
        else:
            outcome.changed.append(Change(present, to))
    for one in unsettled.values():
        _settle(one, outcome, outlook.findings, at)
        _sharpen(one, outcome, at)
    steps += new_steps
    if outlook.offered_since is not None:
        left.offered[ride.id] = outlook.offered_since
    return outcome


def _is_put_aside(known: Sequence[Known], type_: ExceptionType, finding: Finding) -> bool:
    """Check whether a person has closed an exception of the type since the finding began, at this severity."""
    return any(one.type == type_ and one.resolved_at is not None and one.resolved_at > finding.since for one in known)


def _steps(ride: Watched, terms: Terms, type_: ExceptionType, finding: Finding, present: Known | None) -> list[_Step]:
    """List the escalation steps since the last evaluation, which may be several after a delay."""
    minutes = terms.ladder[1:4] if type_ is ExceptionType.UNASSIGNED_AT_RISK else terms.ladder[4:]
    first = present.level if present is not None else 0
    return [_Step(ride, type_, level, minutes[level - 1]) for level in range(first + 1, finding.level + 1)]


def _settle(one: Known, outcome: ExceptionChanges, findings: dict[ExceptionType, Finding], at: datetime) -> None:
    type_, status = ExceptionType(one.type), outcome.ride.facts.status
    if type_ is ExceptionType.RETURN_LEG_AT_RISK:
        _decide(one, outcome, at)
    elif type_ not in findings and settles(type_, status):
        code = ResolutionCode.RESCHEDULED if type_ in _MOVED else ResolutionCode.RECOVERED_LATE
        outcome.settled.append(Settlement(one, code))


def _sharpen(one: Known, outcome: ExceptionChanges, at: datetime) -> None:
    """Raise `credential_lapse` to critical once the day of the ride has begun.

    The exception itself is opened when the ride or its crew changes.
    """
    ride = outcome.ride
    if one.type != _LAPSE or one.severity == ExceptionSeverity.CRITICAL or ride.facts.status not in OPEN:
        return
    begins_at = local_instant(ride.service_date, time(), zone=ride.timezone)
    if begins_at <= at:
        outcome.changed.append(Change(one, Opening(_LAPSE, ExceptionSeverity.CRITICAL, one.level, one.due_at, {})))
    else:
        outcome.next_check_at = min(begins_at, outcome.next_check_at or begins_at)


def _decide(one: Known, outcome: ExceptionChanges, at: datetime) -> None:
    """Keep a leg without a decision in time.

    Not if the exception is acknowledged or the leg is canceled: the rider may have no way home.
    """
    if one.due_at is None or one.status != ExceptionStatus.OPEN or outcome.ride.facts.status not in OPEN:
        return
    if one.due_at <= at:
        outcome.settled.append(Settlement(one, ResolutionCode.OTHER, LEG_KEPT_NOTE))
    else:
        outcome.next_check_at = min(one.due_at, outcome.next_check_at or one.due_at)


def _end_unused(ride_id: UUID, *, by: Principal, at: datetime) -> None:
    """Cancel a will-call leg that was not released and whose rider was never brought."""
    ride = locked(ride_id, by)
    rides = monitored_rides.lock_one(ride_id, at=at)
    if not rides or not evaluate(rides[0].facts, monitored_rides.terms_of(rides)[ride_id], at).ends_unused:
        return
    was = RideStatus(ride.status)
    report = StatusReport(status=RideStatus.CANCELLED, source="system", reason_code=_UNUSED)
    outcomes_service.record_outcome(ride, Action.CANCEL, report, occurred_at=at, by=by, at=at)
    audit_step(ride, was, by=by, reason_code=_UNUSED)


@transaction.atomic
def follow_settings(*, at: datetime) -> None:
    """Make waiting rides of facilities with changed settings due again.

    One query where none has.  Where somebody is changing such a ride just now, the next run goes over them again.
    """
    changed = monitored_rides.changed_facilities()
    if not changed:
        return
    values: dict[str, Any] = {
        "at": at,
        "until": at + TERMS_REACH,
        "facilities": [facility_id for facility_id, _ in changed],
    }
    with connection.cursor() as cursor:
        cursor.execute(_REACH, values)
        cursor.execute(_LEFT, values)
        if cursor.fetchone()[0]:
            return
    WatchedFacility.objects.bulk_create(
        [WatchedFacility(facility_id=facility_id, settings=digest) for facility_id, digest in changed],
        update_conflicts=True,
        unique_fields=["facility"],
        update_fields=["settings"],
    )


def apply(outcomes: Sequence[ExceptionChanges], *, by: Principal, at: datetime) -> None:
    """Save the results of evaluating locked rides, with one event per changed exception.

    At most four statements and two COPYs, however many rides there are.

    Raises:
        django.db.IntegrityError: a ride has an unsettled exception of a type that is opened: it was not locked.
    """
    ids = {(one.ride.id, opening.type): uuid7() for one in outcomes for opening in one.opened}
    told = [one for one in outcomes if one]
    _save_rides(told, at=at)
    _save_next_checks([one for one in outcomes if not one])
    _change([change for one in outcomes for change in one.changed], at=at)
    _resolve([settlement for one in outcomes for settlement in one.settled], by=by, at=at)
    copy_rows(RideException, _rows(outcomes, ids, by=by, at=at))
    events.record_all([event for one in told for event in _events(one, ids, at=at)], by=by)
    over = [one.ride.id for one in told if any(settled.known.on_ladder for settled in one.settled)]
    if over:
        escalation.resolve_alerts(over, at=at)


def postpone(ride_id: UUID, *, until: datetime) -> None:
    """Postpone the evaluation of a locked ride until `until`."""
    _write(_SAVE_NEXT_CHECKS, ids=[ride_id], next_check_at=[until])


def _rows(
    outcomes: Iterable[ExceptionChanges], ids: Mapping[tuple[UUID, ExceptionType], UUID], *, by: Principal, at: datetime
) -> Iterator[dict[str, Any]]:
    for one in outcomes:
        for opening in one.opened:
            yield {
                "id": ids[one.ride.id, opening.type],
                "ride_id": one.ride.id,
                "trip_id": one.ride.trip_id,
                "rider_id": one.ride.rider_id,
                "facility_id": one.ride.facility_id,
                "type": opening.type.value,
                "severity": opening.severity.value,
                "opened_at": at,
                "opened_by": by.actor,
                "detected_by": "clock",
                "due_at": opening.due_at,
                "summary": exceptions.SUMMARY_OF[opening.type],
                "details": opening.details,
                "escalation_level": opening.level,
                "updated_at": at,
            }


def _change(changes: Sequence[Change], *, at: datetime) -> None:
    if changes:
        _write(
            _CHANGE,
            at=at,
            ids=[change.known.id for change in changes],
            severities=[change.to.severity.value for change in changes],
            levels=[change.to.level for change in changes],
            dues=[change.to.due_at for change in changes],
            details=[orjson.dumps(dict(change.to.details)).decode() for change in changes],
            wakes=[_is_worse(change) for change in changes],
        )


def _resolve(settlements: Sequence[Settlement], *, by: Principal, at: datetime) -> None:
    if settlements:
        _write(
            _SETTLE,
            at=at,
            by=by.actor,
            ids=[one.known.id for one in settlements],
            codes=[one.code.value for one in settlements],
            notes=[one.note for one in settlements],
        )


def _save_rides(told: Sequence[ExceptionChanges], *, at: datetime) -> None:
    if told:
        after = [_unsettled_after(one) for one in told]
        _write(
            _TELL,
            at=at,
            ids=[one.ride.id for one in told],
            versions=[
                one.ride.version + len(one.settled) + len(one.changed) + len(one.opened) for one in told
            ],
            counts=[len(severities) for severities in after],
            worst=[max(severities, key=SEVERITY_RANK.__getitem__, default="") for severities in after],
            next_check_at=[one.next_check_at for one in told],
        )  # fmt: skip


def _save_next_checks(idle: Sequence[ExceptionChanges]) -> None:
    if idle:
        _write(_SAVE_NEXT_CHECKS, ids=[one.ride.id for one in idle], next_check_at=[one.next_check_at for one in idle])


def _write(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _is_worse(change: Change) -> bool:
    return SEVERITY_RANK[change.to.severity] > SEVERITY_RANK[ExceptionSeverity(change.known.severity)]


def _unsettled_after(one: ExceptionChanges) -> list[ExceptionSeverity]:
    severities = {known.id: ExceptionSeverity(known.severity) for known in one.unsettled}
    for settled in one.settled:
        del severities[settled.known.id]
    for change in one.changed:
        severities[change.known.id] = change.to.severity
    return [*severities.values(), *(opening.severity for opening in one.opened)]


def _events(
    one: ExceptionChanges, ids: Mapping[tuple[UUID, ExceptionType], UUID], *, at: datetime
) -> Iterator[dict[str, Any]]:
    told: list[tuple[str, dict[str, Any]]] = []
    for settled in one.settled:
        known = settled.known
        resolved = ExceptionStatus.RESOLVED.value
        shown = exceptions.payload_of(known.id, known.type, known.severity, status=resolved, due_at=known.due_at)
        told.append((exceptions.RESOLVED, shown))
    for change in one.changed:
        known, to = change
        shown = exceptions.payload_of(known.id, known.type, to.severity.value, status=known.status, due_at=to.due_at)
        # A lower severity needs no action.
        told.append((exceptions.event_of(to.severity) if _is_worse(change) else exceptions.NOTED, shown))
    for to in one.opened:
        opened, id_ = ExceptionStatus.OPEN.value, ids[one.ride.id, to.type]
        shown = exceptions.payload_of(id_, to.type.value, to.severity.value, status=opened, due_at=to.due_at)
        told.append((exceptions.event_of(to.severity), shown))
    ride = one.ride
    base = event_data(ride.id, ride.facts.status, ride.facts.status, ride.facts.pickup_at)
    for number, (type_, shown) in enumerate(told, 1):
        yield {
            "type": type_,
            "subject_type": "ride",
            "subject_id": ride.id,
            "sequence": ride.version + number,
            "occurred_at": at,
            "facility_id": ride.facility_id,
            "provider_id": ride.provider_id,
            "data": {**base, "exception": shown},
        }
