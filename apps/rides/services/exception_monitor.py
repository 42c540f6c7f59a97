"""The exception monitor: opens, escalates and settles exceptions of rides as time passes.

Each ride has the time of its next evaluation (`next_check_at`, docs/adr/0019).  A run takes the rides that are due in
sets, evaluates `rules.exception_rules` for them, and writes the changes and the next time of evaluation in one
transaction.  If a worker dies, nothing was written, and the next run evaluates the same rides.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from apps.organizations.rules.opening_hours import local_instant
from apps.rides.models import WatchedFacility
from apps.rides.queries import monitored_rides, ride_forecasts
from apps.rides.queries.monitored_rides import MonitoredException, Watched
from apps.rides.rules.exception_rules import (
    TERMS_REACH,
    Finding,
    Forecast,
    Terms,
    absent_cause,
    caused_by_driver,
    evaluate,
    expires_at,
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
from apps.rides.rules.lifecycle import OPEN, WITH_DRIVER, Action, RideStatus
from apps.rides.rules.reasons import LEG_KEPT_NOTE
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import escalation, offers
from apps.rides.services import outcomes as outcomes_service
from apps.rides.services.exception_changes import Change, ExceptionChanges, Opening, Settlement, apply, postpone
from apps.rides.services.status import audit_step, locked
from lib.access import Principal

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
_HAS_REMAINING: Final = f"SELECT EXISTS (SELECT FROM rides_ride r WHERE {_REACHED})"  # noqa: S608  # constants


class _FollowUps(NamedTuple):
    """Work to do after a set: unused legs to cancel, and rides to offer, with the time since when."""

    unused: list[UUID]
    offered: dict[UUID, datetime]

    def take(self, more: "_FollowUps") -> None:
        self.unused.extend(more.unused)
        self.offered.update(more.offered)


class _Step(NamedTuple):
    """An escalation step that a ride has reached."""

    ride: Watched
    type: ExceptionType
    level: int
    minutes: int


def watch(*, by: Principal, at: datetime) -> int:
    """Evaluate the rides that are due, and return their number.  Several workers can run it at once.

    Takes one set at a time, each in its own transaction.  A ride that another transaction has locked waits for the next
    run.  A ride whose evaluation fails is postponed by five minutes and does not block the others.
    """
    follow_settings(at=at)
    evaluated = 0
    for _ in range(SETS):
        try:
            count, follow_ups = _evaluate_due(by=by, at=at)
        except Exception:  # any error, possibly of one ride
            log.exception("rides not watched together")
            count, follow_ups = _evaluate_singly(by=by, at=at)
        for ride_id in follow_ups.unused:
            _guarded(ride_id, lambda pk=ride_id: _end_unused(pk, by=by, at=at), at=at)
        for ride_id in offers.rides_with_preferred_drivers(follow_ups.offered):
            _offer(ride_id, since=follow_ups.offered[ride_id], by=by, at=at)
        evaluated += count
        if count < RIDES_AT_ONCE:
            break
    return evaluated


@transaction.atomic
def _evaluate_due(*, by: Principal, at: datetime) -> tuple[int, _FollowUps]:
    rides = monitored_rides.lock_due(at=at, most=RIDES_AT_ONCE)
    return len(rides), _evaluate(rides, by=by, at=at)


def _evaluate_singly(*, by: Principal, at: datetime) -> tuple[int, _FollowUps]:
    ride_ids = monitored_rides.due_ids(at=at, most=RIDES_AT_ONCE)
    follow_ups = _FollowUps([], {})
    for ride_id in ride_ids:
        _guarded(ride_id, lambda pk=ride_id: follow_ups.take(_evaluate_one(pk, by=by, at=at)), at=at)
    return len(ride_ids), follow_ups


def _evaluate_one(ride_id: UUID, *, by: Principal, at: datetime) -> _FollowUps:
    return _evaluate(monitored_rides.lock_one(ride_id, at=at), by=by, at=at)


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


def _evaluate(rides: Sequence[Watched], *, by: Principal, at: datetime) -> _FollowUps:
    """Evaluate locked rides and save the results; return the remaining work: unused legs and offers."""
    if not rides:
        return _FollowUps([], {})
    terms, exceptions_of = monitored_rides.terms_of(rides), monitored_rides.exceptions_of([ride.id for ride in rides])
    forecasts, absent_drivers = _forecasts(rides, at), monitored_rides.absent_drivers_of(rides)
    outcomes: list[ExceptionChanges] = []
    steps: list[_Step] = []
    follow_ups = _FollowUps([], {})
    for ride in rides:
        try:
            of_ride = terms[ride.id]._replace(
                forecast=forecasts.get(ride.id), absent_driver_id=absent_drivers.get(ride.id)
            )
            outcome = _changes_of(ride, of_ride, exceptions_of.get(ride.id, []), steps, follow_ups, at)
        except Exception:  # unexpected JSON of one ride
            log.exception("ride not judged", extra={"ride_id": str(ride.id)})
            outcome = ExceptionChanges(ride, [], next_check_at=at + RETRY_AFTER)
        if outcome is not None:
            outcomes.append(outcome)
    apply(outcomes, by=by, at=at)
    for step in steps:
        escalation.notify(step.ride.id, step.ride.facility_id, step.type, step.level, minutes=step.minutes, at=at)
    return follow_ups


def _forecasts(rides: Sequence[Watched], at: datetime) -> Mapping[UUID, Forecast]:
    try:
        return ride_forecasts.forecasts_of(rides, at=at)
    except Exception:  # unexpected JSON of one ride: the others are judged by plan
        log.exception("rides not predicted")
        return {}


def _changes_of(
    ride: Watched,
    terms: Terms,
    ride_exceptions: Sequence[MonitoredException],
    steps: list[_Step],
    follow_ups: _FollowUps,
    at: datetime,
) -> ExceptionChanges | None:
    """Evaluate a ride; None: an unused will-call leg.  Adds to escalation `steps` and to `follow_ups`."""
    unsettled = {exception.type: exception for exception in ride_exceptions if exception.status in _UNSETTLED}
    outlook = evaluate(ride.facts, terms._replace(foreseen=ExceptionType.LATE_PICKUP_PREDICTED in unsettled), at)
    if outlook.ends_unused:
        follow_ups.unused.append(ride.id)
        return None
    outcome = ExceptionChanges(ride, list(unsettled.values()), next_check_at=outlook.next_at)
    new_steps: list[_Step] = []
    for type_, finding in outlook.findings.items():
        present = unsettled.get(type_.value)
        is_new = present is None and not _is_dismissed(ride_exceptions, type_, finding)
        cause = ride.driver_id if caused_by_driver(type_, ride.facts, terms) else absent_cause(type_, terms)
        if not is_new and (present is None or (present.severity, present.cause_driver_id) == (finding.severity, cause)):
            continue
        details: dict[str, Any] = {}
        if type_ in escalation.TYPES and on_ladder_since(ride.facts, terms) is not None:
            details[escalation.NOTIFIED] = escalation.notified_by(type_, finding.level)
            new_steps += _steps(ride, terms, type_, finding, present)
        to = Opening(type_, finding.severity, finding.level, finding.next_at, details, cause)
        if present is None:
            outcome.opened.append(to)
        else:
            outcome.changed.append(Change(present, to))
    for exception in unsettled.values():
        if not _expire(exception, outcome, at):
            _resolve_exception(exception, outcome, outlook.findings, at)
            _escalate_credential_lapse(exception, outcome, at)
    steps += new_steps
    if outlook.offered_since is not None:
        follow_ups.offered[ride.id] = outlook.offered_since
    return outcome


def _is_dismissed(ride_exceptions: Sequence[MonitoredException], type_: ExceptionType, finding: Finding) -> bool:
    """Check whether a person has closed an exception of the type since the finding began, at this severity."""
    return any(
        exception.type == type_
        and exception.resolved_at is not None
        and exception.resolved_at > finding.since
        and SEVERITY_RANK[ExceptionSeverity(exception.severity)] >= SEVERITY_RANK[finding.severity]
        for exception in ride_exceptions
    )


def _steps(
    ride: Watched, terms: Terms, type_: ExceptionType, finding: Finding, present: MonitoredException | None
) -> list[_Step]:
    """List the escalation steps since the last evaluation, which may be several after a delay."""
    minutes = terms.ladder[1:4] if type_ is ExceptionType.UNASSIGNED_AT_RISK else terms.ladder[4:]
    first = present.level if present is not None else 0
    return [_Step(ride, type_, level, minutes[level - 1]) for level in range(first + 1, finding.level + 1)]


def _expire(exception: MonitoredException, outcome: ExceptionChanges, at: datetime) -> bool:
    """Resolve an exception about something that no person can change any more, or evaluate again at that time."""
    expires = expires_at(ExceptionType(exception.type), outcome.ride.facts)
    if expires is None:
        return False
    if expires <= at:
        outcome.settled.append(Settlement(exception, ResolutionCode.EXPIRED))
        return True
    outcome.next_check_at = min(expires, outcome.next_check_at or expires)
    return False


def _resolve_exception(
    exception: MonitoredException, outcome: ExceptionChanges, findings: dict[ExceptionType, Finding], at: datetime
) -> None:
    type_, status = ExceptionType(exception.type), outcome.ride.facts.status
    if type_ is ExceptionType.RETURN_LEG_AT_RISK:
        _resolve_undecided_leg(exception, outcome, at)
    elif type_ not in findings and settles(type_, status):
        code = ResolutionCode.RESCHEDULED if type_ in _MOVED else ResolutionCode.RECOVERED_LATE
        if type_ is ExceptionType.LATE_PICKUP_PREDICTED:
            code = _code_of_prediction(findings, status)
        outcome.settled.append(Settlement(exception, code))


def _code_of_prediction(findings: Mapping[ExceptionType, Finding], status: str) -> ResolutionCode:
    """Say why a late pickup is not predicted any more: it has happened, the driver is another, or it is in time."""
    if ExceptionType.LATE_PICKUP in findings:
        return ResolutionCode.HANDLED_ELSEWHERE
    return ResolutionCode.RECOVERED_ON_TIME if status in WITH_DRIVER else ResolutionCode.REASSIGNED


def _escalate_credential_lapse(exception: MonitoredException, outcome: ExceptionChanges, at: datetime) -> None:
    """Raise `credential_lapse` to critical once the day of the ride has begun.

    The exception itself is opened when the ride or its crew changes.
    """
    ride = outcome.ride
    if exception.type != _LAPSE or exception.severity == ExceptionSeverity.CRITICAL or ride.facts.status not in OPEN:
        return
    begins_at = local_instant(ride.service_date, time(), zone=ride.timezone)
    if begins_at <= at:
        outcome.changed.append(
            Change(exception, Opening(_LAPSE, ExceptionSeverity.CRITICAL, exception.level, exception.due_at, {}))
        )
    else:
        outcome.next_check_at = min(begins_at, outcome.next_check_at or begins_at)


def _resolve_undecided_leg(exception: MonitoredException, outcome: ExceptionChanges, at: datetime) -> None:
    """Keep a leg without a decision in time.

    Not if the exception is acknowledged or the leg is canceled: the rider may have no way home.
    """
    if exception.due_at is None or exception.status != ExceptionStatus.OPEN or outcome.ride.facts.status not in OPEN:
        return
    if exception.due_at <= at:
        outcome.settled.append(Settlement(exception, ResolutionCode.OTHER, LEG_KEPT_NOTE))
    else:
        outcome.next_check_at = min(exception.due_at, outcome.next_check_at or exception.due_at)


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

    One query if no settings have changed.  If another transaction has locked such a ride, the next run tries again.
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
        cursor.execute(_HAS_REMAINING, values)
        if cursor.fetchone()[0]:
            return
    WatchedFacility.objects.bulk_create(
        [WatchedFacility(facility_id=facility_id, settings=digest) for facility_id, digest in changed],
        update_conflicts=True,
        unique_fields=["facility"],
        update_fields=["settings"],
    )
