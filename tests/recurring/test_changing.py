"""Edits of one day, from a day on, and of the whole future; customizations stay, and no edit ends the series."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from apps.events.models import Event
from apps.recurring.models import OccurrenceChange, StandingOrder, Terms
from apps.recurring.services import edit_order, generate_rides, hold_order
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride, RideException
from apps.rides.rules.draft import Payment
from apps.rides.services import editing
from lib.access import system
from lib.errors import DomainError, FieldRefused, InvalidInput
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY, both

pytestmark = pytest.mark.django_db

CHICAGO = ZoneInfo("America/Chicago")
DAY = dt.timedelta(days=1)
MINUTE = dt.timedelta(minutes=1)


def _change(order: StandingOrder, **asked: Any) -> Any:
    return edit_order.change(order_id=order.pk, by=system(), at=NOW, **asked)


def _chairs(order: StandingOrder) -> dict[dt.date, dt.time]:
    """Return the chair time of each day."""
    there = Ride.objects.filter(standing_order_id=order.pk, leg_type="outbound").exclude(status="cancelled")
    found = [ride.appointment_at.astimezone(CHICAGO) for ride in there.order_by("pickup_at") if ride.appointment_at]
    return {moment.date(): moment.time() for moment in found}


def test_new_chair_time_moves_all_rides_from_that_day_on() -> None:
    order = cast.order()
    before = {ride.occurrence_key: ride.pk for ride in cast.rides(order)}

    changed = _change(order, terms={"chair_time": dt.time(6)}, from_date=DATES[3])

    assert _chairs(order) == dict.fromkeys(DATES[:3], dt.time(10, 30)) | dict.fromkeys(DATES[3:], dt.time(6))
    assert {ride.occurrence_key: ride.pk for ride in cast.rides(order)} == before
    assert len(changed.result.amended) == 18
    assert Event.objects.filter(type="ride.rescheduled").count() == 18
    assert list(Terms.objects.order_by("from_date").values_list("from_date", flat=True)) == [MONDAY, DATES[3]]


def test_new_chair_time_for_all_future_changes_later_terms_too() -> None:
    order = cast.order()
    _change(order, terms={"days_of_week": (0, 2)}, from_date=DATES[6])

    _change(order, terms={"chair_time": dt.time(12)})

    assert set(_chairs(order).values()) == {dt.time(12)}
    assert [sorted(row.days_of_week) for row in Terms.objects.order_by("from_date")] == [[0, 2, 4], [0, 2]]


def test_later_chair_time_moves_the_way_back_first() -> None:
    order = cast.order(of={"return_mode": "scheduled"})

    _change(order, terms={"chair_time": dt.time(18)})

    assert set(_chairs(order).values()) == {dt.time(18)}
    assert {ride.pickup_at.astimezone(CHICAGO).time() for ride in cast.rides(order, leg_type="return")} == {
        dt.time(22, 30)
    }


def test_new_days_are_booked_and_old_ones_called_off() -> None:
    order = cast.order()

    _change(order, terms={"days_of_week": (1, 3, 5)}, from_date=DATES[3])

    moved = [day + DAY for day in DATES[3:-1]]
    assert cast.live(order) == both(DATES[:3] + moved)
    assert {ride.reason_code for ride in cast.rides(order, status="cancelled")} == {"standing_order_ended"}


def test_days_that_come_back_are_booked_again() -> None:
    order = cast.order()
    _change(order, terms={"days_of_week": (1,)})

    _change(order, terms={"days_of_week": (0, 2, 4)})

    assert cast.live(order) == both(DATES)


@pytest.mark.parametrize("overwrite", [False, True])
def test_customized_rides_stay_and_are_listed_unless_overwritten(overwrite: bool) -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[4]
    earlier = ride.pickup_at - dt.timedelta(minutes=20)
    editing.edit(ride_id=ride.pk, changes={"pickup_at": earlier}, by=system(), at=NOW)

    changed = _change(order, terms={"chair_time": dt.time(11)}, overwrite_customized=overwrite)

    ride.refresh_from_db()
    assert (ride.pickup_at == earlier) is not overwrite
    assert ride.occurrence_state == ("as_generated" if overwrite else "customized")
    assert changed.result.unchanged == ({} if overwrite else {DATES[4]: [ride.pk]})


def test_customized_rides_are_listed_only_for_changes_to_them() -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[4]
    editing.edit(ride_id=ride.pk, changes={"pickup_at": ride.pickup_at - 45 * MINUTE}, by=system(), at=NOW)
    told: dict[str, Any] = {"order_id": order.pk, "by": system(), "at": NOW}
    later = {"from_date": DATES[6], "terms": {"chair_time": dt.time(11)}}
    skipped = {"pattern_date": DATES[8], **told}

    elsewhere = [
        _change(order, **later),
        edit_order.skip(**skipped),
        edit_order.restore(**skipped),
        edit_order.amend_occurrence(changes={}, **skipped),
        hold_order.hold(from_date=DATES[10], until=None, reason="travel", **told),
        hold_order.resume(from_date=DATES[10], **told),
    ]
    itself = [_change(order, columns={"driver_notes": "Ring"}), _change(order, terms={"treatment_minutes": 200})]

    assert [changed.result.unchanged for changed in elsewhere] == [{}] * 6
    assert [list(changed.result.unchanged) for changed in itself] == [[DATES[4]]] * 2


def test_new_address_payer_and_notes_reach_rides_that_are_booked() -> None:
    order = cast.order()
    payer = factories.PayerFactory.create()
    home = {"addressLine1": "9 W Elm St", "city": "Chicago", "state": "IL", "lat": 41.9, "lng": -87.64}

    _change(order, columns={"payer_id": payer.pk, "driver_notes": "Side door."}, terms={"pickup": home})

    rides = cast.rides(order)
    assert {(ride.payer_id, ride.driver_notes) for ride in rides} == {(payer.pk, "Side door.")}
    assert {ride.pickup["addressLine1"] for ride in rides if ride.leg_type == "outbound"} == {"9 W Elm St"}
    assert {ride.dropoff["addressLine1"] for ride in rides if ride.leg_type == "return"} == {"9 W Elm St"}
    assert len(rides) == 24


def test_what_an_order_no_longer_asks_for_its_rides_forget() -> None:
    rider = factories.RiderFactory.create()
    factories.AccommodationProfileFactory.create(rider=rider, mobility="ambulatory_assist", rider_weight_lb=160)
    asked = {"accommodation": {"mobility": "wheelchair", "chair": {"widthIn": 26.5}}, "companions": {"escorts": 1}}
    order = cast.order(rider=rider, of=asked | {"return_mobility": "stretcher"})
    before = {(ride.leg_type, ride.accommodation["mobility"], ride.companions["escorts"]) for ride in cast.rides(order)}

    _change(order, terms={"return_mobility": ""}, patches={"accommodation": {"mobility": None}, "companions": None})
    between = {ride.accommodation["chair"]["widthIn"] for ride in cast.rides(order)}
    _change(order, patches={"accommodation": None})

    rides = cast.rides(order)
    assert before == {("outbound", "wheelchair", 1), ("return", "stretcher", 1)}
    assert between == {26.5}
    assert {ride.accommodation["mobility"] for ride in rides} == {"ambulatory_assist"}
    assert [ride.companions for ride in rides] == [{}] * 24
    assert {(ride.spaces_ambulatory, ride.spaces_wheelchair, ride.spaces_stretcher) for ride in rides} == {(1, 0, 0)}
    never = cast.rides(cast.order(rider=rider, start_date=DATES[-1] + DAY, at=NOW + 28 * DAY))
    assert {str(ride.accommodation) for ride in rides} == {str(ride.accommodation) for ride in never}


@pytest.fixture
def unpaid(db: None) -> StandingOrder:
    """An order whose payer was deactivated after its creation."""
    payer = factories.PayerFactory.create()
    order = cast.order(payment=Payment(payer_id=payer.pk))
    payer.active = False
    payer.save()
    return order


def test_order_with_inactive_payer_can_still_be_edited(unpaid: StandingOrder) -> None:
    changed = _change(
        unpaid, columns={"payer_id": unpaid.payer_id, "driver_notes": "Side door."}, terms={"chair_time": dt.time(7)}
    )

    assert (len(changed.result.amended), changed.result.refused) == (24, {})
    assert set(_chairs(unpaid).values()) == {dt.time(7)}
    assert {(ride.payer_id, ride.driver_notes) for ride in cast.rides(unpaid)} == {(unpaid.payer_id, "Side door.")}


def test_order_is_not_given_a_payer_that_was_switched_off(unpaid: StandingOrder) -> None:
    order = cast.order()

    with pytest.raises(InvalidInput) as refused:
        _change(order, columns={"payer_id": unpaid.payer_id}, terms={"chair_time": dt.time(7)})

    assert [detail.field for detail in refused.value.details] == ["payer.payerId"]
    assert StandingOrder.objects.get(pk=order.pk).payer_id is None


def test_new_rides_with_inactive_payer_wait_for_another_payer(unpaid: StandingOrder) -> None:
    changed = _change(unpaid, terms={"days_of_week": (0, 1, 2, 4)})

    tuesdays = [MONDAY + (7 * week + 1) * DAY for week in range(4)]
    assert sorted(changed.result.refused) == tuesdays
    assert cast.live(unpaid) == both(DATES)
    told = RideException.objects.get(standing_order_id=unpaid.pk, type="standing_order_conflict")
    assert [one["code"] for one in told.details["dates"]] == ["VALIDATION_ERROR"] * 4

    _change(unpaid, columns={"payer_id": factories.PayerFactory.create().pk})

    assert cast.live(unpaid) == both(DATES + tuesdays)
    told.refresh_from_db()
    assert told.status == "resolved"


def test_one_day_moves_to_another_and_keeps_its_name() -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[1]

    changed = edit_order.change_occurrence(
        order_id=order.pk,
        pattern_date=DATES[1],
        edit=OccurrenceEdit(to_date=DATES[1] + DAY, chair_time=dt.time(7)),
        by=system(),
        at=NOW,
    )

    assert _chairs(order)[DATES[1] + DAY] == dt.time(7)
    assert cast.live(order) == both(DATES)
    ride.refresh_from_db()
    assert (ride.service_date, ride.occurrence_state) == (DATES[1] + DAY, "customized")
    back = Ride.objects.get(occurrence_key=f"{order.pk}:{DATES[1]}:return")
    assert changed.result.amended == [back.pk, ride.pk]  # later: the return leg is moved first to avoid a conflict
    generate_rides.generate(by=system(), at=NOW + DAY)
    assert _chairs(order)[DATES[1] + DAY] == dt.time(7)


def test_what_was_arranged_for_one_day_can_be_taken_back() -> None:
    order = cast.order()
    moved = OccurrenceEdit(chair_time=dt.time(7))
    edit_order.change_occurrence(order_id=order.pk, pattern_date=DATES[1], edit=moved, by=system(), at=NOW)

    edit_order.restore(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)

    assert set(_chairs(order).values()) == {dt.time(10, 30)}
    assert {ride.occurrence_state for ride in cast.rides(order)} == {"as_generated"}


def test_skipped_day_has_no_ride_and_the_series_goes_on() -> None:
    order = cast.order()

    edit_order.skip(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)
    generate_rides.generate(by=system(), at=NOW + 3 * DAY)

    assert cast.live(order) == both([DATES[0], *DATES[2:], DATES[-1] + 3 * DAY])
    assert {ride.reason_code for ride in cast.rides(order, status="cancelled")} == {"rider_request"}


def test_skipped_day_comes_back() -> None:
    order = cast.order()
    edit_order.skip(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)

    edit_order.restore(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)

    assert cast.live(order) == both(DATES)


def test_end_cancels_later_rides_and_generates_none_again() -> None:
    order = cast.order()

    ended = edit_order.end(order_id=order.pk, last_date=DATES[1], by=system(), at=NOW)
    generate_rides.generate(by=system(), at=NOW + DAY)

    assert cast.live(order) == both(DATES[:2])
    assert (ended.order.status, ended.order.end_date) == ("active", DATES[1])


def test_ending_at_once_ends_the_order_before_its_first_day_too() -> None:
    order = cast.order()

    ended = edit_order.end(order_id=order.pk, last_date=None, by=system(), at=NOW)

    assert (cast.live(order), ended.order.status, ended.order.end_date) == ([], "ended", NOW.date() - DAY)


def test_end_that_lies_behind_the_orders_own_is_refused() -> None:
    order = cast.order(end_date=DATES[5])

    with pytest.raises(InvalidInput) as refused:
        edit_order.end(order_id=order.pk, last_date=DATES[6], by=system(), at=NOW)

    assert refused.value.details[0].field == "on"


@pytest.mark.parametrize("column", ["end_date", "authorization_ends_on"])
def test_rides_stop_at_the_earlier_end_and_go_on_when_it_moves(column: str) -> None:
    order = cast.order()

    _change(order, columns={column: DATES[4]})
    assert cast.live(order) == both(DATES[:5])

    _change(order, columns={column: DATES[7]})
    assert cast.live(order) == both(DATES[:8])


def test_draft_rides_once_it_is_activated() -> None:
    order = cast.order(is_draft=True)
    _change(order, terms={"chair_time": dt.time(7)})

    activated = edit_order.activate(order_id=order.pk, by=system(), at=NOW)
    again = edit_order.activate(order_id=order.pk, by=system(), at=NOW)

    assert (set(_chairs(order).values()), len(cast.rides(order))) == ({dt.time(7)}, 24)
    assert activated.order.version == again.order.version == 3


def test_nothing_changed_is_nothing_told() -> None:
    order = cast.order()

    same = _change(order, terms={"chair_time": dt.time(10, 30)}, columns={"driver_notes": ""})

    assert (same.order.version, Event.objects.filter(type="standing_order.changed").count()) == (1, 0)
    assert Terms.objects.count() == 1


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"from_date": NOW.date() - DAY, "terms": {"chair_time": dt.time(7)}}, "fromDate"),
        ({"terms": {"days_of_week": ()}}, "pattern.daysOfWeek"),
        ({"columns": {"end_date": MONDAY - DAY}}, "endDate"),
        ({"columns": {"preferred_driver_ids": [MONDAY]}}, "preferredDriverIds"),
        ({"columns": {"payer_id": MONDAY}}, "payer.payerId"),
    ],
)
def test_edit_that_cannot_be_is_refused_by_its_field(asked: dict[str, Any], field: str) -> None:
    order = cast.order()
    columns = {
        name: [order.pk] if name == "preferred_driver_ids" else order.pk if name == "payer_id" else value
        for name, value in asked.get("columns", {}).items()
    }

    with pytest.raises((FieldRefused, InvalidInput)) as refused:
        _change(order, **{**asked, "columns": columns})

    assert [detail.field for detail in refused.value.details] == [field]
    assert (Terms.objects.count(), set(_chairs(order).values())) == (1, {dt.time(10, 30)})


def test_end_of_the_past_is_for_ending() -> None:
    order = cast.order(start_date=MONDAY - 28 * DAY)

    with pytest.raises(InvalidInput, match="End the standing order instead"):
        _change(order, columns={"end_date": NOW.date() - DAY})


@pytest.mark.parametrize(
    ("day", "moved", "field"),
    [
        (MONDAY + DAY, OccurrenceEdit(chair_time=dt.time(7)), "date"),
        (MONDAY, OccurrenceEdit(to_date=MONDAY + 8 * DAY), "toDate"),
        (MONDAY, OccurrenceEdit(to_date=NOW.date(), chair_time=dt.time(9, 10)), "toDate"),
        (MONDAY, OccurrenceEdit(pickup_time=dt.time(10, 30)), "pickupTime"),
    ],
)
def test_change_of_a_day_that_cannot_be_is_refused_by_its_field(
    day: dt.date, moved: OccurrenceEdit, field: str
) -> None:
    order = cast.order()

    with pytest.raises((FieldRefused, InvalidInput)) as refused:
        edit_order.change_occurrence(order_id=order.pk, pattern_date=day, edit=moved, by=system(), at=NOW)

    assert [detail.field for detail in refused.value.details] == [field]
    assert OccurrenceChange.objects.count() == 0


def test_chair_time_that_the_clocks_skip_is_refused() -> None:
    sunday = dt.date(2027, 3, 14)
    order = cast.order(start_date=sunday - 7 * DAY, of={"days_of_week": (6,)})

    with pytest.raises(FieldRefused) as refused:
        edit_order.change_occurrence(
            order_id=order.pk, pattern_date=sunday, edit=OccurrenceEdit(chair_time=dt.time(2, 30)), by=system(), at=NOW
        )

    assert [detail.field for detail in refused.value.details] == ["chairTime"]


def test_day_long_past_is_not_arranged_anew() -> None:
    order = cast.order(start_date=MONDAY - 28 * DAY)

    with pytest.raises(InvalidInput) as refused:
        edit_order.skip(order_id=order.pk, pattern_date=MONDAY - 14 * DAY, by=system(), at=NOW)

    assert refused.value.details[0].field == "date"


def test_day_that_has_begun_is_left_as_it_is() -> None:
    order = cast.order()
    morning = dt.datetime(2026, 11, 23, 15, 45, tzinfo=dt.UTC)
    there, back = cast.rides(order)[:2]
    factories.put_driver_on(there)
    Ride.objects.filter(pk=there.pk).update(status="en_route", departed_at=morning)

    hold_order.hold(order_id=order.pk, from_date=MONDAY, until=None, reason="hospital_stay", by=system(), at=morning)

    assert cast.live(order) == both([MONDAY])
    back.refresh_from_db()
    assert back.status == "scheduled"


def test_refused_edit_of_another_is_no_error_of_the_caller() -> None:
    order = cast.order()

    with pytest.raises(DomainError, match="no such standing order"):
        edit_order.end(order_id=order.rider_id, last_date=None, by=system(), at=NOW)
