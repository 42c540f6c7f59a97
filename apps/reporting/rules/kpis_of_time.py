"""How long things took (kpi-1)."""

from typing import Final

from apps.reporting.rules.defining import LEFT_OUT, NOT_COMPLETED, Definition, Unit, pair_of, quantile_of
from lib.retelling import phrase

_WILL_CALL_LEFT: Final = {
    **LEFT_OUT,
    "not_will_call": ("not_will_call",),
    "not_released": ("will_call_not_released",),
    "not_reached": ("will_call_not_reached",),
}
_DISCHARGE_LEFT: Final = {
    **LEFT_OUT,
    "not_discharge": ("not_discharge",),
    "not_released": ("discharge_not_released",),
    "not_boarded": ("discharge_not_boarded",),
}

OF_TIME: Final[tuple[Definition, ...]] = (
    *pair_of(
        "willCallResponse",
        phrase("Will-call response"),
        "How long after a rider was said to be ready was the vehicle at the door?",
        "will_call_response",
        population=phrase("Released will-call rides with an arrival time"),
        counted=phrase("Minutes from ready to arrival at the pickup"),
        excluded={**_WILL_CALL_LEFT, "without_arrival": ("will_call_no_arrival",)},
    ),
    Definition(
        key="willCallResponseOnTarget",
        title=phrase("Will-calls within the promise"),
        question="How often was the vehicle at the door by the time that was promised when the rider was ready?",
        unit=Unit.SHARE,
        population=phrase(
            "Released will-call rides that a vehicle reached, or that were completed or unfulfilled by the"
            " provider's fault"
        ),
        counted=phrase("Arrived at the pickup by the promised time, which is that of the facility's agreement"),
        numerator=("will_call_kept",),
        denominator=("will_call_due",),
        excluded=_WILL_CALL_LEFT,
        higher_is_better=True,
    ),
    *pair_of(
        "dischargeReadyToDepart",
        phrase("Discharge: ready to on board"),
        "How long did a patient who was ready wait to be on board?",
        "discharge_wait",
        population=phrase("Released hospital discharges with a boarding time"),
        counted=phrase("Minutes from ready to on board"),
        excluded={**_DISCHARGE_LEFT, "without_boarding": ("discharge_no_boarding",)},
    ),
    Definition(
        key="dischargeWithin60",
        title=phrase("Discharges on board within 60 minutes"),
        question="How often was a patient on board within 60 minutes of being ready?",
        unit=Unit.SHARE,
        population=phrase("Released hospital discharges that boarded, or were unfulfilled by the provider's fault"),
        counted=phrase("On board no later than 60 minutes after ready"),
        numerator=("discharge_in_target",),
        denominator=("discharge_due",),
        excluded=_DISCHARGE_LEFT,
        higher_is_better=True,
    ),
    Definition(
        key="dischargeWithin180",
        title=phrase("Discharges on board within 180 minutes"),
        question="How often was a patient on board within 180 minutes of being ready?",
        unit=Unit.SHARE,
        population=phrase("Released hospital discharges that boarded, or were unfulfilled by the provider's fault"),
        counted=phrase("On board no later than 180 minutes after ready"),
        numerator=("discharge_in_limit",),
        denominator=("discharge_due",),
        excluded=_DISCHARGE_LEFT,
        higher_is_better=True,
    ),
    quantile_of(
        "dischargeOrderToReady",
        phrase("Discharge: order to ready, median"),
        "How long after the order of discharge was a patient ready? The facility's clock, not the fleet's.",
        "discharge_order",
        population=phrase("Released hospital discharges with the time of the order"),
        counted=phrase("Minutes from the order to ready"),
        excluded={
            **LEFT_OUT,
            "not_discharge": ("not_discharge",),
            "not_released": ("discharge_not_released",),
            "without_order_time": ("discharge_no_order",),
        },
    ),
    Definition(
        key="etaDeviation",
        title=phrase("Promise against request"),
        question="How many minutes after the pickup time that was asked for was the vehicle promised, on average?",
        unit=Unit.MINUTES,
        population=phrase("Booked rides with a promised time"),
        counted=phrase("Minutes from the requested pickup to the promised time"),
        numerator=("promise_deviation",),
        denominator=("promised",),
        legs=("promised",),
        excluded={**LEFT_OUT, "without_promise": ("not_promised",)},
    ),
    quantile_of(
        "leadTime",
        phrase("Lead time, median"),
        "How long before the pickup was a ride asked for?",
        "lead_time",
        population=phrase("Booked rides; will-call rides once they are released"),
        counted=phrase("Minutes from the request to the pickup time, or to the promised time of a will-call ride"),
        excluded={**LEFT_OUT, "without_due_time": ("without_due_time",)},
    ),
    quantile_of(
        "timeToAssign",
        phrase("Time to a driver, median"),
        "How long did a ride wait for its first driver?",
        "time_to_assign",
        population=phrase("Booked rides that a driver accepted"),
        counted=phrase(
            "Minutes from scheduled, or from ready for a will-call ride, to the first accepted assignment; one that"
            " was assigned before waited 0"
        ),
        excluded={
            **LEFT_OUT,
            "never_assigned": ("never_accepted",),
            "without_start": ("accepted_unasked",),
        },
    ),
    quantile_of(
        "driverWait",
        phrase("Driver's wait, median"),
        "How long did a driver at the door wait for the rider?",
        "driver_wait",
        population=phrase("Rides with times of arrival and boarding"),
        counted=phrase("Minutes from arrival, or from the pickup time if that was later, to on board; before it, 0"),
        excluded={**LEFT_OUT, "not_boarded": ("not_boarded",), "without_times": ("boarded_unseen",)},
    ),
    Definition(
        key="rideTimeIndex",
        title=phrase("Time on board by direct drive"),
        question="How many times as long as the direct drive was a rider on board?",
        unit=Unit.RATIO,
        population=phrase("Completed rides with a known time on board and an estimated drive"),
        counted=phrase("Minutes on board of all of them, by minutes of their direct drives"),
        numerator=("onboard_total",),
        denominator=("direct_total",),
        legs=("ride_time_known",),
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED, "without_ride_time": ("ride_time_unknown",)},
        higher_is_better=False,
    ),
    Definition(
        key="excessiveRideTimeRate",
        title=phrase("Excessive time on board"),
        question="How often was a rider on board more than twice as long as the direct drive, or an hour longer?",
        unit=Unit.SHARE,
        population=phrase("Completed rides with a known time on board and an estimated drive"),
        counted=phrase("On board more than twice the direct drive, or more than 60 minutes over it"),
        numerator=("ride_time_excessive",),
        denominator=("ride_time_known",),
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED, "without_ride_time": ("ride_time_unknown",)},
        higher_is_better=False,
    ),
)
