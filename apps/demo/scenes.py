"""Events of a ride in order of time, up to the present.

The steps of a ride are scheduled for its whole life cycle and run up to the present instant: yesterday's rides have
ended, today's are in every status, tomorrow's wait.
"""

from functools import partial
from typing import Final

from apps.demo import documentation
from apps.demo.dice import DAY, HOUR, MINUTE, Dice
from apps.demo.fleet import DemoDuty
from apps.demo.legs import DemoLeg
from apps.demo.plot import Plot, StandIn
from apps.demo.story import Cast, RideStory, Tables
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType
from apps.rides.rules.lifecycle import ReasonList, RideStatus

_X, _S = ExceptionType, RideStatus
_NO_SHOW_AT_HOME: Final = (
    ("rider_not_at_pickup", 48), ("rider_unreachable", 24), ("rider_already_left", 18), ("bad_pickup_details", 4),
    ("not_ready_wait_exceeded", 6),
)  # fmt: skip
_NO_SHOW_AT_FACILITY: Final = (
    ("not_found_at_facility", 38), ("not_ready_wait_exceeded", 42), ("rider_already_left", 20),
)  # fmt: skip
_READY_SOURCES: Final = ("facility_portal", "facility_portal", "phone", "api", "api")
# Exceptions found when a ride is evaluated again after a change: type, the change, and the violated check.
_CONFLICTS: Final = (
    (_X.ACCOMMODATION_MISMATCH, "accommodation_change", "VEHICLE_NOT_SUITABLE"),
    (_X.CREDENTIAL_LAPSE, "amend", "CREDENTIAL_INVALID"),
)


def write_ride(seed: int, leg: DemoLeg, cast: Cast, tables: Tables, stand_in: StandIn) -> None:
    """Write the rows of one ride as of now; none if the ride has not been requested yet."""
    if leg.requested_at > cast.now:
        return
    story = RideStory(leg, cast, tables, Dice(seed, "story", leg.key))
    if leg.journey.id:
        story.row["trip_id"] = leg.journey.id
    plot = Plot(story, stand_in)
    _schedule(plot)
    for at, _, step in sorted(plot.steps, key=lambda entry: entry[:2]):
        if at > cast.now:
            break
        step()
    story.close()


def _schedule(plot: Plot) -> None:
    leg = plot.leg
    plot.book()
    _hold_return(plot)
    if leg.fate in ("cancel_advance", "cancel_same_day"):
        _cancelled(plot)
    elif leg.fate == "unf_given_back":
        _returned_by_driver(plot)
    elif leg.duty is not None:
        _driven(plot, leg.duty)
    else:
        _unassigned(plot)


def _driven(plot: Plot, duty: DemoDuty) -> None:
    """Schedule a ride whose vehicle departed, or will depart."""
    leg, story = plot.leg, plot.story
    plot.reporter()
    plot.assign(duty, leg.departed - 2 * MINUTE)
    _release(plot, story.cast)
    _late(plot)
    _found_conflict(plot)
    lag = plot.lag()
    if leg.freeze or leg.fate != "completed" or not plot.dice.hit(0.02):
        plot.at(leg.departed + lag, partial(story.depart, leg.departed + lag, leg.departed))
    else:
        plot.handle_exception(_X.MILESTONE_GAP, leg.arrived + lag, 120)
    if leg.fate == "cancel_en_route":
        plot.at(leg.left_without_rider + lag, partial(plot.cancel, leg.left_without_rider + lag))
        return
    if leg.fate == "unf_breakdown":
        plot.fail(leg.left_without_rider + lag)
        return
    arrived = leg.arrived + lag
    elsewhere = 400 if story.source == "driver_app" and not leg.freeze and plot.dice.hit(0.006) else 0
    plot.at(arrived, partial(story.arrive, arrived, leg.arrived, in_time=plot.in_time, offset_meters=elsewhere))
    if elsewhere:
        plot.handle_exception(_X.ADDRESS_PROBLEM, arrived, 120)
    if leg.fate == "no_show":
        _no_show(plot, lag)
    elif leg.fate == "cancel_door":
        plot.at(leg.left_without_rider + lag, partial(plot.cancel, leg.left_without_rider + lag))
    elif leg.fate == "unf_rider_left":
        plot.fail(leg.left_without_rider + lag)
    else:
        _board_and_drop_off(plot, duty, lag)


def _board_and_drop_off(plot: Plot, duty: DemoDuty, lag: int) -> None:
    """Board, ride, and be dropped off, or be handed over to an ambulance on the way."""
    leg, story = plot.leg, plot.story
    since = leg.arrived if leg.will_call else max(leg.arrived, leg.pickup_at)
    limit = since + lag + (16 if leg.will_call or leg.discharge else 11) * MINUTE
    boarded = leg.boarded + lag
    at_pickup, at_dropoff = documentation.of_leg(plot.dice, leg, plot.cast.odometers, duty.driver.name)
    if limit < boarded:
        plot.at(limit, partial(story.open, _X.RIDER_NOT_READY, limit, "clock"))
    plot.at(boarded, partial(story.board, boarded, leg.boarded, at_pickup, in_time=plot.in_time))
    if leg.fate == "unf_aborted":
        plot.fail(leg.left_without_rider + lag, note="Handed over to an ambulance crew on the way")
        return
    done = leg.dropped + lag
    if leg.dropped - leg.reached > 2 * MINUTE and plot.dice.hit(0.03):
        _correct_arrival(plot, lag)
    code = "recovered_on_time" if plot.in_time else "recovered_late"
    plot.at(done, partial(story.complete, done, leg.dropped, at_dropoff, code))
    if at_dropoff["missing_documents"]:
        _request_documentation(plot, done)


def _correct_arrival(plot: Plot, lag: int) -> None:
    """Let the phone report the arrival a minute early, and a dispatcher correct it."""
    leg, story, by = plot.leg, plot.story, plot.cast.dispatcher
    first, second = leg.reached + lag, leg.reached + lag + 90
    plot.at(first, partial(story.reach, first, leg.reached - 60, source=story.source, by=story.reporter))
    plot.at(second, partial(story.reach, second, leg.reached, source="dispatcher_manual", by=by, edited=True))


def _request_documentation(plot: Plot, done: int) -> None:
    story = plot.story
    opened = done + DAY
    plot.at(opened, partial(story.open, _X.MISSING_DOCUMENTATION, opened, "clock", due=opened + 3 * DAY))
    if plot.dice.hit(0.98):
        added_at = opened + plot.dice.randrange(1, 14) * HOUR
        plot.at(added_at, partial(story.add_documentation, added_at))


def _no_show(plot: Plot, lag: int) -> None:
    leg, story = plot.leg, plot.story
    left_at = leg.left_without_rider + lag
    strict = leg.service in ("hospital_discharge", "dialysis")
    tries = (
        [(left_at - 4 * MINUTE, "rider"), (left_at - 2 * MINUTE, "facility")]
        if strict
        else [(left_at - 3 * MINUTE, "rider")]
    )
    for at, contacted in tries:
        plot.at(at, partial(story.attempt_contact, at, at, contacted))
    reasons = _NO_SHOW_AT_FACILITY if leg.origin.place is not None else _NO_SHOW_AT_HOME
    code = plot.dice.choices(*zip(*reasons, strict=True))[0]
    plot.at(left_at, partial(plot.end, left_at, _S.NO_SHOW, ReasonList.NO_SHOW, code, story.reporter))
    plot.at(left_at, partial(story.open, _X.RIDER_NO_SHOW, left_at, "T21", by=story.reporter))
    plot.handle_exception(_X.RIDER_NO_SHOW, left_at, 60)


def _cancelled(plot: Plot) -> None:
    """Schedule a ride that is cancelled before departure, with or without a driver assigned in the meantime."""
    leg, story = plot.leg, plot.story
    at = max(leg.decided_at, plot.scheduled_at + 5 * MINUTE)
    planned = plot.plan_time(at)
    duty = plot.stand_in(leg, plot.dice)
    if duty is not None and planned < at - 5 * MINUTE:
        method = "series" if leg.is_recurring else "auto"
        plot.at(planned, partial(story.assign, planned, duty, method, "system"))
    plot.at(at, partial(plot.cancel, at))


def _returned_by_driver(plot: Plot) -> None:
    """Schedule a ride whose driver released it too late for another driver."""
    leg, story = plot.leg, plot.story
    duty = plot.stand_in(leg, plot.dice)
    back = leg.due_at - plot.dice.randrange(40, 150) * MINUTE
    planned = plot.plan_time(back - 5 * MINUTE)
    if duty is not None and planned < back:
        plot.at(planned, partial(story.assign, planned, duty, "auto", "system"))
        plot.at(back, partial(story.unassign, back, "driver_released", plot.cast.driver_app))
    _release(plot, plot.cast)
    plot.fail(max(leg.due_at, planned) + plot.dice.randrange(15, 35) * MINUTE)


def _unassigned(plot: Plot) -> None:
    """Schedule a ride without an available driver: warning a day ahead, alarm two hours ahead, then unfulfilled."""
    leg, story = plot.leg, plot.story
    if leg.fate == "unf_no_driver":
        warned = max(plot.scheduled_at + 15 * MINUTE, leg.due_at - DAY)
        alarmed = max(warned + MINUTE, leg.due_at - 2 * HOUR)
        risk, critical = _X.UNASSIGNED_AT_RISK, ExceptionSeverity.CRITICAL
        if not leg.will_call:
            plot.at(warned, partial(story.open, risk, warned, "clock", severity=ExceptionSeverity.WARNING))
            plot.at(alarmed, partial(story.open, risk, alarmed, "clock", severity=critical))
    _release(plot, plot.cast)
    if leg.will_call and leg.ready_at:
        _overdue(plot, until=0)
    if leg.fate.startswith("unf"):
        plot.fail(leg.due_at + plot.dice.randrange(18, 40) * MINUTE)


def _release(plot: Plot, cast: Cast) -> None:
    """Release the ride by the facility; sometimes the release is withdrawn and repeated."""
    leg, story, dice = plot.leg, plot.story, plot.dice
    if not leg.will_call or not leg.ready_at:
        return
    at = max(leg.ready_at, plot.scheduled_at + 60)
    source = dice.choice(_READY_SOURCES)
    by = cast.dispatcher if source == "phone" else cast.ehr
    slipped = leg.pickup_at + 30 * MINUTE
    if leg.discharge and slipped < at:
        plot.at(slipped, partial(plot.while_open, partial(story.open, _X.DISCHARGE_SLIPPED, slipped, "clock")))
    if not leg.freeze and dice.hit(0.02) and at - 25 * MINUTE > plot.scheduled_at:
        early, back = at - 22 * MINUTE, at - 9 * MINUTE
        plot.at(early, partial(plot.while_open, partial(story.ready, early, early, source, by)))
        plot.at(back, partial(plot.while_open, partial(story.retract_ready, back, by)))
    plot.at(at, partial(plot.while_open, partial(story.ready, at, at, source, by)))
    if leg.boarded:
        _overdue(plot, until=leg.boarded)


def _overdue(plot: Plot, until: int) -> None:
    """Raise `will_call_overdue` at 50, 100 and 150 % of the promised hour."""
    for minutes, severity in ((30, "info"), (60, "warning"), (90, "critical")):
        at = plot.leg.ready_at + minutes * MINUTE
        if not until or at < until:
            rule, level = "clock", ExceptionSeverity(severity)
            raised = partial(plot.story.open, _X.WILL_CALL_OVERDUE, at, rule, severity=level)
            plot.at(at, partial(plot.while_open, raised))


def _late(plot: Plot) -> None:
    """Raise `late_pickup` when the window closes without an arrival, and again half an hour later."""
    leg, story = plot.leg, plot.story
    if leg.will_call or not leg.arrived:
        return
    for minutes, severity in ((1, ExceptionSeverity.WARNING), (30, ExceptionSeverity.CRITICAL)):
        at = leg.window_ends + minutes * MINUTE
        if at < leg.arrived:
            plot.at(at, partial(story.open, _X.LATE_PICKUP, at, "clock", severity=severity))


def _found_conflict(plot: Plot) -> None:
    """Sometimes let a change open a conflict in a plan a few hours ahead; it is resolved in time."""
    if plot.leg.freeze or not plot.dice.hit(0.006):
        return
    story, (type_, rule, violation) = plot.story, plot.dice.choice(_CONFLICTS)
    opened_at = max(plot.leg.departed - plot.dice.randrange(3, 20) * HOUR, plot.leg.requested_at + HOUR)
    mended = opened_at + plot.dice.randrange(20, 150) * MINUTE
    if mended < plot.leg.departed:
        by = plot.cast.dispatcher
        details = {"violations": [violation]}
        plot.at(opened_at, partial(story.open, type_, opened_at, rule, by=by, details=details))
        plot.at(mended, partial(story.resolve, {type_}, mended, by, "recovered_on_time"))


def _hold_return(plot: Plot) -> None:
    """Hold the return trip for a decision if the outbound leg failed; a person decides."""
    leg, story = plot.leg, plot.story
    failed_at = leg.journey.failed_at
    outbound = leg.journey.legs[0]
    if leg.sequence == 1 or not failed_at or outbound.fate == "completed":
        return
    at = failed_at + 30
    decided = max(at + MINUTE, leg.decided_at) if leg.fate.startswith("cancel") else at + 14 * MINUTE
    code = "cancelled" if leg.fate.startswith("cancel") else "handled_elsewhere"
    by = plot.cast.dispatcher
    plot.at(at, partial(plot.while_open, partial(story.open, _X.RETURN_LEG_AT_RISK, at, "linked_legs", due=at + 1800)))
    plot.at(decided + 20, partial(story.resolve, {_X.RETURN_LEG_AT_RISK}, decided + 20, by, code))
