"""Which of the drivers who may take a ride should: their order, and what speaks for and against each in words.  Pure.

Every time comes from `driver_timeline.insert`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from apps.rides.rules.driver_timeline import Insertion, Location, LocationSource
from apps.rides.rules.eligibility import Violation, ViolationKind
from apps.rides.rules.facts import RideNeeds, VehicleFacts
from lib.clocks import clock_text
from lib.messages import Message, Text, ngettext_lazy
from lib.messages import gettext_lazy as _

# A stretcher van sent for a walking rider is missed elsewhere: each class too large costs as much as this detour.
MINUTES_PER_STEP_OF_OVERKILL: Final = 30.0
# Detours that differ by less are equal, so that the rider's usual driver is preferred.
MINUTES_ALIKE: Final = 5.0

# What a vehicle can carry, in steps; the ride's own step is the lowest that serves it.
_STEP_OF_TYPE: Final = {"wheelchair_van": 1, "stretcher_van": 2, "bls_ambulance": 3}
_NAMES: Final = {
    "wheelchair_van": _("wheelchair van"),
    "stretcher_van": _("stretcher van"),
    "bls_ambulance": _("BLS ambulance"),
}


class ReasonCode(StrEnum):
    AVAILABLE = "available"
    ON_BOARD = "on_board"
    LOCATION_UNKNOWN = "location_unknown"
    LATE = "late"
    BREAKS_PROMISES = "breaks_promises"
    KNOWS_RIDER = "knows_rider"
    PREFERRED = "preferred"
    LARGER_VEHICLE = "larger_vehicle"


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that speaks for or against a driver.  `message` names no person; `parameters` are JSON values."""

    code: ReasonCode
    parameters: Mapping[str, object]
    message: Text


@dataclass(frozen=True, slots=True)
class Prospect:
    """A driver with a vehicle for a ride: the predicted times, and what else the order goes by.

    `shared_rides` counts the completed rides of this driver with this rider.  `violations` are those that an assignment
    would have.
    """

    insertion: Insertion
    vehicle: VehicleFacts | None
    shared_rides: int = 0
    preferred: bool = False
    violations: Sequence[Violation] = ()

    @property
    def refused(self) -> bool:
        return any(violation.kind is ViolationKind.HARD for violation in self.violations)


def order(prospect: Prospect, needs: RideNeeds) -> tuple[object, ...]:
    """Return the sort key of a candidate, best first.

    Who may not is last, after who needs an override; then an unknown arrival, broken promises, of life-sustaining rides
    first, lateness, more driving, and drivers whom the rider does not know.
    """
    insertion = prospect.insertion
    broken = [delay for delay in insertion.delays if delay.breaks_promise]
    too_large = overkill(needs, prospect.vehicle)
    detour = insertion.added_drive_minutes + too_large * MINUTES_PER_STEP_OF_OVERKILL
    return (
        prospect.refused,
        bool(prospect.violations),
        insertion.pickup_at is None,
        sum(delay.life_sustaining for delay in broken),
        len(broken),
        insertion.late_minutes,
        round(detour / MINUTES_ALIKE),
        not prospect.preferred,
        -prospect.shared_rides,
        detour,
    )


def overkill(needs: RideNeeds, vehicle: VehicleFacts | None) -> int:
    """Count the classes by which the vehicle exceeds what the ride needs."""
    if vehicle is None:
        return 0
    needed = 3 if needs.ambulance else 2 if needs.on_stretcher else 1 if needs.in_chair else 0
    return max(0, _STEP_OF_TYPE.get(vehicle.type, 0) - needed)


def reasons(prospect: Prospect, needs: RideNeeds, *, zone: str, at: datetime) -> list[Reason]:
    """List what a dispatcher has to know about a candidate: times in `zone`, the time zone of the ride."""
    if needs.after_the_fact:
        return list(_suitability(prospect, needs))
    return [
        _whereabouts(prospect.insertion, zone, at),
        *_consequences(prospect.insertion),
        *_suitability(prospect, needs),
    ]


def _whereabouts(insertion: Insertion, zone: str, at: datetime) -> Reason:
    minutes = insertion.approach.minutes if insertion.approach is not None else None
    if insertion.pickup_at is None or minutes is None:
        return Reason(ReasonCode.LOCATION_UNKNOWN, {}, _("Location not known, so that no arrival is predicted"))
    free_at = insertion.available_at
    texts: dict[str, object] = {"minutes": minutes, "time": clock_text(free_at.astimezone(ZoneInfo(zone)))}
    values = {"until": free_at.isoformat(), "driveMinutes": minutes}
    if insertion.on_board:
        return Reason(
            ReasonCode.ON_BOARD, values, Message(_("On board until %(time)s, then %(minutes)s min away"), texts)
        )
    texts["place"] = place_label(insertion.available_from)
    if free_at > at:
        template = (
            _("Free from %(time)s at %(place)s, then %(minutes)s min away")
            if texts["place"]
            else _("Free from %(time)s, then %(minutes)s min away")
        )
    elif texts["place"]:
        template = _("Free now, %(minutes)s min away (%(place)s)")
    else:
        template = _("Free now, %(minutes)s min away")
    return Reason(ReasonCode.AVAILABLE, values, Message(template, texts))


def place_label(location: Location) -> Text:
    """Name where a driver is or will be, never by a rider."""
    return _("reported position") if location.source is LocationSource.POSITION else location.label


# Made once: each call of ngettext_lazy creates a class, a tenth of the time of ranking 80 drivers.
_MAKES_LATE: Final = ngettext_lazy("Makes %(count)s other pickup late", "Makes %(count)s other pickups late", "count")
_KNOWS_RIDER: Final = ngettext_lazy(
    "%(count)s previous ride with this rider", "%(count)s previous rides with this rider", "count"
)


def _consequences(insertion: Insertion) -> Iterator[Reason]:
    if insertion.pickup_at is not None and insertion.late_minutes:
        minutes = {"minutes": insertion.late_minutes}
        yield Reason(ReasonCode.LATE, minutes, Message(_("Predicted %(minutes)s min late"), minutes))
    broken = sum(delay.breaks_promise for delay in insertion.delays)
    if broken:
        yield Reason(ReasonCode.BREAKS_PROMISES, {"rides": broken}, Message(_MAKES_LATE, {"count": broken}))


def _suitability(prospect: Prospect, needs: RideNeeds) -> Iterator[Reason]:
    vehicle, count = prospect.vehicle, prospect.shared_rides
    if count:
        yield Reason(ReasonCode.KNOWS_RIDER, {"rides": count}, Message(_KNOWS_RIDER, {"count": count}))
    if prospect.preferred:
        yield Reason(ReasonCode.PREFERRED, {}, _("Preferred driver"))
    if vehicle is not None and overkill(needs, vehicle):
        message = Message(_("Larger vehicle than needed: %(vehicle)s"), {"vehicle": _NAMES[vehicle.type]})
        yield Reason(ReasonCode.LARGER_VEHICLE, {"vehicleType": vehicle.type}, message)
