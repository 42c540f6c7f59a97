"""Calendar links on pages: created, shown once, revoked; and the response to a calendar program."""

import datetime as dt
import re
from typing import Any
from urllib.parse import quote

import pytest
import time_machine
from django.test import Client
from icalendar import Calendar

from apps.accounts.rules.roles import PHI_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.recurring.models import CalendarLink, StandingOrder
from lib.access import Phi
from tests.console.recurring.visiting import BASE, page_of
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.recurring import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(db: None) -> StandingOrder:
    return cast.order()


def _of_facility(order: StandingOrder) -> str:
    return f"{BASE}facilities/{order.facility_id}/links/"


def _made(page: str, **form: Any) -> str:
    """Create a link on a page, and return the path of its calendar."""
    answer = visitor(UserRole.DISPATCHER).post(page, form)
    found = re.search(r"https?://[^/]+(/calendar/[A-Za-z0-9_-]{43}\.ics)", answer.content.decode())
    assert found, text_of(answer)
    return found[1]


def test_order_link_is_shown_once_and_read_without_login(order: StandingOrder) -> None:
    path = _made(page_of(order, "links/"))
    dispatcher = visitor(UserRole.DISPATCHER)

    read = Client().get(path)

    assert (read.status_code, read["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    assert read["Cache-Control"] == "private, no-cache"
    events: list[Any] = Calendar.from_ical(read.content).walk("VEVENT")
    assert {event["UID"].split(".")[0] for event in events} == {str(order.pk)}
    for page in (page_of(order, "links/"), _of_facility(order)):
        listed = dispatcher.get(page).content.decode()
        assert "One standing order" in listed
        assert "ago" in listed or "now" in listed  # read just now
        assert path not in listed


def test_calendar_that_has_not_changed_is_not_sent_again(order: StandingOrder) -> None:
    path = _made(_of_facility(order))
    tag = Client().get(path)["ETag"]

    again = Client().get(path, headers={"If-None-Match": tag})

    assert (again.status_code, again.content) == (304, b"")
    assert Client().head(path).content == b""


def test_names_are_in_it_where_somebody_asked_for_them(order: StandingOrder) -> None:
    name = order.rider.last_name
    plain, named = _made(_of_facility(order)), _made(_of_facility(order), with_names="on")

    assert name not in Client().get(plain).content.decode()
    assert name in Client().get(named).content.decode()
    assert AuditEntry.objects.get(action="calendar_links.read").rider_ids == [order.rider_id]
    assert "With names" in text_of(visitor(UserRole.DISPATCHER).get(_of_facility(order)))


def test_whoever_may_not_see_names_is_not_offered_them(order: StandingOrder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PHI_OF_USER, UserRole.DISPATCHER, Phi.NONE)

    opened = visitor(UserRole.DISPATCHER).get(_of_facility(order)).content.decode()
    _made(_of_facility(order), with_names="on")

    assert "with_names" not in opened
    assert not CalendarLink.objects.get().with_names


def test_revoked_link_is_gone_for_everybody(order: StandingOrder) -> None:
    path = _made(_of_facility(order))
    link = CalendarLink.objects.get()

    told = visitor(UserRole.DISPATCHER).post(f"{BASE}links/{link.pk}/revoke/", follow=True).content.decode()

    assert "is revoked" in told
    assert "No calendar reads these rides yet" in told
    gone = Client().get(path)
    assert (gone.status_code, gone.content) == (404, b"")
    assert Client().get("/calendar/nothing.ics").status_code == 404
    assert Client().post(path).status_code == 405


def test_old_sign_in_is_proven_again_before_a_link_is_made(order: StandingOrder) -> None:
    client = visitor(UserRole.DISPATCHER)

    with time_machine.travel(NOW + dt.timedelta(minutes=6), tick=False):
        answers = [client.post(page) for page in (_of_facility(order), page_of(order, "links/"))]

    proofs = [answer["Location"].partition("?next=")[2] for answer in answers]
    assert proofs == [quote(page, safe="") for page in (_of_facility(order), page_of(order, "links/"))]
    assert not CalendarLink.objects.exists()


def test_links_beyond_reach_are_not_there(order: StandingOrder) -> None:
    _made(_of_facility(order))
    link = CalendarLink.objects.get()
    stranger = visitor(UserRole.PLANNER)  # a member of no facility

    for page in (_of_facility(order), page_of(order, "links/")):
        assert stranger.get(page).status_code == 404
        assert stranger.post(page).status_code == 404
    assert stranger.post(f"{BASE}links/{link.pk}/revoke/").status_code == 404
    assert visitor(UserRole.ANALYST).get(_of_facility(order)).status_code == 403
    assert CalendarLink.objects.live().count() == 1


def test_pages_ask_the_same_however_many_links(order: StandingOrder, django_assert_num_queries: Any) -> None:
    for _ in range(3):
        _made(_of_facility(order))
    client = visitor(UserRole.DISPATCHER)

    with django_assert_num_queries(6):  # session, user, inbox, facility, links, their creators
        client.get(_of_facility(order))
