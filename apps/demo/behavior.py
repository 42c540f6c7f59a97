"""How a ride goes: what the simulator draws for it, before anything of it has happened.

Each ride has a stream of random numbers, named by rider, day and leg, so that the same seed gives the same day, and
an added or changed ride changes no other.  Pure: no query, no clock.
"""

from dataclasses import dataclass
from typing import Final

from apps.demo.dice import MINUTE, Dice

# Per mille of rides; the others are completed.
_OUTCOMES: Final = (("cancel_same_day", 8), ("cancel_en_route", 4), ("cancel_door", 2), ("no_show", 35))
_RETURN_FACTOR: Final = 0.3  # a rider who was brought wants to go home

# A driver may come early but waits: "shall not leave the pick-up location prior to the pre-scheduled pick-up time"
# (Ohio Department of Medicaid, managed care provider agreements).  That one rider in ten who is ready agrees to go
# at once is an assumption.
LEAVES_EARLY: Final = 0.1
# Spread of driving times.  On freeways of 52 metro areas at rush hours the 95th percentile is twice the average (FHWA,
# Urban Congestion Trends 2015: planning time index 2.65, travel time index 1.34); city streets vary less.  1.4 times
# is an assumption.
TRAFFIC_SPREAD: Final = 0.22
# Spread of the minutes at a stop around those that are planned for the rider; an assumption.
STOP_SPREAD: Final = 0.35


@dataclass(frozen=True, slots=True)
class RideBehavior:
    """How one ride goes.  Lengths are in seconds; `traffic` is the factor between real and usual driving times.

    `early`: how long before the pickup time the driver plans to arrive; `leaves_early`: whether the rider then goes at
    once, not at the pickup time.  `boarding` and `unloading` are multiples of the rider's own minutes.  `lag` is the
    time until a report arrives: a few seconds, or minutes without signal.  `ready_delay`: when the rider of a will-call
    ride is ready, against the estimate.  `answer` is how long a dispatcher takes to act on the ride.
    """

    outcome: str
    traffic: float
    early: int
    leaves_early: bool
    boarding: float
    boarding_delay: int
    unloading: float
    lag: int
    ready_delay: int
    cancelled_before: int
    answer: int


def behavior_of(seed: int, key: str, *, service_type: str, is_return: bool) -> RideBehavior:
    """Draw the behavior of a ride."""
    dice = Dice(seed, "behavior", key)
    outcome = _outcome(dice, is_return=is_return)
    usual = {"hospital_discharge": (14, 22), "dialysis": (2, 11)}.get(service_type, (6, 16))
    return RideBehavior(
        outcome=outcome,
        traffic=around_one(dice, TRAFFIC_SPREAD),
        early=dice.randrange(2, 12) * MINUTE,
        leaves_early=dice.hit(LEAVES_EARLY),
        boarding=around_one(dice, STOP_SPREAD),
        boarding_delay=dice.randrange(5, 18) * MINUTE if dice.hit(0.05) else 0,
        unloading=around_one(dice, STOP_SPREAD),
        lag=dice.randrange(3, 12) * MINUTE if dice.hit(0.02) else dice.randrange(1, 20),
        ready_delay=max(-25, min(60, int(dice.gauss(*usual)))) * MINUTE,
        cancelled_before=dice.randrange(20, 300) * MINUTE,
        answer=dice.randrange(3, 20) * MINUTE,
    )


def around_one(dice: Dice, spread: float) -> float:
    """Draw a factor with mean 1 that is never negative: lognormal, `spread` is the deviation of its logarithm."""
    return dice.lognormvariate(-spread * spread / 2, spread)


def late_start_of(seed: int, driver_id: str, day: object) -> int:
    """Return by how many seconds a driver begins the day late: mostly 0."""
    dice = Dice(seed, "late start", driver_id, day)
    return dice.randrange(10, 26) * MINUTE if dice.hit(0.04) else 0


def sick_at(seed: int, driver_id: str, day: object) -> int | None:
    """Return after how many seconds of the shift a driver goes home sick; mostly None."""
    dice = Dice(seed, "sick", driver_id, day)
    return dice.randrange(90, 300) * MINUTE if dice.hit(0.025) else None


def _outcome(dice: Dice, *, is_return: bool) -> str:
    drawn = dice.random() * 1000 / (_RETURN_FACTOR if is_return else 1.0)
    for outcome, share in _OUTCOMES:
        drawn -= share
        if drawn < 0:
            return outcome
    return "completed"
