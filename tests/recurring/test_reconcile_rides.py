"""Rides are reconciled with their orders: conflicts are reported, and the affected rides stay unchanged."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from apps.recurring.models import StandingOrder, Terms
from apps.recurring.queries.plans import content_of
from apps.recurring.services import edit_order, generate_rides, hold_order
from apps.riders.rules.rider_status import RiderStatus
from apps.rides.models import RideException
from apps.rides.services import editing
from lib.access import system
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY, both
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def test_ride_that_cannot_be_moved_stays_and_people_are_told() -> None:
    order = cast.order()
    order.rider.status, order.rider.status_reason = RiderStatus.DO_NOT_BOOK, "asked for"
    order.rider.save()

    changed = edit_order.change(order_id=order.pk, terms={"chair_time": dt.time(12)}, by=system(), at=NOW)

    assert {refusal.code.name for refusal in changed.result.refused.values()} == {"RIDER_NOT_BOOKABLE"}
    assert {ride.version for ride in cast.rides(order)} == {1}
    assert RideException.objects.get(standing_order_id=order.pk).details["count"] == 12


def test_terms_that_no_ride_can_be_made_of_any_more_are_told_of() -> None:
    order = cast.order()
    order.facility.active = False
    order.facility.save()

    generate_rides.generate(by=system(), at=NOW + 3 * DAY)

    assert cast.live(order) == both(DATES)
    assert cast.marks(order) == {"generated": 24, "refused": 2}
    told = RideException.objects.get(standing_order_id=order.pk).details["dates"]
    assert told == [{"date": "2026-12-21", "code": "VALIDATION_ERROR"}]


def test_only_day_with_return_before_chair_is_refused() -> None:
    sunday = dt.date(2027, 3, 14)  # the hour from 02:00 to 03:00 is skipped: a chair at 02:50 is at 03:50
    at = dt.datetime(2027, 3, 12, 15, 0, tzinfo=dt.UTC)
    of = {
        "days_of_week": (0, 6),
        "chair_time": dt.time(2, 50),
        "return_mode": "scheduled",
        "return_time": dt.time(3, 10),
    }

    order = cast.order(start_date=sunday, of=of, at=at)
    alone = cast.order(start_date=sunday, end_date=sunday, of=of, at=at)

    assert (sunday.isoformat(), "outbound") not in cast.live(order)
    assert len(cast.live(order)) == 2 * 7
    assert cast.live(alone) == []
    assert RideException.objects.count() == 2


def test_content_hash_is_stable_when_terms_gain_a_field() -> None:
    order, terms = StandingOrder(), Terms(treatment_minutes=240, post_treatment_minutes=30, pickup={}, dropoff={})
    elsewhere = Terms(treatment_minutes=240, post_treatment_minutes=30, pickup={}, dropoff={}, return_dropoff=HOME)

    # A different value after an upgrade would amend every ride of every order without a change.
    assert content_of(order, terms) == "dba2907f5d0bdbd9aa6f01e44ca74bcd"
    assert content_of(order, elsewhere) != content_of(order, terms)


def test_other_rides_than_to_dialysis_have_no_treatment() -> None:
    order = cast.order(service_type="therapy")

    assert {ride.dialysis for ride in cast.rides(order, leg_type="outbound")} == {None}
    back = cast.rides(order, leg_type="return")[0]
    assert back.pickup_at.astimezone(ZoneInfo("America/Chicago")).time() == dt.time(11, 30)


def test_order_that_was_over_before_it_was_entered_has_ended() -> None:
    order = cast.order(start_date=MONDAY - 28 * DAY, end_date=MONDAY - 14 * DAY)

    assert (order.status, cast.rides(order)) == ("ended", [])


def test_hold_cancels_customized_ride_off_the_pattern() -> None:
    order = cast.order()
    ride = cast.rides(order, leg_type="outbound")[1]
    editing.edit(ride_id=ride.pk, changes={"pickup_at": ride.pickup_at - dt.timedelta(minutes=5)}, by=system(), at=NOW)
    changed = edit_order.change(order_id=order.pk, terms={"days_of_week": (1,)}, by=system(), at=NOW)
    assert changed.result.unchanged == {DATES[1]: [ride.pk]}

    hold_order.hold(order_id=order.pk, from_date=MONDAY, until=None, reason="hospital_stay", by=system(), at=NOW)

    assert cast.live(order) == []


def test_moved_day_is_reconciled_after_its_own_date_has_passed() -> None:
    order = cast.order()
    moved = edit_order.OccurrenceEdit(to_date=MONDAY + 2 * DAY, chair_time=dt.time(18))
    edit_order.change_occurrence(order_id=order.pk, pattern_date=MONDAY, edit=moved, by=system(), at=NOW)

    tuesday = NOW + 4 * DAY
    hold_order.hold(order_id=order.pk, from_date=tuesday.date(), until=None, reason="travel", by=system(), at=tuesday)

    assert cast.live(order) == []


def test_orders_are_their_facilitys_and_never_a_providers() -> None:
    order, other = cast.order(), cast.order()
    here = factories.principal(facility_ids=frozenset({order.facility_id}))
    driving = factories.principal(provider_ids=frozenset())

    seen = [set(StandingOrder.objects.visible_to(by)) for by in (here, driving, system())]

    assert seen == [{order}, set(), {order, other}]
