"""What the checks of an assignment look at: plain facts about ride, driver and vehicle.  Pure: no query, no clock.

`queries/assignment_facts.py` gathers them; `eligibility.py` judges them; `ranking.py` orders by them.
"""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from apps.fleet.rules.credentials import CredentialFacts
from lib.travel.places import Place


@dataclass(frozen=True, slots=True)
class Span:
    """A period `[starts_at, ends_at)`."""

    starts_at: datetime
    ends_at: datetime

    def overlaps(self, other: "Span") -> bool:
        return self.starts_at < other.ends_at and other.starts_at < self.ends_at

    def covers(self, other: "Span") -> bool:
        return self.starts_at <= other.starts_at and other.ends_at <= self.ends_at


@dataclass(frozen=True, slots=True)
class Spaces:
    """Seats, wheelchair places and stretcher places."""

    ambulatory: int = 0
    wheelchair: int = 0
    stretcher: int = 0

    def holds(self, other: "Spaces") -> bool:
        return (
            self.ambulatory >= other.ambulatory
            and self.wheelchair >= other.wheelchair
            and self.stretcher >= other.stretcher
        )


@dataclass(frozen=True, slots=True)
class RideSlot:
    """One ride as it fills a driver's and a vehicle's day.

    `span` runs from the pickup time until the rider has left the vehicle; `latest_pickup_at` is the end of the window.
    `on_board`: the rider is in the vehicle.
    """

    ride_id: UUID
    span: Span
    latest_pickup_at: datetime
    pickup: Place | None
    dropoff: Place | None
    load_minutes: int = 0
    unload_minutes: int = 0
    driver_id: UUID | None = None
    vehicle_id: UUID | None = None
    attendant_ids: frozenset[UUID] = frozenset()
    on_board: bool = False


@dataclass(frozen=True, slots=True)
class RideNeeds:
    """What a ride requires of its driver and vehicle.

    Widths in inches, weights in pounds; None if unknown.  `steps` is the larger number of steps at the two entrances
    that the rider needs help with: 0 with an elevator or ramp, or if the rider walks unaided.  `overdue`: the pickup
    time has passed, and the slot begins now.  `after_the_fact`: the ride has taken place, and nothing is predicted.
    """

    slot: RideSlot
    service_date: date
    rider_id: UUID
    spaces: Spaces
    in_chair: bool = False
    on_stretcher: bool = False
    bariatric: bool = False
    chair_width_in: float | None = None
    combined_weight_lb: int | None = None
    oxygen: bool = False
    oxygen_mount: bool = False
    ambulance: bool = False
    steps: int = 0
    second_person: bool = False
    excluded_driver_ids: frozenset[UUID] = frozenset()
    preferred_driver_ids: frozenset[UUID] = frozenset()
    driver_gender: str = ""
    language: str = ""
    overdue: bool = False
    after_the_fact: bool = False


@dataclass(frozen=True, slots=True)
class ShiftFact:
    """A planned shift.  `pause`: the planned break."""

    driver_id: UUID
    vehicle_id: UUID
    span: Span
    pause: Span | None = None


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """A driver, or attendant, around the time of the ride.

    `slots` are the other rides they drive or attend.  `shifts` are those planned within a week either way, so that
    none at all says that the driver does not work by shifts.
    """

    id: UUID
    provider_id: UUID
    activation: str = "active"
    credentials: tuple[CredentialFacts, ...] = ()
    qualifications: frozenset[str] = frozenset()
    excluded_rider_ids: frozenset[UUID] = frozenset()
    gender: str = ""
    languages: frozenset[str] = frozenset()
    shifts: tuple[ShiftFact, ...] = ()
    leave: tuple[Span, ...] = ()
    slots: tuple[RideSlot, ...] = ()


@dataclass(frozen=True, slots=True)
class VehicleFacts:
    """A vehicle around the time of the ride.  `configs` are alternatives: it is arranged one way at a time."""

    id: UUID
    provider_id: UUID
    type: str
    status: str = "in_service"
    credentials: tuple[CredentialFacts, ...] = ()
    configs: tuple[Spaces, ...] = ()
    lift_type: str = "none"
    lift_rating_lb: int | None = None
    max_chair_width_in: float | None = None
    oxygen_mount: bool = False
    bariatric: bool = False
    shifts: tuple[ShiftFact, ...] = ()
    slots: tuple[RideSlot, ...] = ()
