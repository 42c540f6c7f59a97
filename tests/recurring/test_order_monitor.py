"""Time-based changes of orders: holds begin, orders end, and users are alerted in time."""

import datetime as dt
from typing import Any

import pytest

from apps.events.models import Event
from apps.recurring.models import Hold, StandingOrder
from apps.recurring.services import edit_order, generate_rides, hold_order, order_monitor, order_state
from apps.recurring.tasks import watch
from apps.riders import services as riders
from apps.rides.models import Ride, RideException
from lib.access import system
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def _watch(at: dt.datetime) -> None:
    order_monitor.check_orders(by=system("recurring"), at=at)


def _hold(order: StandingOrder, first: dt.date, until: dt.date | None, at: dt.datetime = NOW) -> None:
    hold_order.hold(order_id=order.pk, from_date=first, until=until, reason="travel", by=system(), at=at)


def _told(type_: str) -> list[dict[str, Any]]:
    return list(Event.objects.filter(type=type_).order_by("pk").values_list("data", flat=True))


def _asked(type_: str) -> list[RideException]:
    return list(RideException.objects.filter(type=type_).order_by("opened_at", "pk"))


def test_hold_begins_and_ends_with_its_days() -> None:
    order = cast.order()
    _hold(order, MONDAY, MONDAY + DAY)
    found = []

    for days in (0, 3, 4, 5):
        _watch(NOW + days * DAY)
        found.append(StandingOrder.objects.get().status)

    assert found == ["active", "on_hold", "on_hold", "active"]
    assert [data["changed"] for data in _told("standing_order.changed")] == [["status"]] * 2


def test_order_ends_the_day_after_its_last() -> None:
    order = cast.order(end_date=DATES[3])

    for days in (10, 11, 12):
        _watch(NOW + days * DAY)

    order.refresh_from_db()
    assert (order.status, order.end_date) == ("ended", DATES[3])
    assert [data["lastDate"] for data in _told("standing_order.ended")] == ["2026-11-30"]


@pytest.mark.parametrize("column", ["end_date", "authorization_ends_on"])
def test_end_is_announced_in_three_steps_and_opens_exception(column: str) -> None:
    order = cast.order()
    last = NOW.date() + 40 * DAY
    edit_order.change(order_id=order.pk, columns={column: last}, by=system(), at=NOW)

    for days in range(41):
        _watch(NOW + days * DAY)

    assert [data["daysLeft"] for data in _told("standing_order.ending")] == [30, 14, 7]
    assert [one.details for one in _asked("authorization_ending")] == [{"lastDate": last.isoformat()}]


def test_end_that_is_near_from_the_start_is_told_once() -> None:
    cast.order(end_date=NOW.date() + 10 * DAY)

    _watch(NOW)
    _watch(NOW)

    assert [data["daysLeft"] for data in _told("standing_order.ending")] == [10]
    assert len(_asked("authorization_ending")) == 1


def test_end_that_moves_is_told_of_anew() -> None:
    order = cast.order(end_date=NOW.date() + 10 * DAY)
    _watch(NOW)

    edit_order.change(order_id=order.pk, columns={"end_date": NOW.date() + 12 * DAY}, by=system(), at=NOW)
    _watch(NOW)

    assert [data["daysLeft"] for data in _told("standing_order.ending")] == [10, 12]
    assert [one.details["lastDate"] for one in _asked("authorization_ending")] == ["2026-12-02"]


def test_order_without_near_end_gets_no_reminder_despite_race() -> None:
    order = cast.order()

    for end_date in (None, NOW.date() + 60 * DAY):  # an end date that it had when it was selected
        order.end_date = end_date
        order_monitor._send_reminder(order, by=system(), at=NOW)
    _watch(NOW)

    assert _told("standing_order.ending") == []


def test_open_ended_hold_is_reviewed_weekly_until_resumed() -> None:
    order = cast.order()
    _hold(order, NOW.date(), None)

    for days in range(16):
        _watch(NOW + days * DAY)

    (asked,) = _asked("hold_review")
    assert (asked.details["askedOn"], asked.version) == ("2026-12-04", 2)
    assert Hold.objects.get().review_on == dt.date(2026, 12, 11)
    hold_order.resume(order_id=order.pk, from_date=NOW.date() + 16 * DAY, by=system(), at=NOW + 15 * DAY)
    asked.refresh_from_db()
    assert asked.status == "resolved"


def test_hold_with_an_end_is_not_asked_about() -> None:
    _hold(cast.order(), NOW.date(), NOW.date() + 20 * DAY)

    _watch(NOW + 15 * DAY)

    assert _asked("hold_review") == []


def _end(order: StandingOrder, day: dt.date, status: str, reason: str = "") -> None:
    """Set the outbound leg of a date to an outcome, by its columns."""
    timing = {"cancellation_timing": "late"} if status == "cancelled" else {}
    of_ending = {"reason_code": reason or "rider_unreachable", "fault": "rider", "ended_by": "system", **timing}
    Ride.objects.filter(occurrence_key=f"{order.pk}:{day}:outbound").update(
        status=status, status_before_end="scheduled", **of_ending
    )


def test_two_rides_in_vain_ask_whether_to_hold_once() -> None:
    order, other = cast.order(), cast.order()
    _end(order, DATES[0], "no_show")
    _end(order, DATES[1], "no_show")
    _end(other, DATES[0], "no_show")
    at = NOW + 6 * DAY

    _watch(at)
    _watch(at + dt.timedelta(hours=1))

    (asked,) = _asked("standing_order_review")
    assert (asked.standing_order_id, len(asked.details["rideIds"])) == (order.pk, 2)


@pytest.mark.parametrize(("status", "reason"), [("cancelled", "rider_request"), ("unfulfilled", "no_driver_available")])
def test_ride_ahead_that_was_called_off_hides_no_ride_in_vain(status: str, reason: str) -> None:
    order = cast.order()
    _end(order, DATES[0], "no_show")
    _end(order, DATES[1], "no_show")
    _end(order, DATES[7], status, reason)

    _watch(NOW + 6 * DAY)

    assert len(_asked("standing_order_review")) == 1


def test_resolved_review_reopens_only_after_another_no_show() -> None:
    order = cast.order()
    for day in DATES[:2]:
        _end(order, day, "no_show")
    _watch(NOW + 6 * DAY)
    RideException.objects.update(status="dismissed", resolved_at=NOW, resolved_by="user", resolution_code="other")

    _watch(NOW + 6 * DAY)
    assert len(_asked("standing_order_review")) == 1

    _end(order, DATES[2], "no_show")
    _watch(NOW + 8 * DAY)
    assert len(_asked("standing_order_review")) == 2


def test_rider_in_hospital_asks_at_once() -> None:
    order = cast.order()
    _end(order, DATES[0], "cancelled", "rider_hospitalized")

    _watch(NOW + 3 * DAY)

    assert len(_asked("standing_order_review")) == 1


def test_ride_in_vain_and_one_that_took_place_ask_nothing() -> None:
    order = cast.order()
    _end(order, DATES[0], "cancelled", "rider_hospitalized")
    _end(order, DATES[1], "unfulfilled", "no_driver_available")

    _watch(NOW + 6 * DAY)

    assert _asked("standing_order_review") == []


def test_order_that_is_held_is_not_asked_about() -> None:
    order = cast.order()
    for day in DATES[:2]:
        _end(order, day, "no_show")
    _hold(order, DATES[2], None, at=NOW + 6 * DAY)
    _watch(NOW + 7 * DAY)

    assert _asked("standing_order_review") == []


def test_order_that_cannot_be_watched_is_in_nobodys_way(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    poison, good = cast.order(end_date=DATES[0]), cast.order(end_date=DATES[0])
    record = order_state.record

    def dangerous(order: StandingOrder, *given: Any, **facts: Any) -> None:
        if order.pk == poison.pk:
            raise RuntimeError
        record(order, *given, **facts)

    monkeypatch.setattr(order_state, "record", dangerous)

    _watch(NOW + 10 * DAY)

    good.refresh_from_db()
    assert good.status == "ended"
    assert {record.message for record in caplog.records} == {"standing order not watched"}


def test_order_that_ended_meanwhile_is_left_alone() -> None:
    order = cast.order()
    edit_order.end(order_id=order.pk, last_date=None, by=system(), at=NOW)
    seen: list[StandingOrder] = []

    order_monitor._for_each([order.pk], seen.append)

    assert seen == []


def test_task_watches() -> None:
    cast.order(end_date=NOW.date() + 10 * DAY)

    watch()

    assert len(_told("standing_order.ending")) == 1


@pytest.mark.parametrize("changes", [{}, {"is_draft": True}, {"end_date": DATES[4]}])
def test_orders_of_a_rider_who_has_died_end_with_their_rides(changes: dict[str, Any]) -> None:
    order = cast.order(**changes)
    later = NOW + 4 * DAY
    riders.change_status(rider_id=order.rider_id, status="deceased", by=system(), at=later)

    assert generate_rides.generate(by=system("recurring"), at=later) == 0
    _watch(later)
    _watch(later + DAY)

    order.refresh_from_db()
    assert (order.status, order.end_date) == ("ended", dt.date(2026, 11, 23))
    assert [data["lastDate"] for data in _told("standing_order.ended")] == ["2026-11-23"]
    ahead = Ride.objects.filter(standing_order_id=order.pk, pickup_at__gt=later)
    assert set(ahead.values_list("status", "reason_code")) <= {("cancelled", "standing_order_ended")}
    assert not RideException.objects.filter(standing_order_id=order.pk).exists()


@pytest.mark.parametrize("is_draft", [False, True])
def test_ended_order_retains_its_last_day_after_rider_death(is_draft: bool, caplog: pytest.LogCaptureFixture) -> None:
    order = cast.order(end_date=DATES[0], is_draft=is_draft)
    later = NOW + 10 * DAY
    riders.change_status(rider_id=order.rider_id, status="deceased", by=system(), at=later)

    _watch(later)

    order.refresh_from_db()
    assert (order.status, order.end_date) == ("ended", DATES[0])
    assert not caplog.records


def test_orders_of_riders_who_are_set_aside_go_on() -> None:
    order = cast.order()
    riders.change_status(rider_id=order.rider_id, status="on_hold", reason="Holiday.", by=system(), at=NOW)

    _watch(NOW)

    order.refresh_from_db()
    assert order.status == "active"
