"""What each exception is called, and what helps first: one table."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.rides.rules.exception_types import ExceptionType

_T = ExceptionType


class Advice(NamedTuple):
    """`step` is what to try first; the person at the desk knows better."""

    title: str | Promise
    step: str | Promise


ADVICE: Final[Mapping[str, Advice]] = {
    _T.UNCONFIRMED_REQUEST: Advice(_("Request not confirmed"), _("Confirm it, or turn it down with a reason")),
    _T.UNASSIGNED_AT_RISK: Advice(_("No driver yet"), _("Assign a driver; ask partner companies if nobody is free")),
    _T.NO_DRIVER_AVAILABLE: Advice(
        _("No driver available"), _("Decide with the planner: wait, change the mode, split or cancel")
    ),
    _T.ASSIGNMENT_DECLINED: Advice(_("Offer declined"), _("Offer it to the next driver")),
    _T.DRIVER_RELEASED_LATE: Advice(_("Given back late"), _("Assign another driver at once")),
    _T.LATE_PICKUP_PREDICTED: Advice(_("Will come late"), _("Look for a nearer driver; tell the pickup the new time")),
    _T.LATE_PICKUP: Advice(_("Late pickup"), _("Call the driver, then tell the pickup; reassign if it is stuck")),
    _T.LATE_TO_APPOINTMENT: Advice(
        _("Late to the appointment"), _("Call the place of the appointment; look for a faster driver")
    ),
    _T.WILL_CALL_OVERDUE: Advice(_("Ready and waiting"), _("Assign the nearest driver, and tell the facility when")),
    _T.WILL_CALL_UNACTIVATED: Advice(
        _("Will-call not released"), _("Ask the facility whether the rider still needs the ride")
    ),
    _T.RIDER_STRANDED_RISK: Advice(
        _("Rider may be stranded"), _("Call the facility and the rider now: is the rider on the way home?")
    ),
    _T.RIDER_NOT_READY: Advice(_("Rider not ready"), _("Call the unit; agree how long the driver waits")),
    _T.DISCHARGE_SLIPPED: Advice(_("Discharge slipped"), _("Ask the unit for a new time, and move the ride")),
    _T.RETURN_LEG_AT_RISK: Advice(
        _("Way back in question"), _("Ask whether the rider still needs the way back; keep or cancel it")
    ),
    _T.RIDER_NO_SHOW: Advice(_("No-show"), _("Call the rider; cancel or keep the way back")),
    _T.RIDE_UNFULFILLED: Advice(_("Ride not driven"), _("Find out where the rider is; book another ride if needed")),
    _T.ACCOMMODATION_MISMATCH: Advice(
        _("Vehicle does not fit the rider"), _("Assign a vehicle that fits; nobody departs before that")
    ),
    _T.ADDRESS_PROBLEM: Advice(_("Address in doubt"), _("Call the rider or the facility, and correct the address")),
    _T.CREDENTIAL_LAPSE: Advice(_("Papers lapse"), _("Renew the papers, or assign another driver or vehicle")),
    _T.VEHICLE_BREAKDOWN: Advice(_("Vehicle broke down"), _("Ask for the riders' safety first; send another vehicle")),
    _T.ACCIDENT: Advice(_("Accident"), _("Ask for injuries and call 911; then the incident form, within the hour")),
    _T.SAFETY_INCIDENT: Advice(_("Safety incident"), _("Make the rider safe; then the incident form")),
    _T.MEDICAL_EMERGENCY: Advice(_("Medical emergency"), _("Make sure that 911 is called; tell the facility")),
    _T.EXCESSIVE_WAIT: Advice(_("Driver waits long"), _("Call the pickup: wait on, or give the driver another ride")),
    _T.EXCESSIVE_RIDE_TIME: Advice(_("Long on board"), _("Call the driver: is the rider well, and how far is it?")),
    _T.MILESTONE_GAP: Advice(_("Milestone missing"), _("Ask the driver, and enter the time by hand")),
    _T.MISSING_DOCUMENTATION: Advice(_("Papers missing"), _("Ask the driver for what is missing")),
    _T.DUPLICATE_RIDE: Advice(_("Two rides at one time"), _("Ask which one holds, and cancel the other")),
    _T.STANDING_ORDER_CONFLICT: Advice(
        _("Standing order cannot book"), _("Open the order: its days say what stands against them")
    ),
    _T.STANDING_ORDER_REVIEW: Advice(
        _("Standing order in question"), _("Ask the facility: hold the order, end it, or go on")
    ),
    _T.AUTHORIZATION_ENDING: Advice(
        _("Authorization ends"), _("Ask the payer for a new authorization, or end the order")
    ),
    _T.HOLD_REVIEW: Advice(_("Hold to be reviewed"), _("Ask whether the rider is back: resume, or hold on")),
    _T.HOLIDAY_UNDECIDED: Advice(_("Holiday undecided"), _("Ask the facility which day its treatments move to")),
    _T.RIDER_HOSPITALIZED_SUSPECTED: Advice(
        _("Rider may be in hospital"), _("Ask the facility: set a hold, or dismiss")
    ),
}
