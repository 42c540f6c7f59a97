"""Leg of a journey, the trip to which it belongs, and the run in which a vehicle drives it."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from apps.demo.fleet import DemoDuty
from apps.demo.geography import Spot
from apps.demo.people import Person
from apps.demo.places import DemoPlace
from apps.riders.rules.accommodation import Spaces
from lib.travel.times import Drive


@dataclass(slots=True)
class End:
    """One end of a leg."""

    spot: Spot
    stop_json: str
    place: DemoPlace | None


@dataclass(slots=True)
class Journey:
    """Legs of one rider on one day; `failed_at` is when an earlier leg failed."""

    legs: list["DemoLeg"] = field(default_factory=list)
    failed_at: int = 0
    id: str = ""


@dataclass(slots=True)
class DemoLeg:
    """One ride: the request, its planned outcome, and, once driven, its times.  Instants are seconds since 1970.

    `fate` is the outcome unless another event interferes: completed, no_show, cancel_* or unf_*; `freeze` holds a leg
    of the live scenes in a status.
    """

    key: str
    person: Person
    day: dt.date
    service: str
    leg_type: str
    origin: End
    destination: End
    owner: DemoPlace
    pickup_at: int
    journey: Journey
    appointment_at: int | None = None
    will_call: bool = False
    ready_at: int = 0
    window_starts: int = 0
    window_ends: int = 0
    estimate: Drive | None = None
    requested_at: int = 0
    confirmed_at: int = 0  # after a review; 0: confirmed at once
    question: str = ""
    fate: str = "completed"
    reason: str = ""
    decided_at: int = 0  # of a cancellation
    is_recurring: bool = False
    freeze: str = ""
    discharge: dict[str, Any] | None = None
    dialysis: dict[str, Any] | None = None
    sequence: int = 1
    # The drive, once a duty is assigned; 0: not reached.
    duty: DemoDuty | None = None
    departed: int = 0
    arrived: int = 0
    boarded: int = 0
    reached: int = 0
    dropped: int = 0
    left_without_rider: int = 0
    miles: float = 0.0

    @property
    def spaces(self) -> Spaces:
        return self.person.return_spaces if self.leg_type == "return" else self.person.outbound_spaces

    @property
    def due_at(self) -> int:
        """Instant at which the vehicle is due; a released rider waits from `ready_at`."""
        return self.ready_at + 15 * 60 if self.will_call else self.pickup_at


@dataclass(slots=True)
class Run:
    """Legs driven together.  `gather`: from many addresses to one place; else from one place to many addresses."""

    legs: list[DemoLeg]
    gather: bool = True

    @property
    def starts(self) -> int:
        return self.legs[0].due_at
