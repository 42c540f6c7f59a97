"""Live scenes: at any hour, some rides are requested, waiting, in progress and late at the moment of loading.

A day of dialysis has no ride at 3 a.m.; a demo that is opened then shall still show every status.  The live rides are
discharges, which hospitals have at any hour.
"""

from dataclasses import dataclass
from typing import Final

from apps.demo.demand import DayDemand, discharge_leg, finish
from apps.demo.dice import DAY, MINUTE, Dice, local
from apps.demo.fleet import DemoDuty
from apps.demo.geography import drive_seconds
from apps.demo.legs import DemoLeg
from apps.demo.people import Person
from apps.demo.places import Places
from apps.demo.roads import RoutePlan, able, duties_at


@dataclass(frozen=True, slots=True)
class Scene:
    """One live ride, in minutes from now; None: not reached yet, or never."""

    name: str
    pickup: int
    requested: int = -200
    departs: int | None = None
    arrives: int = 0
    boards: int = 0
    ready: int | None = None  # a will-call's release
    fate: str = "completed"
    question: str = ""


# One of each status first: at night four drivers are on duty.
SCENES: Final = (
    Scene("on board", pickup=-25, departs=-42, arrives=-28, boards=-17),
    Scene("at the door", pickup=-2, departs=-19, arrives=-6, boards=5),
    Scene("on the way", pickup=8, departs=-8, arrives=6, boards=15),
    Scene("assigned", pickup=50, departs=32, arrives=47, boards=58),
    Scene("on board, late", pickup=-52, departs=-47, arrives=-24, boards=-12),
    Scene("at the door, waiting long", pickup=-19, departs=-38, arrives=-22, boards=9),
    Scene("on the way, late", pickup=-26, departs=-6, arrives=9, boards=17),
    Scene("released and assigned", pickup=-15, ready=-14, departs=7, arrives=21, boards=29),
    Scene("nobody free", pickup=70, fate="unf_no_driver"),
    Scene("asked just now", pickup=190, requested=-8, question="lead_time"),
    Scene("asked and forgotten", pickup=230, requested=-55, question="authorization_missing"),
    Scene("waiting for release", pickup=-12, ready=25),
    Scene("released", pickup=-30, ready=-18),
    Scene("released long ago", pickup=-110, ready=-97),
)


def stage(
    plan: RoutePlan, now: int, days: dict[object, DayDemand], people: list[Person], places: Places
) -> list[DemoLeg]:
    """Create the live rides for riders without another ride that day, and reserve their drivers."""
    demand = DayDemand(local(now).date())
    busy = {leg.person.id for day in days.values() for leg in day.legs if abs(leg.pickup_at - now) < DAY}
    idle = [person for person in people if person.id not in busy and not person.crew_of_two]
    duty_ids: set[str] = set()
    for scene, person in zip(SCENES, reversed(idle), strict=False):
        leg = _leg(plan.seed, now, demand, person, places, scene)
        if scene.departs is not None:
            _assign_driver(plan, now, leg, scene, duty_ids)
    return demand.legs


def _leg(seed: int, now: int, demand: DayDemand, person: Person, places: Places, scene: Scene) -> DemoLeg:
    dice = Dice(seed, "live", demand.date, scene.name)
    pickup_at = (now + scene.pickup * MINUTE) // 60 * 60
    leg = discharge_leg(dice, demand, person, places, pickup_at, f"{demand.date}/live/{scene.name.replace(' ', '-')}")
    leg.day = local(pickup_at).date()
    leg.freeze, leg.fate, leg.question = scene.name, scene.fate, scene.question
    leg.will_call = scene.ready is not None
    leg.ready_at = now + scene.ready * MINUTE if scene.ready is not None else 0
    leg.requested_at = now + scene.requested * MINUTE
    if scene.question:
        leg.confirmed_at = now + DAY
    finish(dice, leg)
    return leg


def _assign_driver(plan: RoutePlan, now: int, leg: DemoLeg, scene: Scene, duty_ids: set[str]) -> None:
    """Send the first suitable driver on duty; if there is none, the ride stays unassigned."""
    assert scene.departs is not None  # noqa: S101 - checked by the caller
    leg.departed = now + scene.departs * MINUTE
    leg.arrived = now + scene.arrives * MINUTE
    leg.boarded = now + scene.boards * MINUTE
    road = max(drive_seconds(leg.origin.spot, leg.destination.spot, now), 22 * MINUTE - (leg.boarded - now))
    leg.reached = leg.boarded + max(road, now + 4 * MINUTE - leg.boarded)
    leg.dropped = leg.reached + leg.person.needs["unloadMinutes"] * MINUTE
    leg.miles = (leg.estimate.miles if leg.estimate else 3.0) * 1.04
    for duty in duties_at(plan, now):
        if duty.id not in duty_ids and _on_shift(duty, leg) and able(plan, leg, duty):
            leg.duty = duty
            duty_ids.add(duty.id)
            plan.reserved.setdefault(duty.id, []).append((leg.departed - 60, leg.dropped + 90))
            return
    leg.departed = leg.arrived = leg.boarded = leg.reached = leg.dropped = 0


def _on_shift(duty: DemoDuty, leg: DemoLeg) -> bool:
    return duty.starts <= leg.departed and leg.dropped <= duty.ends and duty.van.type != "stretcher_van"
