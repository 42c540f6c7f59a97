"""What can go wrong with a ride or a standing order, how bad it is, and what counts as settled (domain.md 4.9)."""

from collections.abc import Mapping
from typing import Final

from lib.choices import TextChoices


class ExceptionSeverity(TextChoices):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class ExceptionStatus(TextChoices):
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"


class ExceptionType(TextChoices):
    UNCONFIRMED_REQUEST = "unconfirmed_request"
    UNASSIGNED_AT_RISK = "unassigned_at_risk"
    NO_DRIVER_AVAILABLE = "no_driver_available"
    ASSIGNMENT_DECLINED = "assignment_declined"
    DRIVER_RELEASED_LATE = "driver_released_late"
    LATE_PICKUP_PREDICTED = "late_pickup_predicted"
    LATE_PICKUP = "late_pickup"
    LATE_TO_APPOINTMENT = "late_to_appointment"
    WILL_CALL_OVERDUE = "will_call_overdue"
    WILL_CALL_UNACTIVATED = "will_call_unactivated"
    RIDER_STRANDED_RISK = "rider_stranded_risk"
    RIDER_NOT_READY = "rider_not_ready"
    DISCHARGE_SLIPPED = "discharge_slipped"
    RETURN_LEG_AT_RISK = "return_leg_at_risk"
    RIDER_NO_SHOW = "rider_no_show"
    RIDE_UNFULFILLED = "ride_unfulfilled"
    ACCOMMODATION_MISMATCH = "accommodation_mismatch"
    ADDRESS_PROBLEM = "address_problem"
    CREDENTIAL_LAPSE = "credential_lapse"
    VEHICLE_BREAKDOWN = "vehicle_breakdown"
    ACCIDENT = "accident"
    SAFETY_INCIDENT = "safety_incident"
    MEDICAL_EMERGENCY = "medical_emergency"
    EXCESSIVE_WAIT = "excessive_wait"
    EXCESSIVE_RIDE_TIME = "excessive_ride_time"
    MILESTONE_GAP = "milestone_gap"
    MISSING_DOCUMENTATION = "missing_documentation"
    DUPLICATE_RIDE = "duplicate_ride"
    STANDING_ORDER_CONFLICT = "standing_order_conflict"
    STANDING_ORDER_REVIEW = "standing_order_review"
    AUTHORIZATION_ENDING = "authorization_ending"
    HOLD_REVIEW = "hold_review"
    HOLIDAY_UNDECIDED = "holiday_undecided"
    RIDER_HOSPITALIZED_SUSPECTED = "rider_hospitalized_suspected"


class ResolutionCode(TextChoices):
    RECOVERED_ON_TIME = "recovered_on_time"
    RECOVERED_LATE = "recovered_late"
    REASSIGNED = "reassigned"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"
    UNFULFILLED = "unfulfilled"
    FALSE_ALARM = "false_alarm"
    HANDLED_ELSEWHERE = "handled_elsewhere"
    OTHER = "other"


_T, _V = ExceptionType, ExceptionSeverity

_INFO = {
    _T.RIDER_NOT_READY,
    _T.DISCHARGE_SLIPPED,
    _T.EXCESSIVE_WAIT,
    _T.EXCESSIVE_RIDE_TIME,
    _T.MILESTONE_GAP,
    _T.UNASSIGNED_AT_RISK,
    _T.WILL_CALL_OVERDUE,
}
_CRITICAL = {
    _T.NO_DRIVER_AVAILABLE,
    _T.RIDER_STRANDED_RISK,
    _T.RIDE_UNFULFILLED,
    _T.ACCOMMODATION_MISMATCH,
    _T.VEHICLE_BREAKDOWN,
    _T.ACCIDENT,
    _T.SAFETY_INCIDENT,
    _T.MEDICAL_EMERGENCY,
}

DEFAULT_SEVERITY: Final[Mapping[ExceptionType, ExceptionSeverity]] = {
    type_: _V.INFO if type_ in _INFO else _V.CRITICAL if type_ in _CRITICAL else _V.WARNING for type_ in ExceptionType
}
# Only a person closes these, whatever happens to the ride.
PERSON_ONLY: Final = frozenset(
    {
        _T.RIDER_NO_SHOW,
        _T.RIDE_UNFULFILLED,
        _T.RETURN_LEG_AT_RISK,
        _T.VEHICLE_BREAKDOWN,
        _T.ACCIDENT,
        _T.SAFETY_INCIDENT,
        _T.MEDICAL_EMERGENCY,
        _T.DUPLICATE_RIDE,
    }
)
SEVERITY_RANK: Final[Mapping[ExceptionSeverity, int]] = {_V.INFO: 1, _V.WARNING: 2, _V.CRITICAL: 3}
