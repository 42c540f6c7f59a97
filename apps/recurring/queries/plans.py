"""What orders ask for and what was decided so far, many at once: the plan of each, and its ledger."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson

from apps.organizations.models import CalendarShift
from apps.recurring.models import Hold, Occurrence, OccurrenceChange, StandingOrder, Terms
from apps.recurring.reconciling import Kept, Key, Leg, Mark
from apps.recurring.recurrence import FARTHEST_MOVE, PRESETS, Override, Pattern, Plan, Shift, Times
from apps.recurring.recurrence import Hold as HeldDays
from apps.recurring.recurrence import Terms as PlannedTerms
from apps.rides.lifecycle import RideStatus
from lib.crypto import keyed_digest

PENDING: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})
_OF_LEDGER: Final = (
    "standing_order_id",
    "pattern_date",
    "leg",
    "id",
    "mark",
    "content",
    "refusal",
    "ride_id",
    "ride__status",
    "ride__occurrence_state",
    "ride__pickup_at",
    "ride__appointment_at",
)
# What of an order and of its terms a ride is made of, besides its times.
_OF_ORDER: Final = (
    "service_type",
    "payer_id",
    "program_code",
    "authorization_number",
    "authorization_ends_on",
    "vehicle_type_requested",
    "driver_notes",
    "dispatcher_notes",
    "facility_notes",
)
_OF_TERMS: Final = (
    "treatment_minutes",
    "post_treatment_minutes",
    "return_mode",
    "return_mobility",
    "pickup",
    "dropoff",
    "pickup_access",
    "dropoff_access",
    "accommodation",
    "companions",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the ledger, with its ride and that one's status; `refusal` is the code of why none could be made."""

    id: int
    kept: Kept
    ride_id: UUID | None
    ride_status: str | None
    refusal: str


@dataclass(frozen=True, slots=True)
class Standing:
    """An order with everything that decides about its rides.  `terms` are in the order of their dates."""

    order: StandingOrder
    plan: Plan
    terms: Sequence[Terms]
    contents: Mapping[UUID, str]  # of the rows of terms: `content_of`
    ledger: Mapping[Key, Row]

    def terms_on(self, day: date) -> Terms:
        """Give the row in force for a pattern date, which lies on or after the first."""
        later = (after.from_date for after in self.terms[1:])
        return self.terms[sum(from_date <= day for from_date in later)]


def read(orders: Collection[StandingOrder], *, since: date) -> list[Standing]:
    """Read what decides about each order, and its ledger from the pattern date `since` on.  Five queries."""
    ids = [order.pk for order in orders]
    terms = _by_order(Terms.objects.filter(standing_order_id__in=ids).order_by("from_date"))
    holds = _by_order(Hold.objects.filter(standing_order_id__in=ids).order_by("from_date"))
    changes = _by_order(OccurrenceChange.objects.filter(standing_order_id__in=ids, pattern_date__gte=since))
    shifts: dict[UUID, list[CalendarShift]] = defaultdict(list)
    facility_ids = {order.facility_id for order in orders}
    for shift in CalendarShift.objects.in_force().filter(facility_id__in=facility_ids, from_date__gte=since):
        shifts[shift.facility_id].append(shift)
    ledgers: dict[UUID, dict[Key, Row]] = defaultdict(dict)
    for order_id, *row in _ledger(ids, since):
        key, found = _row(*row)
        ledgers[order_id][key] = found
    return [
        Standing(
            order,
            plan_of(order, terms[order.pk], holds[order.pk], changes[order.pk], shifts[order.facility_id]),
            terms[order.pk],
            {row.pk: content_of(order, row) for row in terms[order.pk]},
            ledgers[order.pk],
        )
        for order in orders
    ]


def _by_order(rows: Iterable[Any]) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.standing_order_id].append(row)
    return found


def _ledger(order_ids: Collection[UUID], since: date) -> Iterable[tuple[Any, ...]]:
    rows = Occurrence.objects.filter(standing_order_id__in=order_ids, pattern_date__gte=since)
    return rows.values_list(*_OF_LEDGER)


def _row(
    pattern_date: date,
    leg: str,
    id: int,
    mark: str,
    content: str,
    refusal: str,
    ride_id: UUID | None,
    status: str | None,
    state: str | None,
    pickup_at: Any,
    appointment_at: Any,
) -> tuple[Key, Row]:
    pending = status in PENDING
    kept = Kept(
        mark=Mark(mark),
        pending=pending,
        begun=status is not None and not pending and status != RideStatus.CANCELLED,
        customised=state == "customised",
        pickup_at=pickup_at,
        appointment_at=appointment_at,
        content=content,
    )
    return (pattern_date, Leg(leg)), Row(id, kept, ride_id, status, refusal)


def plan_of(
    order: StandingOrder,
    terms: Sequence[Terms],
    holds: Iterable[Hold] = (),
    changes: Iterable[OccurrenceChange] = (),
    shifts: Iterable[CalendarShift] = (),
) -> Plan:
    """Make the plan of an order out of its rows; of the facility's shifts, those that apply to it.  No query."""
    planned = [planned_terms(row) for row in terms]
    plan = Plan(
        zone=ZoneInfo(order.timezone),
        terms=planned,
        last=order.last_date,
        holds=[HeldDays(row.from_date, row.until) for row in holds],
    )
    skips, overrides = set(), {}
    for change in changes:
        if change.kind == OccurrenceChange.Kind.SKIP:
            skips.add(change.pattern_date)
        else:
            in_force = cast(PlannedTerms, plan.terms_on(change.pattern_date))  # it was a date of the pattern
            overrides[change.pattern_date] = _override(change, in_force.times)
    moved = {}
    for shift in shifts:
        terms_then = plan.terms_on(shift.from_date)
        if terms_then is not None and applies(shift, order.pk, terms_then.pattern.days):
            moved[shift.from_date] = shift_of(shift)
    return Plan(plan.zone, planned, plan.last, plan.holds, skips, moved, overrides)


def planned_terms(row: Terms) -> PlannedTerms:
    """Give a row of terms as the plan has it."""
    days, anchor = frozenset(row.days_of_week), row.anchor_date
    times = Times(
        chair_time=row.chair_time,
        lead=timedelta(minutes=row.lead_minutes),
        stay=timedelta(minutes=row.treatment_minutes + row.post_treatment_minutes),
        pickup_time=row.pickup_time,
        return_time=row.return_time,
    )
    return PlannedTerms(row.from_date, Pattern(days, anchor, row.interval_weeks), times)


def _override(change: OccurrenceChange, times: Times) -> Override:
    wanted = overridden(times, change.chair_time, change.pickup_time, change.return_time)
    return Override(wanted, change.to_date or change.pattern_date)


def overridden(times: Times, chair_time: time | None, pickup_time: time | None, return_time: time | None) -> Times:
    """Change the times of one day: with the chair the two ways move along, unless they are given."""
    times = times if chair_time is None else times.at_chair_time(chair_time)
    return replace(
        times,
        pickup_time=times.pickup_time if pickup_time is None else pickup_time,
        return_time=times.return_time if return_time is None else return_time,
    )


def applies(shift: CalendarShift, order_id: UUID, days: frozenset[int]) -> bool:
    """Say whether a facility's shift is meant for an order that rides on these days of the week.

    `mwf` and `tts` mean orders of exactly those days: who comes on others has a chair of their own.
    """
    if shift.applies_to == CalendarShift.AppliesTo.SELECTED:
        return order_id in shift.standing_order_ids
    return shift.applies_to == CalendarShift.AppliesTo.ALL or days == PRESETS[shift.applies_to]


def shift_of(row: CalendarShift) -> Shift:
    return Shift(row.to_date, row.new_chair_time, row.offset_minutes or 0)


def content_of(order: StandingOrder, terms: Terms) -> str:
    """Digest everything that rides of these terms are made of besides their times, the codes of doors among it."""
    parts = [getattr(order, name) for name in _OF_ORDER] + [getattr(terms, name) for name in _OF_TERMS]
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return keyed_digest(text, purpose="recurring_occurrence.content")[:16].hex()


def nearby(day: date) -> date:
    """Give the first pattern date that can matter to what takes place from `day` on."""
    return day - FARTHEST_MOVE
