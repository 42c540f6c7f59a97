"""Edits of a standing order: from a day on, on one day, of what holds for all of it, and its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.organizations.rules import stops
from apps.recurring.models import OccurrenceChange, OrderStatus, StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.rules import order_validation
from apps.recurring.rules.draft import TermsDraft
from apps.recurring.rules.recurrence import instants
from apps.recurring.services import create_order, order_state, reconcile_rides
from apps.recurring.services.create_order import STOPS, OrderResult, raise_if_any
from apps.rides.services import booking, recurring_booking
from apps.rides.services.editing import merge
from lib.access import Principal
from lib.errors import Detail, InvalidInput

# What holds for all of an order, as the API calls it.
_WIRE: Final[Mapping[str, str]] = {
    "external_ids": "externalIds",
    "end_date": "endDate",
    "payer_id": "payer",
    "program_code": "payer",
    "authorization_number": "authorizationNumber",
    "authorization_ends_on": "authorizationEndsOn",
    "preferred_driver_ids": "preferredDriverIds",
    "vehicle_type_requested": "vehicleType",
    "driver_notes": "notes",
    "dispatcher_notes": "notes",
    "facility_notes": "notes",
    "generation_horizon_days": "generationHorizonDays",
}


_ONE_DAY: Final = timedelta(days=1)


class DatesFrom:
    """Holds every date from one on."""

    def __init__(self, first: date) -> None:
        self._first = first

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and day >= self._first


@dataclass(frozen=True, slots=True)
class OccurrenceEdit:
    """How one occurrence is to differ; what is None stays that of the terms, or the day of the pattern."""

    to_date: date | None = None
    chair_time: time | None = None
    pickup_time: time | None = None
    return_time: time | None = None


@transaction.atomic
def change(
    *,
    order_id: UUID,
    columns: Mapping[str, Any] | None = None,
    terms: Mapping[str, Any] | None = None,
    patches: Mapping[str, Mapping[str, Any] | None] | None = None,
    external_ids: Sequence[Mapping[str, str]] | None = None,
    from_date: date | None = None,
    overwrite_customized: bool = False,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> OrderResult:
    """Change an order: `columns` for all of it, `terms` (fields of TermsDraft) for pattern dates from `from_date` on.

    `patches` hold what differs of the stops, accommodation and companions of the terms, and are merged (RFC 7396);
    None empties one.  Without `from_date` the terms change for all of the future.  Terms that begin later keep what is
    theirs and take the same changes over.  Rides on days that have begun never change; rides that people changed stay
    unless they are to be overwritten, and the answer lists those that stayed.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput, FieldRefused, ExternalIdTaken: a hard rule is broken; the field is named.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    today = reconcile_rides.today_of(order, at)
    changed = _change_columns(order, columns or {}, today)
    first = max(order.start_date, from_date or today)
    if from_date is not None:
        raise_if_any(order_validation.of_edit(from_date, today=today))
    if external_ids is not None and order_state.rename(order, external_ids, by=by):
        changed.append("external_ids")
    if (terms or patches) and _change_terms(order, terms or {}, patches or {}, first, by=by, at=at):
        changed.append("terms")
    overwrite: Any = ()
    if overwrite_customized:
        overwrite = DatesFrom(first)
        kind = OccurrenceChange.Kind.CHANGE
        taken_back = OccurrenceChange.objects.filter(standing_order=order, kind=kind, pattern_date__gte=first)
        if taken_back.delete()[0]:
            changed.append("overrides")
    if changed:
        data = {"changed": sorted({_WIRE.get(name, name) for name in changed}), "fromDate": first.isoformat()}
        action = "standing_orders.change"
        order_state.record(order, "standing_order.changed", data=data, action=action, changed=changed, by=by, at=at)
    # Terms change from a day on, everything else for all of the order.
    relevant_dates = order_state.EVERY_DATE if columns else DatesFrom(first)
    return OrderResult(
        order, order_state.reconcile(order, overwrite=overwrite, relevant_dates=relevant_dates, by=by, at=at)
    )


def _change_columns(order: StandingOrder, columns: Mapping[str, Any], today: date) -> list[str]:
    if columns.get("payer_id") not in (None, order.payer_id):
        booking.payer_of(columns["payer_id"])
    if "preferred_driver_ids" in columns:
        create_order.require_drivers(tuple(columns["preferred_driver_ids"]))
    end_date = columns.get("end_date", order.end_date)
    if end_date is not None and end_date < order.start_date:
        raise InvalidInput("endDate", order_validation.BEFORE_FIRST_DAY)
    ends_on = columns.get("authorization_ends_on")
    if ends_on is not None and ends_on < order.start_date:
        raise InvalidInput("authorizationEndsOn", order_validation.AUTHORIZATION_TOO_SHORT)
    if "end_date" in columns and end_date is not None and end_date < today:
        raise InvalidInput("endDate", _("%(field)s must not be in the past. End the standing order instead."))
    changed = [name for name, value in columns.items() if getattr(order, name) != value]
    for name in changed:
        setattr(order, name, columns[name])
    if {"end_date", "authorization_ends_on"} & set(changed):
        order.end_reminder_days = None
    if "preferred_driver_ids" in changed:
        recurring_booking.lock_riders([order.rider_id])
        recurring_booking.prefer_drivers(order.pk, order.preferred_driver_ids)
    return changed


def _change_terms(
    order: StandingOrder,
    changes: Mapping[str, Any],
    patches: Mapping[str, Mapping[str, Any] | None],
    first: date,
    *,
    by: Principal,
    at: datetime,
) -> bool:
    rows = list(Terms.objects.filter(standing_order=order).order_by("from_date"))
    in_force = [row for row in rows if row.from_date <= first][-1]
    drafts = {first: draft_of(in_force)} | {row.from_date: draft_of(row) for row in rows if row.from_date > first}
    changed = {day: _patched(replace(draft, **changes), patches) for day, draft in drafts.items()}
    if changed == drafts:
        return False
    for day, draft in changed.items():
        create_order.save_terms(order, draft, day, by=by, at=at)
    return True


def _patched(draft: TermsDraft, patches: Mapping[str, Mapping[str, Any] | None]) -> TermsDraft:
    after: dict[str, Any] = {}
    for name, patch in patches.items():
        merged = stops.merged if name in STOPS else merge
        after[name] = {} if patch is None else merged(getattr(draft, name), patch)
    return replace(draft, **after)


def draft_of(row: Terms) -> TermsDraft:
    """Give what a row of terms was asked for as, with the codes of its doors."""
    named = {one.name: getattr(row, one.name) for one in fields(TermsDraft) if one.name not in STOPS}
    stops = {name: {**(getattr(row, name) or {}), **_code(getattr(row, f"{name}_access"))} for name in STOPS}
    return TermsDraft(**{**named, **stops, "days_of_week": tuple(row.days_of_week)})


def _code(access: str) -> dict[str, str]:
    return {"accessCode": access} if access else {}


@transaction.atomic
def change_occurrence(
    *,
    order_id: UUID,
    pattern_date: date,
    moved: OccurrenceEdit,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> OrderResult:
    """Arrange one occurrence differently: its times, or the day it takes place on.  The series goes on as ever.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput, FieldRefused: the pattern has no such date, or what is asked cannot be; the field is named.
    """
    order, terms = _planned(order_id, pattern_date, expected_version, by=by, at=at)
    to_date = moved.to_date or pattern_date
    raise_if_any(order_validation.of_move(pattern_date, to_date, field="toDate"))
    raise_if_any(_of_times(terms, moved, to_date, ZoneInfo(order.timezone), at=at))
    values = {one.name: getattr(moved, one.name) for one in fields(OccurrenceEdit)}
    values["to_date"] = None if to_date == pattern_date else to_date
    kind = OccurrenceChange.Kind.CHANGE
    OccurrenceChange.objects.update_or_create(
        standing_order=order, pattern_date=pattern_date, defaults={"kind": kind, **values}
    )
    return _changed(order, pattern_date, overwrite={pattern_date}, by=by, at=at)


@transaction.atomic
def amend_occurrence(
    *,
    order_id: UUID,
    pattern_date: date,
    changes: Mapping[str, Any],
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> OrderResult:
    """Change what is arranged for one occurrence: what `changes`, by fields of Moved, leave out stays as it was.

    Raises:
        As `change_occurrence`.
    """
    order, _ = _planned(order_id, pattern_date, expected_version, by=by, at=at)
    kind = OccurrenceChange.Kind.CHANGE
    row = OccurrenceChange.objects.filter(standing_order=order, pattern_date=pattern_date, kind=kind).first()
    arranged = (
        OccurrenceEdit(row.to_date, row.chair_time, row.pickup_time, row.return_time) if row else OccurrenceEdit()
    )
    moved = replace(arranged, **changes)
    if moved == arranged:
        return OrderResult(order, order_state.reconcile(order, relevant_dates={pattern_date}, by=by, at=at))
    if moved == OccurrenceEdit():
        return restore(order_id=order_id, pattern_date=pattern_date, by=by, at=at)
    return change_occurrence(order_id=order_id, pattern_date=pattern_date, moved=moved, by=by, at=at)


def _of_times(terms: Terms, moved: OccurrenceEdit, day: date, zone: ZoneInfo, *, at: datetime) -> list[Detail]:
    found = []
    named = {"chairTime": moved.chair_time, "pickupTime": moved.pickup_time, "returnTime": moved.return_time}
    for field, clock in named.items():
        if clock is not None and order_validation.in_gap(clock, [day], zone):
            found.append(Detail(field=field, code="invalid", message=order_validation.SKIPPED_BY_CLOCKS))
    if moved.return_time is not None and len(terms.legs) == 1:
        found.append(Detail(field="returnTime", code="invalid", message=_("The standing order has no return.")))
    times = plans.planned_terms(terms).times
    wanted = plans.overridden(times, moved.chair_time, moved.pickup_time, moved.return_time)
    found += order_validation.of_times(
        wanted.chair_time, wanted.pickup_time, wanted.return_time, fields=("pickupTime", "returnTime")
    )
    pickup_at, chair_at, return_at, _is_skipped = instants(wanted, day, zone)
    if not found and not pickup_at < chair_at < return_at:
        field = "returnTime" if pickup_at < chair_at else "pickupTime"
        message = _("On that day the clock change leaves no time between pickup, chair time and return.")
        found.append(Detail(field=field, code="invalid", message=message))
    if pickup_at <= at:
        found.append(Detail(field="toDate", code="invalid", message=_("The pickup would be in the past.")))
    return found


@transaction.atomic
def skip(
    *, order_id: UUID, pattern_date: date, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """Let the rider stay away on one pattern date.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the pattern has no such date.
    """
    order, _ = _planned(order_id, pattern_date, expected_version, by=by, at=at)
    nothing = {"to_date": None, "chair_time": None, "pickup_time": None, "return_time": None}
    kind = OccurrenceChange.Kind.SKIP
    OccurrenceChange.objects.update_or_create(
        standing_order=order, pattern_date=pattern_date, defaults={"kind": kind, **nothing}
    )
    return _changed(order, pattern_date, by=by, at=at)


@transaction.atomic
def restore(
    *, order_id: UUID, pattern_date: date, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """Take back what was arranged for one pattern date: it is as the series has it again.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the pattern has no such date.
    """
    order, _ = _planned(order_id, pattern_date, expected_version, by=by, at=at)
    OccurrenceChange.objects.filter(standing_order=order, pattern_date=pattern_date).delete()
    return _changed(order, pattern_date, overwrite={pattern_date}, by=by, at=at)


def _planned(
    order_id: UUID, pattern_date: date, expected_version: int | None, *, by: Principal, at: datetime
) -> tuple[StandingOrder, Terms]:
    """Lock an order whose pattern has this date, and give it with the terms in force then."""
    order = order_state.locked(order_id, by, expected_version=expected_version)
    rows = list(Terms.objects.filter(standing_order=order).order_by("from_date"))
    if not plans.plan_of(order, rows).has(pattern_date):
        raise InvalidInput("date", _("The pattern does not include this date."))
    today = reconcile_rides.today_of(order, at)
    if pattern_date < plans.first_relevant_date(today):
        raise InvalidInput("date", order_validation.IN_THE_PAST)
    if pattern_date > today + order_validation.FARTHEST_START:
        raise InvalidInput("date", order_validation.TOO_FAR_AHEAD)
    return order, [row for row in rows if row.from_date <= pattern_date][-1]


def _changed(
    order: StandingOrder, pattern_date: date, *, overwrite: Sequence[date] | set[date] = (), by: Principal, at: datetime
) -> OrderResult:
    data = {"changed": ["occurrence"], "fromDate": pattern_date.isoformat()}
    action = "standing_orders.change_occurrence"
    order_state.record(order, "standing_order.changed", data=data, action=action, by=by, at=at)
    return OrderResult(
        order, order_state.reconcile(order, overwrite=overwrite, relevant_dates={pattern_date}, by=by, at=at)
    )


@transaction.atomic
def end(
    *, order_id: UUID, last_date: date | None, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """End an order after a pattern date, by default after yesterday or its own earlier end: later rides are called off.

    Those that people changed are called off with them: nobody is picked up for a series that is over.  A day that has
    begun is brought to its end.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the order was to end before that day anyway, or the day is over.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    today = reconcile_rides.today_of(order, at)
    yesterday = today - _ONE_DAY
    last = min(order.end_date or yesterday, yesterday) if last_date is None else last_date
    if last_date is not None and last < yesterday:
        raise InvalidInput("on", order_validation.IN_THE_PAST)
    if order.end_date is not None and last > order.end_date:
        raise InvalidInput("on", _("The standing order ends before that day."))
    order.end_date = last
    if last < today:
        order.status = OrderStatus.ENDED
    data = {"lastDate": last.isoformat()}
    order_state.record(order, "standing_order.ended", data=data, action="standing_orders.end", by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, overwrite=DatesFrom(last + _ONE_DAY), by=by, at=at))


@transaction.atomic
def activate(*, order_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> OrderResult:
    """Let a draft ride.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    if order.status == OrderStatus.DRAFT:
        order.status = OrderStatus.ACTIVE
        data = {"changed": ["status"], "fromDate": reconcile_rides.today_of(order, at).isoformat()}
        order_state.record(order, "standing_order.changed", data=data, action="standing_orders.activate", by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, by=by, at=at))
