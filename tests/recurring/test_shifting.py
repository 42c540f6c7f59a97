"""Holiday weeks: entered once, previewed, applied, and undone until the day."""

import datetime as dt
from contextlib import nullcontext
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.organizations.models import CalendarShift, Facility
from apps.recurring.models import StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft, ShiftPreview
from apps.rides.models import Ride
from apps.rides.services import booking
from lib.access import system
from lib.errors import DomainError, FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

CHICAGO = ZoneInfo("America/Chicago")
DAY = dt.timedelta(days=1)
THANKSGIVING = dt.date(2026, 11, 26)  # a Thursday: for riders on Tuesday, Thursday and Saturday
FRIDAY = THANKSGIVING + DAY
TTS = {"days_of_week": (1, 3, 5)}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


def _enter(centre: Facility, from_date: dt.date = THANKSGIVING, **asked: Any) -> CalendarShift:
    usual: dict[str, Any] = {"to_date": THANKSGIVING - DAY, "applies_to": "tts"}
    draft = ShiftDraft(from_date, **(usual | asked))
    return calendar_shifts.enter(facility_id=centre.pk, draft=draft, by=system(), at=NOW)


def _apply(shift: CalendarShift) -> None:
    calendar_shifts.apply(shift_id=shift.pk, by=system(), at=NOW)
    generate_rides.generate(by=system(), at=NOW)


def _undo(shift: CalendarShift) -> None:
    calendar_shifts.undo(shift_id=shift.pk, by=system(), at=NOW)
    generate_rides.generate(by=system(), at=NOW)


def _preview(shift: CalendarShift) -> list[ShiftPreview]:
    return calendar_shifts.preview(shift_id=shift.pk, by=system(), at=NOW)


def _there(order: StandingOrder, day: dt.date) -> Ride:
    return Ride.objects.get(occurrence_key=f"{order.pk}:{day}:outbound", status="scheduled")


def test_shift_moves_its_cohort_and_preserves_ride_ids(centre: Facility) -> None:
    tts, mwf = cast.order(centre, of=TTS), cast.order(centre)
    before, others = _there(tts, THANKSGIVING), cast.rides(mwf)

    _apply(_enter(centre, new_chair_time=dt.time(6)))

    after = _there(tts, THANKSGIVING)
    assert after.appointment_at is not None
    assert (after.pk, after.service_date, after.occurrence_state) == (before.pk, THANKSGIVING - DAY, "shifted")
    assert after.appointment_at.astimezone(CHICAGO).time() == dt.time(6)
    assert Event.objects.filter(type="ride.rescheduled").count() == 2
    assert cast.rides(mwf) == others
    assert {(ride.service_date, ride.version) for ride in cast.rides(mwf)} == {
        (ride.service_date, ride.version) for ride in others
    }


def test_shift_that_is_entered_moves_nothing_yet(centre: Facility) -> None:
    order = cast.order(centre, of=TTS)

    shift = _enter(centre)
    StandingOrder.objects.update(generated_through=None)
    generate_rides.generate(by=system(), at=NOW)

    assert _there(order, THANKSGIVING).service_date == THANKSGIVING
    assert (shift.applied_at, Event.objects.filter(type="ride.rescheduled").count()) == (None, 0)
    assert (shift.created_by, shift.created_at) == ("system", NOW)


def test_shift_is_taken_back(centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    before = _there(order, THANKSGIVING)
    shift = _enter(centre)
    _apply(shift)

    _undo(shift)

    after = _there(order, THANKSGIVING)
    assert (after.pk, after.pickup_at, after.occurrence_state) == (before.pk, before.pickup_at, "as_generated")


def test_shift_that_was_never_applied_is_simply_gone(centre: Facility) -> None:
    shift = _enter(centre)

    _undo(shift)

    assert CalendarShift.objects.count() == 0


def test_closed_day_cancels_rides_and_undo_books_them_again(centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    everything = cast.live(order)
    shift = _enter(centre, to_date=None)

    _apply(shift)
    assert cast.live(order) == [one for one in everything if one[0] != THANKSGIVING.isoformat()]
    assert {ride.reason_code for ride in cast.rides(order, status="cancelled")} == {"calendar_shift"}

    _undo(shift)
    assert cast.live(order) == everything


def test_shift_beyond_the_horizon_counts_when_its_day_is_booked(centre: Facility) -> None:
    christmas = dt.date(2026, 12, 25)
    order = cast.order(centre)

    _apply(_enter(centre, christmas, to_date=christmas + 2 * DAY, applies_to="mwf", offset_minutes=-60))
    generate_rides.generate(by=system(), at=NOW + 10 * DAY)

    ride = _there(order, christmas)
    assert ride.appointment_at is not None
    assert (ride.service_date, ride.occurrence_state) == (christmas + 2 * DAY, "shifted")
    assert ride.appointment_at.astimezone(CHICAGO).time() == dt.time(9, 30)


def test_selected_orders_alone_are_moved(centre: Facility) -> None:
    one, other = cast.order(centre, of=TTS), cast.order(centre, of=TTS)

    _apply(_enter(centre, applies_to="selected", standing_order_ids=(one.pk,)))

    assert _there(one, THANKSGIVING).service_date == THANKSGIVING - DAY
    assert _there(other, THANKSGIVING).service_date == THANKSGIVING


def test_preview_says_what_moves_and_what_stands_in_the_way(centre: Facility) -> None:
    silent = factories.RiderFactory.create(facility=centre, phones=[])
    clashing, driven = cast.order(centre, silent, of=TTS), cast.order(centre, of=TTS | {"chair_time": dt.time(12)})
    cast.order(centre)  # of other days
    at = dt.datetime(2026, 11, 25, 15, 50, tzinfo=dt.UTC)
    other = booking.book(draft=draft(centre, silent, pickup_at=at), by=system(), at=NOW).ride
    ride = _there(driven, THANKSGIVING)
    assignment = factories.put_driver_on(ride)

    first, second = _preview(_enter(centre))

    assert [first.order, second.order] == [clashing, driven]
    assert [first.before.service_date, first.after and first.after.service_date] == [THANKSGIVING, THANKSGIVING - DAY]
    assert (first.has_phone, first.conflicting_ride_id, first.unavailable_driver_ids) == (False, other.pk, ())
    assert (second.has_phone, second.conflicting_ride_id, second.unavailable_driver_ids) == (
        True,
        None,
        (assignment.driver_id,),
    )
    assert len(first.ride_ids) == 2


def test_driver_with_a_shift_at_the_new_time_is_not_off(centre: Facility) -> None:
    order = cast.order(centre, of=TTS)
    ride = _there(order, THANKSGIVING)
    assignment = factories.put_driver_on(ride)
    factories.ShiftFactory.create(
        driver=assignment.driver,
        vehicle=assignment.vehicle,
        provider=assignment.driver.provider,
        starts_at=ride.pickup_at - DAY - dt.timedelta(hours=2),
        ends_at=ride.pickup_at - DAY + dt.timedelta(hours=8),
    )

    (move,) = _preview(_enter(centre))

    assert move.unavailable_driver_ids == ()


def test_preview_costs_the_same_however_many_ride(centre: Facility, django_assert_num_queries: Any) -> None:
    shift = _enter(centre)
    for _ in range(3):
        cast.order(centre, of=TTS)

    with django_assert_num_queries(8):
        assert len(_preview(shift)) == 3


def test_preview_of_a_closed_day_has_nothing_that_it_becomes(centre: Facility) -> None:
    order = cast.order(centre, of=TTS)

    (move,) = _preview(_enter(centre, to_date=None))

    assert (move.order, move.after, move.conflicting_ride_id) == (order, None, None)


def test_preview_lists_only_outbound_without_return_trip(centre: Facility) -> None:
    cast.order(centre, of=TTS | {"return_mode": "none"})

    (move,) = _preview(_enter(centre))

    assert (len(move.ride_ids), move.conflicting_ride_id) == (1, None)


def test_who_is_held_skips_or_has_another_day_is_not_moved(centre: Facility) -> None:
    held, skipped, later, arranged = (cast.order(centre, of=TTS) for _ in range(4))
    hold_order.hold(order_id=held.pk, from_date=THANKSGIVING, until=None, reason="travel", by=system(), at=NOW)
    edit_order.skip(order_id=skipped.pk, pattern_date=THANKSGIVING, by=system(), at=NOW)
    StandingOrder.objects.filter(pk=later.pk).update(end_date=THANKSGIVING - DAY)
    moved = edit_order.OccurrenceEdit(to_date=FRIDAY)
    edit_order.change_occurrence(order_id=arranged.pk, pattern_date=THANKSGIVING, edit=moved, by=system(), at=NOW)

    (move,) = _preview(_enter(centre))
    assert move.order == arranged  # listed, but not moved: a user customized that day
    assert move.after == move.before


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({"from_date": NOW.date()}, {"fromDate"}),
        ({"from_date": NOW.date() + 732 * DAY, "to_date": None}, {"fromDate"}),
        ({"new_chair_time": dt.time(6), "offset_minutes": 30}, {"offsetMinutes"}),
        ({"to_date": None, "offset_minutes": 30}, {"newChairTime"}),
        ({"to_date": THANKSGIVING + 8 * DAY}, {"toDate"}),
        ({"to_date": NOW.date()}, {"toDate"}),
        ({"to_date": THANKSGIVING}, {"toDate"}),
        ({"applies_to": "selected"}, {"standingOrderIds"}),
        ({"standing_order_ids": (THANKSGIVING,)}, {"standingOrderIds"}),
        (
            {"from_date": dt.date(2027, 3, 13), "to_date": dt.date(2027, 3, 14), "new_chair_time": dt.time(2, 30)},
            {"newChairTime"},
        ),
    ],
)
def test_shift_that_cannot_be_is_refused_by_its_field(
    centre: Facility, asked: dict[str, Any], fields: set[str]
) -> None:
    with pytest.raises(FieldRefused) as refused:
        _enter(centre, **asked)

    assert {detail.field for detail in refused.value.details} == fields
    assert CalendarShift.objects.count() == 0


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({"from_date": THANKSGIVING, "to_date": FRIDAY}, {"fromDate"}),  # moves already
        ({"from_date": THANKSGIVING - DAY, "to_date": FRIDAY}, {"fromDate"}),  # already the target of a move
        ({"from_date": FRIDAY, "to_date": THANKSGIVING}, {"toDate"}),  # moves away
        ({"from_date": FRIDAY, "to_date": THANKSGIVING - DAY}, {"toDate"}),  # taken
        ({"from_date": FRIDAY, "to_date": THANKSGIVING - DAY, "applies_to": "mwf"}, set()),
    ],
)
def test_shift_onto_a_shifted_day_of_same_riders_is_refused(
    centre: Facility, asked: dict[str, Any], fields: set[str]
) -> None:
    _enter(centre)

    with pytest.raises(FieldRefused) if fields else nullcontext() as refused:
        _enter(centre, **({"applies_to": "all"} | asked))

    assert {detail.field for detail in (refused.value.details if refused else ())} == fields
    assert CalendarShift.objects.count() == (1 if fields else 2)


def test_shifts_of_selected_orders_meet_where_they_share_one(centre: Facility) -> None:
    one, other = cast.order(centre, of=TTS), cast.order(centre, of=TTS)
    _enter(centre, applies_to="selected", standing_order_ids=(one.pk,))

    _enter(centre, applies_to="selected", standing_order_ids=(other.pk,))
    with pytest.raises(FieldRefused):
        _enter(centre, applies_to="selected", standing_order_ids=(one.pk, other.pk))


def test_orders_of_elsewhere_are_not_selected(centre: Facility) -> None:
    with pytest.raises(InvalidInput) as refused:
        _enter(centre, applies_to="selected", standing_order_ids=(cast.order().pk,))

    assert refused.value.details[0].field == "standingOrderIds"


def test_after_its_day_a_shift_stays(centre: Facility) -> None:
    shift = _enter(centre)
    _apply(shift)

    with pytest.raises(calendar_shifts.CalendarShiftBegun):
        calendar_shifts.undo(shift_id=shift.pk, by=system(), at=NOW + 5 * DAY)


def test_shift_is_applied_once_and_not_after_it_was_undone(centre: Facility) -> None:
    shift = _enter(centre)
    _apply(shift)
    applied = calendar_shifts.apply(shift_id=shift.pk, by=system(), at=NOW + dt.timedelta(hours=1)).applied_at
    _undo(shift)

    with pytest.raises(calendar_shifts.ShiftUndone):
        _apply(shift)

    assert applied == NOW


def test_only_who_arranges_schedules_in_reach_may_shift(centre: Facility) -> None:
    shift = _enter(centre)
    elsewhere = factories.principal(facility_ids=frozenset({factories.FacilityFactory.create().pk}))
    analyst = factories.principal(UserRole.ANALYST)

    with pytest.raises(DomainError, match="no such facility"):
        calendar_shifts.enter(facility_id=centre.pk, draft=ShiftDraft(FRIDAY), by=elsewhere, at=NOW)
    with pytest.raises(DomainError, match="no such calendar shift"):
        calendar_shifts.apply(shift_id=shift.pk, by=elsewhere, at=NOW)
    with pytest.raises(DomainError, match="no such calendar shift"):
        calendar_shifts.preview(shift_id=shift.pk, by=elsewhere, at=NOW)
    with pytest.raises(ScopeMissing):
        calendar_shifts.enter(facility_id=centre.pk, draft=ShiftDraft(FRIDAY), by=analyst, at=NOW)
    with pytest.raises(ScopeMissing):
        calendar_shifts.undo(shift_id=shift.pk, by=analyst, at=NOW)
