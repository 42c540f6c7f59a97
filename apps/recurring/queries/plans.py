"""Plans of standing orders and their recorded occurrences, read for many orders at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from django.db import connection

from apps.organizations.models import CalendarShift
from apps.recurring.models import Hold, OccurrenceChange, OrderStatus, StandingOrder, Terms
from apps.recurring.rules.reconciliation import Decision, Key, Leg, RecordedLeg, times_of
from apps.recurring.rules.recurrence import (
    FARTHEST_MOVE,
    PRESETS,
    OccurrenceStatus,
    Override,
    Pattern,
    Plan,
    Shift,
    Times,
    occurrences,
)
from apps.recurring.rules.recurrence import Hold as HeldDays
from apps.recurring.rules.recurrence import Terms as PlannedTerms
from apps.rides.rules.lifecycle import RideStatus
from lib.crypto import keyed_digest

PENDING: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})
# Instants as microseconds since 1970: converting each by Django took longer than everything else.
_OCCURRENCES: Final = """
    SELECT o.standing_order_id, o.pattern_date, o.leg, o.id, o.decision, o.content, o.refusal, o.ride_id,
        r.status, r.occurrence_state,
        (extract(epoch FROM r.pickup_at) * 1000000)::bigint, (extract(epoch FROM r.appointment_at) * 1000000)::bigint
    FROM recurring_occurrence o LEFT JOIN rides_ride r ON r.id = o.ride_id
    WHERE o.standing_order_id = ANY(%s::uuid[]) AND o.pattern_date >= %s
"""
# Per order, of the future rides that are not under way: whether all are as generated, and a text of their dates, legs,
# times and contents in the form of `plan_digest`.
_RIDE_DIGESTS: Final = """
    SELECT o.standing_order_id, bool_and(o.decision = 'generated' AND r.occurrence_state <> 'customized'),
        string_agg(
            (o.pattern_date - date '1970-01-01') || o.leg || (date_part('epoch', r.pickup_at) * 1000000)::bigint || '/'
                || coalesce((date_part('epoch', r.appointment_at) * 1000000)::bigint::text, '') || '/' || o.content,
            ',' ORDER BY o.pattern_date, o.leg
        )
    FROM recurring_occurrence o JOIN rides_ride r ON r.id = o.ride_id
    WHERE o.standing_order_id = ANY(%s::uuid[]) AND o.pattern_date >= %s
        AND r.status = ANY(%s) AND r.pickup_at > %s
    GROUP BY o.standing_order_id
"""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_DECISIONS: Final = {decision.value: decision for decision in Decision}
_LEGS: Final = {leg.value: leg for leg in Leg}
# Columns of an order and its terms that determine a ride, besides its times.
_ORDER_COLUMNS: Final = (
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
_TERMS_COLUMNS: Final = (
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


class StoredOccurrence(NamedTuple):  # a named tuple, because a nightly run reads hundreds of thousands
    """A row of `Occurrence` with its ride; `refusal` is the error code if no ride could be booked."""

    id: int
    recorded: RecordedLeg
    ride_id: UUID | None
    ride_status: str | None
    refusal: str


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """An order with its plan and recorded occurrences.  `terms` are sorted by date."""

    order: StandingOrder
    plan: Plan
    terms: Sequence[Terms]
    contents: Mapping[UUID, str]  # by id of terms: `content_of`
    occurrence_rows: Mapping[Key, StoredOccurrence]

    def terms_on(self, day: date) -> Terms:
        """Return the terms that apply to a pattern date on or after the first."""
        if len(self.terms) == 1:
            return self.terms[0]
        return self.terms[sum(later.from_date <= day for later in self.terms[1:])]


def read(orders: Collection[StandingOrder], *, since: date) -> list[PlannedOrder]:
    """Read the plan and the occurrences of each order from the pattern date `since`.  Five queries."""
    return with_rows(planned(orders, since=since), since=since)


def planned(orders: Collection[StandingOrder], *, since: date) -> list[PlannedOrder]:
    """Read the plan of each order, without its occurrences.  Four queries."""
    ids = [order.pk for order in orders]
    terms = _by_order(Terms.objects.filter(standing_order__in=ids).order_by("from_date"))
    holds = _by_order(Hold.objects.filter(standing_order__in=ids).order_by("from_date"))
    changes = _by_order(OccurrenceChange.objects.filter(standing_order__in=ids, pattern_date__gte=since))
    shifts: dict[UUID, list[CalendarShift]] = defaultdict(list)
    facility_ids = {order.facility_id for order in orders}
    for shift in CalendarShift.objects.in_force().filter(facility_id__in=facility_ids, from_date__gte=since):
        shifts[shift.facility_id].append(shift)
    return [
        PlannedOrder(
            order,
            plan_of(order, terms[order.pk], holds[order.pk], changes[order.pk], shifts[order.facility_id]),
            terms[order.pk],
            {row.pk: content_of(order, row) for row in terms[order.pk]},
            {},
        )
        for order in orders
    ]


def with_rows(planned_orders: Collection[PlannedOrder], *, since: date) -> list[PlannedOrder]:
    """Add the occurrences from the pattern date `since`.  One query, none without orders."""
    if not planned_orders:
        return []
    rows: dict[UUID, dict[Key, StoredOccurrence]] = defaultdict(dict)
    for order_id, *columns in _occurrences([planned.order.pk for planned in planned_orders], since):
        key, row = _row(*columns)
        rows[order_id][key] = row
    return [replace(planned, occurrence_rows=rows[planned.order.pk]) for planned in planned_orders]


def ride_digests(order_ids: Collection[UUID], *, since: date, at: datetime) -> dict[UUID, str]:
    """Return a text of the future rides of each order, to compare with its `plan_digest`.  One query.

    Orders with a ride that people changed, or that should not exist, are missing.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RIDE_DIGESTS, [list(order_ids), since, list(PENDING), at])
        rows = {order_id: text if is_untouched else None for order_id, is_untouched, text in cursor.fetchall()}
    digests = ((order_id, rows.get(order_id, "")) for order_id in order_ids)
    return {order_id: digest for order_id, digest in digests if digest is not None}


def plan_digest(planned_order: PlannedOrder, first: date, last: date, *, at: datetime) -> str:
    """Return a text of the future rides that an order should have on pattern dates from `first` to `last`."""
    if planned_order.order.status == OrderStatus.DRAFT:
        return ""
    parts: list[str] = []
    for occurrence in occurrences(planned_order.plan, first, last):
        if occurrence.status is not OccurrenceStatus.DUE or occurrence.pickup_at <= at:
            continue
        terms = planned_order.terms_on(occurrence.pattern_date)
        day, content = occurrence.pattern_date.toordinal() - _EPOCH_DAY, planned_order.contents[terms.pk]
        for leg in terms.legs:
            pickup_at, appointment_at = times_of(occurrence, leg)
            appointment = _microseconds(appointment_at) if appointment_at else ""
            parts.append(f"{day}{leg}{_microseconds(pickup_at)}/{appointment}/{content}")
    return ",".join(parts)


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _by_order(rows: Iterable[Any]) -> dict[UUID, list[Any]]:
    by_order: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        by_order[row.standing_order_id].append(row)
    return by_order


def _occurrences(order_ids: Collection[UUID], since: date) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_OCCURRENCES, [list(order_ids), since])
        return list(cursor.fetchall())


def _row(
    pattern_date: date,
    leg: str,
    id: int,
    decision: str,
    content: str,
    refusal: str,
    ride_id: UUID | None,
    status: str | None,
    state: str | None,
    pickup: int | None,
    appointment: int | None,
) -> tuple[Key, StoredOccurrence]:
    pending = status in PENDING
    begun = status is not None and not pending and status != RideStatus.CANCELLED
    times = _instant(pickup), _instant(appointment)
    recorded = RecordedLeg(_DECISIONS[decision], pending, begun, state == "customized", *times, content)
    return (pattern_date, _LEGS[leg]), StoredOccurrence(id, recorded, ride_id, status, refusal)


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def plan_of(
    order: StandingOrder,
    terms: Sequence[Terms],
    holds: Iterable[Hold] = (),
    changes: Iterable[OccurrenceChange] = (),
    shifts: Iterable[CalendarShift] = (),
) -> Plan:
    """Build the plan of an order from its rows and the facility's shifts.  No query."""
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
            in_force = cast(
                PlannedTerms, plan.terms_on(change.pattern_date)
            )  # changes are only of dates of the pattern
            overrides[change.pattern_date] = _override(change, in_force.times)
    moved = {}
    for shift in shifts:
        terms_then = plan.terms_on(shift.from_date)
        if terms_then is not None and applies(shift, order.pk, terms_then.pattern.days):
            moved[shift.from_date] = shift_of(shift)
    return Plan(plan.zone, planned, plan.last, plan.holds, skips, moved, overrides)


def planned_terms(row: Terms) -> PlannedTerms:
    """Convert a row of terms into those of a plan."""
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
    new_times = overridden(times, change.chair_time, change.pickup_time, change.return_time)
    return Override(new_times, change.to_date or change.pattern_date)


def overridden(times: Times, chair_time: time | None, pickup_time: time | None, return_time: time | None) -> Times:
    """Change the times of one day: pickup and return move with the chair time unless they are given."""
    times = times if chair_time is None else times.at_chair_time(chair_time)
    return replace(
        times,
        pickup_time=times.pickup_time if pickup_time is None else pickup_time,
        return_time=times.return_time if return_time is None else return_time,
    )


def applies(shift: CalendarShift, order_id: UUID, days: frozenset[int]) -> bool:
    """Check whether a facility's shift applies to an order with these days of the week.

    `mwf` and `tts` apply to orders with exactly those days.
    """
    if shift.applies_to == CalendarShift.AppliesTo.SELECTED:
        return order_id in shift.standing_order_ids
    return shift.applies_to == CalendarShift.AppliesTo.ALL or days == PRESETS[shift.applies_to]


def shift_of(row: CalendarShift) -> Shift:
    return Shift(row.to_date, row.new_chair_time, row.offset_minutes or 0)


def content_of(order: StandingOrder, terms: Terms) -> str:
    """Return a keyed digest of everything in rides of these terms except their times, including access codes."""
    parts = [getattr(order, name) for name in _ORDER_COLUMNS] + [getattr(terms, name) for name in _TERMS_COLUMNS]
    if terms.return_dropoff is not None:  # without it, digests are the same as before the column existed
        parts += [terms.return_dropoff, terms.return_dropoff_access]
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return keyed_digest(text, purpose="recurring_occurrence.content")[:16].hex()


def first_relevant_date(day: date) -> date:
    """Return the first pattern date that can have an occurrence on or after `day`."""
    return day - FARTHEST_MOVE
