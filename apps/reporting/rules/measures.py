"""The measures of rides: each is a condition, a number or minutes, defined once as SQL over the facts.

The same SQL fills the rollups, lists the rides behind a value, and is used by `check_reports`.  Rollups store measures
by name (`MetricsRow.totals`, `.minutes`), so a new measure needs no migration, only a run of `rebuild_reports
--discard-closed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from apps.reporting.rules.facts import OPEN, quoted

# Minutes in the KPIs of version kpi-1: the same for every facility, regardless of its service levels (docs/adr/0022).
LATE: Final = 15
EARLY: Final = 15
TOO_EARLY: Final = 60
CHAIR_MARGIN: Final = 5
AT_RISK: Final = 15
DISCHARGE_TARGET: Final = 60
DISCHARGE_LIMIT: Final = 180
EXCESSIVE_FACTOR: Final = 2
EXCESSIVE_MINUTES: Final = 60
EARLY_NOTICE_HOURS: Final = 48


class MeasureKind(Enum):
    """How the values of single rides are aggregated to a day."""

    COUNT = "count"  # `sql` is a condition; counts the rides for which it is true
    SUM = "sum"  # `sql` is a whole number or null
    VALUE = "value"  # `sql` is whole minutes or null; every value is stored, so that quantiles are exact
    VALUES = "values"  # `sql` is an int[] of whole minutes or null: a ride may have several


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, and the SQL of each step from a ride's facts to the sum over rollups."""

    name: str
    kind: MeasureKind
    sql: str

    @property
    def of_ride(self) -> str:
        """Return the expression over the facts of one ride: a boolean, a number, or packed values."""
        if self.kind is MeasureKind.VALUE:
            return f"int4send({self.sql})"
        if self.kind is MeasureKind.VALUES:
            return f"(SELECT string_agg(int4send(v), ''::bytea ORDER BY v) FROM unnest({self.sql}) v)"  # noqa: S608  # no user input
        return self.sql

    @property
    def of_rides(self) -> str:
        """Return the aggregate over rides that have `of_ride` under the measure's name; null for 0 or no values."""
        if self.kind is MeasureKind.COUNT:
            return f"nullif(count(*) FILTER (WHERE {self.name}), 0)"
        if self.kind is MeasureKind.SUM:
            return f"nullif(sum({self.name}), 0)"
        return f"encode(string_agg({self.name}, ''::bytea ORDER BY {self.name}), 'hex')"

    @property
    def of_facilities(self) -> str:
        """Return the aggregate over the rows of a day's facilities; null for 0 or no values.

        The values are in the order of the facilities, so that the same rows always result in the same text.
        """
        if self.is_packed:
            return f"string_agg({self.stored}, '' ORDER BY facility_id, {self.stored})"
        return f"nullif(sum({self.stored}), 0)"

    @property
    def of_rows(self) -> str:
        """Return the aggregate over rows of rollups: a bigint, or packed values in any order."""
        if self.is_packed:
            return f"decode(coalesce(string_agg({self.stored}, ''), ''), 'hex')"
        return f"coalesce(sum({self.stored}), 0)::bigint"

    @property
    def stored(self) -> str:
        """Return the expression that reads the measure from a row of rollups."""
        return f"(minutes->>'{self.name}')" if self.is_packed else f"(totals->>'{self.name}')::bigint"

    @property
    def is_packed(self) -> bool:
        return self.kind in (MeasureKind.VALUE, MeasureKind.VALUES)

    @property
    def condition(self) -> str:
        """Return the condition that a ride contributes to this measure."""
        if self.kind is MeasureKind.COUNT:
            return self.sql
        if self.kind is MeasureKind.VALUES:
            return f"cardinality({self.sql}) > 0"
        return f"({self.sql}) <> 0" if self.kind is MeasureKind.SUM else f"({self.sql}) IS NOT NULL"


def minutes(later: str, earlier: str) -> str:
    """Return SQL for whole minutes between two instants, rounded down; elapsed time, unaffected by clock changes."""
    return f"floor(extract(epoch FROM {later} - {earlier}) / 60)::int"


def _where(condition: str, sql: str) -> str:
    return f"CASE WHEN {condition} THEN {sql} END"


_COMPLETED: Final = "status = 'completed'"
_UNFULFILLED: Final = "status = 'unfulfilled'"
_BY_PROVIDER: Final = "status = 'unfulfilled' AND fault = 'provider'"
_CANCELLED: Final = "booked AND status = 'cancelled'"
_TRIED: Final = f"({_COMPLETED} OR {_BY_PROVIDER})"  # C + Up
_BROUGHT: Final = "booked AND NOT is_return AND appointment_at IS NOT NULL"
_TIMED: Final = "booked AND NOT after_the_fact"
_FIRM: Final = "booked AND NOT will_call"
_RELEASED: Final = "booked AND will_call AND ready_at IS NOT NULL"
_DISCHARGE: Final = "booked AND service_type = 'hospital_discharge'"
_TO_CHAIR: Final = "booked AND service_type = 'dialysis' AND NOT is_return"
_FROM_CHAIR: Final = "booked AND service_type = 'dialysis' AND is_return"
_KNOWN_TIME: Final = f"{_COMPLETED} AND onboard_minutes IS NOT NULL AND direct_minutes > 0"
_REACHED: Final = f"(arrived_at IS NOT NULL OR {_TRIED})"


def _after(instant: str, minutes: int) -> str:
    return f"{instant} + interval '{minutes} minutes'"


def _before(instant: str, minutes: int) -> str:
    return f"{instant} - interval '{minutes} minutes'"


# Rides by status; exactly one of these is true for each ride.
STANDING: Final = {
    "not_booked": "NOT booked",
    **{status: f"status = '{status}'" for status in OPEN},
    "completed": _COMPLETED,
    "no_show_rider": "status = 'no_show' AND fault = 'rider'",
    "no_show_facility": "status = 'no_show' AND fault = 'facility'",
    "no_show_other": "status = 'no_show' AND fault NOT IN ('rider', 'facility')",
    "unfulfilled_provider": _BY_PROVIDER,
    "unfulfilled_other": f"{_UNFULFILLED} AND fault <> 'provider'",
    "cancelled_advance": f"{_CANCELLED} AND timing = 'advance'",
    "cancelled_same_day": f"{_CANCELLED} AND timing = 'same_day'",
    "cancelled_late": f"{_CANCELLED} AND timing = 'late'",
    "cancelled_at_door": f"{_CANCELLED} AND timing = 'at_door'",
}
_OPEN: Final = f"status IN {quoted(OPEN)}"

_COUNTS: Final = {
    **STANDING,
    "completed_outbound": f"{_COMPLETED} AND NOT is_return",
    "completed_return": f"{_COMPLETED} AND is_return",
    "failed_outbound": f"{_BY_PROVIDER} AND NOT is_return",
    "failed_return": f"{_BY_PROVIDER} AND is_return",
    "failed_with_notice": f"{_BY_PROVIDER} AND pickup_at - ended_at >= interval '{EARLY_NOTICE_HOURS} hours'",
    "failed_at_short_notice": f"{_BY_PROVIDER} AND pickup_at - ended_at < interval '{EARLY_NOTICE_HOURS} hours'",
    # Arrival at the pickup; of `after_the_fact` and the last seven, exactly one is true.  A ride that the provider
    # failed was not on time, even if its vehicle arrived.  A ride recorded after the fact was promised to nobody.
    "after_the_fact": "booked AND after_the_fact",
    "arrived_on_time": f"{_TIMED} AND NOT ({_BY_PROVIDER}) AND arrived_at <= {_after('due_at', LATE)}",
    # Will-call rides are excluded: a rider who is picked up when ready is not rushed (docs/adr/0022).
    "boarded_early": f"{_FIRM} AND arrived_at IS NOT NULL AND boarded_at < {_before('pickup_at', EARLY)}",
    "reached_firm": f"{_FIRM} AND arrived_at IS NOT NULL",
    "unseen_firm": f"{_FIRM} AND arrived_at IS NULL",
    "booked_will_call": "booked AND will_call",
    "reached": f"{_TIMED} AND arrived_at IS NOT NULL",
    "completed_unseen": f"{_TIMED} AND {_COMPLETED} AND arrived_at IS NULL",
    "failed_unseen": f"{_TIMED} AND {_BY_PROVIDER} AND arrived_at IS NULL",
    "unfulfilled_unseen": f"{_TIMED} AND {_UNFULFILLED} AND fault <> 'provider' AND arrived_at IS NULL",
    "no_show_unseen": f"{_TIMED} AND status = 'no_show' AND arrived_at IS NULL",
    "cancelled_unseen": f"{_TIMED} AND {_CANCELLED} AND arrived_at IS NULL",
    "open_unseen": f"{_TIMED} AND {_OPEN} AND arrived_at IS NULL",
    # Appointments.
    "appointment_due": f"{_BROUGHT} AND {_TRIED}",
    "appointment_met": f"{_BROUGHT} AND {_TRIED} AND delivered_at <= appointment_at",
    "appointment_too_early": f"{_BROUGHT} AND {_TRIED} AND delivered_at < {_before('appointment_at', TOO_EARLY)}",
    "appointment_not_tried": f"{_BROUGHT} AND NOT {_TRIED}",
    "no_appointment": "booked AND (is_return OR appointment_at IS NULL)",
    # Will-call.
    "will_call_due": f"{_RELEASED} AND {_REACHED}",
    "will_call_kept": f"{_RELEASED} AND arrived_at <= promised_at",
    "will_call_not_reached": f"{_RELEASED} AND NOT {_REACHED}",
    "will_call_not_released": "booked AND will_call AND ready_at IS NULL",
    "not_will_call": "booked AND NOT will_call",
    "will_call_no_arrival": f"{_RELEASED} AND {_REACHED} AND arrived_at IS NULL",
    # Discharges.
    "discharge_due": f"{_DISCHARGE} AND ready_at IS NOT NULL AND (boarded_at IS NOT NULL OR {_TRIED})",
    "discharge_in_target": f"{_DISCHARGE} AND boarded_at <= {_after('ready_at', DISCHARGE_TARGET)}",
    "discharge_in_limit": f"{_DISCHARGE} AND boarded_at <= {_after('ready_at', DISCHARGE_LIMIT)}",
    "discharge_not_boarded": f"{_DISCHARGE} AND ready_at IS NOT NULL AND boarded_at IS NULL AND NOT {_TRIED}",
    "discharge_no_boarding": f"{_DISCHARGE} AND ready_at IS NOT NULL AND boarded_at IS NULL AND {_TRIED}",
    "discharge_not_released": f"{_DISCHARGE} AND ready_at IS NULL",
    "discharge_no_order": f"{_DISCHARGE} AND ready_at IS NOT NULL AND ordered_at IS NULL",
    "not_discharge": "booked AND service_type <> 'hospital_discharge'",
    # Promised times and assignment.
    "promised": "booked AND promised_at IS NOT NULL",
    "not_promised": "booked AND promised_at IS NULL",
    "without_due_time": "booked AND due_at IS NULL",
    "never_accepted": "booked AND accepted_at IS NULL",
    "accepted_unasked": "booked AND accepted_at IS NOT NULL AND waiting_since IS NULL",
    # During the ride.
    "not_boarded": "booked AND boarded_at IS NULL",
    "boarded_unseen": "booked AND boarded_at IS NOT NULL AND (arrived_at IS NULL OR due_at IS NULL)",
    "ride_time_known": _KNOWN_TIME,
    "ride_time_excessive": f"{_KNOWN_TIME} AND (onboard_minutes > {EXCESSIVE_FACTOR} * direct_minutes"
    f" OR onboard_minutes > direct_minutes + {EXCESSIVE_MINUTES})",
    "ride_time_unknown": f"{_COMPLETED} AND NOT (onboard_minutes IS NOT NULL AND coalesce(direct_minutes, 0) > 0)",
    # Dialysis.
    "chair_due": f"{_TO_CHAIR} AND {_TRIED}",
    "chair_met": f"{_TO_CHAIR} AND {_TRIED} AND delivered_at <= {_before('appointment_at', CHAIR_MARGIN)}",
    "chair_not_tried": f"{_TO_CHAIR} AND NOT {_TRIED}",
    "treatment_due": f"{_TO_CHAIR} AND ({_COMPLETED} OR {_UNFULFILLED})",
    "treatment_at_risk": f"{_TO_CHAIR} AND ({_UNFULFILLED} OR {_COMPLETED}"
    f" AND (delivered_at IS NULL OR delivered_at > {_after('appointment_at', AT_RISK)}))",
    "treatment_not_tried": f"{_TO_CHAIR} AND NOT ({_COMPLETED} OR {_UNFULFILLED})",
    "not_to_chair": "booked AND NOT (service_type = 'dialysis' AND NOT is_return)",
    "not_from_chair": "booked AND NOT (service_type = 'dialysis' AND is_return)",
    "return_not_reached": f"{_FROM_CHAIR} AND (ready_at IS NULL OR arrived_at IS NULL)",
    # Documentation and location.
    "documented": f"{_COMPLETED} AND documented",
    "located": f"{_COMPLETED} AND located",
    "incident": "booked AND incident",
}
_SUMS: Final = {
    "promise_deviation": _where("booked", minutes("promised_at", "pickup_at")),
    "onboard_total": _where(_KNOWN_TIME, "onboard_minutes"),
    "direct_total": _where(_KNOWN_TIME, "direct_minutes"),
    "alerts": _where("booked", "alerts"),
    "alerts_open": _where("booked", "alerts - coalesce(cardinality(resolve_minutes), 0)"),
    "alerts_unseen": _where("booked", "alerts - coalesce(cardinality(ack_minutes), 0)"),
}
# Null if one of the instants is null: such a ride has no value.
_VALUE: Final = {
    "will_call_response": _where(_RELEASED, minutes("arrived_at", "ready_at")),
    "discharge_wait": _where(_DISCHARGE, minutes("boarded_at", "ready_at")),
    "discharge_order": _where(_DISCHARGE, minutes("ready_at", "ordered_at")),
    "lead_time": _where("booked", minutes("due_at", "requested_at")),
    # A driver who accepted before the ride was waiting took 0 minutes; `greatest` alone would turn null into 0.
    "time_to_assign": _where(
        "booked AND accepted_at - waiting_since IS NOT NULL", f"greatest({minutes('accepted_at', 'waiting_since')}, 0)"
    ),
    "driver_wait": _where(
        "booked AND boarded_at IS NOT NULL AND arrived_at IS NOT NULL AND due_at IS NOT NULL",
        f"greatest({minutes('boarded_at', 'greatest(arrived_at, due_at)')}, 0)",
    ),
    "return_wait": _where(_FROM_CHAIR, minutes("arrived_at", "ready_at")),
}
_VALUES: Final = {
    "time_to_acknowledge": _where("booked", "ack_minutes"),
    "time_to_resolve": _where("booked", "resolve_minutes"),
}

MEASURES: Final = {
    name: Measure(name, kind, sql)
    for kind, expressions in (
        (MeasureKind.COUNT, _COUNTS),
        (MeasureKind.SUM, _SUMS),
        (MeasureKind.VALUE, _VALUE),
        (MeasureKind.VALUES, _VALUES),
    )
    for name, sql in expressions.items()
}
PACKED: Final = frozenset(name for name, measure in MEASURES.items() if measure.is_packed)
BYTES_OF_VALUE: Final = 4
_PACKED_DTYPE: Final = ">i4"


def quantiles(packed: bytes, levels: Sequence[float]) -> list[float | None]:
    """Return exact quantiles of packed minutes at these levels (0 to 1); None for each if there are no values.

    Interpolates linearly, like percentile_cont of PostgreSQL.  The values need no order.  O(n), in C: a million values
    take a few milliseconds.
    """
    import numpy as np  # noqa: PLC0415  # about 12 MB: loaded only where quantiles are computed

    values = np.frombuffer(packed, dtype=_PACKED_DTYPE).astype(np.int32)
    if not values.size:
        return [None] * len(levels)
    places = [quantile * (values.size - 1) for quantile in levels]
    below = [int(place) for place in places]
    above = [min(place + 1, values.size - 1) for place in below]
    values.partition(sorted({*below, *above}))
    return [
        float(values[low] + (int(values[high]) - int(values[low])) * (place - low))
        for place, low, high in zip(places, below, above, strict=True)
    ]
