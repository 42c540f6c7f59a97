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
        question=_("Of the rides that the service was to give, how many did it give?"),
        population=_("Completed and unfulfilled rides"),
        counted=_("Completed rides"),
    ),
    "completionRate": KpiText(
        title=_("Completion"),
        question=_("Of the rides that were booked and not cancelled in advance, how many took place?"),
        population=_("Booked rides but those cancelled in advance; rides that have not ended are among them"),
        counted=_("Completed rides"),
    ),
    "providerFailureRate": KpiText(
        title=_("Provider failures"),
        question=_("How often did a provider fail to give a ride that was to be given?"),
        population=_("Completed rides, and those unfulfilled by the provider's fault"),
        counted=_("Unfulfilled by the provider's fault"),
        parts={
            "outbound": _("On the way there"),
            "return": _("On the way back"),
            "noticeOver48h": _("Given back 48 hours ahead or earlier"),
            "noticeUnder48h": _("Given back later than that"),
        },
    ),
    "noShowRate": KpiText(
        title=_("No-shows"),
        question=_("Of the rides whose vehicle came to the door, how many riders were not there by their own doing?"),
        population=_("Completed rides, no-shows, and rides cancelled at the door"),
        counted=_("No-shows with fault rider"),
        parts={
            "facilityFault": _("No-shows with fault facility"),
            "otherFault": _("No-shows with any other fault"),
        },
    ),
    "lateCancelRate": KpiText(
        title=_("Late cancellations"),
        question=_("Of the rides that were booked and not cancelled in advance, how many were cancelled late?"),
        population=_("Booked rides but those cancelled in advance; rides that have not ended are among them"),
        counted=_("Cancelled late or at the door"),
    ),
    "pickupOnTimeRate": KpiText(
        title=_("Pickups on time"),
        question=_("How often was the vehicle at the door no later than 15 minutes after the pickup time?"),
        population=_(
            "Rides with an arrival time, no-shows and cancellations at the door among them, completed rides "
            "without one, and rides unfulfilled by the provider's fault: these and missing data count as not on "
            "time"
        ),
        counted=_(
            "Arrived at the pickup no later than 15 minutes after the pickup time; of a will-call ride, after the"
            " promised time"
        ),
        parts={
            "withoutArrivalTime": _("Completed without an arrival time, counted as not on time"),
        },
    ),
    "pickupEarlyRate": KpiText(
        title=_("Early pickups"),
        question=_("How often was a rider taken on board more than 15 minutes before the pickup time?"),
        population=_("Rides for a firm time with an arrival time"),
        counted=_("On board more than 15 minutes before the pickup time"),
    ),
    "appointmentOnTimeRate": KpiText(
        title=_("Appointments on time"),
        question=_("How often was a rider at the door of the appointment by its time?"),
        population=_("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=_("Arrived at the drop-off no later than the appointment; a missing time counts as late"),
    ),
    "tooEarlyRate": KpiText(
        title=_("Far too early for appointments"),
        question=_("How often did a rider have to wait more than an hour for the appointment?"),
        population=_("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=_("Arrived at the drop-off more than 60 minutes before the appointment"),
    ),
    "willCallResponse": KpiText(
        title=_("Will-call response, median"),
        question=_("How long after a rider was said to be ready was the vehicle at the door?"),
        population=_("Released will-call rides with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "willCallResponseP90": KpiText(
        title=_("Will-call response, 90th percentile"),
        question=_("How long after a rider was said to be ready was the vehicle at the door?"),
        population=_("Released will-call rides with an arrival time"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "willCallResponseOnTarget": KpiText(
        title=_("Will-calls within the promise"),
        question=_("How often was the vehicle at the door by the time that was promised when the rider was ready?"),
        population=_(
            "Released will-call rides that a vehicle reached, or that were completed or unfulfilled by the "
            "provider's fault"
        ),
        counted=_("Arrived at the pickup by the promised time, which is that of the facility's agreement"),
    ),
    "dischargeReadyToDepart": KpiText(
        title=_("Discharge: ready to on board, median"),
        question=_("How long did a patient who was ready wait to be on board?"),
        population=_("Released hospital discharges with a boarding time"),
        counted=_("Minutes from ready to on board"),
    ),
    "dischargeReadyToDepartP90": KpiText(
        title=_("Discharge: ready to on board, 90th percentile"),
        question=_("How long did a patient who was ready wait to be on board?"),
        population=_("Released hospital discharges with a boarding time"),
        counted=_("Minutes from ready to on board"),
    ),
    "dischargeWithin60": KpiText(
        title=_("Discharges on board within 60 minutes"),
        question=_("How often was a patient on board within 60 minutes of being ready?"),
        population=_("Released hospital discharges that boarded, or were unfulfilled by the provider's fault"),
        counted=_("On board no later than 60 minutes after ready"),
    ),
    "dischargeWithin180": KpiText(
        title=_("Discharges on board within 180 minutes"),
        question=_("How often was a patient on board within 180 minutes of being ready?"),
        population=_("Released hospital discharges that boarded, or were unfulfilled by the provider's fault"),
        counted=_("On board no later than 180 minutes after ready"),
    ),
    "dischargeOrderToReady": KpiText(
        title=_("Discharge: order to ready, median"),
        question=_("How long after the order of discharge was a patient ready? The facility's clock, not the fleet's."),
        population=_("Released hospital discharges with the time of the order"),
        counted=_("Minutes from the order to ready"),
    ),
    "etaDeviation": KpiText(
        title=_("Promise against request"),
        question=_("How many minutes after the pickup time that was asked for was the vehicle promised, on average?"),
        population=_("Booked rides with a promised time"),
        counted=_("Minutes from the requested pickup to the promised time"),
    ),
    "leadTime": KpiText(
        title=_("Lead time, median"),
        question=_("How long before the pickup was a ride asked for?"),
        population=_("Booked rides; will-call rides once they are released"),
        counted=_("Minutes from the request to the pickup time, or to the promised time of a will-call ride"),
    ),
    "timeToAssign": KpiText(
        title=_("Time to a driver, median"),
        question=_("How long did a ride wait for its first driver?"),
        population=_("Booked rides that a driver accepted"),
        counted=_(
            "Minutes from scheduled, or from ready for a will-call ride, to the first accepted assignment; one "
            "that was assigned before waited 0"
        ),
    ),
    "driverWait": KpiText(
        title=_("Driver's wait, median"),
        question=_("How long did a driver at the door wait for the rider?"),
        population=_("Rides with times of arrival and boarding"),
        counted=_("Minutes from arrival, or from the pickup time if that was later, to on board; before it, 0"),
    ),
    "rideTimeIndex": KpiText(
        title=_("Time on board by direct drive"),
        question=_("How many times as long as the direct drive was a rider on board?"),
        population=_("Completed rides with a known time on board and an estimated drive"),
        counted=_("Minutes on board of all of them, by minutes of their direct drives"),
    ),
    "excessiveRideTimeRate": KpiText(
        title=_("Excessive time on board"),
        question=_("How often was a rider on board more than twice as long as the direct drive, or an hour longer?"),
        population=_("Completed rides with a known time on board and an estimated drive"),
        counted=_("On board more than twice the direct drive, or more than 60 minutes over it"),
    ),
    "dialysisChairOnTime": KpiText(
        title=_("Dialysis chairs on time"),
        question=_("How often was a patient at the clinic at least 5 minutes before the chair time?"),
        population=_("Rides to dialysis that were completed or unfulfilled by the provider's fault"),
        counted=_(
            "Arrived at the drop-off no later than 5 minutes before the chair time; a missing time counts as late"
        ),
    ),
    "treatmentsAtRisk": KpiText(
        title=_("Treatments at risk"),
        question=_("Of 100 rides to dialysis, how many put the treatment at risk?"),
        population=_("Rides to dialysis that were completed or unfulfilled"),
        counted=_("Unfulfilled, or arrived more than 15 minutes after the chair time, or without an arrival time"),
    ),
    "returnWait": KpiText(
        title=_("Wait for the way back from dialysis, median"),
        question=_("How long after treatment, ready to go, did a patient wait for the vehicle?"),
        population=_("Rides back from dialysis that were released and reached"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "returnWaitP90": KpiText(
        title=_("Wait for the way back from dialysis, 90th percentile"),
        question=_("How long after treatment, ready to go, did a patient wait for the vehicle?"),
        population=_("Rides back from dialysis that were released and reached"),
        counted=_("Minutes from ready to arrival at the pickup"),
    ),
    "exceptionRate": KpiText(
        title=_("Exceptions"),
        question=_("How many exceptions that ask somebody to act came on 100 rides?"),
        population=_("Booked rides"),
        counted=_("Exceptions of severity warning or critical"),
    ),
    "mtta": KpiText(
        title=_("Time to acknowledge, median"),
        question=_("How long did an exception wait for somebody to take it up?"),
        population=_("Exceptions of severity warning or critical, of booked rides, that were acknowledged"),
        counted=_("Minutes from opened to acknowledged"),
    ),
    "mttr": KpiText(
        title=_("Time to resolve, median"),
        question=_("How long did an exception stand until it was settled?"),
        population=_("Exceptions of severity warning or critical, of booked rides, that were resolved or dismissed"),
        counted=_("Minutes from opened to resolved"),
    ),
    "documentationComplete": KpiText(
        title=_("Documentation complete"),
        question=_("How many completed rides have all the documents that their payer requires?"),
        population=_("Completed rides"),
        counted=_("No document is missing"),
    ),
    "gpsVerified": KpiText(
        title=_("Verified by GPS"),
        question=_("How many completed rides were seen by the driver's device at both ends?"),
        population=_("Completed rides"),
        counted=_(
            "Arrival at the pickup and at the drop-off both reported by the device within 150 meters of the stop"
        ),
    ),
    "incidentRate": KpiText(
        title=_("Incidents"),
        question=_(
            "How many rides with an accident, a safety incident or a medical emergency came on 1,000 completed?"
        ),
        population=_("Completed rides; incidents of all booked rides"),
        counted=_("Rides with such an exception that was no false alarm, or unfulfilled for such a reason"),
    ),
}
# The KPIs that reports list first.
MAIN_KPIS: Final = {
    "pickupOnTimeRate": _("Pickups on time"),
    "appointmentOnTimeRate": _("Appointments on time"),
    "completionRate": _("Completion"),
    "fulfillmentRate": _("Fulfillment"),
    "noShowRate": _("No-shows"),
    "lateCancelRate": _("Late cancellations"),
    "willCallResponse": _("Will-call, median"),
    "dischargeReadyToDepart": _("Discharge, median"),
}
# Texts of the keys in `excluded`.
EXCLUSION_TEXTS: Final[Mapping[str, Text]] = {
    "not_booked": _("Duplicates, booking errors, and days of a series that were held, ended or moved"),
    "cancelled": _("Cancelled"),
    "cancelled_in_advance": _("Cancelled in advance"),
    "cancelled_before_arrival": _("Cancelled before the vehicle was at the door"),
    "no_show": _("No-shows"),
    "unfulfilled": _("Unfulfilled"),
    "unfulfilled_by_others": _("Unfulfilled by no fault of the provider"),
    "not_ended": _("Not ended yet"),
    "not_completed": _("Not completed"),
    "no_show_without_arrival": _("No-shows without an arrival time"),
    "cancelled_without_arrival": _("Cancelled without an arrival time"),
    "unfulfilled_by_others_without_arrival": _("Unfulfilled by no fault of the provider, without an arrival time"),
    "not_ended_without_arrival": _("Not ended yet, without an arrival time"),
    "without_arrival": _("Without an arrival time"),
    "without_appointment": _("Ways back, and rides without an appointment"),
    "not_carried_out": _("Cancelled, no-show, not ended, or unfulfilled by no fault of the provider"),
    "will_call": _("Will-call"),
    "not_will_call": _("Not will-call"),
    "not_released": _("Never said to be ready"),
    "not_reached": _("Released, and ended or waiting without a vehicle, by no fault of the provider"),
    "not_discharge": _("Not a hospital discharge"),
    "not_boarded": _("Never on board"),
    "without_boarding": _("Completed, or unfulfilled by the provider's fault, without a boarding time"),
    "without_order_time": _("Without the time of the discharge order"),
    "without_promise": _("Without a promised time"),
    "without_due_time": _("Will-call rides that were never released"),
    "never_assigned": _("No driver ever accepted"),
    "without_start": _("Accepted, but neither scheduled nor released"),
    "without_times": _("On board, but without an arrival time"),
    "without_ride_time": _("Completed without a known time on board or drive"),
    "not_to_dialysis": _("Not on the way to dialysis"),
    "not_from_dialysis": _("Not on the way back from dialysis"),
    "alerts_not_acknowledged": _("Exceptions that nobody has acknowledged"),
    "alerts_not_resolved": _("Exceptions that are not resolved"),
}
# Labels of measures: what they count, or which minutes they add up.
MEASURE_TEXTS: Final[Mapping[str, Text]] = {
    # Rides by status.
    "not_booked": _("Duplicates, booking errors, and days of a series that were held, ended or moved"),
    "requested": _("Rides that are requested"),
    "scheduled": _("Rides that are scheduled"),
    "assigned": _("Rides that are assigned"),
    "en_route": _("Rides whose driver is under way"),
    "arrived": _("Rides whose driver is at the door"),
    "in_progress": _("Rides with the rider on board"),
    "completed": _("Completed rides"),
    "no_show_rider": _("No-shows, the rider's doing"),
    "no_show_facility": _("No-shows, the facility's doing"),
    "no_show_other": _("No-shows, of others' doing or nobody's"),
    "unfulfilled_provider": _("Unfulfilled by the provider's fault"),
    "unfulfilled_other": _("Unfulfilled by no fault of the provider"),
    "cancelled_advance": _("Cancelled in advance"),
    "cancelled_same_day": _("Cancelled on the same day"),
    "cancelled_late": _("Cancelled late"),
    "cancelled_at_door": _("Cancelled with the vehicle at the door"),
    "completed_outbound": _("Completed ways there"),
    "completed_return": _("Completed ways back"),
    "failed_outbound": _("Ways there that the provider failed"),
    "failed_return": _("Ways back that the provider failed"),
    "failed_with_notice": _("Failed by the provider 48 hours before the pickup or earlier"),
    "failed_at_short_notice": _("Failed by the provider less than 48 hours before the pickup"),
    # Arrival at the pickup.
    "arrived_on_time": _("Arrived on time"),
    "boarded_early": _("On board more than 15 minutes before the pickup time"),
    "reached_firm": _("Rides for a firm time with an arrival time"),
    "unseen_firm": _("Rides for a firm time without an arrival time"),
    "booked_will_call": _("Will-call rides"),
    "reached": _("Rides with an arrival time"),
    "completed_unseen": _("Completed without an arrival time"),
    "failed_unseen": _("Unfulfilled by the provider's fault, without an arrival time"),
    "unfulfilled_unseen": _("Unfulfilled by no fault of the provider, without an arrival time"),
    "no_show_unseen": _("No-shows without an arrival time"),
    "cancelled_unseen": _("Cancelled without an arrival time"),
    "open_unseen": _("Not ended yet, without an arrival time"),
    # Appointments.
    "appointment_due": _("Rides to an appointment that were driven or failed"),
    "appointment_met": _("Delivered by the appointment"),
    "appointment_too_early": _("Delivered more than 60 minutes before the appointment"),
    "appointment_not_tried": _("Rides to an appointment that were not carried out"),
    "no_appointment": _("Ways back, and rides without an appointment"),
    # Will-call.
    "will_call_due": _("Released will-call rides that were reached, driven or failed"),
    "will_call_kept": _("Will-call rides reached by the promised time"),
    "will_call_not_reached": _("Released will-call rides without a vehicle, by no fault of the provider"),
    "will_call_not_released": _("Will-call rides that were never said to be ready"),
    "not_will_call": _("Rides that are not will-call"),
    "will_call_no_arrival": _("Released will-call rides without an arrival time"),
    # Discharges.
    "discharge_due": _("Released discharges that boarded or were failed"),
    "discharge_in_target": _("Discharges on board within 60 minutes"),
    "discharge_in_limit": _("Discharges on board within 180 minutes"),
    "discharge_not_boarded": _("Released discharges that never boarded, by no fault of the provider"),
    "discharge_no_boarding": _("Released discharges without a boarding time"),
    "discharge_not_released": _("Discharges that were never said to be ready"),
    "discharge_no_order": _("Released discharges without the time of the order"),
    "not_discharge": _("Rides that are no hospital discharge"),
    # Promised times and assignment.
    "promised": _("Rides with a promised time"),
    "not_promised": _("Rides without a promised time"),
    "without_due_time": _("Rides without a time at which they are due"),
    "never_accepted": _("Rides that no driver accepted"),
    "accepted_unasked": _("Accepted rides without the time from which they waited"),
    # During the ride.
    "not_boarded": _("Rides that nobody boarded"),
    "boarded_unseen": _("Boarded without an arrival time or a time at which they were due"),
    "ride_time_known": _("Completed rides with a known time on board and an estimated drive"),
    "ride_time_excessive": _("Rides with an excessive time on board"),
    "ride_time_unknown": _("Completed rides without a time on board or an estimated drive"),
    # Dialysis.
    "chair_due": _("Rides to the chair that were driven or failed"),
    "chair_met": _("Delivered 5 minutes before the chair time or earlier"),
    "chair_not_tried": _("Rides to the chair that were not carried out"),
    "treatment_due": _("Rides to the chair that were completed or unfulfilled"),
    "treatment_at_risk": _("Treatments at risk"),
    "treatment_not_tried": _("Rides to the chair that were neither completed nor unfulfilled"),
    "not_to_chair": _("Rides that do not lead to the chair"),
    "not_from_chair": _("Rides that do not lead home from the chair"),
    "return_not_reached": _("Ways home from the chair without a release or an arrival time"),
    # Documentation and location.
    "documented": _("Completed rides with all their documents"),
    "located": _("Completed rides located by the driver's device at both ends"),
    "incident": _("Rides with an incident"),
    # Sums.
    "promise_deviation": _("Minutes from the requested pickup to the promised time, all together"),
    "onboard_total": _("Minutes on board, all together"),
    "direct_total": _("Minutes of direct drives, all together"),
    "alerts": _("Exceptions"),
    "alerts_open": _("Exceptions that are not resolved"),
    "alerts_unseen": _("Exceptions that nobody acknowledged"),
    "will_call_response": _("Minutes from ready to arrival, all together"),
    "discharge_wait": _("Minutes from ready to on board, all together"),
    "discharge_order": _("Minutes from the order of discharge to ready, all together"),
    "lead_time": _("Minutes from the request to the pickup, all together"),
    "time_to_assign": _("Minutes until a driver accepted, all together"),
    "driver_wait": _("Minutes that drivers waited at the door, all together"),
    "return_wait": _("Minutes of waiting for the way home from the chair, all together"),
    "time_to_acknowledge": _("Minutes until exceptions were acknowledged, all together"),
    "time_to_resolve": _("Minutes until exceptions were resolved, all together"),
}


def kpi_title(kpi: Kpi) -> str:
    return str(KPI_TEXTS[kpi.key].title)


def format_value(kpi: Kpi, value: float | None, *, short: bool = False) -> str:
    """Format a value with its unit; a dash for None.

    `short` omits the decimals of shares and the unit of minutes.
    """
    if value is None:
        return DASH
    match kpi.unit:
        case Unit.SHARE:
            return f"{_rounded(100 * value, 0 if short else 1)} %"
        case Unit.MINUTES:
            text = _rounded(value, 0 if short or value == int(value) else 1)
            return text if short else f"{text} min"
    return _rounded(value, 2)


def _rounded(value: float, digits: int) -> str:
    """Format a number, rounded: Django's formats truncate, so 89.97 would become 89.9."""
    return number_format(round(value, digits), digits, force_grouping=True)


def format_count(count: int) -> str:
    return number_format(count, force_grouping=True)


def format_share(share: float | None) -> str:
    return DASH if share is None else f"{_rounded(100 * share, 1)} %"


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
    if figure.numerator is None:
        return gettext("of %(count)s values") % {"count": format_count(figure.denominator)}
    counts = {"numerator": format_count(figure.numerator), "denominator": format_count(figure.denominator)}
    return gettext("%(numerator)s of %(denominator)s") % counts


def format_figure(figure: Figure) -> str:
    """Return a KPI value with its numerator and denominator as text."""
    return f"{format_value(figure.kpi, figure.value)}, {format_ratio(figure)}"
