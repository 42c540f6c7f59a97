"""Holidays without a decision: one alert 45 days ahead, closed by any decision."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from apps.accounts.models import Alert
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.organizations.models import CalendarShift, Facility
from apps.recurring import tasks
from apps.recurring.models import StandingOrder
from apps.recurring.services import holidays
from lib.access import system
from lib.scopes import Scope
from tests import factories
from tests.factories import NOW
from tests.recurring import cast

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
CHRISTMAS = dt.date(2026, 12, 25)  # a Friday


def _ask(day: dt.date) -> list[Alert]:
    holidays.raise_alerts(at=dt.datetime.combine(day, dt.time(15), tzinfo=dt.UTC))
    return list(Alert.objects.open())


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (dt.date(2026, 10, 11), []),
        (dt.date(2026, 10, 12), [("Thanksgiving", dt.date(2026, 11, 26))]),
        (dt.date(2026, 11, 26), [("Christmas Day", CHRISTMAS), ("New Year's Day", dt.date(2027, 1, 1))]),
        (CHRISTMAS, [("New Year's Day", dt.date(2027, 1, 1))]),
        (dt.date(2027, 1, 1), []),
        (dt.date(2029, 11, 1), [("Thanksgiving", dt.date(2029, 11, 22))]),  # the first is a Thursday itself
    ],
)
def test_holidays_that_lie_ahead(today: dt.date, expected: list[tuple[str, dt.date]]) -> None:
    assert sorted(holidays.upcoming(today), key=lambda one: one[1]) == expected


def test_facility_is_asked_once_from_45_days_ahead() -> None:
    order = cast.order()

    assert _ask(CHRISTMAS - 46 * DAY) == []
    for days in (45, 44, 3):
        (alert,) = [one for one in _ask(CHRISTMAS - days * DAY) if "Christmas" in one.title]
    assert alert.title == "Christmas Day, Dec 25, 2026: nothing decided at Lakeview Dialysis"
    assert (alert.facility_id, alert.path) == (
        order.facility_id,
        f"/console/recurring/facilities/{order.facility_id}/",
    )


def test_day_that_has_come_closes_its_question() -> None:
    cast.order()
    _ask(CHRISTMAS - 20 * DAY)

    assert [one.title[:10] for one in _ask(CHRISTMAS)] == ["New Year's"]


def test_shift_of_the_day_is_the_decision_until_it_is_undone() -> None:
    order = cast.order()
    _ask(CHRISTMAS - 45 * DAY)
    shift = CalendarShift.objects.create(facility=order.facility, from_date=CHRISTMAS, applied_at=NOW)

    assert _ask(CHRISTMAS - 44 * DAY) == []
    CalendarShift.objects.filter(pk=shift.pk).update(undone_at=NOW)
    # After an undo there is no second alert: the user knows.
    assert _ask(CHRISTMAS - 43 * DAY) == []


def test_alert_put_aside_is_the_decision_that_nothing_moves() -> None:
    cast.order()
    (alert,) = _ask(CHRISTMAS - 45 * DAY)
    alerts.acknowledge(alert_id=alert.pk, by=system(), at=NOW)

    assert _ask(CHRISTMAS - 44 * DAY) == []


def _tuesdays(order: StandingOrder) -> Any:
    return order.terms.update(days_of_week=[1, 5])


def _hospital(order: StandingOrder) -> Any:
    return Facility.objects.filter(pk=order.facility_id).update(kind="hospital")


def _closed(order: StandingOrder) -> Any:
    return Facility.objects.filter(pk=order.facility_id).update(active=False)


def _ended(order: StandingOrder) -> Any:
    return StandingOrder.objects.update(status="ended")


def _ends_before(order: StandingOrder) -> Any:
    return StandingOrder.objects.update(end_date=CHRISTMAS - DAY)


def _starts_after(order: StandingOrder) -> Any:
    return order.terms.update(from_date=CHRISTMAS + DAY)


@pytest.mark.parametrize("change", [_tuesdays, _hospital, _closed, _ended, _ends_before, _starts_after])
def test_facility_without_rides_on_holiday_gets_no_alert(change: Any) -> None:
    change(cast.order())

    assert _ask(CHRISTMAS - 45 * DAY) == []


def test_alert_is_the_business_of_people_who_reach_the_facility() -> None:
    order, other = cast.order(), cast.order(cast.dialysis_centre(name="Northside Dialysis"))
    _ask(CHRISTMAS - 45 * DAY)
    planner = replace(system(), facility_ids=frozenset({order.facility_id}))
    carrier = replace(system(), provider_ids=frozenset({order.pk}))
    mine = factories.UserFactory.create(role=UserRole.PLANNER, email="mine@example.org")
    theirs = factories.UserFactory.create(role=UserRole.PLANNER, email="theirs@example.org")
    factories.UserFactory.create(role=UserRole.FLEET_ADMIN, email="carrier@example.org")
    factories.UserFactory.create(role=UserRole.DISPATCHER, email="everywhere@example.org")
    mine.facilities.add(order.facility)
    theirs.facilities.add(other.facility)

    assert [alert.facility_id for alert in Alert.objects.visible_to(planner)] == [order.facility_id]
    assert not Alert.objects.visible_to(carrier).exists()
    assert Alert.objects.visible_to(system()).count() == 2
    (alert,) = Alert.objects.visible_to(planner)
    assert list(alerts._recipients(alert)) == ["everywhere@example.org", "mine@example.org"]
    alert.scope = Scope.RIDES_READ  # a fleet admin has it; but orders are not for providers
    assert list(alerts._recipients(alert)) == ["everywhere@example.org", "mine@example.org"]


def test_watch_asks() -> None:
    cast.order()

    tasks.watch()

    assert {alert.kind for alert in Alert.objects.open()} == {"holiday_undecided"}
