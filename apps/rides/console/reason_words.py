"""How pages call the built-in reasons of endings, whose doing they were, and how late a cancellation came.

Reasons that the operator adds have labels of their own, in the operator's language, and are shown as they are.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.rides.console.words import spelled
from apps.rides.reasons import CancellationTiming, Fault

REASONS: Final[Mapping[str, Promise]] = {
    "rider_request": gettext_lazy("Rider request"),
    "rider_other_transport": gettext_lazy("Rider other transport"),
    "rider_refused_at_door": gettext_lazy("Rider refused at door"),
    "rider_ill": gettext_lazy("Rider ill"),
    "rider_hospitalized": gettext_lazy("Rider hospitalized"),
    "rider_deceased": gettext_lazy("Rider deceased"),
    "appointment_cancelled": gettext_lazy("Appointment cancelled"),
    "appointment_moved": gettext_lazy("Appointment moved"),
    "treatment_changed": gettext_lazy("Treatment changed"),
    "discharge_cancelled": gettext_lazy("Discharge cancelled"),
    "level_of_care_changed": gettext_lazy("Level of care changed"),
    "facility_closed": gettext_lazy("Facility closed"),
    "standing_order_hold": gettext_lazy("Standing order hold"),
    "standing_order_ended": gettext_lazy("Standing order ended"),
    "calendar_shift": gettext_lazy("Calendar shift"),
    "will_call_not_used": gettext_lazy("Will call not used"),
    "authorization_denied": gettext_lazy("Authorization denied"),
    "eligibility_lapsed": gettext_lazy("Eligibility lapsed"),
    "weather": gettext_lazy("Weather"),
    "duplicate": gettext_lazy("Duplicate"),
    "booking_error": gettext_lazy("Booking error"),
    "other": gettext_lazy("Other"),
    "no_driver_available": gettext_lazy("No driver available"),
    "no_suitable_vehicle": gettext_lazy("No suitable vehicle"),
    "given_back_late": gettext_lazy("Given back late"),
    "driver_no_call_no_show": gettext_lazy("Driver no call no show"),
    "vehicle_breakdown": gettext_lazy("Vehicle breakdown"),
    "accident": gettext_lazy("Accident"),
    "late_rider_left": gettext_lazy("Late rider left"),
    "late_appointment_lost": gettext_lazy("Late appointment lost"),
    "wrong_vehicle_sent": gettext_lazy("Wrong vehicle sent"),
    "driver_refused": gettext_lazy("Driver refused"),
    "outside_service_area": gettext_lazy("Outside service area"),
    "outside_service_hours": gettext_lazy("Outside service hours"),
    "insufficient_notice": gettext_lazy("Insufficient notice"),
    "authorization_missing": gettext_lazy("Authorization missing"),
    "weather_suspension": gettext_lazy("Weather suspension"),
    "aborted_medical_emergency": gettext_lazy("Aborted medical emergency"),
    "aborted_safety": gettext_lazy("Aborted safety"),
    "returned_to_origin": gettext_lazy("Returned to origin"),
    "rider_not_at_pickup": gettext_lazy("Rider not at pickup"),
    "rider_unreachable": gettext_lazy("Rider unreachable"),
    "rider_already_left": gettext_lazy("Rider already left"),
    "not_ready_wait_exceeded": gettext_lazy("Not ready wait exceeded"),
    "not_found_at_facility": gettext_lazy("Not found at facility"),
    "bad_pickup_details": gettext_lazy("Bad pickup details"),
    "driver_declined": gettext_lazy("Driver declined"),
    "driver_released": gettext_lazy("Driver released"),
    "driver_suspended": gettext_lazy("Driver suspended"),
    "driver_ill": gettext_lazy("Driver ill"),
    "running_late": gettext_lazy("Running late"),
    "accommodation_mismatch": gettext_lazy("Accommodation mismatch"),
    "credential_lapsed": gettext_lazy("Credential lapsed"),
    "replanned": gettext_lazy("Replanned"),
}
FAULTS: Final[Mapping[str, Promise]] = {
    Fault.RIDER: gettext_lazy("rider"),
    Fault.FACILITY: gettext_lazy("facility"),
    Fault.PROVIDER: gettext_lazy("provider"),
    Fault.PAYER: gettext_lazy("payer"),
    Fault.NONE: gettext_lazy("none"),
}
TIMINGS: Final[Mapping[str, Promise]] = {
    CancellationTiming.AT_DOOR: gettext_lazy("at door"),
    CancellationTiming.LATE: gettext_lazy("late"),
    CancellationTiming.SAME_DAY: gettext_lazy("same day"),
    CancellationTiming.ADVANCE: gettext_lazy("advance"),
}


def reason(code: str) -> str:
    """Say a reason; a code that is none of the built-in ones is spelled out."""
    return str(REASONS.get(code) or spelled(code))
