"""Whether rides took place, and on time (kpi-1)."""

from typing import Final

from apps.reporting.rules.defining import (
    CANCELLED,
    COMPLETED,
    EXPECTED,
    LEFT_OUT,
    NO_SHOW,
    UNFULFILLED,
    UNSEEN,
    Definition,
    Part,
    Unit,
)
from apps.reporting.rules.facts import OPEN
from lib.retelling import phrase

OF_SERVICE: Final[tuple[Definition, ...]] = (
    Definition(
        key="fulfillmentRate",
        title=phrase("Fulfillment"),
        question="Of the rides that the service was to give, how many did it give?",
        unit=Unit.SHARE,
        population=phrase("Completed and unfulfilled rides"),
        counted=phrase("Completed rides"),
        numerator=COMPLETED,
        denominator=(*COMPLETED, *UNFULFILLED),
        excluded={**LEFT_OUT, "cancelled": CANCELLED, "no_show": NO_SHOW, "not_ended": OPEN},
        higher_is_better=True,
    ),
    Definition(
        key="completionRate",
        title=phrase("Completion"),
        question="Of the rides that were booked and not cancelled in advance, how many took place?",
        unit=Unit.SHARE,
        population=phrase("Booked rides but those cancelled in advance; rides that have not ended are among them"),
        counted=phrase("Completed rides"),
        numerator=COMPLETED,
        denominator=EXPECTED,
        excluded={**LEFT_OUT, "cancelled_in_advance": ("cancelled_advance",)},
        higher_is_better=True,
    ),
    Definition(
        key="providerFailureRate",
        title=phrase("Provider failures"),
        question="How often did a provider fail to give a ride that was to be given?",
        unit=Unit.SHARE,
        population=phrase("Completed rides, and those unfulfilled by the provider's fault"),
        counted=phrase("Unfulfilled by the provider's fault"),
        numerator=("unfulfilled_provider",),
        denominator=(*COMPLETED, "unfulfilled_provider"),
        excluded={
            **LEFT_OUT,
            "cancelled": CANCELLED,
            "no_show": NO_SHOW,
            "unfulfilled_by_others": ("unfulfilled_other",),
            "not_ended": OPEN,
        },
        parts={
            "outbound": Part(
                phrase("On the way there"), ("failed_outbound",), ("completed_outbound", "failed_outbound")
            ),
            "return": Part(phrase("On the way back"), ("failed_return",), ("completed_return", "failed_return")),
            "noticeOver48h": Part(
                phrase("Given back 48 hours ahead or earlier"),
                ("failed_with_notice",),
                (*COMPLETED, "unfulfilled_provider"),
            ),
            "noticeUnder48h": Part(
                phrase("Given back later than that"),
                ("failed_at_short_notice",),
                (*COMPLETED, "unfulfilled_provider"),
            ),
        },
        higher_is_better=False,
    ),
    Definition(
        key="noShowRate",
        title=phrase("No-shows"),
        question="Of the rides whose vehicle came to the door, how many riders were not there by their own doing?",
        unit=Unit.SHARE,
        population=phrase("Completed rides, no-shows, and rides cancelled at the door"),
        counted=phrase("No-shows with fault rider"),
        numerator=("no_show_rider",),
        denominator=(*COMPLETED, *NO_SHOW, "cancelled_at_door"),
        excluded={
            **LEFT_OUT,
            "cancelled_before_arrival": CANCELLED[:3],
            "unfulfilled": UNFULFILLED,
            "not_ended": OPEN,
        },
        parts={
            "facilityFault": Part(
                phrase("No-shows with fault facility"),
                ("no_show_facility",),
                (*COMPLETED, *NO_SHOW, "cancelled_at_door"),
            ),
            "otherFault": Part(
                phrase("No-shows with any other fault"), ("no_show_other",), (*COMPLETED, *NO_SHOW, "cancelled_at_door")
            ),
        },
        higher_is_better=False,
    ),
    Definition(
        key="lateCancelRate",
        title=phrase("Late cancellations"),
        question="Of the rides that were booked and not cancelled in advance, how many were cancelled late?",
        unit=Unit.SHARE,
        population=phrase("Booked rides but those cancelled in advance; rides that have not ended are among them"),
        counted=phrase("Cancelled late or at the door"),
        numerator=("cancelled_late", "cancelled_at_door"),
        denominator=EXPECTED,
        excluded={**LEFT_OUT, "cancelled_in_advance": ("cancelled_advance",)},
        higher_is_better=False,
    ),
    Definition(
        key="pickupOnTimeRate",
        title=phrase("Pickups on time"),
        question="How often was the vehicle at the door no later than 15 minutes after the pickup time?",
        unit=Unit.SHARE,
        population=phrase(
            "Rides with an arrival time, no-shows and cancellations at the door among them, completed rides"
            " without one, and rides unfulfilled by the provider's fault: these and missing data count as not on time"
        ),
        counted=phrase(
            "Arrived at the pickup no later than 15 minutes after the pickup time; of a will-call ride, after the"
            " promised time"
        ),
        numerator=("arrived_on_time",),
        denominator=("reached", "completed_unseen", "failed_unseen"),
        excluded={**LEFT_OUT, **UNSEEN},
        parts={
            "withoutArrivalTime": Part(
                phrase("Completed without an arrival time, counted as not on time"),
                ("completed_unseen",),
                ("reached", "completed_unseen", "failed_unseen"),
            )
        },
        higher_is_better=True,
    ),
    Definition(
        key="pickupEarlyRate",
        title=phrase("Early pickups"),
        question="How often was a rider taken on board more than 15 minutes before the pickup time?",
        unit=Unit.SHARE,
        population=phrase("Rides for a firm time with an arrival time"),
        counted=phrase("On board more than 15 minutes before the pickup time"),
        numerator=("boarded_early",),
        denominator=("reached_firm",),
        excluded={**LEFT_OUT, "will_call": ("booked_will_call",), "without_arrival": ("unseen_firm",)},
        higher_is_better=False,
    ),
    Definition(
        key="appointmentOnTimeRate",
        title=phrase("Appointments on time"),
        question="How often was a rider at the door of the appointment by its time?",
        unit=Unit.SHARE,
        population=phrase("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=phrase("Arrived at the drop-off no later than the appointment; a missing time counts as late"),
        numerator=("appointment_met",),
        denominator=("appointment_due",),
        excluded={
            **LEFT_OUT,
            "without_appointment": ("no_appointment",),
            "not_carried_out": ("appointment_not_tried",),
        },
        higher_is_better=True,
    ),
    Definition(
        key="tooEarlyRate",
        title=phrase("Far too early for appointments"),
        question="How often did a rider have to wait more than an hour for the appointment?",
        unit=Unit.SHARE,
        population=phrase("Rides to an appointment that were completed or unfulfilled by the provider's fault"),
        counted=phrase("Arrived at the drop-off more than 60 minutes before the appointment"),
        numerator=("appointment_too_early",),
        denominator=("appointment_due",),
        excluded={
            **LEFT_OUT,
            "without_appointment": ("no_appointment",),
            "not_carried_out": ("appointment_not_tried",),
        },
        higher_is_better=False,
    ),
)
