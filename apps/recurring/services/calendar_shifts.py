"""Calendar shifts: a facility moves or closes a day, previews the effect, and applies it to standing orders."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Shift as DriverShift
from apps.organizations.models import CalendarShift, Facility
from apps.recurring.models import StandingOrder
from apps.recurring.queries import orders, plans
from apps.recurring.queries.plans import PlannedOrder
from apps.recurring.rules import order_validation
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import FARTHEST_MOVE, Occurrence, OccurrenceStatus, occurrences
from apps.recurring.services import order_state
from apps.recurring.services.create_order import raise_if_any
from apps.rides.models import Ride
from apps.rides.rules import timing
from apps.rides.services.booking import BoundToProviders
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound
from lib.messages import FieldName, Message, Template

FARTHEST_SHIFT: Final = timedelta(days=731)
_SELECTION_MISSING: Final = _("Select at least one standing order.")
_SELECTION_NOT_ALLOWED: Final = _("%(field)s can be given only if the shift applies to selected standing orders.")
_COHORTS: Final = frozenset({CalendarShift.AppliesTo.MWF, CalendarShift.AppliesTo.TTS})


class ShiftUndone(DomainError):
    """A calendar shift that was undone cannot be changed."""

    code = Code.RULE_VIOLATION
    template = _("The calendar shift was undone.")


class CalendarShiftBegun(DomainError):
    """The day of a calendar shift, or the day that it moves to, has begun."""

    code = Code.RULE_VIOLATION
    template = _("The day has begun, so the calendar shift can no longer be changed.")


@dataclass(frozen=True, slots=True)
class ShiftDraft:
    """A day that moves to another, or closes (`to_date` None), with an optional new chair time.

    `applies_to` as in `CalendarShift`; `standing_order_ids` only if it is "selected".
    """

    from_date: date
    to_date: date | None = None
    new_chair_time: time | None = None
    offset_minutes: int | None = None
    applies_to: str = "all"
    standing_order_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class ShiftPreview:
    """The effect of a shift on one order.  `after` is None if the day closes.

    `conflicting_ride_id` is another ride of the rider at the new time; `unavailable_driver_ids` are drivers assigned to
    rides of the day who have no shift at the new time.
    """

    order: StandingOrder
    before: Occurrence
    after: Occurrence | None
    legs: tuple[Leg, ...]
    ride_ids: tuple[UUID, ...]
    conflicting_ride_id: UUID | None
    has_phone: bool
    unavailable_driver_ids: tuple[UUID, ...]


@transaction.atomic
def enter(*, facility_id: UUID, draft: ShiftDraft, by: Principal, at: datetime) -> CalendarShift:
    """Create a shift of a facility, without effect until it is applied.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not change schedules.
        NotFound: there is no such facility in the data scope.
        FieldRefused, InvalidInput: the shift is not valid.
    """
    order_state.require_right(by)
    facility = _locked_facility(facility_id, by)
    if by.provider_ids is not None:
        raise BoundToProviders(_("A caller bound to transport providers cannot change schedules."))
    other_shifts = list(CalendarShift.objects.filter(facility=facility, undone_at__isnull=True))
    raise_if_any(_problems(draft, facility, other_shifts, today=timing.local_day(at, facility.timezone)))
    order_count = (
        StandingOrder.objects.visible_to(by).filter(facility=facility, pk__in=draft.standing_order_ids).count()
    )
    if order_count < len(set(draft.standing_order_ids)):
        raise InvalidInput("standingOrderIds", _("The facility has no such standing order."))
    shift = CalendarShift.objects.create(
        facility=facility,
        from_date=draft.from_date,
        to_date=draft.to_date,
        new_chair_time=draft.new_chair_time,
        offset_minutes=draft.offset_minutes,
        applies_to=draft.applies_to,
        standing_order_ids=list(draft.standing_order_ids),
        created_by=by.actor,
        created_at=at,
    )
    _audit("calendar_shifts.enter", shift, by)
    return shift


def _locked_facility(facility_id: UUID, by: Principal) -> Facility:
    # Serializes shifts of a facility: each is checked against the others.
    rows = Facility.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    facility = rows.filter(pk=facility_id, active=True).first()
    if facility is None:
        raise NotFound(_("facility"))
    return facility


def _problems(
    draft: ShiftDraft, facility: Facility, other_shifts: Sequence[CalendarShift], *, today: date
) -> list[Detail]:
    problems = []
    if draft.from_date <= today:
        problems.append(_invalid("fromDate", _("%(field)s must lie in the future.")))
    if draft.from_date > today + FARTHEST_SHIFT:
        problems.append(_invalid("fromDate", order_validation.TOO_FAR_AHEAD))
    if draft.new_chair_time is not None and draft.offset_minutes is not None:
        message = Message(_("%(field)s and %(other)s cannot be combined."), {"other": FieldName("newChairTime")})
        problems.append(_invalid("offsetMinutes", message))
    changes_time = draft.new_chair_time is not None or bool(draft.offset_minutes)
    if draft.to_date is None and changes_time:
        problems.append(_invalid("newChairTime", _("A day without service has no chair time.")))
    if draft.to_date is not None:
        problems += _destination_problems(draft, draft.to_date, facility, changes_time=changes_time, today=today)
    is_selection = draft.applies_to == CalendarShift.AppliesTo.SELECTED
    if is_selection is not bool(draft.standing_order_ids):
        problems.append(_invalid("standingOrderIds", _SELECTION_MISSING if is_selection else _SELECTION_NOT_ALLOWED))
    for other_shift in other_shifts:
        if _can_overlap(draft, other_shift):
            problems += _overlap_problems(draft, other_shift)
    return problems


def _destination_problems(
    draft: ShiftDraft, to_date: date, facility: Facility, *, changes_time: bool, today: date
) -> list[Detail]:
    problems = order_validation.of_move(draft.from_date, to_date, field="toDate")
    if to_date <= today:
        problems.append(_invalid("toDate", _("%(field)s must lie in the future.")))
    if to_date == draft.from_date and not changes_time:
        problems.append(_invalid("toDate", _("This changes neither the day nor the chair time.")))
    zone = ZoneInfo(facility.timezone)
    if draft.new_chair_time and order_validation.in_gap(draft.new_chair_time, [to_date], zone):
        problems.append(_invalid("newChairTime", order_validation.SKIPPED_BY_CLOCKS))
    return problems


def _can_overlap(draft: ShiftDraft, other_shift: CalendarShift) -> bool:
    """Check whether both can apply to the same order."""
    if {draft.applies_to, other_shift.applies_to} == _COHORTS:
        return False
    if draft.applies_to == other_shift.applies_to == CalendarShift.AppliesTo.SELECTED:
        return not set(draft.standing_order_ids).isdisjoint(other_shift.standing_order_ids)
    return True


def _overlap_problems(draft: ShiftDraft, other_shift: CalendarShift) -> list[Detail]:
    problems = []
    if draft.from_date == other_shift.from_date:
        problems.append(_invalid("fromDate", _("This day is already moved or closed.")))
    elif draft.from_date == other_shift.to_date:
        problems.append(
            _invalid(
                "fromDate",
                Message(
                    _("Treatments of %(day)s are moved to this day; a day can be moved only once."),
                    {"day": other_shift.from_date},
                ),
            )
        )
    if draft.to_date is not None and draft.to_date == other_shift.from_date != draft.from_date:
        problems.append(_invalid("toDate", _("This day is moved or closed itself.")))
    if draft.to_date is not None and draft.to_date == other_shift.to_date:
        problems.append(
            _invalid(
                "toDate",
                Message(_("Treatments of %(day)s are already moved to this day."), {"day": other_shift.from_date}),
            )
        )
    return problems


def _invalid(field: str, message: Template) -> Detail:
    return Detail(field=field, code="invalid", message=message)


def preview(*, shift_id: UUID, by: Principal, at: datetime) -> list[ShiftPreview]:
    """List the effects of a shift and its conflicts, by pickup time.  Eight queries.

    Raises:
        NotFound: there is no such shift in the data scope.
    """
    shift = orders.calendar_shift(shift_id, by)
    day = shift.from_date
    riding = list(StandingOrder.objects.riding().filter(facility_id=shift.facility_id).select_related("rider"))
    affected = [
        (planned_order, *moved)
        for planned_order in plans.planned(riding, since=day)
        if (moved := _moved(planned_order, shift)) is not None
    ]
    rides_of = _rides_of(day, [planned_order.order.pk for planned_order, *_times in affected])
    nearby = _nearby_rides([planned_order.order.rider_id for planned_order, *_times in affected], day)
    driver_ids = {ride.driver_id for rides in rides_of.values() for ride in rides if ride.driver_id}
    shifts_of = _driver_shifts(driver_ids, day)
    previews = []
    for planned_order, before, after in affected:
        order, rides = planned_order.order, rides_of[planned_order.order.pk]
        previews.append(
            ShiftPreview(
                order=order,
                before=before,
                after=after,
                legs=planned_order.terms_on(day).legs,
                ride_ids=tuple(ride.pk for ride in rides),
                conflicting_ride_id=_conflicting_ride(planned_order, after, nearby[order.rider_id], rides)
                if after
                else None,
                has_phone=bool(order.rider.phones),
                unavailable_driver_ids=tuple(_unavailable_drivers(after, rides, shifts_of)) if after else (),
            )
        )
    return sorted(previews, key=lambda preview: preview.before.pickup_at)


def _moved(planned_order: PlannedOrder, shift: CalendarShift) -> tuple[Occurrence, Occurrence | None] | None:
    """Return the day without and with the shift; None if the shift does not apply, or no ride takes place."""
    plan, day = planned_order.plan, shift.from_date
    terms = plan.terms_on(day)
    if terms is None or not plans.applies(shift, planned_order.order.pk, terms.pattern.days):
        return None
    without = {key: value for key, value in plan.shifts.items() if key != day}
    before = next(occurrences(replace(plan, shifts=without), day, day), None)
    if before is None or before.status is not OccurrenceStatus.DUE:
        return None
    after = next(occurrences(replace(plan, shifts=without | {day: plans.shift_of(shift)}), day, day))
    return before, after if after.status is OccurrenceStatus.DUE else None


def _rides_of(day: date, order_ids: Collection[UUID]) -> Mapping[UUID, list[Ride]]:
    rides_of: dict[UUID, list[Ride]] = defaultdict(list)
    rides = Ride.objects.open().filter(standing_order_id__in=order_ids, occurrence_key__contains=f":{day.isoformat()}:")
    for ride in rides.order_by("pickup_at"):
        rides_of[cast(UUID, ride.standing_order_id)].append(ride)
    return rides_of


def _span(day: date) -> tuple[datetime, datetime]:
    """Return the range of instants that a move of this day can affect, in any zone."""
    begin = datetime.combine(day, time(), tzinfo=ZoneInfo("UTC"))
    return begin - FARTHEST_MOVE - timedelta(days=2), begin + FARTHEST_MOVE + timedelta(days=3)


def _nearby_rides(rider_ids: Collection[UUID], day: date) -> Mapping[UUID, list[Ride]]:
    rides_of: dict[UUID, list[Ride]] = defaultdict(list)
    rides = Ride.objects.open().filter(rider_id__in=rider_ids, pickup_at__range=_span(day))
    for ride in rides.order_by("pickup_at"):
        rides_of[ride.rider_id].append(ride)
    return rides_of


def _driver_shifts(driver_ids: Collection[UUID], day: date) -> Mapping[UUID, list[tuple[datetime, datetime]]]:
    begin, end = _span(day)
    shifts = DriverShift.objects.filter(
        driver_id__in=driver_ids, status=DriverShift.Status.PLANNED, ends_at__gt=begin, starts_at__lt=end
    )
    shifts_of: dict[UUID, list[tuple[datetime, datetime]]] = defaultdict(list)
    for shift in shifts:
        shifts_of[shift.driver_id].append((shift.starts_at, shift.ends_at))
    return shifts_of


def _conflicting_ride(
    planned_order: PlannedOrder, after: Occurrence, nearby: Sequence[Ride], rides: Sequence[Ride]
) -> UUID | None:
    ride_ids = {ride.pk for ride in rides}
    minutes = max((ride.estimated_minutes or 0 for ride in rides), default=0)
    legs = planned_order.terms_on(after.pattern_date).legs
    for starts_at in [after.pickup_at, after.return_at][: len(legs)]:
        ends_at = timing.busy_until(starts_at, minutes)
        for ride in nearby:
            until = timing.busy_until(ride.pickup_at, ride.estimated_minutes)
            if ride.pk not in ride_ids and ride.pickup_at < ends_at and starts_at < until:
                return ride.pk
    return None


def _unavailable_drivers(
    after: Occurrence, rides: Sequence[Ride], shifts_of: Mapping[UUID, list[tuple[datetime, datetime]]]
) -> list[UUID]:
    driver_ids = []
    for ride in rides:
        pickup_at = after.pickup_at if ride.leg_type != "return" else after.return_at
        if ride.driver_id and not any(begin <= pickup_at < end for begin, end in shifts_of[ride.driver_id]):
            driver_ids.append(ride.driver_id)
    return list(dict.fromkeys(driver_ids))


@transaction.atomic
def apply(*, shift_id: UUID, by: Principal, at: datetime) -> CalendarShift:
    """Apply a shift; the generator moves its rides within seconds.  Idempotent.

    Raises:
        ScopeMissing: the caller lacks the scope.
        NotFound: there is no such shift in the data scope.
        ShiftBegun: the day has begun.
        ShiftUndone: the shift was undone.
    """
    shift = _locked(shift_id, by, at)
    if shift.applied_at is None:
        shift.applied_at = at
        _save_and_regenerate(shift, "calendar_shifts.apply", by)
    return shift


@transaction.atomic
def undo(*, shift_id: UUID, by: Principal, at: datetime) -> CalendarShift:
    """Undo a shift whose days have not begun; rides move back.  A shift that was never applied is deleted.

    Raises:
        ScopeMissing: the caller lacks the scope.
        NotFound: there is no such shift in the data scope.
        ShiftBegun: the day has begun.
        ShiftUndone: the shift was undone.
    """
    shift = _locked(shift_id, by, at)
    shift.undone_at = at
    if shift.applied_at is None:
        _audit("calendar_shifts.undo", shift, by)
        shift.delete()
        shift.pk = shift_id
    else:
        _save_and_regenerate(shift, "calendar_shifts.undo", by)
    return shift


def _locked(shift_id: UUID, by: Principal, at: datetime) -> CalendarShift:
    order_state.require_right(by)
    rows = CalendarShift.objects.visible_to(by).select_for_update(of=("self",)).select_related("facility")
    shift = rows.filter(pk=shift_id).first()
    if shift is None:
        raise NotFound(_("calendar shift"))
    if shift.undone_at is not None:
        raise ShiftUndone
    if min(shift.from_date, shift.to_date or shift.from_date) <= timing.local_day(at, shift.facility.timezone):
        raise CalendarShiftBegun
    return shift


def _save_and_regenerate(shift: CalendarShift, action: str, by: Principal) -> None:
    shift.save(update_fields=["applied_at", "undone_at"])
    # The next run of the generator processes these orders.
    StandingOrder.objects.riding().filter(facility_id=shift.facility_id).update(generated_through=None)
    _audit(action, shift, by)


def _audit(action: str, shift: CalendarShift, by: Principal) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="calendar_shift",
        subject_id=shift.pk,
        facility_id=shift.facility_id,
        details={"fromDate": shift.from_date.isoformat()},
    )
