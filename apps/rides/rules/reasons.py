"""Reasons why a ride ended or lost its driver, and who is at fault.

Only `rider` fault counts against a rider.  Operators may add codes; each maps to a code listed here, so that reports
stay comparable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.rides.rules.lifecycle import ReasonList, RideStatus
from lib.choices import TextChoices
from lib.messages import gettext_lazy as _
from lib.messages import pgettext_lazy


class Fault(TextChoices):
    RIDER = "rider", _("Rider")
    FACILITY = "facility", _("Facility")
    PROVIDER = "provider", _("Provider")
    PAYER = "payer", _("Payer")
    NONE = "none", pgettext_lazy("fault", "None")


class CancellationTiming(TextChoices):
    AT_DOOR = "at_door", _("at the door")
    LATE = "late", pgettext_lazy("cancellation timing", "Late")
    SAME_DAY = "same_day", _("same day")
    ADVANCE = "advance", _("in advance")


_F = Fault

FAULT_OF_CANCELLATION: Final[Mapping[str, Fault]] = {
    "rider_request": _F.RIDER,
    "rider_other_transport": _F.RIDER,
    "rider_refused_at_door": _F.RIDER,
    "rider_ill": _F.NONE,
    "rider_hospitalized": _F.NONE,
    "rider_deceased": _F.NONE,
    "appointment_cancelled": _F.FACILITY,
    "appointment_moved": _F.FACILITY,
    "treatment_changed": _F.FACILITY,
    "discharge_cancelled": _F.FACILITY,
    "level_of_care_changed": _F.FACILITY,
    "facility_closed": _F.FACILITY,
    "standing_order_hold": _F.NONE,
    "standing_order_ended": _F.NONE,
    "calendar_shift": _F.NONE,
    "will_call_not_used": _F.NONE,
    "authorization_denied": _F.PAYER,
    "eligibility_lapsed": _F.PAYER,
    "weather": _F.NONE,
    "duplicate": _F.NONE,
    "booking_error": _F.NONE,
    "other": _F.NONE,
}

FAULT_OF_FAILURE: Final[Mapping[str, Fault]] = {
    "no_driver_available": _F.PROVIDER,
    "no_suitable_vehicle": _F.PROVIDER,
    "given_back_late": _F.PROVIDER,
    "driver_no_call_no_show": _F.PROVIDER,
    "vehicle_breakdown": _F.PROVIDER,
    "accident": _F.PROVIDER,
    "late_rider_left": _F.PROVIDER,
    "late_appointment_lost": _F.PROVIDER,
    "wrong_vehicle_sent": _F.PROVIDER,
    "driver_refused": _F.PROVIDER,
    "outside_service_area": _F.NONE,
    "outside_service_hours": _F.NONE,
    "insufficient_notice": _F.NONE,
    "authorization_missing": _F.PAYER,
    "weather_suspension": _F.NONE,
    "aborted_medical_emergency": _F.NONE,
    "aborted_safety": _F.NONE,
    "returned_to_origin": _F.NONE,
    "other": _F.NONE,
}

# `not_ready_wait_exceeded` is the facility's at a facility, else the rider's: see `default_fault`.
FAULT_OF_NO_SHOW: Final[Mapping[str, Fault]] = {
    "rider_not_at_pickup": _F.RIDER,
    "rider_unreachable": _F.RIDER,
    "rider_already_left": _F.RIDER,
    "not_ready_wait_exceeded": _F.RIDER,
    "not_found_at_facility": _F.FACILITY,
    "bad_pickup_details": _F.NONE,
}

# Reasons for unassigning a driver or for a transfer to another vehicle.  The ride goes on, so there is no fault.
UNASSIGN_REASONS: Final = (
    "driver_declined",
    "driver_released",
    "driver_suspended",
    "driver_ill",
    "driver_absent",
    "running_late",
    "vehicle_breakdown",
    "accident",
    "accommodation_mismatch",
    "credential_lapsed",
    "replanned",
    "booking_error",
    "other",
)
OUT_REASONS: Final = frozenset({"driver_ill", "driver_absent"})  # the driver drives none of the next rides

# The reasons for ending a ride with the rider on board.
ABORT_REASONS: Final = ("aborted_medical_emergency", "aborted_safety", "returned_to_origin")
# For unassigning after arrival at the pickup.
AT_DOOR_UNASSIGN_REASONS: Final = ("accommodation_mismatch", "vehicle_breakdown")
# Once a driver is assigned, an unfulfilled ride is the provider's fault; any other end is a cancellation.
PROVIDER_REASONS: Final = tuple(
    code for code, fault in FAULT_OF_FAILURE.items() if fault is Fault.PROVIDER or code == "other"
)
NEEDS_NOTE: Final = frozenset({"other"})

# Notes that the service writes into columns for notes of people: a code and its parameters, which `labels.note_text`
# formats in the reader's language.
LEG_KEPT_NOTE: Final = "system:leg_kept"
EARLIER_LEG_ENDED_NOTE: Final = "system:earlier_leg_ended"

CODES: Final[Mapping[ReasonList, tuple[str, ...]]] = {
    ReasonList.CANCELLED: tuple(FAULT_OF_CANCELLATION),
    ReasonList.UNFULFILLED: tuple(FAULT_OF_FAILURE),
    ReasonList.NO_SHOW: tuple(FAULT_OF_NO_SHOW),
    ReasonList.UNASSIGN: UNASSIGN_REASONS,
}


def default_fault(reasons: ReasonList, code: str, *, at_facility: bool) -> Fault:
    """Return who is at fault for an outcome; a dispatcher may change it.

    `at_facility`: the pickup is at a facility, whose staff is responsible that the rider is ready.
    """
    if reasons is ReasonList.CANCELLED:
        return FAULT_OF_CANCELLATION[code]
    if reasons is ReasonList.UNFULFILLED:
        return FAULT_OF_FAILURE[code]
    if code == "not_ready_wait_exceeded" and at_facility:
        return Fault.FACILITY
    return FAULT_OF_NO_SHOW[code]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What the timing of a cancellation depends on.  `late_minutes` is the facility's."""

    status: RideStatus
    pickup_at: datetime
    at: datetime
    zone: str
    late_minutes: int


def cancellation_timing(facts: Cancelled) -> CancellationTiming:
    """Compute how late a cancellation came; the first rule that holds wins (order from Trapeze PASS).

    "Same day" is the local day of the pickup, never the UTC one.
    """
    if facts.status is RideStatus.ARRIVED:
        return CancellationTiming.AT_DOOR
    if facts.status is RideStatus.EN_ROUTE or facts.at > facts.pickup_at - timedelta(minutes=facts.late_minutes):
        return CancellationTiming.LATE
    zone = ZoneInfo(facts.zone)
    if facts.at.astimezone(zone).date() >= facts.pickup_at.astimezone(zone).date():
        return CancellationTiming.SAME_DAY
    return CancellationTiming.ADVANCE


def earlier_leg_ended_note(status: str, reason_code: str) -> str:
    return f"{EARLIER_LEG_ENDED_NOTE}:{status}:{reason_code}"
