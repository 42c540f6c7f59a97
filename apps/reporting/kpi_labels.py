"""Labels of KPIs and measures, and the formatting of their values.

Texts are lazy: pages and mails render them in the reader's language, the API and docs/figures.md in English.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.reporting.queries.figures import Figure
from apps.reporting.rules.kpis import Kpi, Unit

Text = str | Promise
DASH: Final = "\N{EN DASH}"
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class KpiText:
    """Texts of one KPI: title, question, population and what it counts; `parts` maps part names to titles."""

    title: Text
    question: Text
    population: Text
    counted: Text
    parts: Mapping[str, Text] = field(default_factory=dict)


KPI_TEXTS: Final[Mapping[str, KpiText]] = {
    "fulfillmentRate": KpiText(
        title=_("Fulfillment"),
        question=_("What share of the rides due to be provided was completed?"),
        population=_("Completed and unfulfilled rides"),
        counted=_("Completed rides"),
    ),
    "completionRate": KpiText(
        title=_("Completion"),
        question=_("What share of the booked rides, except those canceled in advance, was completed?"),
        population=_("Booked rides, except those canceled in advance; includes rides that have not ended"),
        counted=_("Completed rides"),
    ),
    "providerFailureRate": KpiText(
        title=_("Missed trips (provider)"),
        question=_("How often did the provider miss a ride?"),
        population=_("Completed rides, and rides unfulfilled by the provider's fault"),
        counted=_("Unfulfilled by the provider's fault"),
        parts={
            "outbound": _("Outbound rides"),
            "return": _("Return rides"),
            "noticeOver48h": _("Turned back at least 48 hours before pickup"),
            "noticeUnder48h": _("Turned back less than 48 hours before pickup"),
        },
    ),
    "noShowRate": KpiText(
        title=_("No-shows"),
        question=_("When a vehicle arrived at the pickup, how often was the rider a no-show through their own fault?"),
        population=_("Completed rides, no-shows, and rides canceled at the door"),
        counted=_("No-shows by the rider's fault"),
        parts={
            "facilityFault": _("No-shows by the facility's fault"),
            "otherFault": _("No-shows with another or no fault"),
        },
    ),
    "lateCancelRate": KpiText(
        title=_("Late cancels"),
        question=_("What share of the booked rides, except those canceled in advance, was canceled late?"),
        population=_("Booked rides, except those canceled in advance; includes rides that have not ended"),
        counted=_("Canceled late or at the door"),
    ),
    "pickupOnTimeRate": KpiText(
        title=_("Pickups on time"),
        question=_("How often did the vehicle arrive no later than 15 minutes after the pickup time?"),
        population=_(
            "Rides with an arrival time (including no-shows and cancellations at the door), completed "
            "rides without one, and rides unfulfilled by the provider's fault; the last two count as not "
            "on time"
        ),
        counted=_(
            "Arrived at the pickup no later than 15 minutes after the pickup time, or for a will-call "
            "ride after the promised time"
        ),
        parts={
            "withoutArrivalTime": _("Completed without an arrival time, counted as not on time"),
        },
    ),
    "pickupEarlyRate": KpiText(
        title=_("Early pickups"),
        question=_("How often did a rider board more than 15 minutes before the pickup time?"),
        population=_("Rides with a fixed pickup time and an arrival time"),
        counted=_("Boarded more than 15 minutes before the pickup time"),
    ),
    "appointmentOnTimeRate": KpiText(
        title=_("Appointments on time"),
        question=_("How often did a rider arrive by the appointment time?"),
        population=_("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=_("Arrived at the drop-off by the appointment time; a missing arrival time counts as late"),
    ),
    "tooEarlyRate": KpiText(
        title=_("More than an hour early for appointments"),
        question=_("How often did a rider arrive more than an hour before the appointment?"),
        population=_("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=_("Arrived at the drop-off more than 60 minutes before the appointment"),
    ),
    "willCallResponse": KpiText(
        title=_("Will-call response, median"),
        question=_("How long after the rider was marked ready did the vehicle arrive?"),
        population=_("Will-call rides marked ready with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "willCallResponseP90": KpiText(
        title=_("Will-call response, 90th percentile"),
        question=_("How long after the rider was marked ready did the vehicle arrive?"),
        population=_("Will-call rides marked ready with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "willCallResponseOnTarget": KpiText(
        title=_("Will-calls reached by the promised time"),
        question=_("How often did the vehicle arrive by the time promised when the rider was marked ready?"),
        population=_(
            "Will-call rides marked ready with an arrival time, and those completed or unfulfilled by the "
            "provider's fault"
        ),
        counted=_("Arrived at the pickup by the promised time, which follows the facility's service agreement"),
    ),
    "dischargeReadyToDepart": KpiText(
        title=_("Discharge: ready to on board, median"),
        question=_("How long did a patient who was ready wait to board?"),
        population=_("Hospital discharges marked ready with a boarding time"),
        counted=_("Minutes from ready to boarding"),
    ),
    "dischargeReadyToDepartP90": KpiText(
        title=_("Discharge: ready to on board, 90th percentile"),
        question=_("How long did a patient who was ready wait to board?"),
        population=_("Hospital discharges marked ready with a boarding time"),
        counted=_("Minutes from ready to boarding"),
    ),
    "dischargeWithin60": KpiText(
        title=_("Discharges boarded within 60 minutes"),
        question=_("How often did a patient board within 60 minutes of being ready?"),
        population=_("Hospital discharges marked ready that were boarded or unfulfilled by the provider's fault"),
        counted=_("Boarded no later than 60 minutes after ready"),
    ),
    "dischargeWithin180": KpiText(
        title=_("Discharges boarded within 180 minutes"),
        question=_("How often did a patient board within 180 minutes of being ready?"),
        population=_("Hospital discharges marked ready that were boarded or unfulfilled by the provider's fault"),
        counted=_("Boarded no later than 180 minutes after ready"),
    ),
    "dischargeOrderToReady": KpiText(
        title=_("Discharge: order to ready, median"),
        question=_(
            "How long after the discharge order was the patient ready? This measures the facility, not the fleet."
        ),
        population=_("Hospital discharges marked ready with a discharge order time"),
        counted=_("Minutes from the discharge order to ready"),
    ),
    "etaDeviation": KpiText(
        title=_("Promised vs. requested pickup"),
        question=_("On average, how many minutes after the requested pickup time was the promised time?"),
        population=_("Booked rides with a promised time"),
        counted=_("Minutes from the requested pickup to the promised time"),
    ),
    "leadTime": KpiText(
        title=_("Lead time, median"),
        question=_("How long before the pickup was a ride requested?"),
        population=_("Booked rides; will-call rides once they are marked ready"),
        counted=_("Minutes from the request to the pickup time, or for a will-call ride to the promised time"),
    ),
    "timeToAssign": KpiText(
        title=_("Time to first driver, median"),
        question=_("How long did a ride wait for its first driver?"),
        population=_("Booked rides that a driver accepted"),
        counted=_(
            "Minutes from scheduled, or for a will-call ride from ready, to the first accepted "
            "assignment; 0 if it was accepted earlier"
        ),
    ),
    "driverWait": KpiText(
        title=_("Driver wait, median"),
        question=_("How long did the driver wait for the rider at the pickup?"),
        population=_("Rides with an arrival time and a boarding time"),
        counted=_(
            "Minutes from the arrival, or from the pickup time if later, to boarding; 0 if the rider boarded earlier"
        ),
    ),
    "rideTimeIndex": KpiText(
        title=_("Ride time ÷ direct drive"),
        question=_("How many times as long as the direct drive was the time on board?"),
        population=_("Completed rides with a time on board and an estimated drive time"),
        counted=_("Total minutes on board, divided by total minutes of the direct drives"),
    ),
    "excessiveRideTimeRate": KpiText(
        title=_("Excess ride time"),
        question=_(
            "How often was a rider on board more than twice as long as the direct drive, or more than an hour longer?"
        ),
        population=_("Completed rides with a time on board and an estimated drive time"),
        counted=_("On board more than twice as long as the direct drive, or more than 60 minutes longer"),
    ),
    "dialysisChairOnTime": KpiText(
        title=_("Dialysis chairs on time"),
        question=_("How often did a patient arrive at least 5 minutes before the chair time?"),
        population=_("Rides to dialysis that were completed or unfulfilled by the provider's fault"),
        counted=_(
            "Arrived at the drop-off at least 5 minutes before the chair time; a missing arrival time counts as late"
        ),
    ),
    "treatmentsAtRisk": KpiText(
        title=_("Treatments at risk"),
        question=_("How many of 100 rides to dialysis put the treatment at risk?"),
        population=_("Rides to dialysis that were completed or unfulfilled"),
        counted=_(
            "Unfulfilled, arrived more than 15 minutes after the chair time, or completed without an arrival time"
        ),
    ),
    "returnWait": KpiText(
        title=_("Wait for the return trip from dialysis, median"),
        question=_("How long did a patient who was ready after treatment wait for the vehicle?"),
        population=_("Return rides from dialysis marked ready with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "returnWaitP90": KpiText(
        title=_("Wait for the return trip from dialysis, 90th percentile"),
        question=_("How long did a patient who was ready after treatment wait for the vehicle?"),
        population=_("Return rides from dialysis marked ready with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "exceptionRate": KpiText(
        title=_("Exceptions"),
        question=_("How many exceptions per 100 rides required action?"),
        population=_("Booked rides"),
        counted=_("Exceptions of severity warning or critical"),
    ),
    "mtta": KpiText(
        title=_("Time to claim, median"),
        question=_("How long did it take to claim an exception?"),
        population=_("Exceptions of severity warning or critical, of booked rides, that were claimed"),
        counted=_("Minutes from opened to claimed"),
    ),
    "mttr": KpiText(
        title=_("Time to resolve, median"),
        question=_("How long did it take to resolve an exception?"),
        population=_("Exceptions of severity warning or critical, of booked rides, that were resolved or dismissed"),
        counted=_("Minutes from opened to resolved"),
    ),
    "documentationComplete": KpiText(
        title=_("Documentation complete"),
        question=_("How many completed rides have all documents that the payer requires?"),
        population=_("Completed rides"),
        counted=_("Completed rides without missing documents"),
    ),
    "gpsVerified": KpiText(
        title=_("GPS-verified rides"),
        question=_("How many completed rides did the driver's device verify at pickup and drop-off?"),
        population=_("Completed rides"),
        counted=_("The device reported both arrivals within 150 meters of the stop"),
    ),
    "incidentRate": KpiText(
        title=_("Incidents"),
        question=_("How many rides per 1,000 completed had an accident, safety incident or medical emergency?"),
        population=_("Completed rides; the numerator includes incidents of all booked rides"),
        counted=_("Rides with such an exception that was not a false alarm, or unfulfilled for such a reason"),
    ),
}
# The KPIs that reports list first.
MAIN_KPIS: Final = {
    "pickupOnTimeRate": _("Pickups on time"),
    "appointmentOnTimeRate": _("Appointments on time"),
    "completionRate": _("Completion"),
    "fulfillmentRate": _("Fulfillment"),
    "noShowRate": _("No-shows"),
    "lateCancelRate": _("Late cancels"),
    "willCallResponse": _("Will-call, median"),
    "dischargeReadyToDepart": _("Discharge, median"),
}
# Texts of the keys in `excluded`.
EXCLUSION_TEXTS: Final[Mapping[str, Text]] = {
    "not_booked": _("Duplicates, booking errors, and standing order rides on hold, ended or moved"),
    "cancelled": _("Canceled"),
    "cancelled_in_advance": _("Canceled in advance"),
    "cancelled_before_arrival": _("Canceled before the vehicle arrived"),
    "no_show": _("No-shows"),
    "unfulfilled": _("Unfulfilled"),
    "unfulfilled_by_others": _("Unfulfilled without the provider's fault"),
    "not_ended": _("Not ended yet"),
    "not_completed": _("Not completed"),
    "no_show_without_arrival": _("No-shows without an arrival time"),
    "cancelled_without_arrival": _("Canceled without an arrival time"),
    "unfulfilled_by_others_without_arrival": _("Unfulfilled without the provider's fault and without an arrival time"),
    "not_ended_without_arrival": _("Not ended yet, without an arrival time"),
    "without_arrival": _("Without an arrival time"),
    "without_appointment": _("Return rides, and rides without an appointment"),
    "not_carried_out": _("Canceled, no-show, not ended, or unfulfilled without the provider's fault"),
    "will_call": _("Will-call"),
    "not_will_call": _("Not will-call"),
    "not_released": _("Never marked ready"),
    "not_reached": _("Marked ready, but ended or still waiting without a vehicle, without the provider's fault"),
    "not_discharge": _("Not a hospital discharge"),
    "not_boarded": _("Never boarded"),
    "without_boarding": _("Completed, or unfulfilled by the provider's fault, without a boarding time"),
    "without_order_time": _("Without a discharge order time"),
    "without_promise": _("Without a promised time"),
    "without_due_time": _("Will-call rides that were never marked ready, and rides recorded after the fact"),
    "after_the_fact": _("Recorded after the fact"),
    "never_assigned": _("No driver ever accepted"),
    "without_start": _("Accepted, but neither scheduled nor marked ready"),
    "without_times": _("Boarded, but without an arrival time"),
    "without_ride_time": _("Completed without a time on board or an estimated drive time"),
    "not_to_dialysis": _("Not a ride to dialysis"),
    "not_from_dialysis": _("Not a return ride from dialysis"),
    "alerts_not_acknowledged": _("Exceptions not claimed"),
    "alerts_not_resolved": _("Exceptions that are not resolved"),
}
# Labels of measures: what they count, or which minutes they add up.
MEASURE_TEXTS: Final[Mapping[str, Text]] = {
    # Rides by status.
    "not_booked": _("Duplicates, booking errors, and standing order rides on hold, ended or moved"),
    "requested": _("Requested rides"),
    "scheduled": _("Scheduled rides"),
    "assigned": _("Assigned rides"),
    "en_route": _("Rides with the driver en route"),
    "arrived": _("Rides with the driver at the pickup"),
    "in_progress": _("Rides with the rider on board"),
    "completed": _("Completed rides"),
    "no_show_rider": _("No-shows, the rider's fault"),
    "no_show_facility": _("No-shows, the facility's fault"),
    "no_show_other": _("No-shows, another or no fault"),
    "unfulfilled_provider": _("Unfulfilled by the provider's fault"),
    "unfulfilled_other": _("Unfulfilled without the provider's fault"),
    "cancelled_advance": _("Canceled in advance"),
    "cancelled_same_day": _("Canceled on the same day"),
    "cancelled_late": _("Canceled late"),
    "cancelled_at_door": _("Canceled with the vehicle at the pickup"),
    "completed_outbound": _("Completed outbound rides"),
    "completed_return": _("Completed return rides"),
    "failed_outbound": _("Outbound rides unfulfilled by the provider's fault"),
    "failed_return": _("Return rides unfulfilled by the provider's fault"),
    "failed_with_notice": _("Turned back by the provider at least 48 hours before the pickup"),
    "failed_at_short_notice": _("Turned back by the provider less than 48 hours before the pickup"),
    # Arrival at the pickup.
    "after_the_fact": _("Recorded after the fact"),
    "arrived_on_time": _("Arrived on time"),
    "boarded_early": _("Boarded more than 15 minutes before the pickup time"),
    "reached_firm": _("Rides with a fixed pickup time and an arrival time"),
    "unseen_firm": _("Rides with a fixed pickup time but no arrival time"),
    "booked_will_call": _("Will-call rides"),
    "reached": _("Rides with an arrival time"),
    "completed_unseen": _("Completed without an arrival time"),
    "failed_unseen": _("Unfulfilled by the provider's fault, without an arrival time"),
    "unfulfilled_unseen": _("Unfulfilled without the provider's fault and without an arrival time"),
    "no_show_unseen": _("No-shows without an arrival time"),
    "cancelled_unseen": _("Canceled without an arrival time"),
    "open_unseen": _("Not ended yet, without an arrival time"),
    # Appointments.
    "appointment_due": _("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
    "appointment_met": _("Arrived by the appointment time"),
    "appointment_too_early": _("Arrived more than 60 minutes before the appointment"),
    "appointment_not_tried": _("Rides to an appointment that were not carried out"),
    "no_appointment": _("Return rides, and rides without an appointment"),
    # Will-call.
    "will_call_due": _(
        "Will-call rides marked ready that were reached, completed or unfulfilled by the provider's fault"
    ),
    "will_call_kept": _("Will-call rides reached by the promised time"),
    "will_call_not_reached": _("Will-call rides marked ready without a vehicle, without the provider's fault"),
    "will_call_not_released": _("Will-call rides that were never marked ready"),
    "not_will_call": _("Rides that are not will-call"),
    "will_call_no_arrival": _("Will-call rides marked ready without an arrival time"),
    # Discharges.
    "discharge_due": _("Discharges marked ready that were boarded or unfulfilled by the provider's fault"),
    "discharge_in_target": _("Discharges boarded within 60 minutes"),
    "discharge_in_limit": _("Discharges boarded within 180 minutes"),
    "discharge_not_boarded": _("Discharges marked ready that were never boarded, without the provider's fault"),
    "discharge_no_boarding": _("Discharges marked ready without a boarding time"),
    "discharge_not_released": _("Discharges that were never marked ready"),
    "discharge_no_order": _("Discharges marked ready without a discharge order time"),
    "not_discharge": _("Rides that are not a hospital discharge"),
    # Promised times and assignment.
    "promised": _("Rides with a promised time"),
    "not_promised": _("Rides without a promised time"),
    "without_due_time": _("Rides without a due time"),
    "never_accepted": _("Rides that no driver accepted"),
    "accepted_unasked": _("Accepted rides that were neither scheduled nor marked ready"),
    # During the ride.
    "not_boarded": _("Rides that were never boarded"),
    "boarded_unseen": _("Boarded without an arrival time or a due time"),
    "ride_time_known": _("Completed rides with a time on board and an estimated drive time"),
    "ride_time_excessive": _("Rides with excess ride time"),
    "ride_time_unknown": _("Completed rides without a time on board or an estimated drive time"),
    # Dialysis.
    "chair_due": _("Rides to dialysis that were completed or unfulfilled by the provider's fault"),
    "chair_met": _("Arrived at least 5 minutes before the chair time"),
    "chair_not_tried": _("Rides to dialysis that were not carried out"),
    "treatment_due": _("Rides to dialysis that were completed or unfulfilled"),
    "treatment_at_risk": _("Treatments at risk"),
    "treatment_not_tried": _("Rides to dialysis that were neither completed nor unfulfilled"),
    "not_to_chair": _("Rides that do not go to dialysis"),
    "not_from_chair": _("Rides that are not return rides from dialysis"),
    "return_not_reached": _("Return rides from dialysis not marked ready or without an arrival time"),
    # Documentation and location.
    "documented": _("Completed rides with all required documents"),
    "located": _("Completed rides verified by the driver's device at pickup and drop-off"),
    "incident": _("Rides with an incident"),
    # Sums.
    "promise_deviation": _("Total minutes from the requested pickup to the promised time"),
    "onboard_total": _("Total minutes on board"),
    "direct_total": _("Total minutes of direct drives"),
    "alerts": _("Exceptions"),
    "alerts_open": _("Exceptions that are not resolved"),
    "alerts_unseen": _("Exceptions that were not claimed"),
    "will_call_response": _("Total minutes from ready to arrival"),
    "discharge_wait": _("Total minutes from ready to boarding"),
    "discharge_order": _("Total minutes from the discharge order to ready"),
    "lead_time": _("Total minutes from the request to the pickup"),
    "time_to_assign": _("Total minutes until a driver accepted"),
    "driver_wait": _("Total minutes that drivers waited at the pickup"),
    "return_wait": _("Total minutes of waiting for the return ride from dialysis"),
    "time_to_acknowledge": _("Total minutes until exceptions were claimed"),
    "time_to_resolve": _("Total minutes until exceptions were resolved"),
}


def kpi_title(kpi: Kpi) -> str:
    return str(KPI_TEXTS[kpi.key].title)


def format_value(kpi: Kpi, value: float | None, *, short: bool = False) -> str:
    """Format a value with its unit; a dash for None.

    `short`, for cells whose table names the unit: without decimals of shares, without the unit of minutes and the base
    of rates.
    """
    if value is None:
        return DASH
    match kpi.unit:
        case Unit.SHARE:
            return format_share(value, digits=0 if short else 1)
        case Unit.MINUTES:
            return _short_minutes(value) if short else format_minutes(value)
        case Unit.RATIO:
            return f"{_rounded(value, 2)}\N{MULTIPLICATION SIGN}"
    number = _rounded(value, 1 if value >= 10 else 2)
    if short:
        return number
    if kpi.unit is Unit.PER_100:
        return gettext("%(number)s per 100 rides") % {"number": number}
    return gettext("%(number)s per 1,000 rides") % {"number": number}


def format_minutes(minutes: float) -> str:
    """Format a length of time, rounded: `12.6 min`, from two hours on `2 h 35 min`, from two days on `9.2 days`."""
    if minutes < 2 * _HOUR:
        return f"{_rounded(minutes, 0 if minutes == int(minutes) else 1)} min"
    if minutes >= 2 * _DAY:
        return gettext("%(number)s days") % {"number": _rounded(minutes / _DAY, 1)}
    hours, rest = divmod(round(minutes), _HOUR)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _short_minutes(minutes: float) -> str:
    if minutes < 2 * _HOUR:
        return _rounded(minutes, 0)
    return f"{_rounded(minutes / _HOUR, 0)} h" if minutes < 2 * _DAY else f"{_rounded(minutes / _DAY, 0)} d"


def _rounded(value: float, digits: int) -> str:
    """Format a number, rounded: Django's formats truncate, so 89.97 would become 89.9."""
    return number_format(round(value, digits), digits, force_grouping=True)


def format_count(count: int) -> str:
    return number_format(count, force_grouping=True)


def format_share(share: float | None, *, digits: int = 1) -> str:
    return DASH if share is None else gettext("%(number)s%%") % {"number": _rounded(100 * share, digits)}


def previous_period(days: int) -> str:
    """Name the period that a report of so many days is compared with."""
    if days == 1:
        return gettext("previous day")
    return gettext("previous week") if days == 7 else gettext("previous %(count)s days") % {"count": days}


def format_duration(minutes: int) -> str:
    """Format minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    return gettext("%(hours)s h %(minutes)02d min") % {"hours": format_count(hours), "minutes": rest}


def format_miles(miles: float) -> str:
    return f"{_rounded(miles, 1)} mi"


def format_ratio(figure: Figure) -> str:
    """Return the numerator and denominator of a KPI value as text."""
    if figure.suppressed:
        return gettext("Too few rides to show")
    if not figure.denominator:
        return gettext("Nothing to count")
    if figure.numerator is None or figure.kpi.unit is Unit.MINUTES:
        return gettext("of %(count)s values") % {"count": format_count(figure.denominator)}
    counts = {"numerator": format_count(figure.numerator), "denominator": format_count(figure.denominator)}
    if figure.kpi.unit is Unit.RATIO:
        return gettext("%(numerator)s min ÷ %(denominator)s min") % counts
    return gettext("%(numerator)s of %(denominator)s") % counts


def format_figure(figure: Figure) -> str:
    """Return a KPI value with its numerator and denominator as text."""
    return f"{format_value(figure.kpi, figure.value)}, {format_ratio(figure)}"
