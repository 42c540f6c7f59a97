"""Time-based exceptions of a ride: which ones are open at an instant, and when the next one may open or escalate.

Each rule returns steps: from which instant an exception is open, and with which severity.  The result depends only on
the current facts of the ride, not on the order of earlier changes and checks.  Pure: no query, no clock.  All
arithmetic is in UTC; local times (closing hours, 23:59) are passed in as instants.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from apps.rides.rules.exception_types import ACTIONABLE_FOR, SEVERITY_RANK, ExceptionSeverity, ExceptionType
from apps.rides.rules.lifecycle import OPEN, WITH_DRIVER, RideStatus
from apps.rides.rules.rider_harm import CRITICAL_WAIT, MISSED_AFTER, stake_of
from apps.rides.rules.timeliness import AWAITING_VEHICLE
from apps.rides.rules.timing import MINUTES_WHEN_UNKNOWN

MINUTE: Final = timedelta(minutes=1)
# An instant has passed from the next microsecond on, the resolution of PostgreSQL.
_MOMENT: Final = timedelta(microseconds=1)

# Before the pickup: 48 h follows Indiana's law.  For life-sustaining rides the exceptions open earlier; these hours are
# our policy.
UNASSIGNED_BEFORE: Final = (timedelta(hours=48), timedelta(hours=24), timedelta(hours=2))
UNASSIGNED_BEFORE_LIFE_SUSTAINING: Final = (timedelta(hours=72), timedelta(hours=48), timedelta(hours=4))
CLOSES_SOON: Final = timedelta(minutes=60)
LONG_WAIT: Final = timedelta(minutes=15)
SHORTEST_LONG_RIDE: Final = timedelta(minutes=60)
# Milestones often miss their estimate by minutes; 15 minutes deserve a check, 60 are no error of an estimate.
GAP_AFTER: Final = timedelta(minutes=15)
STUCK_AFTER: Final = timedelta(minutes=60)
DOCUMENTATION_WITHIN: Final = timedelta(hours=24)
LONGEST_LADDER: Final = timedelta(hours=24)
# Predictions count from so long before the promise.  Further ahead too much changes, and dispatch plans instead.
PREDICTED_AHEAD: Final = timedelta(hours=2)
# A prediction opens an exception from this lateness on, and closes it when the ride is on time again.
PREDICTED_LATE: Final = timedelta(minutes=5)
# How soon a prediction is read again: the later the closer the ride is to being late.
RECHECK_WITHIN: Final = (timedelta(minutes=2), timedelta(minutes=10))

_T, _V, _S = ExceptionType, ExceptionSeverity, RideStatus
_UNDER_WAY: Final = frozenset({_S.EN_ROUTE, _S.ARRIVED, _S.IN_PROGRESS})
_BEFORE_BOARDING: Final = frozenset({_S.REQUESTED, _S.SCHEDULED, _S.ASSIGNED, _S.EN_ROUTE, _S.ARRIVED})


class Facts(NamedTuple):
    """The columns of a ride that the rules use, in the order of `monitored_rides`.

    `accept_by` and `expected_ready_at` are text in ISO 8601, from the JSON of a discharge.
    """

    status: str
    status_changed_at: datetime
    service_type: str
    priority: str
    pickup_at: datetime
    window_ends_at: datetime
    appointment_at: datetime | None
    will_call: bool
    ready_at: datetime | None
    promised_pickup_by: datetime | None
    will_call_expires_at: datetime | None
    requested_at: datetime
    scheduled_at: datetime | None
    confirm_by: datetime | None
    departed_at: datetime | None
    arrived_pickup_at: datetime | None
    boarded_at: datetime | None
    arrived_dropoff_at: datetime | None
    dropped_off_at: datetime | None
    eta_pickup_at: datetime | None
    estimated_minutes: int | None
    pickup_at_facility: bool
    lacks_documentation: bool
    load_minutes: int
    accept_by: str | None
    expected_ready_at: str | None
    after_the_fact: bool


class Forecast(NamedTuple):
    """The earliest arrivals by the driver's timeline; lower bounds if the location of the driver is unknown.

    `pickup_at` is None once the vehicle is there.
    """

    pickup_at: datetime | None
    dropoff_at: datetime | None


class Terms(NamedTuple):
    """Service levels of the facility, and what other records say: earlier legs, the driver's day, open exceptions.

    `ladder` is the minutes of the five escalation steps; for a discharge with a firm time it starts `ladder_ahead`
    before the pickup.  `closes_at` is None if the closing time is unknown.  `was_brought`: an earlier leg carried the
    rider to the facility, or may still do so.  `forecast`: None without a driver, and before `predicted_from`.
    `foreseen`: a predicted late pickup is open.  `absent_driver_id`: who was to drive the ride, and is out.
    """

    response_minutes: int
    wait_minutes: int
    ladder: tuple[int, int, int, int, int]
    closes_at: datetime | None
    was_brought: bool
    ladder_ahead: timedelta
    forecast: Forecast | None = None
    foreseen: bool = False
    absent_driver_id: UUID | None = None


class Step(NamedTuple):
    """From `at` on, the exception is open with at least this severity."""

    at: datetime
    severity: ExceptionSeverity


class Finding(NamedTuple):
    """An open exception: its severity and since when, its step (from 1), and the instant of the next step."""

    severity: ExceptionSeverity
    level: int
    since: datetime
    next_at: datetime | None


class Outlook(NamedTuple):
    """The open exceptions at an instant, when to evaluate again, and whether an unused will-call leg has to end.

    `offered_since`: since when the ride is offered to the provider that the rider prefers; None: not offered.
    """

    findings: dict[ExceptionType, Finding]
    next_at: datetime | None
    ends_unused: bool
    offered_since: datetime | None = None


_Steps = tuple[Step, ...]
_Rule = Callable[[Facts, Terms], _Steps]
_NONE: Final[_Steps] = ()


def evaluate(facts: Facts, terms: Terms, at: datetime) -> Outlook:
    """Return the open exceptions at `at`, and the next instant at which one opens or escalates (None: never).

    A ride that is recorded after the fact has none: nothing about it can be changed any more.
    """
    if facts.after_the_fact:
        return Outlook({}, None, ends_unused=False)
    findings: dict[ExceptionType, Finding] = {}
    ahead: list[datetime] = []
    predicted_since = predicted_from(facts)
    if predicted_since is None or at < predicted_since:
        terms = terms._replace(forecast=None)
    for type_, rule in _RULES[facts.status]:
        expires = expires_at(type_, facts)
        if expires is not None and expires <= at:
            continue
        steps = [step for step in rule(facts, terms) if expires is None or step.at < expires]
        future = [step.at for step in steps if step.at > at]
        passed = [(level, step) for level, step in enumerate(steps, 1) if step.at <= at]
        ahead += future
        if passed:
            level, worst = max(passed, key=lambda passed_step: SEVERITY_RANK[passed_step[1].severity])
            since = max(worst.at, facts.status_changed_at) if type_ in _BY_EPISODE else worst.at
            findings[type_] = Finding(worst.severity, level, since, min(future, default=None))
            ahead += [expires] if expires is not None else []
    if _T.LATE_PICKUP in findings:  # what was predicted has happened
        findings.pop(_T.LATE_PICKUP_PREDICTED, None)
    unused_at, offered_at = _unused_at(facts, terms), _offered_at(facts, terms)
    # Evaluate no later than `first_check_at`: the service levels may change between now and then.
    moments = (unused_at, offered_at, first_check_at(facts), _predicted_again_at(facts, terms, at))
    ahead += [moment for moment in moments if moment is not None and moment > at]
    offered = offered_at if offered_at is not None and offered_at <= at else None
    return Outlook(findings, min(ahead, default=None), unused_at is not None and unused_at <= at, offered)


def expires_at(type_: ExceptionType, facts: Facts) -> datetime | None:
    """Return when no person can change any more what an exception is about; None: not before somebody closes it.

    Counted from the last promise of the ride, or from its end if that is later.
    """
    ended = facts.status not in OPEN
    # A ride whose driver has set out and reports nothing keeps its missing milestone, so that somebody ends the ride.
    if type_ not in ACTIONABLE_FOR or (type_ is _T.MILESTONE_GAP and facts.status in _UNDER_WAY):
        return None
    promises = (facts.window_ends_at, facts.promised_pickup_by, facts.will_call_expires_at, _awaited_by(facts))
    promised = max(moment for moment in promises if moment is not None)
    return (max(promised, facts.status_changed_at) if ended else promised) + ACTIONABLE_FOR[type_]


def first_check_at(facts: Facts) -> datetime | None:
    """Return the earliest instant at which an exception may open under any service levels; None: never.

    A lower bound.  An instant in the past means that the ride is due now.
    """
    if facts.after_the_fact:
        return None
    by_plan = _earliest(facts)
    predicted = () if predicted_from(facts) is None else (by_plan._replace(forecast=_LATEST_FORECAST),)
    steps = (rule(facts, terms) for terms in (by_plan, *predicted) for _, rule in _RULES[facts.status])
    return min((step.at for of_rule in steps for step in of_rule), default=None)


def first_check_of_new(*, pickup_at: datetime, will_call: bool, priority: str) -> datetime:
    """Return `first_check_at` of a new ride that is scheduled, is no discharge and cannot be late yet.

    A shortcut for booking in sets, which calls it 250,000 times.
    """
    if will_call:
        return pickup_at - _EARLIEST_CLOSING - CLOSES_SOON
    return pickup_at - _unassigned_before(priority)[0]


# A facility closes on the ride's service date or the following night: at most this long before the pickup, including
# the extra hour when clocks go back.  Steps that depend on service levels lie within `TERMS_REACH` of an evaluation.
_EARLIEST_CLOSING: Final = timedelta(hours=25)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_LATEST_FORECAST: Final = Forecast(_NEVER, _NEVER)
TERMS_REACH: Final = timedelta(days=4)


def _earliest(facts: Facts) -> Terms:
    """Return the service levels under which each step comes as early as possible."""
    closes_at = facts.pickup_at - _EARLIEST_CLOSING
    # `was_brought` decides what happens when a will-call leg expires, not when it expires.
    return Terms(0, 0, (0, 0, 0, 0, 0), closes_at, True, LONGEST_LADDER)


def _past(moment: datetime) -> datetime:
    return moment + _MOMENT


def _unused_at(facts: Facts, terms: Terms) -> datetime | None:
    """Return when an unreleased will-call leg ends unused: the rider was never brought, so no rider is waiting."""
    waits = facts.will_call and facts.ready_at is None and facts.status in (_S.SCHEDULED, _S.ASSIGNED)
    return facts.will_call_expires_at if waits and not terms.was_brought else None


def _unconfirmed_request(facts: Facts, terms: Terms) -> _Steps:
    return (Step(_past(facts.confirm_by), _V.WARNING),) if facts.confirm_by else _NONE


def _unassigned_before(priority: str) -> tuple[timedelta, timedelta, timedelta]:
    return UNASSIGNED_BEFORE_LIFE_SUSTAINING if priority == "life_sustaining" else UNASSIGNED_BEFORE


def on_ladder_since(facts: Facts, terms: Terms) -> datetime | None:
    """Return the start of the escalation ladder; None: the ride has no ladder.

    A will-call ride starts at its release.  A discharge with a firm time starts `ladder_ahead` before the pickup, or at
    its booking if that is later.
    """
    if facts.will_call:
        return facts.ready_at
    if facts.service_type != "hospital_discharge":
        return None
    return max(facts.pickup_at - terms.ladder_ahead, facts.scheduled_at or facts.requested_at)


def _offered_at(facts: Facts, terms: Terms) -> datetime | None:
    """Return the instant of the first step of the ladder."""
    since = on_ladder_since(facts, terms) if facts.status == _S.SCHEDULED else None
    return None if since is None else since + terms.ladder[0] * MINUTE


def _unassigned_at_risk(facts: Facts, terms: Terms) -> _Steps:
    since = on_ladder_since(facts, terms)
    if since is not None:
        _, dispatcher, planner, supervisor, _ = terms.ladder
        minutes = (dispatcher, planner, supervisor)
        moments = tuple(since + number * MINUTE for number in minutes)
    elif facts.will_call:
        return _NONE  # no vehicle is held before the rider is ready
    else:
        moments = tuple(facts.pickup_at - before for before in _unassigned_before(facts.priority))
    return tuple(map(Step, moments, (_V.INFO, _V.WARNING, _V.CRITICAL)))


def _no_driver_available(facts: Facts, terms: Terms) -> _Steps:
    since = on_ladder_since(facts, terms)
    return _NONE if since is None else (Step(since + terms.ladder[4] * MINUTE, _V.CRITICAL),)


def _promised_by(facts: Facts) -> datetime | None:
    return facts.promised_pickup_by if facts.will_call else facts.window_ends_at


def _missed_from(facts: Facts, terms: Terms) -> datetime | None:
    """Return since when it is known that the rider comes too late to be treated or admitted; None: that cannot be."""
    awaited = _awaited_by(facts)
    stake = stake_of(service_type=facts.service_type, priority=facts.priority, is_awaited=awaited is not None)
    grace = MISSED_AFTER[stake]
    return None if awaited is None or grace is None else _late_from(facts, terms, awaited + grace)


def _late_pickup(facts: Facts, terms: Terms) -> _Steps:
    due = _promised_by(facts)
    if due is None:
        return _NONE
    critical_at, missed_from = due + CRITICAL_WAIT, _missed_from(facts, terms)
    if missed_from is not None:
        critical_at = min(critical_at, max(missed_from, _past(due)))
    return Step(_past(due), _V.WARNING), Step(critical_at, _V.CRITICAL)


def predicted_from(facts: Facts) -> datetime | None:
    """Return from when on a prediction counts; None: there is no driver, no promise, or nothing left to be late for."""
    promised = _promised_by(facts)
    if promised is None or facts.status not in WITH_DRIVER or facts.arrived_dropoff_at is not None:
        return None
    is_awaited = facts.status in AWAITING_VEHICLE or _awaited_by(facts) is not None
    return promised - PREDICTED_AHEAD if is_awaited else None


def _predicted_again_at(facts: Facts, terms: Terms, at: datetime) -> datetime | None:
    """Return when to predict the ride again.

    Time alone makes a predicted arrival later by at most the time that passes, and other reports may change it.
    """
    since, promised = predicted_from(facts), _promised_by(facts)
    limits = expires_at(_T.LATE_PICKUP, facts), expires_at(_T.LATE_TO_APPOINTMENT, facts)
    if since is None or promised is None or at >= max(limit for limit in limits if limit is not None):
        return None
    if at < since:
        return since
    soonest, latest = RECHECK_WITHIN
    if terms.forecast is None:
        return at + latest
    pickup_at, dropoff_at = terms.forecast
    awaited = _awaited_by(facts)
    spare = [latest * 2]
    if pickup_at is not None and at <= promised:
        spare.append(promised + PREDICTED_LATE - pickup_at)
    if dropoff_at is not None and awaited is not None:
        spare.append(awaited - dropoff_at)
    return at + min(max(min(spare) / 2, soonest), latest)


def _late_pickup_predicted(facts: Facts, terms: Terms) -> _Steps:
    due, since = _promised_by(facts), predicted_from(facts)
    if terms.forecast is None or terms.forecast.pickup_at is None or due is None or since is None:
        return _NONE
    late = terms.forecast.pickup_at - due
    if late < (_MOMENT if terms.foreseen else PREDICTED_LATE):
        return _NONE
    missed_from = _missed_from(facts, terms)
    is_missed = missed_from is not None and missed_from <= since
    return (Step(since, _V.CRITICAL if is_missed or late >= CRITICAL_WAIT else _V.WARNING),)


def _late_to_appointment(facts: Facts, terms: Terms) -> _Steps:
    awaited = _awaited_by(facts)
    if awaited is None:
        return _NONE
    steps = [(_late_from(facts, terms, awaited), _V.WARNING), (_missed_from(facts, terms), _V.CRITICAL)]
    return tuple(Step(late_from, severity) for late_from, severity in steps if late_from is not None)


def _awaited_by(facts: Facts) -> datetime | None:
    accept_by = datetime.fromisoformat(facts.accept_by) if facts.accept_by else None
    return min((limit for limit in (facts.appointment_at, accept_by) if limit is not None), default=None)


def _late_from(facts: Facts, terms: Terms, awaited: datetime) -> datetime | None:
    """Return since when it is known that the rider arrives after `awaited`; None: the rider arrived in time.

    By the prediction of the driver's day.  Without one, by the estimate of `ride_needs.expected_dropoff_at`; a step
    that has not happened cannot happen before now.
    """
    reached, minutes = facts.arrived_dropoff_at, facts.estimated_minutes
    if reached is not None:
        return reached if reached > awaited else None
    predicted = terms.forecast.dropoff_at if terms.forecast is not None else None
    if predicted is not None:
        return predicted_from(facts) if predicted > awaited else _past(awaited)
    if minutes is None:
        return _past(awaited)
    still = timedelta(0)
    if facts.boarded_at is not None:
        expected = facts.boarded_at + minutes * MINUTE
    else:
        begins_at = facts.arrived_pickup_at or facts.eta_pickup_at or facts.pickup_at
        to_go = (facts.load_minutes + minutes) * MINUTE
        expected = begins_at + to_go
        still = minutes * MINUTE if facts.arrived_pickup_at else to_go
    if expected > awaited:
        return facts.requested_at  # known since the booking, so no person can have closed it before
    return _past(awaited - still)


def _will_call_overdue(facts: Facts, terms: Terms) -> _Steps:
    ready_at, promised = facts.ready_at, facts.promised_pickup_by
    if ready_at is None or promised is None:
        return _NONE
    # The shorter of the promised time and the facility's current response time.
    response = min(promised - ready_at, terms.response_minutes * MINUTE)
    return (
        Step(ready_at + response / 2, _V.INFO),
        Step(ready_at + response, _V.WARNING),
        Step(ready_at + response * 3 / 2, _V.CRITICAL),
    )


def _will_call_unactivated(facts: Facts, terms: Terms) -> _Steps:
    if not facts.will_call or facts.ready_at is not None or terms.closes_at is None:
        return _NONE
    return Step(terms.closes_at - CLOSES_SOON, _V.WARNING), Step(terms.closes_at, _V.CRITICAL)


def _rider_stranded_risk(facts: Facts, terms: Terms) -> _Steps:
    """Open until boarding, also for a rider who was released after the leg had expired."""
    expires_at = facts.will_call_expires_at
    if not facts.will_call or expires_at is None or not terms.was_brought:
        return _NONE
    in_time = facts.ready_at is not None and facts.ready_at < expires_at
    return _NONE if in_time else (Step(expires_at, _V.CRITICAL),)


def _waits_since(facts: Facts) -> datetime | None:
    """Return since when the driver waits: time before the pickup time does not count."""
    arrived_at = facts.arrived_pickup_at
    return arrived_at if arrived_at is None or facts.will_call else max(arrived_at, facts.pickup_at)


def _rider_not_ready(facts: Facts, terms: Terms) -> _Steps:
    since = _waits_since(facts)
    return _NONE if since is None else (Step(_past(since + terms.wait_minutes * MINUTE), _V.INFO),)


def _excessive_wait(facts: Facts, terms: Terms) -> _Steps:
    since = _waits_since(facts)
    return _NONE if since is None else (Step(_past(since + LONG_WAIT), _V.INFO),)


def _excessive_ride_time(facts: Facts, terms: Terms) -> _Steps:
    if facts.boarded_at is None or facts.arrived_dropoff_at is not None:
        return _NONE
    most = max(SHORTEST_LONG_RIDE, 2 * (facts.estimated_minutes or 0) * MINUTE)
    return (Step(_past(facts.boarded_at + most), _V.INFO),)


def _discharge_slipped(facts: Facts, terms: Terms) -> _Steps:
    if not facts.will_call or facts.ready_at is not None or facts.expected_ready_at is None:
        return _NONE
    return (Step(_past(datetime.fromisoformat(facts.expected_ready_at)), _V.INFO),)


def _milestone_gap(facts: Facts, terms: Terms) -> _Steps:
    """Steps for a milestone that was skipped (a later one is reported), and for one that is overdue.

    So is a ride that never started, once its late pickup has expired: nobody waits any more, but it has to be ended.
    """
    if facts.status not in _UNDER_WAY:
        expired = expires_at(_T.LATE_PICKUP, facts)
        return _NONE if expired is None or _promised_by(facts) is None else (Step(expired, _V.INFO),)
    times = (facts.departed_at, facts.arrived_pickup_at, facts.boarded_at, facts.arrived_dropoff_at)
    gaps = [time for number, time in enumerate(times) if time is not None and None in times[:number]]
    if gaps:
        return Step(min(gaps), _V.INFO), Step(min(gaps) + STUCK_AFTER, _V.WARNING)
    expected = _next_milestone_at(facts)
    if expected is None:
        return _NONE
    return Step(_past(expected + GAP_AFTER), _V.INFO), Step(expected + STUCK_AFTER, _V.WARNING)


def _next_milestone_at(facts: Facts) -> datetime | None:
    if facts.status == _S.EN_ROUTE:
        promised = _promised_by(facts)
        return (
            max(moment for moment in (facts.eta_pickup_at, promised, facts.departed_at) if moment) if promised else None
        )
    if facts.status != _S.IN_PROGRESS or facts.boarded_at is None:
        return None  # the driver waits for the rider, see _rider_not_ready
    drive = MINUTES_WHEN_UNKNOWN if facts.estimated_minutes is None else facts.estimated_minutes
    return facts.arrived_dropoff_at or facts.boarded_at + drive * MINUTE


def _missing_documentation(facts: Facts, terms: Terms) -> _Steps:
    if not facts.lacks_documentation or facts.dropped_off_at is None:
        return _NONE
    return (Step(facts.dropped_off_at + DOCUMENTATION_WITHIN, _V.INFO),)


_RULE_OF: Final[Mapping[ExceptionType, tuple[_Rule, frozenset[RideStatus]]]] = {
    _T.UNCONFIRMED_REQUEST: (_unconfirmed_request, frozenset({_S.REQUESTED})),
    _T.UNASSIGNED_AT_RISK: (_unassigned_at_risk, frozenset({_S.SCHEDULED})),
    _T.NO_DRIVER_AVAILABLE: (_no_driver_available, frozenset({_S.SCHEDULED})),
    _T.LATE_PICKUP: (_late_pickup, AWAITING_VEHICLE),
    _T.LATE_PICKUP_PREDICTED: (_late_pickup_predicted, AWAITING_VEHICLE & WITH_DRIVER),
    _T.LATE_TO_APPOINTMENT: (_late_to_appointment, OPEN),
    _T.WILL_CALL_OVERDUE: (_will_call_overdue, _BEFORE_BOARDING),
    _T.WILL_CALL_UNACTIVATED: (_will_call_unactivated, _BEFORE_BOARDING),
    _T.RIDER_STRANDED_RISK: (_rider_stranded_risk, _BEFORE_BOARDING),
    _T.RIDER_NOT_READY: (_rider_not_ready, frozenset({_S.ARRIVED})),
    _T.EXCESSIVE_WAIT: (_excessive_wait, frozenset({_S.ARRIVED})),
    _T.EXCESSIVE_RIDE_TIME: (_excessive_ride_time, frozenset({_S.IN_PROGRESS})),
    _T.DISCHARGE_SLIPPED: (_discharge_slipped, _BEFORE_BOARDING),
    _T.MILESTONE_GAP: (_milestone_gap, _UNDER_WAY | {_S.SCHEDULED, _S.ASSIGNED}),
    _T.MISSING_DOCUMENTATION: (_missing_documentation, frozenset({_S.COMPLETED})),
}
_RULES: Final[Mapping[str, tuple[tuple[ExceptionType, _Rule], ...]]] = {
    status.value: tuple((type_, rule) for type_, (rule, statuses) in _RULE_OF.items() if status in statuses)
    for status in RideStatus
}
# These open again each time the ride loses its driver, even if a person closed an earlier one.
_BY_EPISODE: Final = frozenset({_T.UNASSIGNED_AT_RISK, _T.NO_DRIVER_AVAILABLE})
_WITHOUT_DRIVER: Final = _BY_EPISODE | {_T.LATE_PICKUP}
# These are closed when the rules no longer find them.  `discharge_slipped` stays open until the patient is ready: a
# person opens it, too, by moving a discharge by more than 30 minutes.
SETTLED_BY_CLOCK: Final = frozenset(_RULE_OF) - {_T.DISCHARGE_SLIPPED}
# These stay open when the ride ends.
_OPEN_AFTER_END: Final = frozenset({_T.MILESTONE_GAP})


def caused_by_driver(type_: ExceptionType, facts: Facts, terms: Terms) -> bool:
    """Return whether the assigned driver is the cause: the vehicle has not come, or is predicted to come too late."""
    if facts.status not in AWAITING_VEHICLE & WITH_DRIVER:
        return False
    if type_ is _T.LATE_TO_APPOINTMENT:
        promised, pickup_at = _promised_by(facts), terms.forecast.pickup_at if terms.forecast is not None else None
        return promised is not None and pickup_at is not None and pickup_at > promised
    return type_ in (_T.LATE_PICKUP, _T.LATE_PICKUP_PREDICTED)


def absent_cause(type_: ExceptionType, terms: Terms) -> UUID | None:
    """Return the driver who is out and because of whom the ride has no driver."""
    return terms.absent_driver_id if type_ in _WITHOUT_DRIVER else None


def settles(type_: ExceptionType, status: str) -> bool:
    """Return whether an open exception is closed when the rules no longer find it on a ride of this status."""
    return type_ in SETTLED_BY_CLOCK and not (type_ in _OPEN_AFTER_END and status not in OPEN)
