"""The KPIs of version kpi-1: which measures (measures.py) each value, denominator and exclusion adds up.

The API, pages, exports and docs/figures.md are generated from this table; the texts are in `kpi_labels.py`.  For each
share of rides, the denominator and the exclusions together cover all rides, each counted once; a test checks it.  To
add a KPI, add its measures if it needs new ones, an entry here and its texts, and run `rebuild_reports
--discard-closed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from apps.reporting.rules.facts import OPEN

VERSION: Final = "kpi-1"
Names = tuple[str, ...]


class Unit(Enum):
    SHARE = "share"  # 0 to 1
    MINUTES = "minutes"
    RATIO = "ratio"
    PER_100 = "per_100"
    PER_1000 = "per_1000"


_FACTORS: Final = {Unit.PER_100: 100, Unit.PER_1000: 1000}


class KpiMethod(Enum):
    """How a value is computed from measures."""

    RATIO = "ratio"  # the sum of the numerator's measures by the sum of the denominator's
    QUANTILE = "quantile"  # of the values of one measure, interpolated like percentile_cont of PostgreSQL


@dataclass(frozen=True, slots=True)
class Part:
    """A share of the same kind for some of the rides, shown beside the KPI."""

    numerator: Names
    denominator: Names


@dataclass(frozen=True, slots=True)
class Kpi:
    """One KPI.  `numerator`, `denominator` and `excluded` name measures (measures.py), which are added up.

    A quantile names its measure in `numerator`; its denominator is the number of values.  `sample` counts the rides
    that the value is based on, for KPIs whose numerator counts minutes.
    """

    key: str
    unit: Unit
    numerator: Names
    denominator: Names = ()
    excluded: Mapping[str, Names] = field(default_factory=dict)
    method: KpiMethod = KpiMethod.RATIO
    quantile: float = 0.5
    parts: Mapping[str, Part] = field(default_factory=dict)
    sample: Names = ()
    higher_is_better: bool | None = None  # None: neither
    version: str = VERSION

    @property
    def factor(self) -> int:
        """Return the multiplier of the ratio."""
        return _FACTORS.get(self.unit, 1)

    @property
    def measures(self) -> frozenset[str]:
        """Return all measures that the KPI is computed from."""
        named = [self.numerator, self.denominator, self.sample, *self.excluded.values()]
        named += [names for part in self.parts.values() for names in (part.numerator, part.denominator)]
        return frozenset(name for names in named for name in names)


# Populations, as measures that exclude each other.
COMPLETED: Final = ("completed",)
NO_SHOW: Final = ("no_show_rider", "no_show_facility", "no_show_other")
UNFULFILLED: Final = ("unfulfilled_provider", "unfulfilled_other")
CANCELLED: Final = ("cancelled_advance", "cancelled_same_day", "cancelled_late", "cancelled_at_door")
EXPECTED: Final = (*COMPLETED, *NO_SHOW, *UNFULFILLED, *CANCELLED[1:], *OPEN)  # booked, and not cancelled in advance
BOOKED: Final = (*EXPECTED, CANCELLED[0])
ALL: Final = ("not_booked", *BOOKED)
# Exclusions that several KPIs share.
LEFT_OUT: Final = {"not_booked": ("not_booked",)}
NOT_COMPLETED: Final = (*NO_SHOW, *UNFULFILLED, *CANCELLED, *OPEN)
UNSEEN: Final = {
    "no_show_without_arrival": ("no_show_unseen",),
    "cancelled_without_arrival": ("cancelled_unseen",),
    "unfulfilled_by_others_without_arrival": ("unfulfilled_unseen",),
    "not_ended_without_arrival": ("open_unseen",),
}


def quantile_of(key: str, measure: str, *, excluded: Mapping[str, Names], quantile: float = 0.5) -> Kpi:
    """Define a quantile of the values of one measure, in minutes."""
    return Kpi(
        key=key,
        unit=Unit.MINUTES,
        numerator=(measure,),
        excluded=excluded,
        method=KpiMethod.QUANTILE,
        quantile=quantile,
        higher_is_better=False,
    )


def pair_of(key: str, measure: str, *, excluded: Mapping[str, Names]) -> tuple[Kpi, Kpi]:
    """Define the median and the 90th percentile of one measure."""
    return (
        quantile_of(key, measure, excluded=excluded),
        quantile_of(f"{key}P90", measure, excluded=excluded, quantile=0.9),
    )


_WILL_CALL_EXCLUSIONS: Final = {
    **LEFT_OUT,
    "not_will_call": ("not_will_call",),
    "not_released": ("will_call_not_released",),
    "not_reached": ("will_call_not_reached",),
}
_DISCHARGE_EXCLUSIONS: Final = {
    **LEFT_OUT,
    "not_discharge": ("not_discharge",),
    "not_released": ("discharge_not_released",),
    "not_boarded": ("discharge_not_boarded",),
}
_CHAIR_EXCLUSIONS: Final = {**LEFT_OUT, "not_to_dialysis": ("not_to_chair",)}

ALL_KPIS: Final[tuple[Kpi, ...]] = (
    Kpi(
        key="fulfillmentRate",
        unit=Unit.SHARE,
        numerator=COMPLETED,
        denominator=(*COMPLETED, *UNFULFILLED),
        excluded={**LEFT_OUT, "cancelled": CANCELLED, "no_show": NO_SHOW, "not_ended": OPEN},
        higher_is_better=True,
    ),
    Kpi(
        key="completionRate",
        unit=Unit.SHARE,
        numerator=COMPLETED,
        denominator=EXPECTED,
        excluded={**LEFT_OUT, "cancelled_in_advance": ("cancelled_advance",)},
        higher_is_better=True,
    ),
    Kpi(
        key="providerFailureRate",
        unit=Unit.SHARE,
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
            "outbound": Part(("failed_outbound",), ("completed_outbound", "failed_outbound")),
            "return": Part(("failed_return",), ("completed_return", "failed_return")),
            "noticeOver48h": Part(("failed_with_notice",), (*COMPLETED, "unfulfilled_provider")),
            "noticeUnder48h": Part(("failed_at_short_notice",), (*COMPLETED, "unfulfilled_provider")),
        },
        higher_is_better=False,
    ),
    Kpi(
        key="noShowRate",
        unit=Unit.SHARE,
        numerator=("no_show_rider",),
        denominator=(*COMPLETED, *NO_SHOW, "cancelled_at_door"),
        excluded={**LEFT_OUT, "cancelled_before_arrival": CANCELLED[:3], "unfulfilled": UNFULFILLED, "not_ended": OPEN},
        parts={
            "facilityFault": Part(("no_show_facility",), (*COMPLETED, *NO_SHOW, "cancelled_at_door")),
            "otherFault": Part(("no_show_other",), (*COMPLETED, *NO_SHOW, "cancelled_at_door")),
        },
        higher_is_better=False,
    ),
    Kpi(
        key="lateCancelRate",
        unit=Unit.SHARE,
        numerator=("cancelled_late", "cancelled_at_door"),
        denominator=EXPECTED,
        excluded={**LEFT_OUT, "cancelled_in_advance": ("cancelled_advance",)},
        higher_is_better=False,
    ),
    Kpi(
        key="pickupOnTimeRate",
        unit=Unit.SHARE,
        numerator=("arrived_on_time",),
        denominator=("reached", "completed_unseen", "failed_unseen"),
        excluded={**LEFT_OUT, "after_the_fact": ("after_the_fact",), **UNSEEN},
        parts={"withoutArrivalTime": Part(("completed_unseen",), ("reached", "completed_unseen", "failed_unseen"))},
        higher_is_better=True,
    ),
    Kpi(
        key="pickupEarlyRate",
        unit=Unit.SHARE,
        numerator=("boarded_early",),
        denominator=("reached_firm",),
        excluded={**LEFT_OUT, "will_call": ("booked_will_call",), "without_arrival": ("unseen_firm",)},
        higher_is_better=False,
    ),
    Kpi(
        key="appointmentOnTimeRate",
        unit=Unit.SHARE,
        numerator=("appointment_met",),
        denominator=("appointment_due",),
        excluded={
            **LEFT_OUT,
            "without_appointment": ("no_appointment",),
            "not_carried_out": ("appointment_not_tried",),
        },
        higher_is_better=True,
    ),
    Kpi(
        key="tooEarlyRate",
        unit=Unit.SHARE,
        numerator=("appointment_too_early",),
        denominator=("appointment_due",),
        excluded={
            **LEFT_OUT,
            "without_appointment": ("no_appointment",),
            "not_carried_out": ("appointment_not_tried",),
        },
        higher_is_better=False,
    ),
    *pair_of(
        "willCallResponse",
        "will_call_response",
        excluded={**_WILL_CALL_EXCLUSIONS, "without_arrival": ("will_call_no_arrival",)},
    ),
    Kpi(
        key="willCallResponseOnTarget",
        unit=Unit.SHARE,
        numerator=("will_call_kept",),
        denominator=("will_call_due",),
        excluded=_WILL_CALL_EXCLUSIONS,
        higher_is_better=True,
    ),
    *pair_of(
        "dischargeReadyToDepart",
        "discharge_wait",
        excluded={**_DISCHARGE_EXCLUSIONS, "without_boarding": ("discharge_no_boarding",)},
    ),
    Kpi(
        key="dischargeWithin60",
        unit=Unit.SHARE,
        numerator=("discharge_in_target",),
        denominator=("discharge_due",),
        excluded=_DISCHARGE_EXCLUSIONS,
        higher_is_better=True,
    ),
    Kpi(
        key="dischargeWithin180",
        unit=Unit.SHARE,
        numerator=("discharge_in_limit",),
        denominator=("discharge_due",),
        excluded=_DISCHARGE_EXCLUSIONS,
        higher_is_better=True,
    ),
    quantile_of(
        "dischargeOrderToReady",
        "discharge_order",
        excluded={
            **LEFT_OUT,
            "not_discharge": ("not_discharge",),
            "not_released": ("discharge_not_released",),
            "without_order_time": ("discharge_no_order",),
        },
    ),
    Kpi(
        key="etaDeviation",
        unit=Unit.MINUTES,
        numerator=("promise_deviation",),
        denominator=("promised",),
        sample=("promised",),
        excluded={**LEFT_OUT, "without_promise": ("not_promised",)},
    ),
    quantile_of(
        "leadTime",
        "lead_time",
        excluded={**LEFT_OUT, "without_due_time": ("without_due_time",)},
    ),
    quantile_of(
        "timeToAssign",
        "time_to_assign",
        excluded={**LEFT_OUT, "never_assigned": ("never_accepted",), "without_start": ("accepted_unasked",)},
    ),
    quantile_of(
        "driverWait",
        "driver_wait",
        excluded={**LEFT_OUT, "not_boarded": ("not_boarded",), "without_times": ("boarded_unseen",)},
    ),
    Kpi(
        key="rideTimeIndex",
        unit=Unit.RATIO,
        numerator=("onboard_total",),
        denominator=("direct_total",),
        sample=("ride_time_known",),
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED, "without_ride_time": ("ride_time_unknown",)},
        higher_is_better=False,
    ),
    Kpi(
        key="excessiveRideTimeRate",
        unit=Unit.SHARE,
        numerator=("ride_time_excessive",),
        denominator=("ride_time_known",),
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED, "without_ride_time": ("ride_time_unknown",)},
        higher_is_better=False,
    ),
    Kpi(
        key="dialysisChairOnTime",
        unit=Unit.SHARE,
        numerator=("chair_met",),
        denominator=("chair_due",),
        excluded={**_CHAIR_EXCLUSIONS, "not_carried_out": ("chair_not_tried",)},
        higher_is_better=True,
    ),
    Kpi(
        key="treatmentsAtRisk",
        unit=Unit.PER_100,
        numerator=("treatment_at_risk",),
        denominator=("treatment_due",),
        excluded={**_CHAIR_EXCLUSIONS, "not_carried_out": ("treatment_not_tried",)},
        higher_is_better=False,
    ),
    *pair_of(
        "returnWait",
        "return_wait",
        excluded={**LEFT_OUT, "not_from_dialysis": ("not_from_chair",), "without_arrival": ("return_not_reached",)},
    ),
    Kpi(
        key="exceptionRate",
        unit=Unit.PER_100,
        numerator=("alerts",),
        denominator=BOOKED,
        excluded=LEFT_OUT,
        higher_is_better=False,
    ),
    quantile_of(
        "mtta",
        "time_to_acknowledge",
        excluded={"alerts_not_acknowledged": ("alerts_unseen",)},
    ),
    quantile_of(
        "mttr",
        "time_to_resolve",
        excluded={"alerts_not_resolved": ("alerts_open",)},
    ),
    Kpi(
        key="documentationComplete",
        unit=Unit.SHARE,
        numerator=("documented",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=True,
    ),
    Kpi(
        key="gpsVerified",
        unit=Unit.SHARE,
        numerator=("located",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=True,
    ),
    Kpi(
        key="incidentRate",
        unit=Unit.PER_1000,
        numerator=("incident",),
        denominator=COMPLETED,
        excluded={**LEFT_OUT, "not_completed": NOT_COMPLETED},
        higher_is_better=False,
    ),
)
KPI_BY_KEY: Final[Mapping[str, Kpi]] = {kpi.key: kpi for kpi in ALL_KPIS}
