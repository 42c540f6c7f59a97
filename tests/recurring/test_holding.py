"""Hold and resume: no rides during the hold, and every date of the pattern returns."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.recurring.models import Hold, OrderStatus
from apps.recurring.services import edit_order, generate_rides, hold_order
from apps.rides.models import Ride, RideException
from apps.rides.services import booking
from lib.access import system
from lib.errors import DomainError, FieldRefused, StaleVersion
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY, both
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def _hold(order: Any, first: dt.date, until: dt.date | None = None, reason: str = "hospital_stay") -> Any:
    return hold_order.hold(order_id=order.pk, from_date=first, until=until, reason=reason, by=system(), at=NOW)


def _resume(order: Any, first: dt.date) -> Any:
    return hold_order.resume(order_id=order.pk, from_date=first, by=system(), at=NOW)


def test_hold_calls_off_every_ride_of_its_days_and_no_other() -> None:
    order = cast.order()

    held = _hold(order, DATES[2], DATES[4])

    assert cast.live(order) == both(DATES[:2] + DATES[5:])
    assert len(held.result.cancelled) == 6
    endings = {(ride.reason_code, ride.fault) for ride in cast.rides(order, status="cancelled")}
    assert endings == {("standing_order_hold", "none")}
    assert cast.marks(order) == {"generated": 18, "held": 6}
    assert held.order.status == OrderStatus.ACTIVE  # the hold begins later
    told = Event.objects.get(type="standing_order.held").data
    assert (told["fromDate"], told["until"], told["reason"]) == ("2026-11-27", "2026-12-02", "hospital_stay")


def test_hold_says_what_kind_of_caller_set_it() -> None:
    order = cast.order()

    for by in (system(), factories.principal(UserRole.DISPATCHER)):
        hold_order.hold(order_id=order.pk, from_date=DATES[3], until=None, reason="travel", by=by, at=NOW)
        hold_order.resume(order_id=order.pk, from_date=DATES[4], by=by, at=NOW)

    assert sorted(hold.source for hold in Hold.objects.all()) == ["person", "system"]


def test_open_ended_hold_covers_horizon_with_review_after_a_week() -> None:
    order = cast.order()
    _hold(order, NOW.date())
    row = Hold.objects.get()

    generate_rides.generate(by=system(), at=NOW + 7 * DAY)

    order.refresh_from_db()
    assert (cast.live(order), order.status) == ([], "on_hold")
    assert row.review_on == NOW.date() + 7 * DAY
    assert order.generated_through == NOW.date() + 35 * DAY


def test_resuming_books_every_date_from_that_day_on_anew() -> None:
    order = cast.order()
    _hold(order, MONDAY)

    resumed = _resume(order, DATES[3])

    assert cast.live(order) == both(DATES[3:])
    assert (len(resumed.result.created), resumed.order.status) == (18, OrderStatus.ACTIVE)
    assert Hold.objects.get().until == DATES[3] - DAY
    assert Event.objects.filter(type="standing_order.resumed").count() == 1
    assert Ride.objects.count() == 24 + 18  # cancelled rides stay on record


def test_resume_lists_unbookable_days_and_opens_exception() -> None:
    order = cast.order()
    _hold(order, MONDAY)
    other = booking.book(
        draft=draft(order.facility, order.rider, pickup_at=dt.datetime(2026, 11, 25, 15, 50, tzinfo=dt.UTC)),
        by=system(),
        at=NOW,
    ).ride

    resumed = _resume(order, MONDAY)

    assert {day: refusal.code.name for day, refusal in resumed.result.refused.items()} == {DATES[1]: "DUPLICATE_RIDE"}
    assert cast.live(order) == both([DATES[0], *DATES[2:]])
    opened = RideException.objects.get(standing_order_id=order.pk)
    assert opened.type == "standing_order_conflict"
    assert opened.details["dates"] == [{"date": "2026-11-25", "code": "DUPLICATE_RIDE", "rideId": str(other.pk)}]


def test_conflict_is_settled_when_the_date_can_be_booked() -> None:
    order = cast.order()
    _hold(order, MONDAY)
    other = draft(order.facility, order.rider, pickup_at=dt.datetime(2026, 11, 25, 15, 50, tzinfo=dt.UTC))
    ride = booking.book(draft=other, by=system(), at=NOW).ride
    _resume(order, MONDAY)
    Ride.objects.filter(pk=ride.pk).update(
        status="cancelled",
        reason_code="other",
        fault="none",
        ended_by="system",
        cancellation_timing="advance",
        status_before_end="scheduled",
    )

    generate_rides.generate(by=system(), at=NOW + DAY)

    assert cast.live(order) == both([*DATES, DATES[-1] + 3 * DAY][:12])
    assert RideException.objects.get(standing_order_id=order.pk).status == "resolved"


def test_ride_cancelled_by_person_survives_hold_and_resume() -> None:
    order = cast.order()
    Ride.objects.filter(occurrence_key__contains=DATES[1].isoformat()).update(
        status="cancelled",
        reason_code="rider_ill",
        fault="none",
        ended_by="user",
        cancellation_timing="advance",
        status_before_end="scheduled",
    )
    _hold(order, MONDAY)

    _resume(order, MONDAY)

    assert cast.live(order) == both([DATES[0], *DATES[2:]])


def test_same_hold_once_more_changes_nothing() -> None:
    order = cast.order()
    _hold(order, MONDAY)
    version = _hold(order, MONDAY).order.version

    assert (version, Hold.objects.count()) == (2, 1)
    assert _resume(order, MONDAY).order.version == 3
    assert _resume(order, MONDAY).order.version == 3
    assert Hold.objects.count() == 0


@pytest.mark.parametrize(
    ("first", "until", "field"),
    [
        (MONDAY, MONDAY - DAY, "until"),
        (NOW.date() - 8 * DAY, None, "from"),
        (NOW.date() + 732 * DAY, None, "from"),
        (NOW.date() - 2 * DAY, NOW.date() - DAY, "until"),
    ],
)
def test_days_that_make_no_sense_are_refused(first: dt.date, until: dt.date | None, field: str) -> None:
    order = cast.order()

    with pytest.raises(FieldRefused) as refused:
        _hold(order, first, until)

    assert [detail.field for detail in refused.value.details] == [field]
    assert (Hold.objects.count(), len(cast.live(order))) == (0, 24)


def test_stale_version_is_refused_and_changes_nothing() -> None:
    order = cast.order()

    with pytest.raises(StaleVersion):
        hold_order.hold(
            order_id=order.pk, from_date=MONDAY, until=None, reason="travel", expected_version=0, by=system(), at=NOW
        )


def test_order_that_has_ended_is_not_held() -> None:
    order = cast.order()
    edit_order.end(order_id=order.pk, last_date=None, by=system(), at=NOW)

    with pytest.raises(DomainError, match="has ended"):
        _hold(order, MONDAY)


def test_only_orders_in_reach_are_held() -> None:
    order = cast.order()
    elsewhere = factories.principal(facility_ids=frozenset({factories.FacilityFactory.create().pk}))

    with pytest.raises(DomainError, match="no such standing order"):
        hold_order.hold(order_id=order.pk, from_date=MONDAY, until=None, reason="travel", by=elsewhere, at=NOW)
