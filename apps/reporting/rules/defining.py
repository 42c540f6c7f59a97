"""What a figure is made of, sets of legs that figures share, words for what they leave out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from apps.reporting.rules.facts import OPEN
from lib.retelling import phrase

VERSION: Final = "kpi-1"
Names = tuple[str, ...]


class Unit(Enum):
    SHARE = "share"  # 0 to 1
    MINUTES = "minutes"
    RATIO = "ratio"
    PER_100 = "per_100"
    PER_1000 = "per_1000"


_TIMES: Final = {Unit.PER_100: 100, Unit.PER_1000: 1000}


class Way(Enum):
    """How a value comes of measures."""

    RATIO = "ratio"  # sum of the numerator's measures by sum of the denominator's
    QUANTILE = "quantile"  # of the values of one measure, interpolated as percentile_cont of PostgreSQL does


@dataclass(frozen=True, slots=True)
class Part:
    """A share of the same kind about some of the legs, shown beside the figure."""

    title: str
    numerator: Names
    denominator: Names


@dataclass(frozen=True, slots=True)
class Definition:
    """One figure.  `numerator`, `denominator` and `excluded` name measures (measures.py), which are added up.

    Of a quantile the measure stands in `numerator`; its denominator is the number of values.  `legs` counts what it
    stands on, where its numerator is of minutes and tells nothing of that.
    """

    key: str
    title: str
    question: str
    unit: Unit
    population: str
    counted: str  # what the numerator counts, or the value measures
    numerator: Names
    denominator: Names = ()
    excluded: Mapping[str, Names] = field(default_factory=dict)
    way: Way = Way.RATIO
    quantile: float = 0.5
    parts: Mapping[str, Part] = field(default_factory=dict)
    legs: Names = ()
    higher_is_better: bool | None = None  # None: neither
    version: str = VERSION

    @property
    def times(self) -> int:
        """Say by how much the ratio is multiplied."""
        return _TIMES.get(self.unit, 1)

    @property
    def measures(self) -> frozenset[str]:
        """Name every measure that the figure is made of."""
        named = [self.numerator, self.denominator, self.legs, *self.excluded.values()]
        named += [names for part in self.parts.values() for names in (part.numerator, part.denominator)]
        return frozenset(name for names in named for name in names)


# Sets of 4.14, as measures that exclude one another.
COMPLETED: Final = ("completed",)
NO_SHOW: Final = ("no_show_rider", "no_show_facility", "no_show_other")
UNFULFILLED: Final = ("unfulfilled_provider", "unfulfilled_other")
CANCELLED: Final = ("cancelled_advance", "cancelled_same_day", "cancelled_late", "cancelled_at_door")
EXPECTED: Final = (*COMPLETED, *NO_SHOW, *UNFULFILLED, *CANCELLED[1:], *OPEN)  # B - Xa
BOOKED: Final = (*EXPECTED, CANCELLED[0])
ALL: Final = ("not_booked", *BOOKED)
LEFT_OUT: Final = {"not_booked": ("not_booked",)}
NOT_COMPLETED: Final = (*NO_SHOW, *UNFULFILLED, *CANCELLED, *OPEN)
UNSEEN: Final = {
    "no_show_without_arrival": ("no_show_unseen",),
    "cancelled_without_arrival": ("cancelled_unseen",),
    "unfulfilled_by_others_without_arrival": ("unfulfilled_unseen",),
    "not_ended_without_arrival": ("open_unseen",),
}

# Words of the keys in `excluded`.
REASONS: Final[Mapping[str, str]] = {
    "not_booked": phrase("Duplicates, booking errors, and days of a series that were held, ended or moved"),
    "cancelled": phrase("Cancelled"),
    "cancelled_in_advance": phrase("Cancelled in advance"),
    "cancelled_before_arrival": phrase("Cancelled before the vehicle was at the door"),
    "no_show": phrase("No-shows"),
    "unfulfilled": phrase("Unfulfilled"),
    "unfulfilled_by_others": phrase("Unfulfilled by no fault of the provider"),
    "not_ended": phrase("Not ended yet"),
    "not_completed": phrase("Not completed"),
    "no_show_without_arrival": phrase("No-shows without an arrival time"),
    "cancelled_without_arrival": phrase("Cancelled without an arrival time"),
    "unfulfilled_by_others_without_arrival": phrase("Unfulfilled by no fault of the provider, without an arrival time"),
    "not_ended_without_arrival": phrase("Not ended yet, without an arrival time"),
    "without_arrival": phrase("Without an arrival time"),
    "without_appointment": phrase("Ways back, and rides without an appointment"),
    "not_carried_out": phrase("Cancelled, no-show, not ended, or unfulfilled by no fault of the provider"),
    "will_call": phrase("Will-call"),
    "not_will_call": phrase("Not will-call"),
    "not_released": phrase("Never said to be ready"),
    "not_reached": phrase("Released, and ended or waiting without a vehicle, by no fault of the provider"),
    "not_discharge": phrase("Not a hospital discharge"),
    "not_boarded": phrase("Never on board"),
    "without_boarding": phrase("Completed, or unfulfilled by the provider's fault, without a boarding time"),
    "without_order_time": phrase("Without the time of the discharge order"),
    "without_promise": phrase("Without a promised time"),
    "without_due_time": phrase("Will-call rides that were never released"),
    "never_assigned": phrase("No driver ever accepted"),
    "without_start": phrase("Accepted, but neither scheduled nor released"),
    "without_times": phrase("On board, but without an arrival time"),
    "without_ride_time": phrase("Completed without a known time on board or drive"),
    "not_to_dialysis": phrase("Not on the way to dialysis"),
    "not_from_dialysis": phrase("Not on the way back from dialysis"),
    "alerts_not_acknowledged": phrase("Exceptions that nobody has acknowledged"),
    "alerts_not_resolved": phrase("Exceptions that are not resolved"),
}


def quantile_of(
    key: str,
    title: str,
    question: str,
    measure: str,
    *,
    population: str,
    counted: str,
    excluded: Mapping[str, Names],
    quantile: float = 0.5,
) -> Definition:
    """Define a quantile of the values of one measure, in minutes."""
    return Definition(
        key=key,
        title=title,
        question=question,
        unit=Unit.MINUTES,
        population=population,
        counted=counted,
        numerator=(measure,),
        excluded=excluded,
        way=Way.QUANTILE,
        quantile=quantile,
        higher_is_better=False,
    )


def pair_of(
    key: str, title: str, question: str, measure: str, *, population: str, counted: str, excluded: Mapping[str, Names]
) -> tuple[Definition, Definition]:
    """Define the median and the 90th percentile of one measure."""

    def at(name: str, words: str, quantile: float) -> Definition:
        return quantile_of(
            name,
            f"{title}, {words}",
            question,
            measure,
            population=population,
            counted=counted,
            excluded=excluded,
            quantile=quantile,
        )

    return at(key, phrase("median"), 0.5), at(f"{key}P90", phrase("90th percentile"), 0.9)
