"""The dispatch board in a browser: a day of 400 rides and 24 drivers, once of 1,500 and 80.

`make bench ONLY=board` measures the large day.
"""

import datetime as dt
import re
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.console.board import accepting_views
from apps.fleet.models import Driver
from apps.rides.models import Ride
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.dispatch.seeded import SeededDay, seed

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
BOARD = "/console/board/"
LARGE = {"rides": 1500, "drivers": 80, "riders": 600}
SMALL = {"rides": 400, "drivers": 24, "riders": 100}


@pytest.fixture
def day(transactional_db: None, request: pytest.FixtureRequest) -> SeededDay:
    tomorrow = dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1)
    return seed(tomorrow, **getattr(request, "param", SMALL))


@pytest.fixture
def desk(day: SeededDay, inspector_of: Callable[[User | None], Inspector]) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))


@pytest.fixture
def page(desk: Inspector, day: SeededDay) -> Iterator[Page]:
    with desk.context() as context:
        opened = context.new_page()
        opened.goto(f"{desk.url}{BOARD}?day={day.date}", wait_until="load")
        expect(opened.locator("[data-zoom]").first).to_be_visible()
        yield opened


def _focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.id"))


def _driver_of(ride: Ride) -> Any:
    return Ride.objects.values_list("driver_id", flat=True).get(pk=ride.pk)


def _assigned(page: Page) -> None:
    expect(page.locator(".toast")).to_contain_text("Assigned to")


def _drop(page: Page, ride: Ride, onto: str) -> None:
    card, target = page.locator(f"#ride-{ride.pk}"), page.locator(onto)
    target.scroll_into_view_if_needed()
    card.scroll_into_view_if_needed()
    here, there = card.bounding_box(), target.bounding_box()
    assert here is not None
    assert there is not None
    page.mouse.move(here["x"] + 20, here["y"] + 8)
    page.mouse.down()
    page.mouse.move(max(there["x"], 500) + 40, there["y"] + 20, steps=6)
    page.mouse.up()


def test_the_board_and_its_pages_are_sound(desk: Inspector, day: SeededDay) -> None:
    """Includes B13: no page scrolls sideways at 320 and 390 px."""
    ride = day.waiting[0]

    found = desk.inspect(f"{BOARD}?day={day.date}", name="board")
    found += desk.inspect(f"{BOARD}?day={day.date}&view=list&show=waiting", name="board-list")
    found += desk.inspect(f"{BOARD}?day={day.date}&view=map&show=waiting", name="board-map")
    found += desk.inspect(f"{BOARD}?day={day.date + dt.timedelta(days=60)}", name="board-empty")
    found += desk.inspect(f"{BOARD}rides/{ride.pk}/", name="board-ride")
    found += desk.inspect(f"{BOARD}rides/{ride.pk}/assign/", name="board-assign")
    found += desk.inspect(f"{BOARD}rides/{ride.pk}/unassign/", name="board-unassign")
    found += desk.inspect(f"{BOARD}drivers/{day.drivers[9].pk}/?day={day.date}", name="board-run")

    assert found == [], "\n".join(found)


def test_b4_keys_assign_and_the_focus_stays_on_the_ride(page: Page, day: SeededDay) -> None:
    ride = day.waiting[0]

    page.keyboard.press("q")
    assert _focused(page) == f"ride-{ride.pk}"
    page.keyboard.press("a")
    expect(page.locator("dialog[open] .candidate").first).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    _assigned(page)

    assert _driver_of(ride) is not None
    expect(page.locator(f"#ride-{ride.pk}")).to_be_focused()
    assert page.locator(f".driver-row #ride-{ride.pk}").count() == 1


def test_b3_card_dragged_to_a_driver_is_assigned_and_undone(page: Page, day: SeededDay) -> None:
    ride, driver = day.waiting[0], day.drivers[0]
    waiting = page.locator("[data-counter=waiting] strong")
    before = int(waiting.inner_text())

    _drop(page, ride, f"#driver-row-{driver.pk}")
    _assigned(page)

    assert _driver_of(ride) == driver.pk
    expect(page.locator(f"#driver-row-{driver.pk} .bar#ride-{ride.pk}")).to_have_count(1)
    expect(waiting).to_have_text(str(before - 1))
    page.locator(".toast-action").focus()  # it stays as long as it has the focus
    assert faults(page) == []
    page.keyboard.press("Enter")
    expect(waiting).to_have_text(str(before))
    expect(page.locator(f"#driver-row-{driver.pk} .bar")).to_have_count(0)
    assert _driver_of(ride) is None


def test_b5_a_stale_copy_is_told_and_overwrites_nothing(page: Page, day: SeededDay) -> None:
    ride = day.waiting[0]
    Ride.objects.filter(pk=ride.pk).update(version=5)

    _drop(page, ride, f"#driver-row-{day.drivers[0].pk}")

    expect(page.locator(".toast.error")).to_contain_text("Someone else changed this ride")
    assert faults(page) == []
    assert _driver_of(ride) is None


def test_b6_stretcher_ride_is_refused_by_a_van_without_room(page: Page, day: SeededDay) -> None:
    ride = day.waiting[0]
    Ride.objects.filter(pk=ride.pk).update(spaces_ambulatory=0, spaces_stretcher=1)

    _drop(page, ride, f"#driver-row-{day.drivers[0].pk}")

    refusal = page.locator("dialog[open] .error-summary")
    expect(refusal).to_contain_text("The vehicle has no configuration for 1 stretcher.")
    assert faults(page) == []
    assert _driver_of(ride) is None


def test_b7_focus_and_scroll_survive_what_others_change(page: Page, day: SeededDay) -> None:
    bar = page.locator(".driver-row .bar").nth(370)
    bar.focus()
    driver_id = str(page.locator(".driver-row", has=page.locator(":focus")).get_attribute("data-driver"))
    changed = Ride.objects.filter(driver_id=driver_id).latest("pickup_at")
    Ride.objects.filter(pk=changed.pk).update(version=9)
    focused, scrolled = _focused(page), page.evaluate("() => document.getElementById('timeline').scrollTop")
    assert scrolled > 0

    page.evaluate(
        "(id) => document.dispatchEvent(new CustomEvent('carelane:changes',"
        " {detail: {changes: [{subject: 'ride', id, type: 'ride.updated'}], resync: false}}))",
        str(changed.pk),
    )

    expect(page.locator(f"#ride-{changed.pk}")).to_have_attribute("data-version", "9")
    assert _focused(page) == focused
    assert page.evaluate("() => document.getElementById('timeline').scrollTop") == scrolled


def test_b7_drag_survives_changes_of_others(page: Page, day: SeededDay) -> None:
    """The queue is replaced when the drag ends: the card stays the same element while it is dragged."""
    ride, other, driver = day.waiting[0], day.waiting[1], day.drivers[0]
    card, driver_row = page.locator(f"#ride-{ride.pk}"), page.locator(f"#driver-row-{driver.pk}")
    driver_row.scroll_into_view_if_needed()
    here, there = card.bounding_box(), driver_row.bounding_box()
    assert here is not None
    assert there is not None
    page.evaluate("(id) => { window.taken = document.getElementById(`ride-${id}`); }", str(ride.pk))
    page.mouse.move(here["x"] + 20, here["y"] + 8)
    page.mouse.down()
    page.mouse.move(500, there["y"] + 20, steps=4)
    Ride.objects.filter(pk=other.pk).update(version=9)
    page.evaluate(
        "(id) => document.dispatchEvent(new CustomEvent('carelane:changes',"
        " {detail: {changes: [{subject: 'ride', id, type: 'ride.updated'}], resync: false}}))",
        str(other.pk),
    )
    page.wait_for_timeout(1500)
    assert page.evaluate("() => window.taken.isConnected")

    page.mouse.move(540, there["y"] + 20, steps=2)
    page.mouse.up()
    _assigned(page)

    assert _driver_of(ride) == driver.pk
    expect(page.locator(f".ride-card[data-ride='{other.pk}']")).to_have_attribute("data-version", "9")


@pytest.mark.parametrize("first", ["many", "resync"])
def test_b7_many_changes_during_a_drag_are_fetched_as_a_whole(page: Page, day: SeededDay, first: str) -> None:
    """An address cannot hold all names, and a request for the whole board stays one when further names follow."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/board/changes/" in request.url else None)
    names = [str(one.pk) for one in Ride.objects.order_by("pk")[:120]]
    told = [([], True), (names[:1], False)] if first == "resync" else [(names[:50], False), (names[40:], False)]
    here = page.locator(f"#ride-{day.waiting[0].pk}").bounding_box()
    assert here is not None
    page.mouse.move(here["x"] + 20, here["y"] + 8)
    page.mouse.down()
    page.mouse.move(here["x"] + 30, here["y"] + 12, steps=3)
    expect(page.locator(".dragged")).to_have_count(1)

    for ids, resync in told:
        page.evaluate(
            "([ids, resync]) => document.dispatchEvent(new CustomEvent('carelane:changes', {detail: {resync,"
            " changes: ids.map((id) => ({subject: 'ride', id, type: 'ride.updated'}))}}))",
            [ids, resync],
        )
    during = list(asked)
    with page.expect_response(lambda answer: "/board/changes/" in answer.url) as found:
        page.mouse.up()

    assert during == []
    assert found.value.status == 200
    assert [url for url in asked if "ride=" in url or "driver=" in url] == []


def test_b3_undo_overwrites_no_later_change(page: Page, day: SeededDay) -> None:
    ride, driver = day.waiting[0], day.drivers[0]
    _drop(page, ride, f"#driver-row-{driver.pk}")
    _assigned(page)
    Ride.objects.filter(pk=ride.pk).update(version=9)

    page.locator(".toast-action").click()

    expect(page.locator(".toast.error")).to_contain_text("Someone else changed this ride")
    assert _driver_of(ride) == driver.pk


def test_b8_arrow_keys_visit_the_rides_of_a_driver_by_time(page: Page, day: SeededDay) -> None:
    driver_row = page.locator(".driver-row").first
    expected = [
        str(pk)
        for pk in Ride.objects.filter(driver_id=str(driver_row.get_attribute("data-driver")))
        .order_by("pickup_at", "pk")
        .values_list("pk", flat=True)
    ]
    driver_row.locator(".bar").first.focus()
    page.keyboard.press("Home")

    visited = [_focused(page)]
    for _ in expected[1:]:
        page.keyboard.press("ArrowRight")
        visited.append(_focused(page))
        assert page.locator(".bar[tabindex='0']").count() == 1

    assert visited == [f"ride-{pk}" for pk in expected]
    page.keyboard.press("ArrowDown")
    assert page.locator(".driver-row").nth(1).locator(":focus").count() == 1


@pytest.mark.nightly
def test_the_panel_and_a_selection_are_sound_in_every_state(page: Page, day: SeededDay) -> None:
    page.keyboard.press("q")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_have_text("Ride")
    found = faults(page)
    page.keyboard.press("Escape")
    for _ in range(2):
        page.keyboard.press("x")
        page.keyboard.press("ArrowDown")
    expect(page.locator("#selection .chosen-count")).to_have_text("2 selected")
    found += faults(page)

    page.select_option("#selection-driver", str(day.drivers[0].pk))
    page.locator("#selection button[value=assign]").click()
    page.wait_for_load_state()

    assert found + faults(page) == []
    refused = page.locator(".refusals li").count()
    assert Ride.objects.filter(pk__in=[ride.pk for ride in day.waiting[:2]], driver=None).count() == refused


def test_b13_on_a_phone_queue_and_drivers_are_switched_between(page: Page, day: SeededDay) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator("#timeline")).to_be_hidden()

    page.get_by_role("button", name="Drivers").click()

    expect(page.locator("#timeline")).to_be_visible()
    expect(page.locator("#queue")).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert faults(page) == []


def test_w1_released_will_call_shows_elsewhere_within_a_second(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    """A smaller day with all will-calls: the median latency between two browsers counts."""
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=400, drivers=20, riders=60)
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    took = []
    with desk.context() as here, desk.context() as there:
        page, other = here.new_page(), there.new_page()
        for one in (page, other):
            one.goto(f"{desk.url}{BOARD}?day={day.date}")
            expect(one.locator("#live")).to_have_attribute("data-state", "live", timeout=30_000)
        for ride in day.will_calls:
            expect(other.locator(f"#ride-{ride.pk}")).to_contain_text("Will-call")
            page.locator(f"#ride-{ride.pk}").focus()
            page.keyboard.press("r")
            pressed = time.perf_counter()
            other.locator(f"#queue #ride-{ride.pk}", has_text="Ready").wait_for(timeout=30_000)
            took.append(time.perf_counter() - pressed)
            expect(page.locator(".toast").last).to_contain_text("The rider is marked ready")

    assert len(took) >= 3
    assert all(Ride.objects.filter(pk__in=[ride.pk for ride in day.will_calls]).values_list("ready_at", flat=True))
    assert statistics.median(took) < 1, took


def test_b11_without_script_rows_are_read_and_rides_assigned(desk: Inspector, day: SeededDay) -> None:
    ride = day.waiting[0]
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BOARD}?day={day.date}")
        assert page.locator(".driver-row").count() == len(day.drivers)
        assert page.locator(".driver-row .bar").count() == Ride.objects.filter(driver__isnull=False).count()
        page.locator(f"a[href='{BOARD}rides/{ride.pk}/assign/']").click()
        page.locator("input[name=driver_id]").first.check()
        page.get_by_role("button", name="Assign", exact=True).click()
        expect(page.locator(".messages")).to_contain_text("Assigned to")

    assert _driver_of(ride) is not None


@pytest.mark.parametrize("day", [LARGE], indirect=True)
def test_b14_suggestions_are_accepted_at_once_or_discarded(page: Page, day: SeededDay) -> None:
    for driver in day.drivers[3:40]:
        assert driver.default_vehicle is not None
        factories.file_credentials(driver, driver.default_vehicle)
    waiting = [ride.pk for ride in day.waiting]
    page.get_by_role("link", name="Suggest drivers").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Suggested drivers")
    found = faults(page)
    page.get_by_role("link", name="Cancel").click()
    expect(page.locator("#timeline")).to_be_visible()
    assert Ride.objects.filter(pk__in=waiting, driver=None).count() == len(waiting)

    page.go_back()
    many = page.locator("input[name=suggestion]").count()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name=f"Assign all {many}").click()
    expect(page.locator(".messages")).to_contain_text(f"{many} rides are assigned.", timeout=30_000)

    portions = -(-many // accepting_views.PORTION)
    batches = ["board/batch/"] * (portions - 1)
    assert [address.rpartition("/console/")[2] for address in sent] == ["board/suggestions/accept/", *batches]
    assert Ride.objects.filter(pk__in=waiting, driver=None).count() == len(waiting) - many
    assert portions > 1
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".messages")).to_contain_text(f"{many} rides are unassigned again.", timeout=30_000)
    assert Ride.objects.filter(pk__in=waiting, driver=None).count() == len(waiting)
    assert found + faults(page) == []


def test_map_marks_are_reached_by_keys_and_open_the_panel(
    inspector_of: Callable[[User | None], Inspector], transactional_db: None
) -> None:
    day = seed(dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1), rides=120, drivers=8, riders=60)
    now = dt.datetime.now(tz=dt.UTC)
    for number, driver in enumerate(day.drivers):
        Driver.objects.filter(pk=driver.pk).update(
            last_lat=f"41.9{number}", last_lng="-87.7", last_located_at=now, last_heading=45
        )
    desk = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))
    with desk.context() as context:
        page = context.new_page()
        policy: list[str] = []
        page.on("console", lambda message: policy.append(message.text) if "Content Security" in message.text else None)
        page.goto(f"{desk.url}{BOARD}?day={day.date}&view=map")
        expect(page.locator("#map .leaflet-tile-loaded").first).to_be_visible()
        expect(page.locator("#map-problem")).to_be_hidden()
        expect(page.locator("#map-attribution")).to_have_text("Made-up map of the demo")
        stops = {"driver": "#map .vehicle[tabindex='0']", "ride": "#map .map-mark:not(.vehicle)[tabindex='0']"}
        for kind, count in (("driver", len(day.drivers)), ("ride", 120)):
            seen = []
            page.locator(stops[kind]).focus()
            page.keyboard.press("Home")
            for _ in range(count + 1):
                seen.append(page.evaluate(f"() => document.activeElement.dataset.{kind}"))
                page.keyboard.press("ArrowRight")
            assert len(set(seen)) == count
            assert seen[-1] == seen[0]
        assert page.locator("#map .map-cluster [data-late]").count() > 0
        found = faults(page)
        ride = page.evaluate("() => document.activeElement.dataset.ride")
        page.keyboard.press("Enter")
        expect(page.locator("#panel h2")).to_have_text("Ride")
        expect(page.locator("#panel a.button", has_text="Open the ride")).to_have_attribute("href", re.compile(ride))
        found += faults(page)
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        expect(page.locator(f"#map [data-ride='{ride}'].chosen")).to_be_focused()
        page.locator(".map-vehicles button").first.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Open the driver's day")).to_be_focused()
        found += faults(page)
        page.keyboard.press("Escape")
        first = day.waiting[0]
        page.locator(f"#ride-{first.pk}").focus()
        page.keyboard.press("Enter")
        page.locator("#panel a[data-dialog]", has_text="Assign").focus()
        page.keyboard.press("Enter")
        expect(page.locator("dialog[open] .candidate").first).to_be_visible()
        page.keyboard.press("Enter")
        _assigned(page)
        expect(page.locator(f"#ride-{first.pk}")).to_have_count(0)
        expect(page.locator("#panel")).to_contain_text("Assigned")
        page.locator(".toast-action").focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#ride-{first.pk}")).to_have_count(1)
        assert (found, policy) == ([], [])
    assert _driver_of(first) is None


@pytest.mark.parametrize("content", [None, b"no PMTiles"])
def test_map_without_a_readable_file_shows_marks_and_why(
    desk: Inspector, day: SeededDay, content: bytes | None
) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.route("**/map.pmtiles", lambda route: route.fulfill(status=200 if content else 404, body=content or b""))
        page.goto(f"{desk.url}{BOARD}?day={day.date}&view=map&show=waiting")

        expect(page.locator("#map-problem")).to_contain_text("The base map cannot be read")
        expect(page.locator("#map .map-mark:not(.vehicle)[tabindex='0']")).to_have_count(1)
        assert faults(page) == []


def test_list_confirms_with_undo_and_keeps_the_focus(page: Page, day: SeededDay) -> None:
    first = day.waiting[0]
    page.goto(f"{page.url}&view=list")
    page.locator(f"#row-{first.pk} a[data-dialog]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open] .candidate").first).to_be_visible()
    page.keyboard.press("Enter")

    _assigned(page)
    driver = page.locator(f"#row-{first.pk} td[data-label='Driver']")
    expect(driver.locator(".muted")).to_contain_text("V")  # the unit of the vehicle
    expect(page.locator(f"#row-{first.pk} th a")).to_be_focused()
    assert _driver_of(first) is not None
    page.locator(".toast-action").focus()
    page.keyboard.press("Enter")
    expect(driver).not_to_contain_text("V")
    assert _driver_of(first) is None


@pytest.mark.parametrize("day", [LARGE], indirect=True)
def test_r1_ride_has_its_own_url_and_back_restores_the_board(page: Page, day: SeededDay) -> None:
    """The opening time is measured by `make bench ONLY=board`."""
    ride = day.waiting[-1]
    scrolled = """() => ["#timeline", "#queue"].map((one) => document.querySelector(one))
      .map((one) => [one.scrollLeft, one.scrollTop])"""
    page.evaluate("() => document.querySelector('#timeline').scrollTo(700, 400)")
    page.locator(f"#ride-{ride.pk}").click()
    opens = page.get_by_role("link", name="Open the ride")
    expect(opens).to_be_visible()
    was = page.evaluate(scrolled)
    opens.click()
    page.wait_for_url(f"**/console/rides/{ride.pk}/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    page.go_back()
    expect(page.locator("[data-zoom]").first).to_be_visible()
    page.wait_for_function(f"(was) => JSON.stringify(({scrolled})()) === JSON.stringify(was)", arg=was)

    assert was[0] == [700, 400]
    assert was[1][1] > 0


def test_ten_cards_fit_and_content_is_few_tabs_away(page: Page) -> None:
    fully_shown = """() => [...document.querySelectorAll("#queue .ride-card")]
      .filter((card) => card.getBoundingClientRect().bottom <= innerHeight).length"""
    assert page.evaluate(fully_shown) >= 10

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.evaluate("() => document.getElementById('main').contains(document.activeElement)")


def test_groups_of_the_navigation_open_beside_it(page: Page) -> None:
    page.locator(".rail-group summary", has_text="Fleet").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("link", name="Schedule")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("link", name="Schedule").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Schedule")).to_be_hidden()
    assert page.evaluate("() => document.activeElement.textContent").strip().startswith("Fleet")


def test_late_ride_stays_in_view_beside_the_driver(page: Page, day: SeededDay) -> None:
    """The minutes of a late ride stay at the left edge, and no focused bar covers the name of a driver."""
    driver_row = page.locator(".driver-row").nth(3)
    page.evaluate(
        """(id) => {
          const bar = document.querySelector(`#${id} .bar`);
          bar.classList.remove(...[...bar.classList].filter((name) => /^w\\d+$/.test(name)));
          bar.classList.add("late", "w600");
          bar.innerHTML = "<b>+22 Canarywell</b>";
          document.getElementById("timeline").scrollLeft = bar.offsetLeft + 300;
        }""",
        str(driver_row.get_attribute("id")),
    )
    minutes, name = driver_row.locator(".bar b").first.bounding_box(), driver_row.locator(".who").bounding_box()
    assert minutes is not None
    assert name is not None
    assert abs(minutes["x"] - (name["x"] + name["width"])) < 20

    driver_row.locator(".bar").first.focus()
    above = "([x, y]) => Boolean(document.elementFromPoint(x, y).closest('.who'))"
    assert page.evaluate(above, [name["x"] + name["width"] - 6, name["y"] + 10])
