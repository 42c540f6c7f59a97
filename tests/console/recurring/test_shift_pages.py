"""Holiday schedule of a facility: entered, previewed, applied and undone."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import CalendarShift, Facility
from apps.recurring.services import calendar_shifts, generate_rides
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.riders.models import Rider
from apps.rides.services import booking
from lib.access import system
from tests import factories
from tests.console.recurring.visiting import BASE
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
TUESDAY = MONDAY + DAY
TOLD: dict[str, Any] = {"by": system(), "at": NOW}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def desk(db: None) -> Client:
    return visitor(UserRole.DISPATCHER)


def _page(centre: Facility, more: str = "") -> str:
    return f"{BASE}facilities/{centre.pk}/{more}"


def _of(shift: CalendarShift, more: str = "") -> str:
    return f"{BASE}shifts/{shift.pk}/{more}"


def _entered(centre: Facility, day: dt.date = MONDAY, to_date: dt.date | None = TUESDAY, **asked: Any) -> CalendarShift:
    return calendar_shifts.enter(facility_id=centre.pk, draft=ShiftDraft(day, to_date, **asked), **TOLD)


def _enter(desk: Client, centre: Facility, **form: Any) -> Any:
    usual = {"from_date": MONDAY, "kind": "moves", "to_date": TUESDAY, "applies_to": "all"}
    return desk.post(_page(centre, "enter/"), usual | form, follow=True)


def test_day_is_entered_and_shown_as_a_difference(centre: Facility, desk: Client) -> None:
    rider = factories.RiderFactory.create(facility=centre, first_name="Orla", last_name="Canary")
    cast.order(centre, rider)

    response = _enter(desk, centre, new_chair_time="06:00")

    shift = CalendarShift.objects.get()
    assert response.redirect_chain == [(_of(shift), 302)]
    assert told(response) == ["The change is saved as a draft. Review its effects, then apply it."]
    page = text_of(response)
    assert "Mon, Nov 23 moves to Tue, Nov 24, chair time 06:00 Draft Apply Delete draft" in page
    assert "It would move 1 rider" in page
    assert "Canary, Orla Mon, Nov 23, 10:30 pickup 09:55 Tue, Nov 24, 06:00 pickup 05:25 2" in page
    assert AuditEntry.objects.filter(action="calendar_shifts.preview").latest("pk").rider_ids == [rider.pk]


@pytest.mark.parametrize(
    ("form", "columns", "said"),
    [
        ({"kind": "closed"}, (None, None, None, "all"), "Mon, Nov 23: no service"),
        (
            {"to_date": MONDAY, "offset_minutes": "-60", "applies_to": "mwf"},
            (MONDAY, None, -60, "mwf"),
            "Mon, Nov 23: another time, 60 minutes earlier",
        ),
        (
            {"offset_minutes": "15", "applies_to": "tts"},
            (TUESDAY, None, 15, "tts"),
            "Mon, Nov 23 moves to Tue, Nov 24, 15 minutes later",
        ),
    ],
)
def test_what_is_entered_is_kept_and_said(
    centre: Facility, desk: Client, form: dict[str, Any], columns: tuple[Any, ...], said: str
) -> None:
    _enter(desk, centre, **form)

    shift = CalendarShift.objects.get()
    assert (shift.to_date, shift.new_chair_time, shift.offset_minutes, shift.applies_to) == columns
    assert shift.created_by == f"user:{User.objects.get().pk}"
    assert said in text_of(desk.get(_page(centre)))


def test_single_orders_are_ticked(centre: Facility, desk: Client) -> None:
    rider = factories.RiderFactory.create(facility=centre, first_name="Orla", last_name="Canary")
    order, _other = cast.order(centre, rider), cast.order(centre)
    opened = desk.get(_page(centre))

    _enter(desk, centre, applies_to="selected", orders=[str(order.pk)])

    assert "Canary, Orla, Mon Wed Fri 10:30" in text_of(opened)
    assert CalendarShift.objects.get().standing_order_ids == [order.pk]


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"from_date": "", "to_date": ""}, ["from_date", "to_date"]),
        ({"to_date": "x"}, ["to_date"]),
        ({"from_date": NOW.date()}, ["from_date"]),
        ({"to_date": MONDAY + 8 * DAY}, ["to_date"]),
        ({"to_date": MONDAY}, ["to_date"]),
        ({"kind": "vanishes"}, ["kind"]),
        ({"kind": "closed", "new_chair_time": "06:00"}, ["new_chair_time"]),
        ({"new_chair_time": "06:00", "offset_minutes": "10"}, ["offset_minutes"]),
        ({"offset_minutes": "721"}, ["offset_minutes"]),
        ({"applies_to": "selected"}, ["orders"]),
        ({"orders": ["x"]}, ["orders"]),
        ({"applies_to": "some"}, ["applies_to"]),
    ],
)
def test_day_that_cannot_be_comes_back_by_its_fields(
    centre: Facility, desk: Client, form: dict[str, Any], wrong: list[str]
) -> None:
    response = _enter(desk, centre, **form)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == wrong
    assert not CalendarShift.objects.exists()


def test_form_that_is_sent_twice_enters_one(centre: Facility, desk: Client) -> None:
    _enter(desk, centre)

    response = _enter(desk, centre)

    assert response.status_code == 422
    assert "This day is already moved or closed." in text_of(response)
    assert CalendarShift.objects.count() == 1


def test_list_says_how_each_stands(centre: Facility, desk: Client) -> None:
    assert "No holiday schedule changes yet." in text_of(desk.get(_page(centre)))
    _entered(centre, MONDAY + 21 * DAY, None)
    applied = _entered(centre, MONDAY + 14 * DAY, MONDAY + 15 * DAY)
    undone = _entered(centre, MONDAY + 7 * DAY, MONDAY + 8 * DAY)
    for one in (applied, undone):
        calendar_shifts.apply(shift_id=one.pk, **TOLD)
    calendar_shifts.undo(shift_id=undone.pk, **TOLD)

    page = text_of(desk.get(_page(centre)))

    states = [page.index(word) for word in ("Draft", "In force", "Undone")]
    assert states == sorted(states)
    assert "Mon, Dec 14: no service Dec 14, 2026 Draft All riders of that day Fri, Nov 20, 09:00" in page


def test_shift_is_applied_once_and_undone(centre: Facility, desk: Client) -> None:
    cast.order(centre)
    shift = _entered(centre)

    first, second = (desk.post(_of(shift, "apply/"), follow=True) for _ in range(2))

    assert told(first) == told(second) == ["The change is applied. Rides are moved within a minute."]
    assert AuditEntry.objects.filter(action="calendar_shifts.apply").count() == 1
    assert "It moves 1 rider" in text_of(second)
    assert "In force since Fri, Nov 20, 09:00" in text_of(second)
    generate_rides.generate(**TOLD)
    undone = desk.post(_of(shift, "undo/"), follow=True)
    assert told(undone) == ["The change is undone. Rides are moved back within a minute."]
    page = text_of(undone)
    assert "It was undone and has no effect." in page
    assert "Apply" not in page
    assert told(desk.post(_of(shift, "undo/"), follow=True)) == ["The calendar shift was undone."]


def test_shift_that_was_never_applied_is_removed(centre: Facility, desk: Client) -> None:
    shift = _entered(centre)

    response = desk.post(_of(shift, "undo/"), follow=True)

    assert response.redirect_chain == [(_page(centre), 302)]
    assert told(response) == ["The draft is removed."]
    assert not CalendarShift.objects.exists()
    assert desk.post(_of(shift, "apply/")).status_code == 404


def test_shift_whose_day_has_come_offers_nothing(centre: Facility, desk: Client) -> None:
    shift = _entered(centre)
    CalendarShift.objects.update(from_date=NOW.date(), to_date=NOW.date() + DAY)

    page = text_of(desk.get(_of(shift)))

    assert "The day has begun, so the calendar shift can no longer be changed." in page
    assert "Apply" not in page
    response = desk.post(_of(shift, "apply/"), follow=True)
    assert told(response) == ["The day has begun, so the calendar shift can no longer be changed."]


def test_closed_day_and_what_needs_a_look(centre: Facility, desk: Client) -> None:
    silent = factories.RiderFactory.create(facility=centre, last_name="Silent", phones=[])
    order = cast.order(centre, silent)
    driver = factories.DriverFactory.create(first_name="Del", last_name="Driver")
    factories.put_driver_on(cast.rides(order)[0], driver=driver)
    at = cast.rides(order)[0].pickup_at + DAY
    other = booking.book(draft=draft(centre, silent, pickup_at=at), **TOLD).ride
    moved = _entered(centre)

    seen = desk.get(_of(moved))
    calendar_shifts.undo(shift_id=moved.pk, **TOLD)
    closed = text_of(desk.get(_of(_entered(centre, to_date=None))))

    page = text_of(seen)
    assert "1 of them needs review: see the last column." in page
    assert "Conflicts with another ride No phone to tell the rider Driver off at that time: Del Driver" in page
    assert f"/console/rides/{other.pk}/" in seen.content.decode()
    assert "Mon, Nov 23, 10:30 pickup 09:55 No ride 2" in closed
    planner = visitor(UserRole.PLANNER)
    User.objects.get(role="planner").facilities.set([centre])
    calendar_shifts.undo(shift_id=CalendarShift.objects.get().pk, **TOLD)
    unnamed = text_of(planner.get(_of(_entered(centre))))
    assert "Driver off then" in unnamed
    assert "Del Driver" not in unnamed


def test_shift_of_a_day_without_rides_says_so(centre: Facility, desk: Client) -> None:
    assert "No standing orders to this facility have rides on that day." in text_of(desk.get(_of(_entered(centre))))


def test_zone_of_the_facility_is_named_where_it_is_another(desk: Client) -> None:
    centre = cast.dialysis_centre(timezone="America/New_York")
    cast.order(centre)

    assert "Times are local to the facility (Eastern Time)." in text_of(desk.get(_of(_entered(centre))))


def test_those_who_may_only_look_enter_and_apply_nothing(centre: Facility) -> None:
    cast.order(centre, factories.RiderFactory.create(facility=centre, last_name="Canary"))
    shift, auditor = _entered(centre), visitor(UserRole.AUDITOR)

    listed, shown = auditor.get(_page(centre)), auditor.get(_of(shift))

    assert "Reschedule or close a day" not in text_of(listed)
    assert "Canary" not in text_of(listed)
    assert "Rider …" in text_of(shown)
    assert "Canary" not in text_of(shown)
    assert "Apply" not in text_of(shown)
    posts = [auditor.post(_of(shift, "apply/")), auditor.post(_of(shift, "undo/")), _enter(auditor, centre)]
    assert [one.status_code for one in posts] == [403] * 3
    assert visitor(UserRole.FLEET_ADMIN).get(_of(shift)).status_code == 403


def test_days_of_facilities_out_of_reach_are_not_there(centre: Facility) -> None:
    shift, planner = _entered(centre), visitor(UserRole.PLANNER)
    User.objects.get().facilities.set([cast.dialysis_centre(name="Other")])

    answers = [planner.get(_page(centre)), planner.get(_of(shift)), planner.post(_page(centre, "enter/"))]
    answers += [planner.post(_of(shift, "apply/")), planner.post(_of(shift, "undo/"))]

    assert [one.status_code for one in answers] == [404] * 5


def test_closed_facility_takes_no_more_days(centre: Facility, desk: Client) -> None:
    Facility.objects.update(active=False)

    assert "Reschedule or close a day" not in text_of(desk.get(_page(centre)))
    assert _enter(desk, centre).status_code == 404


@pytest.mark.parametrize("count", [1, 3])
def test_pages_ask_the_same_however_many_orders(django_assert_num_queries: Any, centre: Facility, count: int) -> None:
    for _ in range(count):
        cast.order(centre)
    shift, client = _entered(centre), visitor(UserRole.DISPATCHER)

    # Session, user, inbox, the facility, orders, terms, holds, next rides, audit trail, shifts.
    with django_assert_num_queries(10):
        client.get(_page(centre))
    # Session, user, inbox, the shift, eight of the preview without drivers, audit trail.
    with django_assert_num_queries(13):
        client.get(_of(shift))
    assert Rider.objects.count() == count
