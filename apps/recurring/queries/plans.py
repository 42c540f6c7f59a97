"""What orders ask for and what was decided so far, many at once: the plan of each, and its ledger."""

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
# Instants as microseconds since 1970: what Django does to each took longer than everything else.
_LEDGER: Final = """
    SELECT o.standing_order_id, o.pattern_date, o.leg, o.id, o.decision, o.content, o.refusal, o.ride_id,
        r.status, r.occurrence_state,
        (extract(epoch FROM r.pickup_at) * 1000000)::bigint, (extract(epoch FROM r.appointment_at) * 1000000)::bigint
    FROM recurring_occurrence o LEFT JOIN rides_ride r ON r.id = o.ride_id
    WHERE o.standing_order_id = ANY(%s::uuid[]) AND o.pattern_date >= %s
"""
# Of each order the rides that are still to come and its driver has not set out for; whether all are as the order made
# them; and their names, instants and contents, as `foreseen` writes them.
_AHEAD: Final = """
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
_DECISIONS: Final = {one.value: one for one in Decision}
_LEGS: Final = {one.value: one for one in Leg}
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


class StoredOccurrence(NamedTuple):  # there are hundreds of thousands in a night
    """A row of the ledger, with its ride and that one's status; `refusal` is the code of why none could be made."""

    id: int
    recorded: RecordedLeg
    ride_id: UUID | None
    ride_status: str | None
    refusal: str


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """An order with everything that decides about its rides.  `terms` are in the order of their dates."""

    order: StandingOrder
    plan: Plan
    terms: Sequence[Terms]
    contents: Mapping[UUID, str]  # of the rows of terms: `content_of`
    occurrence_rows: Mapping[Key, StoredOccurrence]

    def terms_on(self, day: date) -> Terms:
        """Give the row in force for a pattern date, which lies on or after the first."""
        if len(self.terms) == 1:
            return self.terms[0]
        later = (after.from_date for after in self.terms[1:])
        return self.terms[sum(from_date <= day for from_date in later)]


def read(orders: Collection[StandingOrder], *, since: date) -> list[PlannedOrder]:
    """Read what decides about each order, and its ledger from the pattern date `since` on.  Five queries."""
    return with_rows(planned(orders, since=since), since=since)


def planned(orders: Collection[StandingOrder], *, since: date) -> list[PlannedOrder]:
    """Read as `read` does, but for the ledgers, which stay empty.  Four queries."""
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
    """Add the ledgers from the pattern date `since` on.  One query, none for nothing."""
    ledgers: dict[UUID, dict[Key, StoredOccurrence]] = defaultdict(dict)
    for order_id, *row in _ledger([one.order.pk for one in planned_orders], since) if planned_orders else ():
        key, found = _row(*row)
        ledgers[order_id][key] = found
    return [replace(one, occurrence_rows=ledgers[one.order.pk]) for one in planned_orders]


def ride_digests(order_ids: Collection[UUID], *, since: date, at: datetime) -> dict[UUID, str]:
    """Write down the rides ahead of each order as `foreseen` does those it should have.  One query.

    An order is missing where one of its rides is not as the order made it: people changed it, or it should not be
    there.
    """
    with connection.cursor() as cursor:
        cursor.execute(_AHEAD, [list(order_ids), since, list(PENDING), at])
        found = {order_id: text if untouched else None for order_id, untouched, text in cursor.fetchall()}
    written = ((order_id, found.get(order_id, "")) for order_id in order_ids)
    return {order_id: text for order_id, text in written if text is not None}


def plan_digest(planned_order: PlannedOrder, first: date, last: date, *, at: datetime) -> str:
    """Write down the rides that an order should have, of pattern dates from `first` to `last` that lie ahead."""
    found: list[str] = []
    if planned_order.order.status == OrderStatus.DRAFT:
        return ""
    for one in occurrences(planned_order.plan, first, last):
        if one.status is not OccurrenceStatus.DUE or one.pickup_at <= at:
            continue
        terms = planned_order.terms_on(one.pattern_date)
        name, content = one.pattern_date.toordinal() - _EPOCH_DAY, planned_order.contents[terms.pk]
        for leg in terms.legs:
            pickup_at, appointment_at = times_of(one, leg)
            appointment = _microseconds(appointment_at) if appointment_at else ""
            found.append(f"{name}{leg}{_microseconds(pickup_at)}/{appointment}/{content}")
    return ",".join(found)


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _by_order(rows: Iterable[Any]) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.standing_order_id].append(row)
    return found


def _ledger(order_ids: Collection[UUID], since: date) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_LEDGER, [list(order_ids), since])
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
    if terms.return_dropoff is not None:  # else digests stay those that rides were made with before there was one
        parts += [terms.return_dropoff, terms.return_dropoff_access]
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return keyed_digest(text, purpose="recurring_occurrence.content")[:16].hex()


def first_relevant_date(day: date) -> date:
    """Give the first pattern date that can matter to what takes place from `day` on."""
    return day - FARTHEST_MOVE
