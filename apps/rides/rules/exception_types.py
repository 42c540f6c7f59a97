"""What can go wrong with a ride or a standing order, how bad it is, and what counts as settled."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _
from lib.messages import pgettext_lazy


class ExceptionSeverity(TextChoices):
    INFO = "info", _("Info")
    WARNING = "warning", _("Warning")
    CRITICAL = "critical", _("Critical")


class ExceptionStatus(TextChoices):
    OPEN = "open", _("Open")
    ACKNOWLEDGED = "acknowledged", _("Claimed")
    RESOLVED = "resolved", _("Resolved")
    DISMISSED = "dismissed", _("Dismissed")


class ExceptionType(TextChoices):
    UNCONFIRMED_REQUEST = "unconfirmed_request", _("Request not confirmed")
    UNASSIGNED_AT_RISK = "unassigned_at_risk", _("Unassigned")
    NO_DRIVER_AVAILABLE = "no_driver_available", _("No driver available")
    ASSIGNMENT_DECLINED = "assignment_declined", _("Offer declined")
    DRIVER_RELEASED_LATE = "driver_released_late", _("Late turnback")
    LATE_PICKUP_PREDICTED = "late_pickup_predicted", _("Running late (predicted)")
    LATE_PICKUP = "late_pickup", _("Late pickup")
    LATE_TO_APPOINTMENT = "late_to_appointment", _("Late to the appointment")
    WILL_CALL_OVERDUE = "will_call_overdue", _("Will-call waiting")
    WILL_CALL_UNACTIVATED = "will_call_unactivated", _("Will-call not activated")
    RIDER_STRANDED_RISK = "rider_stranded_risk", _("Rider may be stranded")
    RIDER_NOT_READY = "rider_not_ready", _("Rider not ready")
    DISCHARGE_SLIPPED = "discharge_slipped", _("Discharge delayed")
    RETURN_LEG_AT_RISK = "return_leg_at_risk", _("Return trip needs review")
    RIDER_NO_SHOW = "rider_no_show", _("No-show")
    RIDE_UNFULFILLED = "ride_unfulfilled", _("Missed trip")
    ACCOMMODATION_MISMATCH = "accommodation_mismatch", _("Wrong vehicle or equipment for rider")
    ADDRESS_PROBLEM = "address_problem", _("Address needs review")
    CREDENTIAL_LAPSE = "credential_lapse", _("Credential expiring")
    VEHICLE_BREAKDOWN = "vehicle_breakdown", _("Vehicle broke down")
    ACCIDENT = "accident", _("Accident")
    SAFETY_INCIDENT = "safety_incident", _("Safety incident")
    MEDICAL_EMERGENCY = "medical_emergency", _("Medical emergency")
    EXCESSIVE_WAIT = "excessive_wait", _("Excessive driver wait")
    EXCESSIVE_RIDE_TIME = "excessive_ride_time", _("Excess ride time")
    MILESTONE_GAP = "milestone_gap", _("Missing timestamp")
    MISSING_DOCUMENTATION = "missing_documentation", _("Documents missing")
    DUPLICATE_RIDE = "duplicate_ride", _("Double-booked rider")
    STANDING_ORDER_CONFLICT = "standing_order_conflict", _("Standing order cannot book")
    STANDING_ORDER_REVIEW = "standing_order_review", _("Standing order needs review")
    AUTHORIZATION_ENDING = "authorization_ending", _("Authorization ends")
    HOLD_REVIEW = "hold_review", _("Hold review due")
    HOLIDAY_UNDECIDED = "holiday_undecided", _("Holiday schedule not set")
    RIDER_HOSPITALIZED_SUSPECTED = "rider_hospitalized_suspected", _("Rider may be in hospital")


class ResolutionCode(TextChoices):
    RECOVERED_ON_TIME = "recovered_on_time", _("Recovered, on time")
    RECOVERED_LATE = "recovered_late", _("Recovered, late")
    REASSIGNED = "reassigned", _("Reassigned")
    RESCHEDULED = "rescheduled", _("Rescheduled")
    CANCELLED = "cancelled", pgettext_lazy("resolution code", "Canceled")
    UNFULFILLED = "unfulfilled", _("Unfulfilled")
    FALSE_ALARM = "false_alarm", _("False alarm")
    HANDLED_ELSEWHERE = "handled_elsewhere", _("Handled elsewhere")
    EXPIRED = "expired", _("Expired")
    OTHER = "other", _("Other")


_T, _V = ExceptionType, ExceptionSeverity

_INFO = {
    _T.RIDER_NOT_READY,
    _T.DISCHARGE_SLIPPED,
    _T.EXCESSIVE_WAIT,
    _T.EXCESSIVE_RIDE_TIME,
    _T.MILESTONE_GAP,
    _T.MISSING_DOCUMENTATION,
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
# The end of the ride does not close these: a person does, or the clock when nothing can be changed any more.
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
INCIDENTS: Final = frozenset({_T.VEHICLE_BREAKDOWN, _T.ACCIDENT, _T.SAFETY_INCIDENT, _T.MEDICAL_EMERGENCY})
# What the lack of a driver brings about: while a ride has none, these are one problem.
WITHOUT_DRIVER: Final = frozenset(
    {
        _T.UNASSIGNED_AT_RISK,
        _T.NO_DRIVER_AVAILABLE,
        _T.ASSIGNMENT_DECLINED,
        _T.DRIVER_RELEASED_LATE,
        _T.LATE_PICKUP_PREDICTED,
        _T.LATE_PICKUP,
        _T.LATE_TO_APPOINTMENT,
        _T.WILL_CALL_OVERDUE,
        _T.RIDER_STRANDED_RISK,
    }
)
# Work for the desk, while no rider waits and no promise is in danger.
HARMLESS: Final = frozenset(
    {
        _T.RIDER_NO_SHOW,
        _T.ADDRESS_PROBLEM,
        _T.EXCESSIVE_WAIT,
        _T.MILESTONE_GAP,
        _T.MISSING_DOCUMENTATION,
        _T.DUPLICATE_RIDE,
    }
)
# For how long a person can still change what an exception of a ride is about, after the ride has ended and its promises
# have passed; see `exception_rules.expires_at`.  Our policy: riders wait four hours at most, at a facility half a day.
# Types that are absent wait for a person or a document: incidents need a report, a claim needs its documents, and
# exceptions of standing orders depend on no ride.
ACTIONABLE_FOR: Final[Mapping[ExceptionType, timedelta]] = {
    type_: timedelta(hours=hours)
    for hours, types in {
        2: (_T.RIDER_NO_SHOW, _T.CREDENTIAL_LAPSE, _T.DUPLICATE_RIDE),
        4: (
            _T.UNCONFIRMED_REQUEST,
            _T.UNASSIGNED_AT_RISK,
            _T.ASSIGNMENT_DECLINED,
            _T.DRIVER_RELEASED_LATE,
            _T.LATE_PICKUP_PREDICTED,
            _T.LATE_PICKUP,
            _T.LATE_TO_APPOINTMENT,
            _T.RIDER_NOT_READY,
            _T.EXCESSIVE_WAIT,
            _T.EXCESSIVE_RIDE_TIME,
            _T.ACCOMMODATION_MISMATCH,
            _T.RETURN_LEG_AT_RISK,
            _T.RIDE_UNFULFILLED,
        ),
        12: (
            _T.NO_DRIVER_AVAILABLE,
            _T.WILL_CALL_OVERDUE,
            _T.WILL_CALL_UNACTIVATED,
            _T.RIDER_STRANDED_RISK,
            _T.DISCHARGE_SLIPPED,
        ),
        24: (_T.MILESTONE_GAP, _T.ADDRESS_PROBLEM),
    }.items()
    for type_ in types
}
SEVERITY_RANK: Final[Mapping[ExceptionSeverity, int]] = {_V.INFO: 1, _V.WARNING: 2, _V.CRITICAL: 3}
