"""Edits of a standing order: its fields, its terms from a date, single occurrences, and its end."""

from collections.abc import Container, Mapping, Sequence
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
from apps.rides.services.ride_changes import merge
from lib.access import Principal
from lib.errors import Detail, InvalidInput

# Columns of an order, and their fields in the API.
_API_FIELDS: Final[Mapping[str, str]] = {
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
    """A container of all dates from `first`."""

    def __init__(self, first: date) -> None:
        self._first = first

    def __contains__(self, day: object) -> bool:
        return isinstance(day, date) and day >= self._first


@dataclass(frozen=True, slots=True)
class OccurrenceEdit:
    """Date and times of one occurrence; None is the pattern date or the time of the terms."""

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
    """Change an order: `columns` of the whole order, `terms` (fields of TermsDraft) for pattern dates from `from_date`.

    `patches` of stops, accommodation and companions of the terms are merged (RFC 7396); None clears one.  Without
    `from_date`, the terms change for the whole future.  Later terms get the same changes and keep their other fields.
    Rides on days that have begun never change.  Rides that people changed stay unless `overwrite_customized`, and are
    `unchanged` in the result.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput, FieldRefused, ExternalIdTaken: a rule is broken.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    today = reconcile_rides.today_of(order, at)
    changed = _change_columns(order, columns or {}, today)
    first = max(order.start_date, from_date or today)
    if from_date is not None:
        raise_if_any(order_validation.of_edit(from_date, today=today))
    if external_ids is not None and order_state.set_external_ids(order, external_ids, by=by):
        changed.append("external_ids")
    if (terms or patches) and _change_terms(order, terms or {}, patches or {}, first, by=by, at=at):
        changed.append("terms")
    overwrite: Container[date] = ()
    if overwrite_customized:
        overwrite = DatesFrom(first)
        kind = OccurrenceChange.Kind.CHANGE
        overwritten = OccurrenceChange.objects.filter(standing_order=order, kind=kind, pattern_date__gte=first)
        if overwritten.delete()[0]:
            changed.append("overrides")
    if changed:
        data = {"changed": sorted({_API_FIELDS.get(name, name) for name in changed}), "fromDate": first.isoformat()}
        action = "standing_orders.change"
        order_state.record(order, "standing_order.changed", data=data, action=action, changed=changed, by=by, at=at)
    # Columns apply to all dates, terms only from `first`.
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
    """Convert a row of terms into a draft, with its access codes."""
    values = {field.name: getattr(row, field.name) for field in fields(TermsDraft) if field.name not in STOPS}
    stops = {name: {**(getattr(row, name) or {}), **_code(getattr(row, f"{name}_access"))} for name in STOPS}
    return TermsDraft(**{**values, **stops, "days_of_week": tuple(row.days_of_week)})


def _code(access: str) -> dict[str, str]:
    return {"accessCode": access} if access else {}


@transaction.atomic
def change_occurrence(
    *,
    order_id: UUID,
    pattern_date: date,
    edit: OccurrenceEdit,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> OrderResult:
    """Change the date or times of one occurrence; the series stays as it is.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput, FieldRefused: the pattern does not include the date, or the change is not possible.
    """
    order, terms = _lock_with_terms(order_id, pattern_date, expected_version, by=by, at=at)
    to_date = edit.to_date or pattern_date
    raise_if_any(order_validation.of_move(pattern_date, to_date, field="toDate"))
    raise_if_any(_problems_of_times(terms, edit, to_date, ZoneInfo(order.timezone), at=at))
    values = {field.name: getattr(edit, field.name) for field in fields(OccurrenceEdit)}
    values["to_date"] = None if to_date == pattern_date else to_date
    kind = OccurrenceChange.Kind.CHANGE
    OccurrenceChange.objects.update_or_create(
        standing_order=order, pattern_date=pattern_date, defaults={"kind": kind, **values}
    )
    return _record_change(order, pattern_date, overwrite={pattern_date}, by=by, at=at)


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
    """Change some fields of OccurrenceEdit for one occurrence; fields that are not in `changes` stay.

    Raises:
        As `change_occurrence`.
    """
    order, _ = _lock_with_terms(order_id, pattern_date, expected_version, by=by, at=at)
    kind = OccurrenceChange.Kind.CHANGE
    row = OccurrenceChange.objects.filter(standing_order=order, pattern_date=pattern_date, kind=kind).first()
    current = OccurrenceEdit(row.to_date, row.chair_time, row.pickup_time, row.return_time) if row else OccurrenceEdit()
    edit = replace(current, **changes)
    if edit == current:
        return OrderResult(order, order_state.reconcile(order, relevant_dates={pattern_date}, by=by, at=at))
    if edit == OccurrenceEdit():
        return restore(order_id=order_id, pattern_date=pattern_date, by=by, at=at)
    return change_occurrence(order_id=order_id, pattern_date=pattern_date, edit=edit, by=by, at=at)


def _problems_of_times(terms: Terms, edit: OccurrenceEdit, day: date, zone: ZoneInfo, *, at: datetime) -> list[Detail]:
    problems = []
    clocks = {"chairTime": edit.chair_time, "pickupTime": edit.pickup_time, "returnTime": edit.return_time}
    for field, clock in clocks.items():
        if clock is not None and order_validation.in_gap(clock, [day], zone):
            problems.append(Detail(field=field, code="invalid", message=order_validation.SKIPPED_BY_CLOCKS))
    if edit.return_time is not None and len(terms.legs) == 1:
        problems.append(Detail(field="returnTime", code="invalid", message=_("The standing order has no return.")))
    times = plans.planned_terms(terms).times
    new_times = plans.overridden(times, edit.chair_time, edit.pickup_time, edit.return_time)
    problems += order_validation.of_times(
        new_times.chair_time, new_times.pickup_time, new_times.return_time, fields=("pickupTime", "returnTime")
    )
    pickup_at, chair_at, return_at, _is_skipped = instants(new_times, day, zone)
    if not problems and not pickup_at < chair_at < return_at:
        field = "returnTime" if pickup_at < chair_at else "pickupTime"
        message = _("On that day the clock change leaves no time between pickup, chair time and return.")
        problems.append(Detail(field=field, code="invalid", message=message))
    if pickup_at <= at:
        problems.append(Detail(field="toDate", code="invalid", message=_("The pickup would be in the past.")))
    return problems


@transaction.atomic
def skip(
    *, order_id: UUID, pattern_date: date, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """Cancel the rides of one pattern date.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the pattern does not include the date.
    """
    order, _ = _lock_with_terms(order_id, pattern_date, expected_version, by=by, at=at)
    empty = {"to_date": None, "chair_time": None, "pickup_time": None, "return_time": None}
    kind = OccurrenceChange.Kind.SKIP
    OccurrenceChange.objects.update_or_create(
        standing_order=order, pattern_date=pattern_date, defaults={"kind": kind, **empty}
    )
    return _record_change(order, pattern_date, by=by, at=at)


@transaction.atomic
def restore(
    *, order_id: UUID, pattern_date: date, expected_version: int | None = None, by: Principal, at: datetime
) -> OrderResult:
    """Remove the skip or change of one pattern date, so that it follows the series again.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the pattern does not include the date.
    """
    order, _ = _lock_with_terms(order_id, pattern_date, expected_version, by=by, at=at)
    OccurrenceChange.objects.filter(standing_order=order, pattern_date=pattern_date).delete()
    return _record_change(order, pattern_date, overwrite={pattern_date}, by=by, at=at)


def _lock_with_terms(
    order_id: UUID, pattern_date: date, expected_version: int | None, *, by: Principal, at: datetime
) -> tuple[StandingOrder, Terms]:
    """Lock an order whose pattern includes the date, and return it with its terms on that date."""
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


def _record_change(
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
    """End an order after a pattern date, by default yesterday or its earlier end, and cancel all later rides.

    Customized rides are canceled too.  A day that has begun is completed.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
        InvalidInput: the order already ends before that day, or the day is in the past.
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
    """Activate a draft and book its rides.  Idempotent.

    Raises:
        ScopeMissing, NotFound, StaleVersion, order_state.OrderEnded: see `order_state.locked`.
    """
    order = order_state.locked(order_id, by, expected_version=expected_version)
    if order.status == OrderStatus.DRAFT:
        order.status = OrderStatus.ACTIVE
        data = {"changed": ["status"], "fromDate": reconcile_rides.today_of(order, at).isoformat()}
        order_state.record(order, "standing_order.changed", data=data, action="standing_orders.activate", by=by, at=at)
    return OrderResult(order, order_state.reconcile(order, by=by, at=at))
