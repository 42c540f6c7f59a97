"""Labels of statuses, milestones, sources and outcomes of rides in the console, on the home page and in /admin/.

The labels of the choices are those of the API and of stored texts.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Driver
from apps.rides.models import Milestone
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import EARLIER_LEG_ENDED_NOTE, LEG_KEPT_NOTE
from lib.access import Phi, Principal
from lib.choices import TextChoices
from lib.messages import Message, lowered
from lib.scopes import Scope

Text = str | Promise

STATUSES: Final[Mapping[str, Text]] = {
    RideStatus.REQUESTED: gettext_lazy("Requested"),
    RideStatus.SCHEDULED: gettext_lazy("Unassigned"),
    RideStatus.ASSIGNED: gettext_lazy("Assigned"),
    RideStatus.EN_ROUTE: gettext_lazy("En route"),
    RideStatus.ARRIVED: gettext_lazy("Arrived at pickup"),
    RideStatus.IN_PROGRESS: gettext_lazy("On board"),
    RideStatus.COMPLETED: gettext_lazy("Completed"),
    RideStatus.CANCELLED: gettext_lazy("Canceled"),
    RideStatus.NO_SHOW: gettext_lazy("No-show"),
    RideStatus.UNFULFILLED: gettext_lazy("Missed trip"),
}
# For lists by the stored status, in which scheduled rides include will-calls that are not ready yet.
STORED_STATUSES: Final[Mapping[str, Text]] = {**STATUSES, RideStatus.SCHEDULED: RideStatus.SCHEDULED.label}
CODES: Final[Mapping[str, Text]] = {
    ResolutionCode.RECOVERED_ON_TIME: gettext_lazy("Recovered, on time"),
    ResolutionCode.RECOVERED_LATE: gettext_lazy("Recovered, late"),
    ResolutionCode.REASSIGNED: gettext_lazy("Another driver"),
    ResolutionCode.RESCHEDULED: gettext_lazy("Another time"),
    ResolutionCode.CANCELLED: gettext_lazy("Ride canceled"),
    ResolutionCode.UNFULFILLED: gettext_lazy("Missed trip"),
    ResolutionCode.FALSE_ALARM: gettext_lazy("False alarm"),
    ResolutionCode.HANDLED_ELSEWHERE: gettext_lazy("Handled elsewhere"),
    ResolutionCode.EXPIRED: gettext_lazy("No longer actionable"),
    ResolutionCode.OTHER: gettext_lazy("Other"),
}
MOMENTS: Final[Mapping[str, Text]] = {
    Milestone.Type.READY: gettext_lazy("Ready"),
    Milestone.Type.DEPARTED: gettext_lazy("Driver departed"),
    Milestone.Type.ARRIVED_PICKUP: gettext_lazy("Arrived at the pickup"),
    Milestone.Type.BOARDED: gettext_lazy("On board"),
    Milestone.Type.ARRIVED_DROPOFF: gettext_lazy("Arrived at the drop-off"),
    Milestone.Type.DROPPED_OFF: gettext_lazy("Dropped off"),
    Milestone.Type.CONTACT_ATTEMPT: gettext_lazy("Contact attempt"),
    Milestone.Type.HANDOFF: gettext_lazy("Handed off"),
}
SOURCES: Final[Mapping[str, Text]] = {
    Milestone.Source.DRIVER_APP: gettext_lazy("driver's app"),
    Milestone.Source.DISPATCHER_MANUAL: gettext_lazy("entered manually"),
    Milestone.Source.INTEGRATION: gettext_lazy("API"),
    Milestone.Source.HL7: gettext_lazy("hospital system (HL7)"),
    Milestone.Source.SMS: gettext_lazy("text message"),
    Milestone.Source.SYSTEM: gettext_lazy("Carelane"),
}


class Reason(TextChoices):
    RIDER_REQUEST = "rider_request", _("Rider request")
    RIDER_OTHER_TRANSPORT = "rider_other_transport", _("Rider found other transport")
    RIDER_REFUSED_AT_DOOR = "rider_refused_at_door", _("Rider refused at door")
    RIDER_ILL = "rider_ill", _("Rider sick")
    RIDER_HOSPITALIZED = "rider_hospitalized", _("Rider hospitalized")
    RIDER_DECEASED = "rider_deceased", _("Rider deceased")
    APPOINTMENT_CANCELLED = "appointment_cancelled", _("Appointment canceled")
    APPOINTMENT_MOVED = "appointment_moved", _("Appointment moved")
    TREATMENT_CHANGED = "treatment_changed", _("Treatment changed")
    DISCHARGE_CANCELLED = "discharge_cancelled", _("Discharge canceled")
    LEVEL_OF_CARE_CHANGED = "level_of_care_changed", _("Level of service changed")
    FACILITY_CLOSED = "facility_closed", _("Facility closed")
    STANDING_ORDER_HOLD = "standing_order_hold", _("Standing order hold")
    STANDING_ORDER_ENDED = "standing_order_ended", _("Standing order ended")
    CALENDAR_SHIFT = "calendar_shift", _("Calendar shift")
    WILL_CALL_NOT_USED = "will_call_not_used", _("Will-call not used")
    AUTHORIZATION_DENIED = "authorization_denied", _("Authorization denied")
    ELIGIBILITY_LAPSED = "eligibility_lapsed", _("Eligibility expired")
    WEATHER = "weather", _("Weather")
    DUPLICATE = "duplicate", _("Duplicate")
    BOOKING_ERROR = "booking_error", _("Booking error")
    OTHER = "other", _("Other")
    NO_DRIVER_AVAILABLE = "no_driver_available", _("No driver available")
    NO_SUITABLE_VEHICLE = "no_suitable_vehicle", _("No suitable vehicle")
    GIVEN_BACK_LATE = "given_back_late", _("Late turnback")
    DRIVER_NO_CALL_NO_SHOW = "driver_no_call_no_show", _("Driver no call, no show")
    VEHICLE_BREAKDOWN = "vehicle_breakdown", _("Vehicle breakdown")
    ACCIDENT = "accident", _("Accident")
    LATE_RIDER_LEFT = "late_rider_left", _("Late, rider left")
    LATE_APPOINTMENT_LOST = "late_appointment_lost", _("Late, appointment lost")
    WRONG_VEHICLE_SENT = "wrong_vehicle_sent", _("Wrong vehicle sent")
    DRIVER_REFUSED = "driver_refused", _("Driver refused")
    OUTSIDE_SERVICE_AREA = "outside_service_area", _("Outside service area")
    OUTSIDE_SERVICE_HOURS = "outside_service_hours", _("Outside service hours")
    INSUFFICIENT_NOTICE = "insufficient_notice", _("Insufficient notice")
    AUTHORIZATION_MISSING = "authorization_missing", _("Authorization missing")
    WEATHER_SUSPENSION = "weather_suspension", _("Weather suspension")
    ABORTED_MEDICAL_EMERGENCY = "aborted_medical_emergency", _("Stopped: medical emergency")
    ABORTED_SAFETY = "aborted_safety", _("Stopped: safety")
    RETURNED_TO_ORIGIN = "returned_to_origin", _("Returned to origin")
    RIDER_NOT_AT_PICKUP = "rider_not_at_pickup", _("Rider not at pickup")
    RIDER_UNREACHABLE = "rider_unreachable", _("Rider unreachable")
    RIDER_ALREADY_LEFT = "rider_already_left", _("Rider already left")
    NOT_READY_WAIT_EXCEEDED = "not_ready_wait_exceeded", _("Not ready, wait time exceeded")
    NOT_FOUND_AT_FACILITY = "not_found_at_facility", _("Not found at facility")
    BAD_PICKUP_DETAILS = "bad_pickup_details", _("Wrong pickup info")
    DRIVER_DECLINED = "driver_declined", _("Driver declined")
    DRIVER_RELEASED = "driver_released", _("Turned back by driver")
    DRIVER_SUSPENDED = "driver_suspended", _("Driver suspended")
    DRIVER_ILL = "driver_ill", _("Driver sick")
    DRIVER_ABSENT = "driver_absent", _("Driver absent")
    RUNNING_LATE = "running_late", _("Driver running late")
    ACCOMMODATION_MISMATCH = "accommodation_mismatch", _("Wrong vehicle or equipment for rider")
    CREDENTIAL_LAPSED = "credential_lapsed", _("Credential expired")
    REPLANNED = "replanned", _("Re-optimized")


def reason_label(code: str) -> str:
    """Return the label of a reason code; codes that the operator added have none here, so their code is reformatted."""
    return str(Reason(code).label) if code in Reason.values else code.replace("_", " ").capitalize()


def note_text(note: str) -> Text | Message:
    """Format a note of the service (see `rules.reasons`); notes of people are returned unchanged."""
    if note == LEG_KEPT_NOTE:
        return _("No decision was made in time: the leg is kept.")
    if note.startswith(f"{EARLIER_LEG_ENDED_NOTE}:"):
        status, _separator, reason_code = note.removeprefix(f"{EARLIER_LEG_ENDED_NOTE}:").partition(":")
        reason = Reason(reason_code).label if reason_code in Reason.values else reason_code
        return Message(
            _("The earlier leg ended: %(status)s, %(reason)s."),
            {"status": lowered(STATUSES.get(status, status)), "reason": lowered(reason)},
        )
    return note


_T = ExceptionType


# The suggested action for each type of exception.
ADVICE: Final[Mapping[str, Text]] = {
    _T.UNCONFIRMED_REQUEST: _("Confirm the request, or decline it with a reason"),
    _T.UNASSIGNED_AT_RISK: _("Assign a driver; call partner companies if no driver is available"),
    _T.NO_DRIVER_AVAILABLE: _("Decide with the planner: wait, change the mode, split or cancel"),
    _T.ASSIGNMENT_DECLINED: _("Offer it to the next driver"),
    _T.DRIVER_RELEASED_LATE: _("Assign another driver now"),
    _T.LATE_PICKUP_PREDICTED: _("Look for a closer driver; give the pickup location the new time"),
    _T.LATE_PICKUP: _("Call the driver, then notify the pickup location; reassign if the vehicle is stuck"),
    _T.LATE_TO_APPOINTMENT: _("Call the appointment location; look for a closer driver"),
    _T.WILL_CALL_OVERDUE: _("Assign the nearest driver and give the facility the time"),
    _T.WILL_CALL_UNACTIVATED: _("Ask the facility whether the rider still needs the ride"),
    _T.RIDER_STRANDED_RISK: _("Call the facility and the rider now: check whether the rider is on the way home"),
    _T.RIDER_NOT_READY: _("Call the unit; agree how long the driver waits"),
    _T.DISCHARGE_SLIPPED: _("Get a new time from the unit and reschedule the ride"),
    _T.RETURN_LEG_AT_RISK: _("Check whether the rider still needs the return trip; keep or cancel it"),
    _T.RIDER_NO_SHOW: _("Call the rider; cancel or keep the return trip"),
    _T.RIDE_UNFULFILLED: _("Find out where the rider is; book another ride if needed"),
    _T.ACCOMMODATION_MISMATCH: _("Assign a suitable vehicle; the ride cannot depart before that"),
    _T.ADDRESS_PROBLEM: _("Call the rider or the facility, and correct the address"),
    _T.CREDENTIAL_LAPSE: _("Renew the credential, or assign another driver or vehicle"),
    _T.VEHICLE_BREAKDOWN: _("Check that the riders are safe; send another vehicle"),
    _T.ACCIDENT: _("Ask about injuries and call 911; file the incident form within the hour"),
    _T.SAFETY_INCIDENT: _("Make sure the rider is safe; then file the incident form"),
    _T.MEDICAL_EMERGENCY: _("Make sure that 911 is called; notify the facility"),
    _T.EXCESSIVE_WAIT: _("Call the pickup location: keep waiting, or reassign the driver"),
    _T.EXCESSIVE_RIDE_TIME: _("Call the driver: check on the rider and the remaining distance"),
    _T.MILESTONE_GAP: _("Call the driver and enter the time manually"),
    _T.MISSING_DOCUMENTATION: _("Request the missing documents from the driver"),
    _T.DUPLICATE_RIDE: _("Find out which ride is needed, and cancel the other"),
    _T.STANDING_ORDER_CONFLICT: _("Open the order: each day lists its conflicts"),
    _T.STANDING_ORDER_REVIEW: _("Call the facility: pause the order, end it, or continue"),
    _T.AUTHORIZATION_ENDING: _("Ask the payer for a new authorization, or end the order"),
    _T.HOLD_REVIEW: _("Check whether the rider is back: resume the order, or extend the hold"),
    _T.HOLIDAY_UNDECIDED: _("Ask the facility which day its treatments move to"),
    _T.RIDER_HOSPITALIZED_SUSPECTED: _("Ask the facility: set a hold, or dismiss"),
}


def stop_name(stop: Mapping[str, Any]) -> str:
    """Return the name of a disclosed stop, else its street, else its city; "Home" in the language of the reader."""
    if stop.get("name") == "Home":
        return pgettext("place", "Home")
    return str(stop.get("name") or stop.get("addressLine1") or stop.get("city") or "")


OUT_OF_REACH: Final[Promise] = gettext_lazy("A driver outside your access")


def unnamed(id: UUID) -> str:
    """Return the end of the id, to distinguish drivers or vehicles without identifying them."""
    return f"…{str(id)[-8:]}"


def driver_name(driver: Driver, by: Principal) -> str:
    """Return the full name for callers who may read drivers; otherwise the first name and license plate or end of id.

    Callers without access to identities, such as analysts, get only the end of the id.  The others need the driver's
    default vehicle to be loaded.
    """
    if by.has_scope(Scope.DRIVERS_READ):
        return f"{driver.last_name}, {driver.first_name}"
    if by.phi <= Phi.NONE:
        return unnamed(driver.pk)
    plate = driver.default_vehicle.license_plate if driver.default_vehicle else ""
    return f"{driver.first_name}, {plate}" if plate else f"{driver.first_name} …{str(driver.pk)[-4:]}"
