"""Which of the drivers who may take a ride should: a cost in minutes of driving, and the reason in words.  Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.rides.rules.eligibility import Violation, ViolationKind
from apps.rides.rules.facts import DriverFacts, RideNeeds, VehicleFacts
from lib.messages import Message, Text, listed, ngettext_lazy
from lib.messages import gettext_lazy as _
from lib.travel.places import Place
from lib.travel.times import Drive, drive_between

# Everything is weighed in minutes of empty driving, the one thing every dispatcher can judge.
MINUTES_IF_UNLOCATED: Final = 30.0  # the position of the driver is unknown: as if across town
MINUTES_PER_STEP_OF_OVERKILL: Final = 30.0  # a stretcher van sent for a walking rider is missed elsewhere
MINUTES_FOR_PREFERRED: Final = 30.0  # subtracted: the rider prefers this driver
MINUTES_PER_SHARED_RIDE: Final = 2.0  # subtracted: the driver knows the rider and the place
MOST_SHARED_RIDES: Final = 8
TIGHT_MINUTES: Final = 15.0  # less spare time than this before the pickup costs what is missing
MINUTES_PER_SOFT_VIOLATION: Final = 120.0  # ranks behind any driver nearby without a violation

# What a vehicle can carry, in steps; the ride's own step is the lowest that serves it.
_STEP_OF_TYPE: Final = {"wheelchair_van": 1, "stretcher_van": 2, "bls_ambulance": 3}
_NAMES: Final = {
    "wheelchair_van": _("wheelchair van"),
    "stretcher_van": _("stretcher van"),
    "bls_ambulance": _("BLS ambulance"),
}


@dataclass(frozen=True, slots=True)
class Approach:
    """How a driver would get to the pickup: free minutes before (None: free all day), and from where."""

    free_minutes: int | None
    drive: Drive | None
    from_what: Text  # "the previous drop-off", "the last location", "the home base" or ""


@dataclass(frozen=True, slots=True)
class Score:
    """A lower cost is a better candidate; `reason` explains it to a dispatcher and names no person."""

    cost_minutes: float
    reason: Text


def approach(needs: RideNeeds, driver: DriverFacts, *, last_seen: Place | None, home_base: Place | None) -> Approach:
    """Find the origin of the driver: the previous drop-off, else the last location, else the home base."""
    begins_at: datetime = needs.slot.span.starts_at
    earlier = [slot for slot in driver.slots if slot.span.starts_at <= begins_at]
    before = max(earlier, key=lambda slot: slot.span.ends_at, default=None)
    free = None if before is None else int((begins_at - before.span.ends_at).total_seconds() // 60)
    origins = (
        (None if before is None else before.dropoff, _("the previous drop-off")),
        (last_seen, _("the last location")),
        (home_base, _("the home base")),
    )
    pickup = needs.slot.pickup
    for origin, from_what in origins:
        if origin is not None and pickup is not None:
            return Approach(free, drive_between(origin, pickup, depart_at=begins_at), from_what)
    return Approach(free, None, "")


def overkill(needs: RideNeeds, vehicle: VehicleFacts) -> int:
    """Count the classes by which the vehicle exceeds what the ride needs."""
    needed = 3 if needs.ambulance else 2 if needs.on_stretcher else 1 if needs.in_chair else 0
    return max(0, _STEP_OF_TYPE.get(vehicle.type, 0) - needed)


def score(
    needs: RideNeeds,
    driver: DriverFacts,
    vehicle: VehicleFacts | None,
    route: Approach,
    *,
    shared_rides: int,
    violations: list[Violation],
) -> Score:
    """Score a candidate.  `shared_rides` counts the completed rides of this driver with this rider."""
    preferred = driver.id in needs.preferred_driver_ids
    too_much = overkill(needs, vehicle) if vehicle is not None else 0
    cost = MINUTES_IF_UNLOCATED if route.drive is None else route.drive.seconds / 60
    if route.free_minutes is not None:
        cost += max(0.0, TIGHT_MINUTES - route.free_minutes)
    cost += too_much * MINUTES_PER_STEP_OF_OVERKILL
    cost -= MINUTES_FOR_PREFERRED if preferred else 0
    cost -= min(shared_rides, MOST_SHARED_RIDES) * MINUTES_PER_SHARED_RIDE
    cost += MINUTES_PER_SOFT_VIOLATION * sum(violation.kind is ViolationKind.SOFT for violation in violations)
    return Score(round(cost, 1), _in_words(route, vehicle, too_much, preferred=preferred, shared_rides=shared_rides))


def _in_words(
    route: Approach, vehicle: VehicleFacts | None, too_much: int, *, preferred: bool, shared_rides: int
) -> Text:
    words: list[Text] = []
    if route.free_minutes is None:
        words.append(_("no ride before this one"))
    elif route.free_minutes >= 0:
        words.append(Message(_("free %(minutes)s min before pickup"), {"minutes": route.free_minutes}))
    else:
        words.append(_("on another ride at pickup"))
    if route.drive is None:
        words.append(_("location not known"))
    else:
        words.append(
            Message(
                _("%(miles)s mi away from %(place)s"), {"miles": f"{route.drive.miles:.1f}", "place": route.from_what}
            )
        )
    if shared_rides:
        template = ngettext_lazy("drove this rider %(count)s time", "drove this rider %(count)s times", "count")
        words.append(Message(template, {"count": shared_rides}))
    if preferred:
        words.append(_("preferred driver"))
    if too_much and vehicle is not None:
        words.append(Message(_("%(vehicle)s: larger vehicle than needed"), {"vehicle": _NAMES[vehicle.type]}))
    return listed(words)
