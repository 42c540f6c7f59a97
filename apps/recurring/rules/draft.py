"""A standing order as requested by a caller, in wall time and the API's shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any
from uuid import UUID

from apps.rides.rules.draft import Notes, Payment

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TermsDraft:
    """Pattern, times, stops and needs of an order.

    Monday is 0; weeks are counted from the week of `anchor_date`, by default the week in which the terms begin.
    Without `pickup_time`, the pickup time is computed from the drive.  Stops may have an `accessCode`; the default of
    `dropoff` is the facility, and of `return_dropoff` the outbound pickup.  A scheduled return without `return_time`
    begins at the end of the treatment.
    """

    days_of_week: tuple[int, ...]
    chair_time: time
    pickup: Shape
    interval_weeks: int = 1
    anchor_date: date | None = None
    arrive_early_minutes: int | None = None  # None: the facility's default
    treatment_minutes: int | None = None  # None: 240 for dialysis
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
    """One standing order.  With `is_draft`, no rides are booked until it is activated."""

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
    external_ids: tuple[Mapping[str, str], ...] = ()  # with `system`, `value` and `type`
    is_draft: bool = False
