"""What a standing order is before it is one: everything the caller asked for, in wall time and the API's shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any
from uuid import UUID

from apps.rides.rules.draft import Notes, Payment

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TermsDraft:
    """When and how an order rides.

    Days of the week are Monday 0; weeks are counted from the one of `anchor_date`, or that in which the terms begin.
    Without `pickup_time` the pickup is worked out from the drive.  Stops may hold an `accessCode`; without `dropoff`
    the way there ends at the facility, and without `return_dropoff` the way back ends where the way there began.  A
    scheduled way back without `return_time` begins when the treatment is over.
    """

    days_of_week: tuple[int, ...]
    chair_time: time
    pickup: Shape
    interval_weeks: int = 1
    anchor_date: date | None = None
    arrive_early_minutes: int | None = None  # None: the facility's
    treatment_minutes: int | None = None  # None: 240 of dialysis
    post_treatment_minutes: int | None = None
    pickup_time: time | None = None
    dropoff: Shape = field(default_factory=dict)
    return_mode: str = "will_call"
    return_time: time | None = None
    return_mobility: str = ""
    return_dropoff: Shape = field(default_factory=dict)
    accommodation: Shape = field(default_factory=dict)
    companions: Shape = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrderDraft:
    """One standing order as asked for.  `draft` keeps it from riding until it is activated."""

    facility_id: UUID
    start_date: date
    terms: TermsDraft
    service_type: str = "dialysis"
    end_date: date | None = None
    payment: Payment = field(default_factory=Payment)
    preferred_driver_ids: tuple[UUID, ...] = ()
    vehicle_type_requested: str = ""
    notes: Notes = field(default_factory=Notes)
    generation_horizon_days: int | None = None
    external_ids: tuple[Mapping[str, str], ...] = ()  # of `system`, `value` and `type`
    is_draft: bool = False
