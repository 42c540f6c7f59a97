"""Calendar of an order's days: the plan, and its result."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.models import CalendarShift
from apps.recurring.models import StandingOrder
from apps.recurring.queries import calendar
from apps.recurring.queries.calendar import LegStatus, OccurrenceView
from apps.recurring.rules.recurrence import ChangeType, OccurrenceStatus
from apps.recurring.services import calendar_shifts, edit_order, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride
from apps.rides.services import booking, editing
from lib.access import system
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
SUNDAY = MONDAY + 6 * DAY
CALLED_OFF = {
    "status_before_end": "scheduled",
    "cancellation_timing": "advance",
    "reason_code": "rider_ill",
    "fault": "none",
    "ended_by": "user",
}


def _week(order: StandingOrder, *, at: dt.datetime = NOW) -> list[OccurrenceView]:
    return calendar.calendar(order, MONDAY, SUNDAY, at=at)


def _leg_statuses(found: list[OccurrenceView]) -> list[set[LegStatus]]:
    return [{leg.status for leg in one.legs} for one in found]


def _set(ride: Ride, status: str, **columns: Any) -> None:
    """Set a ride to a status that it would reach only on its day."""
    Ride.objects.filter(pk=ride.pk).update(status=status, **columns)


def test_booked_days_show_both_legs_with_their_rides() -> None:
    order = cast.order()

    found = _week(order)

    assert [one.service_date for one in found] == [one.pattern_date for one in found] == DATES[:3]
    assert {(one.status, one.change, one.moved_by_clock_change) for one in found} == {
        (OccurrenceStatus.DUE, ChangeType.AS_GENERATED, False)
    }
    rides = cast.rides(order)[:2]
    shown = [(leg.leg, leg.ride_id, leg.ride_status, leg.pickup_at, leg.appointment_at) for leg in found[0].legs]
    legs = ("outbound", "return")
    assert shown == [
        (leg, ride.pk, "scheduled", ride.pickup_at, ride.appointment_at) for leg, ride in zip(legs, rides, strict=True)
    ]
    assert _leg_statuses(found) == [{LegStatus.BOOKED}] * 3
    assert [leg.will_call for leg in found[0].legs] == [False, True]


def test_days_beyond_horizon_are_planned_without_writes() -> None:
    order = cast.order()
    far = dt.date(2027, 11, 22)

    found = calendar.calendar(order, far, far + 6 * DAY, at=NOW)

    assert [one.pattern_date for one in found] == [far, far + 2 * DAY, far + 4 * DAY]
    assert _leg_statuses(found) == [{LegStatus.PLANNED}] * 3
    assert {leg.ride_id for one in found for leg in one.legs} == {None}
    assert Ride.objects.count() == 24


def test_drafts_show_what_they_would_ride() -> None:
    assert _leg_statuses(_week(cast.order(is_draft=True))) == [{LegStatus.PLANNED}] * 3


def test_terms_without_a_way_back_show_one_leg() -> None:
    assert [len(one.legs) for one in _week(cast.order(of={"return_mode": "none"}))] == [1, 1, 1]


def test_what_people_arranged_is_told_apart() -> None:
    order = cast.order()
    edit_order.skip(order_id=order.pk, pattern_date=DATES[0], by=system(), at=NOW)
    moved = OccurrenceEdit(to_date=DATES[1] + DAY)
    edit_order.change_occurrence(order_id=order.pk, pattern_date=DATES[1], edit=moved, by=system(), at=NOW)
    hold_order.hold(order_id=order.pk, from_date=DATES[2], until=DATES[2], reason="travel", by=system(), at=NOW)

    found = _week(order)

    assert [(one.service_date, one.status, one.change) for one in found] == [
        (DATES[0], OccurrenceStatus.SKIPPED, ChangeType.AS_GENERATED),
        (DATES[1] + DAY, OccurrenceStatus.DUE, ChangeType.CUSTOMIZED),
        (DATES[2], OccurrenceStatus.HELD, ChangeType.AS_GENERATED),
    ]
    assert _leg_statuses(found) == [{LegStatus.SKIPPED}, {LegStatus.BOOKED}, {LegStatus.HELD}]
    assert found[0].legs[0].ride_status == "cancelled"


def test_moved_days_of_the_facility_show_where_they_went() -> None:
    order = cast.order()
    for shift in (ShiftDraft(from_date=DATES[1], to_date=DATES[1] - DAY), ShiftDraft(from_date=DATES[2])):
        made = calendar_shifts.enter(facility_id=order.facility_id, draft=shift, by=system(), at=NOW)
        CalendarShift.objects.filter(pk=made.pk).update(applied_at=NOW)

    found = _week(order)[1:]

    assert [(one.status, one.change) for one in found] == [
        (OccurrenceStatus.DUE, ChangeType.SHIFTED),
        (OccurrenceStatus.CLOSED, ChangeType.SHIFTED),
    ]
    # Not reconciled yet: booked rides are shown as they are booked.
    assert _leg_statuses(found) == [{LegStatus.BOOKED}] * 2


def test_ride_that_a_person_moved_stands_on_its_own_day() -> None:
    order = cast.order()
    out, back = cast.rides(order)[:2]
    assert out.appointment_at
    later = {"pickup_at": out.pickup_at + 3 * DAY, "appointment_at": out.appointment_at + 3 * DAY}
    editing.edit(ride_id=back.pk, changes={"pickup_at": back.pickup_at + 3 * DAY}, by=system(), at=NOW)
    editing.edit(ride_id=out.pk, changes=later, by=system(), at=NOW)

    found = _week(order)

    assert [(one.pattern_date, one.service_date) for one in found] == [
        (DATES[1], DATES[1]),
        (DATES[0], DATES[0] + 3 * DAY),
        (DATES[2], DATES[2]),
    ]
    assert found[1].change is ChangeType.CUSTOMIZED


def test_customized_ride_off_the_pattern_has_no_status() -> None:
    order = cast.order()
    ride = cast.rides(order)[0]
    changes = {"pickup_at": ride.pickup_at + dt.timedelta(minutes=5)}
    editing.edit(ride_id=ride.pk, changes=changes, by=system(), at=NOW)
    edit_order.change(order_id=order.pk, terms={"days_of_week": (1, 3, 5)}, by=system(), at=NOW)

    found = _week(order)

    assert [one.pattern_date for one in found] == [DATES[0], *(MONDAY + days * DAY for days in (1, 3, 5))]
    assert (found[0].status, found[0].change, _leg_statuses(found)[0]) == (
        None,
        ChangeType.CUSTOMIZED,
        {LegStatus.BOOKED},
    )


def test_road_and_people_show_in_what_became_of_a_leg() -> None:
    order = cast.order()
    out, _, second = cast.rides(order)[:3]
    factories.put_driver_on(out)
    _set(out, "en_route", departed_at=NOW)
    _set(second, "cancelled", **CALLED_OFF)

    first, day, _ = _week(order)

    assert [leg.status for leg in first.legs] == [LegStatus.UNDER_WAY, LegStatus.BOOKED]
    assert [leg.status for leg in day.legs] == [LegStatus.CANCELLED, LegStatus.BOOKED]
    _set(out, "no_show", **{**CALLED_OFF, "status_before_end": "arrived", "cancellation_timing": ""})
    assert _week(order)[0].legs[0].status is LegStatus.DONE


def test_unbooked_days_show_refusal_and_past_days_do_not_change() -> None:
    order = cast.order(is_draft=True)
    held = DATES[1]
    hold_order.hold(order_id=order.pk, from_date=held, until=held, reason="travel", by=system(), at=NOW)
    other = draft(order.facility, order.rider, pickup_at=dt.datetime(2026, 11, 27, 15, 50, tzinfo=dt.UTC))
    booking.book(draft=other, by=system(), at=NOW)

    edit_order.activate(order_id=order.pk, by=system(), at=NOW)

    found = _week(order)
    assert _leg_statuses(found) == [{LegStatus.BOOKED}, {LegStatus.HELD}, {LegStatus.REFUSED}]
    assert {leg.refusal for leg in found[2].legs} == {"DUPLICATE_RIDE"}
    later = _week(order, at=NOW + 14 * DAY)[2]
    assert {leg.status for leg in later.legs} == {LegStatus.REFUSED}


def test_days_before_the_order_was_made_were_never_booked() -> None:
    order = cast.order(start_date=MONDAY - 7 * DAY)

    found = calendar.calendar(order, MONDAY - 7 * DAY, NOW.date() - DAY, at=NOW)

    assert _leg_statuses(found) == [{LegStatus.NOT_BOOKED}] * 2


def test_pickup_on_previous_evening_counts_to_the_chair_day() -> None:
    night = {"chair_time": dt.time(0, 30), "pickup_time": dt.time(23, 40)}

    found = _week(cast.order(of=night))

    assert [one.service_date for one in found] == DATES[:3]
    assert found[0].legs[0].pickup_at.astimezone(dt.UTC).date() == DATES[0]


def _coming(order: StandingOrder, *, at: dt.datetime = NOW) -> list[dt.date]:
    return [one.pattern_date for one in calendar.next_occurrences(order, 10, at=at)]


def test_next_occurrences_are_days_with_an_outbound_ride() -> None:
    order = cast.order()
    edit_order.skip(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)
    hold_order.hold(order_id=order.pk, from_date=DATES[3], until=DATES[5], reason="travel", by=system(), at=NOW)
    there = cast.rides(order, leg_type="outbound")
    factories.put_driver_on(there[0])
    _set(there[0], "en_route", departed_at=NOW)
    _set(there[2], "cancelled", **CALLED_OFF)

    assert _coming(order) == [*DATES[6:], *(DATES[-1] + day * DAY for day in (3, 5, 7, 10))]
    assert _coming(order, at=there[6].pickup_at)[0] == DATES[7]


def test_next_occurrences_show_wall_times_and_moved_days() -> None:
    order = cast.order(of={"chair_time": dt.time(0, 30), "pickup_time": dt.time(23, 40)})
    moved = OccurrenceEdit(to_date=MONDAY + DAY, chair_time=dt.time(6, 15))
    edit_order.change_occurrence(order_id=order.pk, pattern_date=MONDAY, edit=moved, by=system(), at=NOW)
    _set(cast.rides(order, leg_type="return")[1], "cancelled", **CALLED_OFF)

    first, second, third = calendar.next_occurrences(order, 3, at=NOW)

    assert (first.pattern_date, first.service_date, first.change) == (MONDAY, MONDAY + DAY, ChangeType.CUSTOMIZED)
    assert (first.pickup_time, first.chair_time, first.return_time) == (dt.time(5, 25), dt.time(6, 15), dt.time(10, 45))
    assert (second.pickup_time, second.chair_time, second.return_time) == (dt.time(23, 40), dt.time(0, 30), None)
    assert (third.service_date, third.return_time) == (DATES[2], dt.time(5))


def test_next_occurrences_include_rides_without_return_trip() -> None:
    order = cast.order(service_type="therapy", of={"return_mode": "none"})
    Ride.objects.update(appointment_at=None)

    assert {(one.chair_time, one.return_time) for one in calendar.next_occurrences(order, 3, at=NOW)} == {(None, None)}


def test_nothing_comes_next_of_an_order_that_is_held_for_good() -> None:
    order = cast.order()
    hold_order.hold(order_id=order.pk, from_date=NOW.date(), until=None, reason="transplant", by=system(), at=NOW)

    assert calendar.next_occurrences(order, 10, at=NOW) == []


def test_twelve_week_order_lists_all_days_within_two_years(django_assert_num_queries: Any) -> None:
    order = cast.order(of={"days_of_week": (0,), "interval_weeks": 12})

    with django_assert_num_queries(5):
        found = _coming(order)

    assert found == [MONDAY + number * 12 * 7 * DAY for number in range(9)]


def test_many_orders_take_as_many_queries_as_one(django_assert_num_queries: Any) -> None:
    facility = cast.dialysis_centre()
    orders = [cast.order(facility, factories.RiderFactory.create(facility=facility)) for _ in range(3)]

    with django_assert_num_queries(5):
        found = calendar.calendars(orders, MONDAY, SUNDAY, at=NOW)

    assert {key: len(days) for key, days in found.items()} == {order.pk: 3 for order in orders}
