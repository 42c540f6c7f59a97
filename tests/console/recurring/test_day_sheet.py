"""Day sheet of a center: rider and chair, needs, return trips, and exceptions of the day."""

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder
from apps.recurring.queries import day_sheet
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.riders.models import Rider
from apps.rides.models import Ride
from lib.access import system
from tests import factories
from tests.console.recurring.visiting import BASE
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
WEDNESDAY = MONDAY + 2 * DAY
TOLD: dict[str, Any] = {"by": system(), "at": NOW}
READERS = [UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR, UserRole.AUDITOR, UserRole.ANALYST]


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


def _rider(centre: Facility, last_name: str) -> Rider:
    return factories.RiderFactory.create(facility=centre, first_name="Orla", last_name=last_name)


def _order(centre: Facility, last_name: str, **more: Any) -> StandingOrder:
    return cast.order(centre, _rider(centre, last_name), **more)


def _page(centre: Facility, day: Any = MONDAY, role: UserRole = UserRole.DISPATCHER) -> Any:
    return visitor(role).get(f"{BASE}facilities/{centre.pk}/day/", {"date": str(day)})


def _text(response: Any) -> str:
    return text_of(response).replace("\N{EN DASH}", "-")


def test_riders_stand_by_chair_time_then_name(centre: Facility) -> None:
    _order(centre, "Zoll")
    _order(centre, "Abel")
    _order(centre, "Early", of={"chair_time": dt.time(6), "return_mode": "none"})
    _order(centre, "Fixed", of={"chair_time": dt.time(6), "return_mode": "scheduled", "return_time": dt.time(10, 45)})
    _order(centre, "Tuesday", of={"days_of_week": (1,)})
    _order(centre, "Drafted", is_draft=True)

    page = _text(_page(centre))

    assert "Lakeview Dialysis, Mon, Nov 23, 2026" in page
    assert "4 riders come. Times are local to the facility (Central Time). As of Fri, Nov 20, 09:00." in page
    assert (
        "Chair 06:00 , 2 riders "
        "Early, Orla Ambulatory by 05:45 pickup 05:25 booked, unassigned - other transport "
        "Fixed, Orla Ambulatory by 05:45 pickup 05:25 booked, unassigned 10:45 scheduled booked, unassigned "
        "Chair 10:30 , 2 riders "
        "Abel, Orla Ambulatory by 10:15 pickup 09:55 booked, unassigned about 15:00 will call waiting for the call "
        "Zoll, Orla"
    ) in page
    assert [name for name in ("Tuesday", "Drafted") if name in page] == []


def test_needs_come_from_ride_and_otherwise_from_order(centre: Facility) -> None:
    asked = {
        "accommodation": {
            "mobility": "wheelchair",
            "oxygen": {"uses": True},
            "stairs": {"secondPerson": True},
            "precautions": "contact",
            "riderWeightLb": 320,
        },
        "companions": {"escorts": 1, "children": 1, "serviceAnimal": True},
        "return_mobility": "stretcher",
    }
    said = "Wheelchair back: Stretcher 2 companions service animal oxygen bariatric second person infection precautions"
    _order(centre, "Abel", of=asked)
    plain = _order(centre, "Brook", of={"chair_time": dt.time(6)})
    factories.AccommodationProfileFactory.create(rider=plain.rider, mobility="stretcher", current=True)
    far = MONDAY + 70 * DAY  # beyond the booked horizon

    assert f"Abel, Orla {said} by 10:15" in _text(_page(centre))
    assert f"Abel, Orla {said} by 10:15 pickup 09:45 planned about 15:00 will call planned" in _text(_page(centre, far))
    assert "Brook, Orla Stretcher by 05:45" in _text(_page(centre, far))
    assert "Abel" not in _text(_page(centre, role=UserRole.ANALYST))
    assert "Wheelchair back: Stretcher by 10:15" in _text(_page(centre, role=UserRole.ANALYST))


def test_day_that_is_under_way_says_when_they_came_and_left(centre: Facility) -> None:
    came, left = (dt.datetime(2026, 11, 23, hour, 12, tzinfo=dt.UTC) for hour in (16, 21))
    order = _order(centre, "Abel")
    there, back = cast.rides(order)[:2]
    factories.put_driver_on(there)
    factories.put_driver_on(back)
    Ride.objects.filter(pk=there.pk).update(
        status="completed",
        status_before_end="in_progress",
        departed_at=came,
        arrived_pickup_at=came,
        boarded_at=came,
        arrived_dropoff_at=came,
        dropped_off_at=came,
    )
    Ride.objects.filter(pk=back.pk).update(
        status="in_progress",
        ready_at=left,
        ready_source="phone",
        promised_pickup_by=left,
        departed_at=left,
        arrived_pickup_at=left,
        boarded_at=left,
    )

    page = _text(_page(centre))

    assert "Abel, Orla Ambulatory 10:12 was due 10:15 completed 15:12 left on board" in page


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"status": "requested", "scheduled_at": None}, "to be confirmed"),
        ({"status": "assigned"}, "driver assigned"),
        ({"status": "en_route", "departed_at": NOW}, "driver on the way"),
        ({"status": "arrived", "departed_at": NOW, "arrived_pickup_at": NOW}, "driver at the door"),
    ],
)
def test_way_there_says_how_its_ride_stands(centre: Facility, columns: dict[str, Any], said: str) -> None:
    ride = cast.rides(_order(centre, "Abel"))[0]
    if columns["status"] != "requested":
        factories.put_driver_on(ride)
    Ride.objects.filter(pk=ride.pk).update(**columns)

    assert f"by 10:15 pickup 09:55 {said} about 15:00" in _text(_page(centre))


def test_what_is_otherwise_on_the_day_is_said_in_words(centre: Facility) -> None:
    skipped, held, moved, here = (_order(centre, name) for name in ("Skips", "Held", "Moves", "Called"))
    to_here = _order(centre, "Arrives", of={"days_of_week": (1,)})
    edit_order.skip(order_id=skipped.pk, pattern_date=MONDAY, **TOLD)
    hold_order.hold(order_id=held.pk, from_date=MONDAY, until=None, reason="travel", **TOLD)
    edit_order.change_occurrence(
        order_id=moved.pk, pattern_date=MONDAY, edit=OccurrenceEdit(to_date=MONDAY + DAY), **TOLD
    )
    edit_order.change_occurrence(
        order_id=to_here.pk,
        pattern_date=MONDAY + DAY,
        edit=OccurrenceEdit(to_date=MONDAY, chair_time=dt.time(6)),
        **TOLD,
    )
    edit_order.change_occurrence(
        order_id=here.pk, pattern_date=MONDAY, edit=OccurrenceEdit(pickup_time=dt.time(9)), **TOLD
    )

    response = _page(centre)

    page = _text(response)
    assert "2 riders come of 4." in page
    assert "Chair 06:00 , 1 rider Arrives, Orla moved from Tue, Nov 24 Ambulatory by 05:45" in page
    assert "Called, Orla changed Ambulatory by 10:15 pickup 09:00" in page
    assert "Held, Orla Ambulatory - held - held" in page
    assert "Skips, Orla Ambulatory - skipped - skipped" in page
    assert "Not on this day 1 Moves, Orla moved to Tue, Nov 24" in page
    assert f"/{moved.pk}/?day={MONDAY}" in response.content.decode()


def test_day_that_the_facility_moved_or_closed_says_so(centre: Facility) -> None:
    _order(centre, "Abel")
    for day, to_date in ((MONDAY, MONDAY + DAY), (WEDNESDAY, None)):
        shift = calendar_shifts.enter(facility_id=centre.pk, draft=ShiftDraft(day, to_date), **TOLD)
        calendar_shifts.apply(shift_id=shift.pk, **TOLD)
    generate_rides.generate(**TOLD)

    assert "No standing order rides on this day. Not on this day 1 Abel, Orla shifted to Tue, Nov 24" in (
        _text(_page(centre))
    )
    assert "Abel, Orla shifted from Mon, Nov 23 Ambulatory by 10:15" in _text(_page(centre, MONDAY + DAY))
    assert "center closed" in _text(_page(centre, WEDNESDAY))


def test_pickup_on_the_evening_before_says_its_day(centre: Facility) -> None:
    _order(centre, "Abel", of={"chair_time": dt.time(0, 30), "pickup_time": dt.time(23, 30)})

    assert "by 00:15 pickup Sun, Nov 22, 23:30" in _text(_page(centre))


def test_outbound_leg_removed_from_series_leaves_return_trip(centre: Facility) -> None:
    """The terms lost the day's outbound leg; a customized return leg stays."""
    order = _order(centre, "Abel")
    Ride.objects.filter(pk=cast.rides(order)[1].pk).update(occurrence_state="customized")
    edit_order.change(order_id=order.pk, terms={"days_of_week": (2,)}, **TOLD)

    page = _text(_page(centre))

    assert "0 riders come of 1." in page
    assert (
        "Without a chair time , 1 rider Abel, Orla changed Ambulatory - - about 15:00 will call waiting for the call"
        in page
    )


def test_days_lead_to_their_neighbours_and_back_to_today(centre: Facility) -> None:
    today, monday, last = (_page(centre, day).content.decode() for day in ("", MONDAY, NOW.date() + 366 * DAY))

    assert "Fri, Nov 20, 2026" in today
    assert 'rel="prev" href="?date=2026-11-19"' in today
    assert 'rel="next" href="?date=2026-11-21"' in today
    assert f'href="{BASE}facilities/{centre.pk}/day/">Today' in monday
    assert 'rel="next"' not in last
    assert 'rel="prev"' not in _page(centre, NOW.date() - 366 * DAY).content.decode()


@pytest.mark.parametrize("day", ["x", "2026-13-01", "1999-01-01", "9999-12-31"])
def test_day_that_is_none_or_too_far_off_is_today(centre: Facility, day: str) -> None:
    assert _page(centre, day).context["day"] == NOW.date()


@pytest.mark.parametrize("role", READERS)
def test_names_are_shown_by_role_and_views_are_recorded(centre: Facility, role: UserRole) -> None:
    here, gone = _order(centre, "Canary"), _order(centre, "Canary")
    edit_order.change_occurrence(
        order_id=gone.pk, pattern_date=MONDAY, edit=OccurrenceEdit(to_date=MONDAY + DAY), **TOLD
    )

    response = _page(centre, role=role)

    assert ("Canary, Orla" in _text(response)) is (role in READERS[:2])
    assert (f"Rider …{str(here.rider_id)[-4:]}" in _text(response)) is (role not in READERS[:2])
    entry = AuditEntry.objects.get(action="standing_orders.list")
    assert entry.rider_ids == [here.rider_id, gone.rider_id]
    assert (entry.facility_id, entry.details) == (centre.pk, {"date": "2026-11-23"})
    assert response.headers["Cache-Control"] == "no-store"
    assert "Canary" not in response.content.decode().partition("</title>")[0]


def test_facility_out_of_reach_is_not_there(centre: Facility) -> None:
    client = visitor(UserRole.PLANNER)
    User.objects.get().facilities.set([cast.dialysis_centre(name="Other")])

    assert client.get(f"{BASE}facilities/{centre.pk}/day/").status_code == 404
    assert visitor(UserRole.DISPATCHER).get(f"{BASE}facilities/{uuid4()}/day/").status_code == 404
    assert _page(centre, role=UserRole.FLEET_ADMIN).status_code == 403


def test_roster_leads_to_the_sheet(centre: Facility) -> None:
    page = visitor(UserRole.DISPATCHER).get(BASE, {"facility": str(centre.pk)}).content.decode()

    assert f'href="{BASE}facilities/{centre.pk}/day/"' in page


@pytest.mark.parametrize("count", [1, 3])
def test_sheet_asks_the_same_however_many_riders(django_assert_num_queries: Any, centre: Facility, count: int) -> None:
    for _ in range(count):
        cast.order(centre)
    client = visitor(UserRole.DISPATCHER)

    # Session, user, inbox, the facility, orders, five of the calendar, rides, profiles, terms, audit trail.
    with django_assert_num_queries(14):
        client.get(f"{BASE}facilities/{centre.pk}/day/", {"date": str(MONDAY)})


def test_sheet_that_is_too_long_says_so(centre: Facility, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_sheet, "MOST", 1)
    for name in ("Older", "Newer"):
        _order(centre, name)

    page = _text(_page(centre))

    assert "Only the newest 1 standing orders are listed." in page
    assert "Older" not in page
