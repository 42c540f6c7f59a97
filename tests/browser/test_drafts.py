"""Autosave of booking drafts in a real browser: during typing, after the end of a session, without script (U3)."""

import datetime as dt
import time
from collections.abc import Callable

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.sessions import LAST_ACTIVE_AT
from apps.organizations.models import Entrance, Facility
from apps.riders.models import Rider
from apps.rides.models import BookingDraft, Ride
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.rides.drafts import HOME

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]
BOOK = "/console/book/"


@pytest.fixture
def hospital(transactional_db: None) -> Facility:
    found = factories.FacilityFactory.create(name="Riverbend General Hospital")
    factories.ContactFactory.create(facility=found, role="unit", name="4 West")
    Entrance.objects.create(facility=found, name="East lobby")
    return found


@pytest.fixture
def grace(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital, first_name="Grace", last_name="Walsh", home_address=HOME)


@pytest.fixture
def planner(hospital: Facility) -> User:
    found = factories.UserFactory.create(role=UserRole.PLANNER, name="Pat Planner")
    found.facilities.set([hospital])
    return found


@pytest.fixture
def desk(inspector_of: InspectorOf, planner: User) -> Inspector:
    return inspector_of(planner)


def _type(page: Page) -> None:
    page.get_by_label("Note to the driver").fill("Ring twice.")
    page.locator("#id_clock").fill("2359")
    expect(page.locator("#draft-status")).to_contain_text("Draft saved at")


def test_u3_draft_survives_the_session_and_is_offered_again(
    desk: Inspector, planner: User, grace: Rider, inspector_of: InspectorOf
) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        page.get_by_label("Note to the driver").fill("Ring twice.")
        page.clock.run_for(2_000)
        expect(page.locator("#draft-status")).to_contain_text("Draft saved at")
        session = SessionStore(session_key=desk.cookies[0]["value"])
        session[LAST_ACTIVE_AT] = time.time() - 16 * 60
        session.save()
        page.clock.fast_forward("16:00")
        page.wait_for_url("**/login/**")

    again = inspector_of(planner)
    with again.context() as context:
        page = context.new_page()
        page.goto(again.url + BOOK)
        page.get_by_role("link", name="Continue booking").press("Enter")
        expect(page.get_by_label("Note to the driver")).to_have_value("Ring twice.")
        expect(page.locator(".chosen")).to_contain_text("Walsh, Grace")

    assert b"Ring" not in bytes(BookingDraft.objects.get().form_data_encrypted)


def test_draft_is_offered_opened_and_gone_once_it_is_booked(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        _type(page)
        found = faults(page)
        page.goto(desk.url + BOOK)
        offer = page.get_by_role("link", name="Continue booking")
        expect(offer).to_be_visible()
        found += faults(page)
        page.goto(f"{desk.url}{BOOK}drafts/")
        expect(page.get_by_role("cell", name="Walsh, Grace", exact=True)).to_be_visible()
        assert "Walsh" not in page.url + page.title()
        found += faults(page)
        page.get_by_role("link", name="Continue : Discharge, Walsh, Grace").press("Enter")
        expect(page.locator("#id_clock")).to_have_value("2359")
        expect(page.locator("#echo")).to_contain_text("23:59")  # previewed without a key press
        expect(page.get_by_label("Note to the driver")).to_have_value("Ring twice.")
        page.locator("#id_clock").press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")
        expect(page.get_by_role("link", name="Continue booking")).to_have_count(0)

    assert (Ride.objects.get().driver_notes, BookingDraft.objects.count()) == ("Ring twice.", 0)
    assert found == [], "\n".join(found)


def test_page_that_is_left_at_once_is_kept_as_it_stood(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        page.get_by_label("Note to the driver").fill("Called away")
        page.goto(f"{desk.url}{BOOK}drafts/")
        until = time.monotonic() + 20
        while not BookingDraft.objects.exists() and time.monotonic() < until:
            time.sleep(0.05)  # the request that a page sends on leaving arrives in parallel with the next one
        page.reload()
        expect(page.get_by_role("cell", name="Walsh, Grace", exact=True)).to_be_visible()

    assert "Called away" in BookingDraft.objects.get().form_data


def test_what_cannot_be_kept_is_said(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        page.route("**/drafts/keep/", lambda route: route.abort())
        page.locator("#id_clock").fill("2359")
        expect(page.locator("#draft-status")).to_have_text("The draft is not saved. You may have been signed out.")
        page.unroute("**/drafts/keep/")
        page.locator("#id_clock").fill("2358")
        expect(page.locator("#draft-status")).to_contain_text("Draft saved at")


def test_draft_is_kept_and_thrown_away_without_script(desk: Inspector, grace: Rider) -> None:
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        page.get_by_label("Note to the driver").fill("Ring twice.")
        page.get_by_role("button", name="Save draft").click()
        expect(page.get_by_text("The draft is saved.")).to_be_visible()
        page.get_by_role("link", name="Continue : Discharge, Walsh, Grace").click()
        expect(page.get_by_label("Note to the driver")).to_have_value("Ring twice.")
        page.goto(f"{desk.url}{BOOK}drafts/")
        page.get_by_role("button", name="Delete draft").click()
        expect(page.get_by_text("No drafts.")).to_be_visible()

    assert BookingDraft.objects.count() == 0


def test_discharge_says_by_which_door_and_what_is_there(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        expect(page.get_by_label("Entrance")).to_be_hidden()
        page.get_by_text("Entrance, receiving contact, checklist").click()
        page.get_by_label("Entrance").select_option("East lobby")
        page.get_by_label("Received by").fill("Sunrise Care")
        page.get_by_role("checkbox", name="Order signed").check()
        found = faults(page)
        page.locator("#id_receiving_by").fill("25:00")
        page.locator("#id_clock").fill("2359")
        page.locator("#id_clock").press("Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        page.get_by_role("link", name="Accepts until: Enter a time such as 14:30, 2:30p, +45 or now.").press("Enter")
        expect(page.locator("#id_receiving_by")).to_be_focused()
        found += faults(page)
        page.locator("#id_receiving_by").fill("")
        page.locator("#id_clock").press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")

    details = Ride.objects.get().discharge or {}
    assert (details["receiving"], details["checklist"]) == ({"name": "Sunrise Care"}, {"orderSigned": True})
    assert found == [], "\n".join(found)


def test_k9_planner_finds_nobody_of_another_facility(desk: Inspector, grace: Rider) -> None:
    theirs = factories.RiderFactory.create(first_name="Walter", last_name="Walshe")
    ride = factories.RideFactory.create(rider=theirs, pickup_at=timezone.now() + dt.timedelta(hours=2))
    with desk.context() as context:
        page = context.new_page()
        statuses = []
        for path in (f"{BOOK}?rider={theirs.pk}", f"{BOOK}?repeat={ride.pk}", f"/console/rides/{ride.pk}/"):
            answer = page.goto(desk.url + path)
            statuses.append(answer.status if answer else None)
        page.goto(desk.url + BOOK)
        page.keyboard.type("wals")
        expect(page.locator("#rider-options [data-value]")).to_have_count(1)
        expect(page.get_by_role("option", name="Walsh, Grace")).to_be_visible()

    assert statuses == [404, 404, 404]  # absent, not forbidden
