"""Assignment of runs to drivers, and their simulated course: a greedy plan, then a day with real traffic.

Runs are assigned in the order of their start.  Each goes to the suitable driver on duty with the least lateness and
empty driving, by usual driving times and the riders' own minutes.  Then it takes as long as it takes: the driver is
busy until the run really ends, so that no driver is in two places and a delay is felt by the next riders.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from apps.demo.behavior import LEAVES_EARLY, STOP_SPREAD, TRAFFIC_SPREAD, around_one
from apps.demo.demand import sum_of
from apps.demo.dice import DAY, MINUTE, Dice, local
from apps.demo.fleet import DemoDuty, Fleet
from apps.demo.geography import Spot, drive_seconds, miles_between
from apps.demo.legs import DemoLeg, Run
from apps.riders.rules.accommodation import IN_WHEELCHAIR_SPACE, ON_STRETCHER, Spaces

# Lateness of a plan above which the dispatcher looks for another driver, and above which no driver is possible.
TOLERATED: Final = (5 * MINUTE, 35 * MINUTE)
TOLERATED_WILL_CALL: Final = (25 * MINUTE, 50 * MINUTE)
SLACK: Final = 9 * MINUTE  # that planners leave between two runs, for traffic and riders who take longer
REASSIGNED_FROM: Final = 20 * MINUTE  # of a driver's lateness, dispatchers give the run to another one
WITHOUT_VEHICLE: Final = frozenset({"unf_given_back", "unf_no_driver", "cancel_advance", "cancel_same_day"})


@dataclass(slots=True)
class RoutePlan:
    """State of the planning: duties by local day and the drivers reserved for the live scenes."""

    seed: int
    fleet: Fleet
    reserved: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    fits: dict[tuple[str, str, str], bool] = field(default_factory=dict)


def drive(plan: RoutePlan, runs: list[Run]) -> None:
    """Assign each run to a duty and simulate it; legs without a possible driver get the fate `unf_no_driver`."""
    for run in sorted(runs, key=lambda run: (run.starts, run.legs[0].key)):
        _drive_run(plan, run)


def _drive_run(plan: RoutePlan, run: Run) -> None:
    riding = [leg for leg in run.legs if _needs_vehicle(plan, leg)]
    if not riding:
        return
    run = Run(riding, run.gather)
    for duty in _best(plan, run):
        free_at, at = duty.free_at, duty.at
        planned_free_at = _planned_start(run, duty) + _length(run, run.starts)
        _simulate(plan.seed, run, duty)
        if all(duty.free_at <= start or run.legs[0].departed >= end for start, end in plan.reserved.get(duty.id, ())):
            duty.rides, duty.planned_free_at = duty.rides + len(run.legs), planned_free_at
            for leg in run.legs:
                leg.duty = duty
                _note_failure(leg)
            return
        duty.free_at, duty.at = free_at, at
        for leg in run.legs:
            leg.departed = leg.arrived = leg.boarded = leg.reached = leg.dropped = leg.left_without_rider = 0
    if len(run.legs) > 1:
        half = len(run.legs) // 2
        _drive_run(plan, Run(run.legs[:half], run.gather))
        _drive_run(plan, Run(run.legs[half:], run.gather))
        return
    riding[0].fate = "unf_no_driver"
    _note_failure(riding[0])


def _needs_vehicle(plan: RoutePlan, leg: DemoLeg) -> bool:
    """True if a vehicle has to come; a return leg is mostly cancelled if the outbound leg failed."""
    failed_at = leg.journey.failed_at
    if leg.sequence > 1 and failed_at and leg.fate not in WITHOUT_VEHICLE:
        dice = Dice(plan.seed, "held", leg.key)
        outbound = leg.journey.legs[0]
        if outbound.fate.startswith("cancel") or not dice.hit(0.12):
            leg.fate = "cancel_same_day"
            after = "rider_request" if outbound.fate == "no_show" else "appointment_moved"
            leg.reason = outbound.reason if outbound.fate.startswith("cancel") else after
            leg.decided_at = failed_at + dice.randrange(2, 26) * MINUTE
    if leg.fate in WITHOUT_VEHICLE:
        _note_failure(leg)
        return False
    return True


def _note_failure(leg: DemoLeg) -> None:
    if leg.fate != "completed" and not leg.journey.failed_at:
        leg.journey.failed_at = leg.left_without_rider or leg.decided_at or leg.pickup_at


def duties_at(plan: RoutePlan, second: int) -> list[DemoDuty]:
    """Return the duties of the local day and, early in the morning, of the night before."""
    moment = local(second)
    duties = plan.fleet.duties.get(moment.date(), [])
    if moment.hour < 6:
        duties = [*plan.fleet.duties.get(local(second - DAY).date(), []), *duties]
    return duties


def able(plan: RoutePlan, leg: DemoLeg, duty: DemoDuty) -> bool:
    """True if driver, crew and vehicle pass the hard checks for the rider."""
    key = (leg.person.id, leg.leg_type, duty.van.id)
    if key not in plan.fits:
        plan.fits[key] = _fits(leg, duty)
    return plan.fits[key] and (not leg.person.crew_of_two or duty.attendant is not None)


def _fits(leg: DemoLeg, duty: DemoDuty) -> bool:
    needs, van, qualifications = leg.person.needs, duty.van, duty.driver.qualifications
    mobility = (needs["returnMobility"] if leg.leg_type == "return" else None) or needs["mobility"]
    rolls_in = mobility in IN_WHEELCHAIR_SPACE or mobility in ON_STRETCHER
    return (
        _holds(duty, leg.spaces)
        and (not rolls_in or (needs["combinedWeightLb"] or 0) <= van.lift_lb)
        and (mobility not in IN_WHEELCHAIR_SPACE or (needs["chair"]["widthIn"] or 0) <= van.max_chair_in)
        and (mobility not in IN_WHEELCHAIR_SPACE or "wheelchair_securement" in qualifications)
        and (mobility not in ON_STRETCHER or "stretcher" in qualifications)
        and (not needs["bariatric"] or "bariatric" in qualifications)
    )


def _best(plan: RoutePlan, run: Run) -> list[DemoDuty]:
    """Return the up to twelve best duties: least lateness, then empty driving, then the plainest sufficient vehicle."""
    first = run.legs[0]
    due = run.starts
    spaces = sum_of(run.legs)
    length = _length(run, due)
    ranked = []
    limits = TOLERATED_WILL_CALL if first.will_call else TOLERATED
    for duty in duties_at(plan, due):
        if duty.starts > due or duty.free_at > due + limits[1] or duty.ends < due + length:
            continue
        if not all(able(plan, leg, duty) for leg in run.legs) or not _holds(duty, spaces):
            continue
        starts = _planned_start(run, duty)
        late, really_late = starts - due, duty.free_at + drive_seconds(duty.at, first.origin.spot, due) - due
        if max(late, really_late) > limits[1] or starts + length > duty.ends:
            continue
        crew = duty.attendant is not None and not any(leg.person.crew_of_two for leg in run.legs)
        waste = 1500 if crew else 240 if duty.van.lift_lb and not spaces.wheelchair else 0
        cost = late * 8 + drive_seconds(duty.at, first.origin.spot, due) + waste + duty.rides * 20
        ranked.append((late > limits[0] or really_late > REASSIGNED_FROM, cost, duty.id, duty))
    return [duty for _, _, _, duty in sorted(ranked)[:12]]


def _planned_start(run: Run, duty: DemoDuty) -> int:
    """Return when planners expect the driver at the first pickup.  Will-call runs are assigned as the day goes."""
    first = run.legs[0]
    free_at = duty.free_at if first.will_call else duty.planned_free_at
    return max(run.starts, free_at + SLACK + drive_seconds(duty.at, first.origin.spot, run.starts))


def _holds(duty: DemoDuty, spaces: Spaces) -> bool:
    return any(
        spaces.ambulatory <= seats and spaces.wheelchair <= chairs and spaces.stretcher <= stretchers
        for _, seats, chairs, stretchers in duty.van.configs
    )


def _length(run: Run, at: int) -> int:
    """Estimate the length of a run from the first stop to the last."""
    stops = _stops(run)
    length = sum(drive_seconds(start, end, at) for start, end in pairwise(stops))
    loading: int = sum(2 * leg.person.needs["loadMinutes"] * MINUTE for leg in run.legs)
    return length + loading


def _stops(run: Run) -> list[Spot]:
    if run.gather:
        return [*(leg.origin.spot for leg in run.legs), run.legs[-1].destination.spot]
    return [run.legs[0].origin.spot, *(leg.destination.spot for leg in run.legs)]


def _simulate(seed: int, run: Run, duty: DemoDuty) -> None:
    """Simulate the run with real traffic; sets the instants of its legs and frees the duty."""
    dice = Dice(seed, "road", run.legs[0].key)
    traffic = around_one(dice, TRAFFIC_SPREAD)
    clock, at = duty.free_at, duty.at
    aboard: list[DemoLeg] = []
    for number, leg in enumerate(run.legs):
        same_stop = run.legs[number - 1] if number and at is leg.origin.spot else None
        clock, at = _pick_up(dice, leg, clock, at, traffic, same_stop)
        if leg.boarded and not leg.left_without_rider:
            aboard.append(leg)
    for leg in aboard:
        drive_time = drive_seconds(at, leg.destination.spot, clock) if at is not leg.destination.spot else 0
        clock += int(drive_time * traffic)
        at = leg.destination.spot
        leg.reached = clock
        clock += max(60, int(leg.person.needs["unloadMinutes"] * MINUTE * around_one(dice, STOP_SPREAD)))
        leg.dropped = clock
        leg.miles = miles_between(leg.origin.spot, leg.destination.spot) * (1.0 if len(aboard) == 1 else 1.15)
    duty.free_at, duty.at = clock + dice.randrange(40, 150), at


def _pick_up(
    dice: Dice, leg: DemoLeg, clock: int, at: Spot, traffic: float, same_stop: DemoLeg | None
) -> tuple[int, Spot]:
    """Drive to one stop and, in most cases, let the rider board; return where and when the vehicle is then.

    `same_stop` is the previous leg if it starts at the same address: the vehicle arrives once for both.
    """
    due = leg.due_at
    journey = drive_seconds(at, leg.origin.spot, clock) if at is not leg.origin.spot else 0
    early = dice.randrange(0, 10) * MINUTE
    leg.departed = max(clock, due - int(journey * 1.06) - early)
    if leg.will_call:
        leg.departed = max(leg.departed, leg.ready_at + 2 * MINUTE)
    if leg.fate == "cancel_en_route":
        leg.left_without_rider = leg.departed + max(90, int(journey * dice.uniform(0.3, 0.8)))
        return leg.left_without_rider, at
    if leg.fate == "unf_breakdown":
        leg.left_without_rider = leg.departed + max(120, journey // 2)
        return leg.left_without_rider + 75 * MINUTE, at
    leg.arrived = leg.departed + max(30, int(journey * traffic))
    if same_stop is not None and same_stop.arrived and not leg.will_call:
        leg.departed, leg.arrived = same_stop.departed, same_stop.arrived
    promised_by = leg.ready_at + 60 * MINUTE if leg.will_call else leg.window_ends
    since = leg.arrived if leg.will_call else max(leg.arrived, leg.pickup_at)
    since = max(since, clock)  # other riders may be boarding meanwhile
    if leg.fate == "no_show" and leg.arrived > promised_by:
        leg.fate = "unf_rider_left"
    if leg.fate == "no_show":
        leg.left_without_rider = since + (_wait_minutes(leg) + dice.randrange(1, 6)) * MINUTE
        return leg.left_without_rider, leg.origin.spot
    if leg.fate in ("cancel_door", "unf_rider_left"):
        leg.left_without_rider = max(leg.arrived, clock) + dice.randrange(3, 9) * MINUTE
        return leg.left_without_rider, leg.origin.spot
    loading = leg.person.needs["loadMinutes"] * MINUTE
    delay = dice.randrange(5, 22) * MINUTE if dice.hit(0.05) else 0
    ready = leg.arrived if leg.will_call else max(leg.arrived, leg.pickup_at - 8 * MINUTE, clock)
    leg.boarded = ready + int(loading * around_one(dice, STOP_SPREAD)) + delay
    if not leg.will_call and not dice.hit(LEAVES_EARLY):
        leg.boarded = max(leg.boarded, leg.pickup_at)
    if leg.fate == "unf_aborted":
        leg.left_without_rider = leg.boarded + dice.randrange(4, 12) * MINUTE
        return leg.left_without_rider, leg.origin.spot
    return leg.boarded, leg.origin.spot


def _wait_minutes(leg: DemoLeg) -> int:
    """Return the minutes that a driver waits before a no-show; apps/rides/rules/guards.py defines the rule."""
    if leg.will_call or leg.service == "hospital_discharge":
        return 15
    return 10 if leg.origin.place is not None else 5
