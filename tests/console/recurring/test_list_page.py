"""List of standing orders: by facility, days and chair time."""

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.recurring.queries import roster
from apps.recurring.services import edit_order, hold_order
from lib.access import system
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY

pytestmark = pytest.mark.django_db

LIST = "/console/recurring/"
DAY = dt.timedelta(days=1)
READERS = [UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR, UserRole.AUDITOR, UserRole.ANALYST]


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


def _rider(centre: Facility, last_name: str) -> Any:
    return factories.RiderFactory.create(facility=centre, first_name="Orla", last_name=last_name)


def _page(centre: Facility, role: UserRole = UserRole.DISPATCHER, **query: str) -> Any:
    return visitor(role).get(LIST, {"facility": str(centre.pk)} | query)


def test_orders_stand_by_days_then_chair_time_then_name(centre: Facility) -> None:
    tts = {"days_of_week": (1, 3, 5)}
    cast.order(centre, _rider(centre, "Zoll"), of={"chair_time": dt.time(6)})
    cast.order(centre, _rider(centre, "Abel"), of={"chair_time": dt.time(6)})
    cast.order(centre, _rider(centre, "Early"), of={"chair_time": dt.time(10, 30), "return_mode": "none"})
    cast.order(centre, _rider(centre, "Thursday"), of=tts)
    cast.order(centre, _rider(centre, "Seldom"), of={"days_of_week": (2,), "interval_weeks": 2})

    page = text_of(_page(centre))

    assert "5 standing orders. Times are local to the facility (Central Time)." in page
    assert (
        "Monday, Wednesday, Friday 3 Rider Days Next pickup Status Return trip Chair 06:00 , 2 riders Abel, Orla"
        in page
    )
    order = [page.index(word) for word in ("Abel", "Zoll", "Chair 10:30", "Early", "Thursday, Orla", "Seldom, Orla")]
    assert order == sorted(order)
    assert "Abel, Orla Mon Wed Fri Mon, Nov 23, 05:25 Active Will call" in page
    assert "Mon, Nov 23, 09:55 Active None" in page
    assert "Other days 1" in page
    assert "Wed, every 2 weeks" in page


def test_status_says_since_and_until_when(centre: Facility) -> None:
    friday = NOW.date()
    cast.order(centre, _rider(centre, "Drafted"), is_draft=True)
    cast.order(centre, _rider(centre, "Ends"), end_date=MONDAY + 30 * DAY)
    away = cast.order(centre, _rider(centre, "Away"), start_date=friday)
    trip = cast.order(centre, _rider(centre, "Trip"), start_date=friday)
    soon = cast.order(centre, _rider(centre, "Soon"), start_date=friday)
    told: dict[str, Any] = {"reason": "travel", "by": system(), "at": NOW}
    hold_order.hold(order_id=away.pk, from_date=friday, until=None, **told)
    hold_order.hold(order_id=trip.pk, from_date=friday, until=friday + 9 * DAY, **told)
    hold_order.hold(order_id=soon.pk, from_date=friday + 4 * DAY, until=None, **told)

    page = text_of(_page(centre))

    assert "Drafted, Orla Mon Wed Fri None booked Draft Will call" in page
    assert "Active ends on Wed, Dec 23, 2026" in page
    assert "Away, Orla Mon Wed Fri None booked On hold since Fri, Nov 20, 2026 Will call" in page
    assert "On hold since Fri, Nov 20, 2026, until Sun, Nov 29, 2026" in page
    assert "Active held from Tue, Nov 24, 2026" in page


def test_ended_orders_are_behind_the_filter(centre: Facility) -> None:
    over = cast.order(centre, _rider(centre, "Over"), start_date=NOW.date() - 7 * DAY)
    cast.order(centre, _rider(centre, "Rides"))
    edit_order.end(order_id=over.pk, last_date=None, by=system(), at=NOW)

    assert "Over, Orla" not in text_of(_page(centre))
    ended = text_of(_page(centre, status="ended"))
    assert "Over, Orla Mon Wed Fri None booked Ended last day Thu, Nov 19, 2026" in ended
    assert "Rides, Orla" not in ended
    assert "Over, Orla" not in text_of(_page(centre, status="active"))


def test_order_that_begins_later_shows_the_terms_it_begins_with(centre: Facility) -> None:
    order = cast.order(centre, start_date=MONDAY + 14 * DAY, of={"chair_time": dt.time(6)})
    later = MONDAY + 28 * DAY
    edit_order.change(order_id=order.pk, terms={"chair_time": dt.time(9)}, from_date=later, by=system(), at=NOW)

    page = text_of(_page(centre))

    assert "Chair 06:00" in page
    assert "Chair 09:00" not in page


def test_list_without_rows_says_what_to_do(centre: Facility) -> None:
    assert "No standing orders to this facility yet. Create the first" in text_of(_page(centre))
    assert "Make the first" not in text_of(_page(centre, UserRole.AUDITOR))
    assert "No standing orders match this filter." in text_of(_page(centre, status="draft"))


def test_without_a_facility_those_with_orders_are_counted(centre: Facility) -> None:
    cast.order(centre)
    cast.order(centre, is_draft=True)
    cast.order(cast.dialysis_centre(name="Aster Dialysis"))

    page = text_of(visitor(UserRole.DISPATCHER).get(LIST))

    assert "Facility Active On hold Drafts Aster Dialysis 1 0 0 Lakeview Dialysis 1 0 1" in page
    assert "Standing orders by facility" in text_of(visitor(UserRole.DISPATCHER).get(LIST, {"facility": "none"}))
    assert "Standing orders by facility" in text_of(visitor(UserRole.DISPATCHER).get(LIST, {"facility": str(uuid4())}))


def test_nobody_riding_anywhere_is_said(centre: Facility) -> None:
    factories.FacilityFactory.create()

    assert "No standing orders yet." in text_of(visitor(UserRole.DISPATCHER).get(LIST))


def test_only_facility_in_reach_needs_no_choosing(centre: Facility) -> None:
    cast.order(cast.dialysis_centre(name="Aster Dialysis"))
    client = visitor(UserRole.PLANNER)
    User.objects.get().facilities.set([centre])

    page = text_of(client.get(LIST))

    assert "Recurring rides to Lakeview Dialysis" in page
    assert "Aster" not in page


@pytest.mark.parametrize("role", READERS)
def test_names_are_shown_by_role_and_views_are_recorded(centre: Facility, role: UserRole) -> None:
    rider = _rider(centre, "Canary")
    cast.order(centre, rider)

    response = _page(centre, role)

    page = text_of(response)
    assert ("Canary, Orla" in page) is (role in READERS[:2])
    assert (f"Rider …{str(rider.pk)[-4:]}" in page) is (role not in READERS[:2])
    assert ("New standing order" in page) is (role in READERS[:2])
    assert AuditEntry.objects.get(action="standing_orders.list").rider_ids == [rider.pk]
    assert response.headers["Cache-Control"] == "no-store"
    assert "Canary" not in response.content.decode().partition("</title>")[0]


@pytest.mark.parametrize("role", list(UserRole))
def test_navigation_leads_here_whoever_may_see_orders(role: UserRole) -> None:
    client = visitor(role)
    opens = role in {*READERS, UserRole.PLANNER}

    assert (client.get(LIST).status_code == 200) is opens
    assert (f'href="{LIST}"' in client.get("/console/home/").content.decode()) is opens


def test_provider_is_told_who_may_see_orders() -> None:
    response = visitor(UserRole.FLEET_ADMIN).get(LIST)

    assert response.status_code == 403
    assert "The page is for: dispatch supervisor, dispatcher, discharge planner." in text_of(response)


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_same_however_many_orders(django_assert_num_queries: Any, centre: Facility, count: int) -> None:
    for _ in range(count):
        cast.order(centre)
    client = visitor(UserRole.DISPATCHER)

    # Session, user, inbox, facilities of the filter, views, the facility, orders, terms, holds, next rides, audit
    # trail.
    with django_assert_num_queries(11):
        client.get(LIST, {"facility": str(centre.pk)})


def test_list_that_is_too_long_says_so(centre: Facility, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MOST", 2)
    for _ in range(3):
        cast.order(centre)

    page = text_of(_page(centre))

    assert "Only the newest 2 are listed." in page
    assert "2 standing orders" in page
