"""Booking form in a real browser: by keyboard only, without script, valid in every state (K1 to K9)."""

import datetime as dt
import re
from collections.abc import Callable
from statistics import median
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import ExternalId, Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7
from tests import factories
from tests.browser.days import today
from tests.browser.harness import Inspector, faults
from tests.rides.drafts import HOME

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
BOOK = "/console/book/"
FIND = "/console/book/riders/"
SHOWN = """() => {
  window.__shown = [];
  const tell = () => window.__shown.push(performance.now());
  new MutationObserver(tell).observe(document.getElementById("rider-options"), { childList: true });
}"""
# Milliseconds from each search request to the list that is shown and laid out.
TOOK = """(address) => performance.getEntriesByType("resource").filter((one) => one.name.endsWith(address))
  .map((one) => window.__shown.find((at) => at >= one.startTime) - one.startTime)"""


@pytest.fixture
def hospital(transactional_db: None) -> Facility:
    found = factories.FacilityFactory.create(name="Riverbend General Hospital")
    factories.ContactFactory.create(facility=found, role="unit", name="4 West")
    return found


@pytest.fixture
def grace(hospital: Facility) -> Rider:
    return factories.RiderFactory.create(facility=hospital, first_name="Grace", last_name="Walsh", home_address=HOME)


@pytest.fixture
def desk(inspector_of: InspectorOf, hospital: Facility) -> Inspector:
    planner = factories.UserFactory.create(role=UserRole.PLANNER, name="Pat Planner")
    planner.facilities.set([hospital])
    return inspector_of(planner)


class Hands:
    """Types on a page, and counts keys and visited fields."""

    def __init__(self, page: Page) -> None:
        self.page, self.keys = page, 0
        self.fields = [self._focused()]

    def type(self, text: str) -> None:
        for key in text:
            self.press(key)

    def press(self, key: str) -> None:
        self.keys += 1
        self.page.keyboard.press(key)

    def arrive(self, name: str) -> None:
        """Wait until a field has the focus."""
        expect(self.page.locator(f"#id_{name}")).to_be_focused()
        self.fields.append(self._focused())

    def _focused(self) -> str:
        return str(self.page.evaluate("() => document.activeElement.id"))


def test_pages_of_the_desk_are_sound(desk: Inspector, grace: Rider) -> None:
    found = desk.inspect(BOOK, name="booking-empty")
    found += desk.inspect(f"{BOOK}?rider={grace.pk}", name="booking-rider")
    found += desk.inspect(f"{BOOK}?rider={grace.pk}&for=dialysis", name="booking-dialysis")

    assert found == [], "\n".join(found)


def test_k1_k3_discharge_of_a_known_rider_takes_name_and_time(desk: Inspector, grace: Rider) -> None:
    for number in range(3):
        factories.RiderFactory.create(first_name=f"Walter{number}", last_name="Gray")  # outside the data scope
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        expect(page.locator("#id_q")).to_be_focused()
        hands = Hands(page)
        hands.type("grace")
        expect(page.get_by_role("option", name="Walsh, Grace")).to_have_attribute("aria-selected", "true")
        found = faults(page)
        hands.press("Enter")
        hands.arrive("clock")
        hands.type("2359")
        expect(page.locator("#echo")).to_contain_text("23:59")
        expect(page.locator("#ahead")).to_contain_text("Pickup window")
        found += faults(page)
        hands.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")
        found += faults(page)

    ride = Ride.objects.get()
    assert (ride.rider, ride.service_type) == (grace, "hospital_discharge")
    assert (hands.keys <= 20, hands.fields) == (True, ["id_q", "id_clock"])
    assert found == [], "\n".join(found)


def test_time_typed_while_the_chosen_rider_loads_is_kept(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)

        def answer_late(route: Route) -> None:
            page.keyboard.type("+45")
            route.continue_()

        page.keyboard.type("grace")
        expect(page.get_by_role("option", name="Walsh, Grace")).to_have_attribute("aria-selected", "true")
        page.route("**/console/book/", answer_late)
        page.keyboard.press("Enter")
        expect(page.locator(".chosen")).to_contain_text("Walsh, Grace")
        expect(page.locator("#id_clock")).to_be_focused()
        expect(page.locator("#id_clock")).to_have_value("+45")
        expect(page.locator("#ahead")).to_contain_text("Pickup window")


def test_combobox_is_walked_by_arrows_and_left_by_escape(desk: Inspector, hospital: Facility) -> None:
    for name in ("Ada", "Ben", "Cora"):
        factories.RiderFactory.create(facility=hospital, first_name=name, last_name="Gray")
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        field, chosen = page.locator("#id_q"), page.locator('[role="option"][aria-selected="true"]')
        page.keyboard.type("g")
        expect(page.locator("#rider-options")).to_be_hidden()
        page.keyboard.type("ra")
        expect(chosen).to_contain_text("Gray, Ada")
        seen = []
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
            seen.append(chosen.locator("strong").inner_text())
            expect(field).to_have_attribute("aria-activedescendant", str(chosen.get_attribute("id")))
        page.keyboard.press("Escape")
        expect(page.locator("#rider-options")).to_be_hidden()
        expect(field).to_have_attribute("aria-expanded", "false")
        expect(field).to_have_value("gra")
        page.keyboard.press("ArrowDown")
        expect(page.locator("#rider-options")).to_be_visible()
        page.keyboard.type("yxq")
        expect(page.get_by_text("No riders found.").first).to_be_visible()
        found = faults(page)
        field.fill("")
        page.keyboard.type("gray, c")
        page.keyboard.press("Enter")  # before the answer: selects the rider once found
        expect(page.locator(".chosen")).to_contain_text("Gray, Cora")

    assert seen == ["Gray, Ben", "Gray, Cora", "Gray, Ada", "Gray, Cora"]
    assert found == [], "\n".join(found)


def test_k4_k5_error_links_to_its_field_and_input_stays(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        page.get_by_label("Note to the driver").fill("Ring twice.")
        with page.expect_response(
            lambda answer: answer.request.method == "POST" and answer.url.endswith("/book/")
        ) as sent:
            page.keyboard.press("Control+Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        found = faults(page)
        expect(page.get_by_label("Note to the driver")).to_have_value("Ring twice.")
        page.get_by_role("link", name="Time: Enter a time.").press("Enter")
        expect(page.locator("#id_clock")).to_be_focused()
        echo = page.locator("#echo")
        page.keyboard.type("25:00")
        expect(echo).to_have_text("Enter a time such as 14:30, 2:30p, +45 or now.")
        found += faults(page)
        for said, shown in (
            ("2:30p", "14:30"),
            ("+45", "in 4"),
            ("1430", "14:30"),
            ("now", "just now"),
            ("noon", "12:00"),
        ):
            page.locator("#id_clock").fill(said)
            expect(echo).to_contain_text(shown)
        page.locator("#id_clock").fill("+45")
        ahead = [
            dt.datetime.now(ZoneInfo("America/Chicago")) + dt.timedelta(minutes=minutes) for minutes in (44, 45, 46)
        ]
        expect(echo).to_contain_text(re.compile("|".join(f"{at:%H:%M}" for at in ahead)))
        page.locator("#id_clock").fill("noon")
        page.get_by_role("link", name="Rider: Choose a rider").press("Enter")
        expect(page.locator("#id_q")).to_be_focused()
        page.keyboard.type("walsh")
        page.keyboard.press("Enter")
        expect(page.locator(".chosen")).to_contain_text("Walsh, Grace")
        expect(page.locator("#id_clock")).to_have_value("noon")
        expect(page.get_by_label("Note to the driver")).to_have_value("Ring twice.")

    assert sent.value.status == 422
    assert Ride.objects.count() == 0
    assert found == [], "\n".join(found)


def test_k6_k7_second_ride_of_a_day_is_warned_of_and_booked_once(desk: Inspector, grace: Rider) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        page.keyboard.type("2350")
        form = page.evaluate("() => [...new FormData(document.querySelector('form.booking'))]")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")
        again = context.request.post(desk.url + BOOK, form=dict(form), headers={"Referer": desk.url + BOOK})
        assert "This ride was booked already." in again.text()
        page.goto(f"{desk.url}{BOOK}?rider={grace.pk}")
        expect(page.locator("#standing")).to_contain_text("Already booked on")
        found = faults(page)
        page.keyboard.type("2355")
        expect(page.locator("#ahead")).to_contain_text("The rider has a ride at this time.")
        found += faults(page)
        page.keyboard.press("Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        assert Ride.objects.count() == 1
        page.get_by_label("Book anyway").check()
        page.get_by_role("button", name="Book the ride").click()
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")

    assert Ride.objects.count() == 2
    assert found == [], "\n".join(found)


def test_k8_rider_search_among_five_thousand_takes_under_200_ms(inspector_of: InspectorOf, hospital: Facility) -> None:
    """`make bench` searches among 100,000 riders; this test includes the transfer to the page."""
    now = timezone.now()
    names = [f"{onset}{end}" for onset in ("Wal", "Mar", "Hen", "Ros", "Pet") for end in ("sh", "ters", "son", "ley")]
    copy_rows(
        Rider,
        [
            {
                "id": uuid7(), "first_name": f"Ada{number % 50}", "last_name": names[number % 20],
                "phones": [{"number": f"+1312{2_000_000 + number}", "ext": "", "kind": "mobile"}],
                "created_at": now, "updated_at": now,
            }
            for number in range(5_000)
        ],
    )  # fmt: skip
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    asked = ("wa", "walsh", "walsh, ada7", "marley", "312 200 4321", "zqx", "ada49 peters")
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        page.evaluate(SHOWN)
        for text in asked:
            with page.expect_response(f"**{FIND}"):
                page.locator("#id_q").fill(text)
            expect(page.locator("#rider-options [role=option]").first).to_be_visible()
        page.wait_for_function(f"([address, count]) => ({TOOK})(address).length >= count", arg=[FIND, len(asked)])
        took = page.evaluate(TOOK, FIND)
        page.locator("#id_q").fill("walsh, ada20")
        expect(page.get_by_role("option", name="Walsh, Ada20").first).to_be_visible()
        found = faults(page)

    assert Rider.objects.count() >= 5_000
    assert median(took) < 200, took
    assert found == [], "\n".join(found)


def test_k2_new_rider_is_typed_and_a_namesake_shown(desk: Inspector, hospital: Facility) -> None:
    factories.RiderFactory.create(facility=hospital, first_name="Orla", last_name="Doe")
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        hands = Hands(page)
        hands.press("Tab")
        hands.press("Enter")  # New rider
        hands.arrive("first_name")
        for text in ("Orla", "Doe", "04021951"):
            hands.type(text)
            hands.press("Tab")
        page.locator("#id_phone").focus()
        for text in ("3125550140", "9 Elm St", "", "Chicago", "IL", "60622"):
            hands.type(text)
            hands.press("Tab")
        page.locator("#id_clock").focus()
        hands.type("2359")
        hands.press("Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        expect(page.get_by_text("Is it one of these?")).to_be_visible()
        found = faults(page)
        page.get_by_label("This is a different person").check()
        page.locator("#id_clock").press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is booked.")

    rider = Rider.objects.latest("created_at")
    fields = 10
    assert (rider.last_name, str(rider.date_of_birth), rider.phones[0]["number"]) == (
        "Doe",
        "1951-04-02",
        "+13125550140",
    )
    assert hands.keys * 0.06 + fields <= 60  # seconds: 60 ms per key, one per field
    assert found == [], "\n".join(found)


def test_sheet_is_looked_at_row_by_row_before_it_is_booked(desk: Inspector, grace: Rider) -> None:
    ExternalId.objects.create(subject_type="rider", subject_id=grace.pk, system="epic", value="E1")
    tomorrow = today() + dt.timedelta(days=2)
    rows = f"rider,reason,day,time\nE1,appointment,{tomorrow},14:30\nE9,appointment,{tomorrow},25:00"
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        with page.expect_navigation():
            page.get_by_role("link", name="Import CSV").click()
        found = faults(page)
        page.get_by_role("textbox", name="Rows").fill(rows)
        page.get_by_role("button", name="Check rows").click()
        expect(page.locator(".error-summary")).to_be_focused()
        expect(page.get_by_role("cell", name="There is no rider with this id.")).to_be_visible()
        found += faults(page)
        page.get_by_role("textbox", name="Rows").fill(rows.rpartition("\n")[0])
        page.get_by_role("button", name="Check rows").click()
        expect(page.get_by_role("cell", name="ready")).to_be_visible()
        found += faults(page)
        page.get_by_role("button", name="Book 1 ride").click()
        expect(page.get_by_role("status").first).to_contain_text("1 booking is made.")

    assert Ride.objects.count() == 2
    assert found == [], "\n".join(found)


def test_ride_is_booked_without_script(desk: Inspector, grace: Rider) -> None:
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(desk.url + BOOK)
        page.get_by_role("button", name="Dialysis").click()
        page.get_by_label("Rider", exact=False).first.fill("wal")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Walsh, Grace").click()
        page.get_by_label("Time", exact=True).fill("10:30p")
        page.get_by_label("Day", exact=True).fill(str(today() + dt.timedelta(days=2)))
        page.get_by_role("button", name="Check").click()
        expect(page.locator("#ahead")).to_contain_text("There by")
        assert "wal" not in page.url
        page.get_by_role("button", name="Book the ride").click()
        expect(page.get_by_role("status").first).to_contain_text("The ride and the return trip are booked.")

    assert Ride.objects.count() == 2


def test_ride_that_took_place_is_recorded_by_a_supervisor(inspector_of: InspectorOf, grace: Rider) -> None:
    supervisor = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR, name="Sam Supervisor"))
    yesterday = today() - dt.timedelta(days=1)
    with supervisor.context() as context:
        page = context.new_page()
        page.goto(f"{supervisor.url}{BOOK}?rider={grace.pk}&facility={grace.facilities.get().pk}")
        page.locator("#id_day").fill(yesterday.isoformat())
        page.locator("#id_clock").fill("14:05")
        expect(page.locator("#ahead")).to_contain_text("has passed")
        page.locator("#id_after_the_fact").check()
        expect(page.locator("#ahead")).to_contain_text("Recorded after the fact: nothing is promised.")
        found = faults(page)
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("status").first).to_contain_text("The ride is recorded.")
        page.get_by_role("link", name="Open the ride").click()
        expect(page.locator("h1")).to_contain_text("Recorded after the fact")
        found += faults(page)

    ride = Ride.objects.get()
    assert (ride.after_the_fact, ride.promised_pickup_by, ride.next_check_at) == (True, None, None)
    assert found == [], "\n".join(found)
