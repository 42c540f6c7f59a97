"""Dialysis, exceptions, papers and incidents (kpi-1)."""

from typing import Final

from apps.reporting.rules.defining import (
    BOOKED,
    COMPLETED,
    LEFT_OUT,
    NOT_COMPLETED,
    Definition,
    Unit,
    pair_of,
    quantile_of,
)
from lib.retelling import phrase

_NOT_TO_CHAIR: Final = {**LEFT_OUT, "not_to_dialysis": ("not_to_chair",)}

OF_CARE: Final[tuple[Definition, ...]] = (
    Definition(
        key="dialysisChairOnTime",
        title=phrase("Dialysis chairs on time"),
        question="How often was a patient at the clinic at least 5 minutes before the chair time?",
        unit=Unit.SHARE,
        population=phrase("Rides to dialysis that were completed or unfulfilled by the provider's fault"),
        counted=phrase(
            "Arrived at the drop-off no later than 5 minutes before the chair time; a missing time counts as late"
        ),
        numerator=("chair_met",),
        denominator=("chair_due",),
        excluded={**_NOT_TO_CHAIR, "not_carried_out": ("chair_not_tried",)},
        higher_is_better=True,
    ),
    Definition(
        key="treatmentsAtRisk",
        title=phrase("Treatments at risk"),
        question="Of 100 rides to dialysis, how many put the treatment at risk?",
        unit=Unit.PER_100,
        population=phrase("Rides to dialysis that were completed or unfulfilled"),
        counted=phrase("Unfulfilled, or arrived more than 15 minutes after the chair time, or without an arrival time"),
        numerator=("treatment_at_risk",),
        denominator=("treatment_due",),
        excluded={**_NOT_TO_CHAIR, "not_carried_out": ("treatment_not_tried",)},
        higher_is_better=False,
    ),
    *pair_of(
        "returnWait",
        phrase("Wait for the way back from dialysis"),
        "How long after treatment, ready to go, did a patient wait for the vehicle?",
        "return_wait",
        population=phrase("Rides back from dialysis that were released and reached"),
        counted=phrase("Minutes from ready to arrival at the pickup"),
        excluded={
            **LEFT_OUT,
            "not_from_dialysis": ("not_from_chair",),
            "without_arrival": ("return_not_reached",),
        },
    ),
    Definition(
        key="exceptionRate",
        title=phrase("Exceptions"),
        question="How many exceptions that ask somebody to act came on 100 rides?",
        unit=Unit.PER_100,
        population=phrase("Booked rides"),
        counted=phrase("Exceptions of severity warning or critical"),
        numerator=("alerts",),
        denominator=BOOKED,
        excluded=LEFT_OUT,
        higher_is_better=False,
    ),
    quantile_of(
        "mtta",
        phrase("Time to acknowledge, median"),
        "How long did an exception wait for somebody to take it up?",
        "time_to_acknowledge",
        population=phrase("Exceptions of severity warning or critical, of booked rides, that were acknowledged"),
        counted=phrase("Minutes from opened to acknowledged"),
        excluded={"alerts_not_acknowledged": ("alerts_unseen",)},
    ),
    quantile_of(
        "mttr",
        phrase("Time to resolve, median"),
        "How long did an exception stand until it was settled?",
        "time_to_resolve",
        population=phrase(
            "Exceptions of severity warning or critical, of booked rides, that were resolved or dismissed"
        ),
        counted=phrase("Minutes from opened to resolved"),
        excluded={"alerts_not_resolved": ("alerts_open",)},
    ),
    Definition(
        key="documentationComplete",
        title=phrase("Documentation complete"),
        question="How many completed rides have all the papers that their payer asks for?",
        unit=Unit.SHARE,
        population=phrase("Completed rides"),
        counted=phrase("No document is missing"),
        numerator=("documented",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=True,
    ),
    Definition(
        key="gpsVerified",
        title=phrase("Verified by GPS"),
        question="How many completed rides were seen by the driver's device at both ends?",
        unit=Unit.SHARE,
        population=phrase("Completed rides"),
        counted=phrase(
            "Arrival at the pickup and at the drop-off both reported by the device within 150 meters of the stop"
        ),
        numerator=("located",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=True,
    ),
    Definition(
        key="incidentRate",
        title=phrase("Incidents"),
        question="How many rides with an accident, a safety incident or a medical emergency came on 1,000 completed?",
        unit=Unit.PER_1000,
        population=phrase("Completed rides; incidents of all booked rides"),
        counted=phrase("Rides with such an exception that was no false alarm, or unfulfilled for such a reason"),
        numerator=("incident",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=False,
    ),
)
