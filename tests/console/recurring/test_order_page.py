"""Page of a standing order: its month in text and symbols, and the actions of each day."""

import datetime as dt
import re
from typing import Any

import pytest

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.recurring import labels, month
from apps.organizations.models import Facility
from apps.recurring.models import Occurrence, StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.models import Ride
from lib.access import system
from tests import factories
from tests.console.recurring.visiting import cell, page_of
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
WEDNESDAY, FRIDAY = MONDAY + 2 * DAY, MONDAY + 4 * DAY
TOLD: dict[str, Any] = {"by": system(), "at": NOW}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def order(centre: Facility) -> StandingOrder:
    rider = factories.RiderFactory.create(facility=centre, first_name="Orla", last_name="Canary")
    return cast.order(centre, rider)


def _open(order: StandingOrder, more: str = "", role: UserRole = UserRole.DISPATCHER) -> Any:
    return visitor(role).get(page_of(order, more))


def _shift(centre: Facility, day: dt.date, to_date: dt.date | None, **asked: Any) -> None:
    draft = ShiftDraft(day, to_date, **asked)
    shift = calendar_shifts.enter(facility_id=centre.pk, draft=draft, **TOLD)
    calendar_shifts.apply(shift_id=shift.pk, **TOLD)
    generate_rides.generate(**TOLD)


def test_month_is_a_table_of_weeks_that_names_each_day_in_words(order: StandingOrder) -> None:
    response = _open(order)

    page = response.content.decode()
    assert "Rides of November 2026" in text_of(response)
    weekdays = re.findall(r'<th scope="col"><abbr title="(\w+)">', page)
    assert weekdays == ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    assert page.count('<td class="outside">') == 5
    assert cell(response, 20) == "Friday, November 20, no ride"
    assert cell(response, 23) == "Monday, November 23, 2 rides, booked"
    assert 'aria-current="date"' in page
    assert "10:30" in page


def test_days_beside_the_pattern_say_what_became_of_them(centre: Facility, order: StandingOrder) -> None:
    _shift(centre, WEDNESDAY, WEDNESDAY + DAY)
    edit_order.skip(order_id=order.pk, pattern_date=MONDAY, **TOLD)
    moved = OccurrenceEdit(to_date=FRIDAY + DAY)
    edit_order.change_occurrence(order_id=order.pk, pattern_date=FRIDAY, edit=moved, **TOLD)
    edit_order.change_occurrence(
        order_id=order.pk, pattern_date=MONDAY + 7 * DAY, edit=OccurrenceEdit(chair_time=dt.time(12)), **TOLD
    )

    response = _open(order)

    assert cell(response, 23) == "Monday, November 23, 2 rides, skipped"
    assert cell(response, 25) == "Wednesday, November 25, 2 rides shifted to Thursday, November 26"
    assert cell(response, 26) == "Thursday, November 26, 2 rides shifted from Wednesday, November 25, booked"
    assert cell(response, 27) == "Friday, November 27, 2 rides moved to Saturday, November 28"
    assert cell(response, 28) == "Saturday, November 28, 2 rides moved from Friday, November 27, booked"
    assert cell(response, 30) == "Monday, November 30, 2 rides changed for this day, booked"


def test_single_ride_is_named_as_one(centre: Facility) -> None:
    order = cast.order(centre, of={"return_mode": "none"})
    _shift(centre, WEDNESDAY, WEDNESDAY + DAY)

    assert cell(_open(order), 26) == "Thursday, November 26, 1 ride shifted from Wednesday, November 25, booked"


def test_holds_closed_days_and_other_times_are_said(centre: Facility, order: StandingOrder) -> None:
    hold_order.hold(order_id=order.pk, from_date=MONDAY, until=MONDAY, reason="travel", **TOLD)
    _shift(centre, WEDNESDAY, None)
    _shift(centre, FRIDAY, FRIDAY, offset_minutes=-60)

    response = _open(order)

    assert cell(response, 23) == "Monday, November 23, 2 rides, held"
    assert cell(response, 25) == "Wednesday, November 25, 2 rides, center closed"
    assert cell(response, 27) == "Friday, November 27, 2 rides at another time that day, booked"
    assert "Mon, Nov 23, 2026 to Mon, Nov 23, 2026 Travel, set by system" in text_of(response)


def test_open_hold_names_who_set_it_and_when_it_is_asked_about(order: StandingOrder) -> None:
    person = factories.UserFactory.create(name="Dana Desk")
    by = factories.principal(id=person.pk)
    hold_order.hold(order_id=order.pk, from_date=MONDAY, until=None, reason="hospital_stay", by=by, at=NOW)

    page = text_of(_open(order))

    said = "From Mon, Nov 23, 2026 until resumed Hospital stay, set by Dana Desk, review on Mon, Nov 30, 2026"
    assert said in page


def test_what_happened_to_rides_is_said_by_leg(order: StandingOrder) -> None:
    there, back = cast.rides(order)[:2]
    factories.put_driver_on(there)
    Ride.objects.filter(pk=there.pk).update(status="en_route", departed_at=NOW)
    ended = {"reason_code": "rider_ill", "fault": "none", "ended_by": "user"}
    Ride.objects.filter(pk=back.pk).update(status="no_show", status_before_end="arrived", **ended)

    response = _open(order, f"?day={MONDAY}")

    assert cell(response, 23) == "Monday, November 23, 2 rides, under way and no-show"
    page = text_of(response)
    assert "There Mon, Nov 23, 09:55 10:30 under way The ride there Back Mon, Nov 23, 15:00" in page
    assert "no-show The ride back" in page
    assert f"/console/rides/{there.pk}/" in response.content.decode()
    assert "Skip this day" not in page


def test_days_that_could_not_be_booked_stand_out_with_why(order: StandingOrder) -> None:
    rows = Occurrence.objects.filter(standing_order=order)
    for day, code in ((MONDAY, "DUPLICATE_RIDE"), (WEDNESDAY, "RIDER_NOT_BOOKABLE"), (FRIDAY, "RESOURCE_BUSY")):
        rows.filter(pattern_date=day).update(decision="refused", refusal=code, ride=None)

    response = _open(order, f"?day={MONDAY}")

    page = text_of(response)
    assert cell(response, 23) == "Monday, November 23, 2 rides, could not be booked"
    assert "1 coming day could not be booked: Mon, Nov 23 The rider has another ride at this time." in page
    assert "Wed, Nov 25 The rider's record does not allow bookings." in page
    assert "Fri, Nov 27 A booking rule does not allow it." in page
    assert response.content.decode().count("stands-out") == 3


def test_clock_change_is_said(centre: Facility) -> None:
    sunday = dt.date(2027, 3, 14)  # clocks go from 02:00 to 03:00
    order = cast.order(centre, of={"days_of_week": (6,), "chair_time": dt.time(2, 30)})

    response = _open(order, f"?day={sunday}")

    assert cell(response, 14) == "Sunday, March 14, 2 rides, planned, the clocks change"
    assert "The clocks change: the time moved forward" in text_of(response)


def test_day_offers_what_can_be_done(centre: Facility, order: StandingOrder) -> None:
    _shift(centre, WEDNESDAY, WEDNESDAY + DAY)
    edit_order.skip(order_id=order.pk, pattern_date=FRIDAY, **TOLD)

    plain, moved, skipped = (text_of(_open(order, f"?day={day}")) for day in (MONDAY, WEDNESDAY + DAY, FRIDAY))

    assert "Move…" in plain
    assert "Skip this day" in plain
    assert "From the series" not in plain
    assert "2 rides shifted from Wednesday, November 25" in moved
    assert "Skip this day" in moved
    assert "Skip this day" not in skipped
    assert "Move…" not in skipped
    assert "From the series" in skipped


def test_day_without_rides_and_day_that_moved_say_so(centre: Facility, order: StandingOrder) -> None:
    _shift(centre, WEDNESDAY, WEDNESDAY + DAY)

    assert "No rides on this day." in text_of(_open(order, f"?day={MONDAY + DAY}"))
    page = text_of(_open(order, f"?day={WEDNESDAY}"))
    assert "The rides of this day take place on Thursday, November 26. Show that day" in page
    assert "Nobody rides" not in page


def test_past_days_and_rides_off_the_pattern_offer_nothing(centre: Facility) -> None:
    rider = factories.RiderFactory.create(facility=centre)
    order = cast.order(centre, rider, start_date=NOW.date() - 30 * DAY)

    page = text_of(_open(order, f"?day={NOW.date() - 4 * DAY}"))

    assert "was not booked" in page
    assert "Skip this day" not in page


def test_those_who_may_only_look_are_offered_nothing(order: StandingOrder) -> None:
    page = text_of(_open(order, f"?day={MONDAY}", UserRole.AUDITOR))

    assert "booked" in page
    assert [word for word in ("Hold…", "End…", "Move…", "Skip", "Edit series") if word in page] == []


def test_order_that_has_ended_offers_nothing(order: StandingOrder) -> None:
    edit_order.end(order_id=order.pk, last_date=None, **TOLD)

    page = text_of(_open(order))

    assert "Canary, Orla Ended" in page
    assert "Hold…" not in page


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("2026-12", "December 2026"),
        ("2028-11", "November 2028"),
        ("2028-12", "November 2026"),
        ("2026-13", "November 2026"),
        ("0000-01", "November 2026"),
        ("soon", "November 2026"),
    ],
)
def test_month_of_the_address_is_shown_within_two_years(order: StandingOrder, asked: str, shown: str) -> None:
    assert f"Rides of {shown}" in text_of(_open(order, f"?month={asked}"))


def test_months_link_to_neighbors_within_the_shown_range(order: StandingOrder) -> None:
    here, last = (_open(order, more).content.decode() for more in ("", "?month=2028-11"))

    assert 'rel="prev" href="?month=2026-10#month"' in here
    assert 'rel="next" href="?month=2026-12#month"' in here
    assert 'rel="next"' not in last
    assert 'rel="prev"' not in _open(order, "?month=2024-11").content.decode()


@pytest.mark.parametrize("day", ["2026-13-01", "x", "1999-01-01", "2150-01-01", "9999-12-31"])
def test_day_that_is_none_or_too_far_off_opens_nothing(order: StandingOrder, day: str) -> None:
    response = _open(order, f"?day={day}")

    assert response.status_code == 200
    assert response.context["day"] is None


def test_facts_show_terms_of_today_and_later_ones(centre: Facility) -> None:
    payer = factories.PayerFactory.create(name="State Medicaid")
    order = cast.order(
        centre,
        of={"pickup_time": dt.time(9, 40), "return_mode": "scheduled", "return_time": dt.time(15, 30)},
        end_date=MONDAY + 90 * DAY,
        vehicle_type_requested="wheelchair_van",
    )
    StandingOrder.objects.update(
        payer=payer,
        authorization_number="A-17",
        authorization_ends_on=MONDAY + 60 * DAY,
        driver_notes="Ring twice",
        dispatcher_notes="Call first",
        facility_notes="Chair 4",
    )
    later = MONDAY + 14 * DAY
    terms = {"chair_time": dt.time(6), "return_mobility": "wheelchair"}
    edit_order.change(order_id=order.pk, terms=terms | {"pickup_time": dt.time(5)}, from_date=later, **TOLD)

    page = text_of(_open(order))

    assert "Chair time 10:30 CT Pickup 09:40" in page
    assert "Return trip Scheduled 15:30 From Home, 1418 N Canary Ave, Chicago" in page
    assert "From Mon, Dec 7, 2026 on Days Mon Wed Fri Chair time 06:00 CT" in page
    assert "First day Mon, Nov 23, 2026 Last day Sun, Feb 21, 2027 Payer State Medicaid" in page
    assert "Authorization ends Fri, Jan 22, 2027 Vehicle Wheelchair van Booked ahead 28 days" in page
    assert "Authorization A-17 For drivers Ring twice For dispatchers Call first Facility note Chair 4" in page


def test_facts_show_destination_needs_and_preferred_drivers(centre: Facility) -> None:
    rider = factories.RiderFactory.create(facility=centre)
    factories.AccommodationProfileFactory.create(rider=rider, mobility="wheelchair_power", oxygen_uses=True)
    drivers = [factories.DriverFactory.create(first_name=name, last_name="Pole") for name in ("Ida", "Abe")]
    elm = {**HOME, "name": "Daughter", "addressLine1": "9 W Elm St"}
    of = {"return_mobility": "stretcher", "return_dropoff": elm, "companions": {"escorts": 1}}
    order = cast.order(centre, rider, of=of, preferred_driver_ids=tuple(driver.pk for driver in drivers))
    terms = {"return_mode": "none"}
    edit_order.change(order_id=order.pk, terms=terms, from_date=MONDAY + 14 * DAY, **TOLD)

    page, analyst = text_of(_open(order)), text_of(_open(order, "", UserRole.ANALYST))

    dropoff = f"To {centre.name}, {centre.address_line1}, {centre.city}"
    needs = "Needs Power wheelchair, back: Stretcher, 1 companion, oxygen"
    assert f"{dropoff} Back to Daughter, 9 W Elm St, {HOME['city']} {needs} From Mon, Dec 7, 2026 on" in page
    assert "Needs Power wheelchair, 1 companion, oxygen Order" in page
    assert "Preferred drivers Pole, Ida; Pole, Abe" in page
    assert "Needs Power wheelchair, back: Stretcher From" in analyst
    assert [word for word in ("Elm", "Pole", "oxygen") if word in analyst] == []


def test_driver_who_is_no_more_is_said_to_be_out_of_reach(order: StandingOrder) -> None:
    StandingOrder.objects.update(preferred_driver_ids=[order.pk])

    assert "Preferred drivers A driver outside your access" in text_of(_open(order))


def test_those_without_riders_see_no_name_place_or_note(order: StandingOrder) -> None:
    StandingOrder.objects.update(dispatcher_notes="Ask for Orla")

    page = _open(order, "", UserRole.ANALYST).content.decode()

    assert "Rider …" in page
    assert [word for word in ("Canary", "Orla") if word in page] == []


def test_zone_of_the_facility_is_named_where_it_is_another(order: StandingOrder) -> None:
    StandingOrder.objects.update(timezone="America/New_York")

    assert "Times are local to Lakeview Dialysis (Eastern Time)." in text_of(_open(order))


def test_page_is_kept_nowhere_and_recorded(order: StandingOrder) -> None:
    response = _open(order)

    assert response.headers["Cache-Control"] == "no-store"
    assert "Canary" not in response.content.decode().partition("</title>")[0]
    assert AuditEntry.objects.get(action="standing_orders.read").rider_ids == [order.rider_id]


@pytest.mark.parametrize("role", [UserRole.PLANNER, UserRole.DISPATCHER])
def test_order_out_of_reach_is_not_there(order: StandingOrder, role: UserRole) -> None:
    client = visitor(role)
    User.objects.get().facilities.set([cast.dialysis_centre(name="Other")])

    expected = 404 if role is UserRole.PLANNER else 200
    assert client.get(page_of(order)).status_code == expected
    for action in ("move", "skip", "restore", "hold", "resume", "end", "activate"):
        assert client.post(page_of(order, f"{action}/")).status_code == (404 if expected == 404 else 422), action


@pytest.mark.parametrize("weeks", [1, 4])
def test_page_asks_the_same_however_many_days(django_assert_num_queries: Any, centre: Facility, weeks: int) -> None:
    order = cast.order(centre, end_date=MONDAY + weeks * 7 * DAY)
    client = visitor(UserRole.DISPATCHER)

    # Session, user, inbox, the order, five of the calendar, terms, holds, the rider's needs, audit trail.
    with django_assert_num_queries(14):
        client.get(page_of(order))


def test_days_are_listed_by_the_dozen() -> None:
    days = [MONDAY + number * DAY for number in range(14)]

    assert labels.listed(days[:2]) == "Mon, Nov 23; Tue, Nov 24"
    assert labels.listed(days).endswith("Fri, Dec 4 and 2 more")


def test_weeks_begin_where_the_language_has_it() -> None:
    laid = month.month(dt.date(2026, 8, 1), [], zone="UTC", today=MONDAY)

    assert [len(week) for week in laid.weeks] == [7] * 6
    assert laid.weeks[0][:6] == [None] * 6
