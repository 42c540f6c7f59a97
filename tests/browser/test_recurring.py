"""Standing orders in a real browser: valid pages, the calendar by keyboard and without script, restored forms."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from apps.recurring.models import CalendarLink, Occurrence, StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.rides.rules import timing
from apps.rides.services import booking
from lib.access import system
from lib.dates import long_day
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.recurring import cast
from tests.rides.drafts import HOME, draft

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
DAY = dt.timedelta(days=1)
BASE = "/console/recurring"
PEOPLE = (("Abel", "Ada"), ("Brook", "Ben"), ("Cole", "Cora"), ("Dunn", "Della"), ("Eads", "Emil"), ("Frey", "Fay"))


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk"))


def _monday(zone: str) -> dt.date:
    """Return the Monday after next, so that all dates are in the future whenever the test runs."""
    today = timing.local_day(timezone.now(), zone)
    return today + dt.timedelta(days=14 - today.weekday())


def _order(centre: Facility, who: tuple[str, str], **more: Any) -> StandingOrder:
    rider = factories.RiderFactory.create(
        facility=centre, last_name=who[0], first_name=who[1], phones=[], home_address=HOME
    )
    return cast.order(centre, rider, at=timezone.now(), **({"start_date": _monday(centre.timezone) - 14 * DAY} | more))


def _scene() -> dict[str, Any]:
    """Fill every page: orders of every kind, and one whose weeks contain every kind of change to a day."""
    centre = cast.dialysis_centre()
    monday = _monday(centre.timezone)
    shown = _order(centre, PEOPLE[0], end_date=monday + 60 * DAY)
    _order(cast.dialysis_centre(name="Aster Dialysis"), ("Gray", "Gus"))
    _order(centre, PEOPLE[1], of={"chair_time": dt.time(6)})
    away = _order(centre, PEOPLE[2], of={"chair_time": dt.time(6), "return_mode": "none"})
    _order(centre, PEOPLE[3], of={"days_of_week": (1, 3, 5), "chair_time": dt.time(15, 15)})
    _order(centre, PEOPLE[4], of={"days_of_week": (2,), "interval_weeks": 2})
    _order(centre, PEOPLE[5], of={"days_of_week": (1, 3, 5)}, is_draft=True)
    told: dict[str, Any] = {"by": system(), "at": timezone.now()}
    today = timing.local_day(told["at"], centre.timezone)
    hold_order.hold(order_id=away.pk, from_date=today, until=None, reason="hospital_stay", **told)
    of_one = {"order_id": shown.pk, **told}
    edit_order.skip(pattern_date=monday, **of_one)
    edit_order.change_occurrence(pattern_date=monday + 4 * DAY, edit=OccurrenceEdit(to_date=monday + 5 * DAY), **of_one)
    hold_order.hold(from_date=monday + 7 * DAY, until=monday + 7 * DAY, reason="travel", **of_one)
    refused = monday + 9 * DAY
    Occurrence.objects.filter(standing_order=shown, pattern_date=refused).update(
        decision="refused", refusal="DUPLICATE_RIDE", ride=None
    )
    in_force = _entered(centre, monday + 2 * DAY, monday + 3 * DAY, new_chair_time=dt.time(6))
    calendar_shifts.apply(shift_id=in_force, **told)
    generate_rides.generate(**told)
    planned = _entered(centre, monday + 11 * DAY, monday + 10 * DAY, offset_minutes=-90)
    booking.book(
        draft=draft(centre, shown.rider, pickup_at=_morning(centre, monday + 10 * DAY)), by=system(), at=timezone.now()
    )
    _entered(centre, monday + 21 * DAY, None)
    return {"centre": centre, "order": shown, "monday": monday, "planned": planned, "in_force": in_force}


def _morning(centre: Facility, day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(8, 30), tzinfo=ZoneInfo(centre.timezone))


def _entered(centre: Facility, day: dt.date, to_date: dt.date | None, **asked: Any) -> Any:
    found = calendar_shifts.enter(
        facility_id=centre.pk, draft=ShiftDraft(day, to_date, **asked), by=system(), at=timezone.now()
    )
    return found.pk


@pytest.mark.nightly
def test_pages_of_recurring_rides_are_sound(desk: Inspector) -> None:
    there = _scene()
    order, centre = there["order"], there["centre"]

    found = desk.inspect(f"{BASE}/", name="recurring-facilities")
    found += desk.inspect(f"{BASE}/?facility={centre.pk}", name="recurring-list")
    found += desk.inspect(f"{BASE}/?facility={centre.pk}&status=ended", name="recurring-list-none")
    sheet = f"{BASE}/facilities/{centre.pk}/day/?date"
    found += desk.inspect(f"{sheet}={there['monday'] + 5 * DAY}", name="recurring-sheet")
    found += desk.inspect(f"{sheet}={there['monday'] + 2 * DAY}", name="recurring-sheet-gone")
    found += desk.inspect(f"{BASE}/{order.pk}/?month={there['monday']:%Y-%m}", name="recurring-order")
    found += desk.inspect(f"{BASE}/{order.pk}/?day={there['monday'] + 3 * DAY}", name="recurring-order-day")
    found += desk.inspect(f"{BASE}/{order.pk}/change/", name="recurring-change")
    found += desk.inspect(f"{BASE}/add/?facility={centre.pk}", name="recurring-rider")
    found += desk.inspect(f"{BASE}/add/?facility={centre.pk}&rider={order.rider_id}", name="recurring-add")
    found += desk.inspect(f"{BASE}/facilities/{centre.pk}/", name="recurring-facility")
    found += desk.inspect(f"{BASE}/shifts/{there['planned']}/", name="recurring-shift")
    found += desk.inspect(f"{BASE}/shifts/{there['in_force']}/", name="recurring-shift-in-force")

    assert found == [], "\n".join(found)


def test_pages_without_rows_and_without_rights_are_sound(inspector_of: InspectorOf) -> None:
    centre = cast.dialysis_centre()
    factories.FacilityFactory.create()
    auditor = inspector_of(factories.UserFactory.create(role=UserRole.AUDITOR))
    fleet = inspector_of(factories.UserFactory.create(role=UserRole.FLEET_ADMIN))

    found = auditor.inspect(f"{BASE}/", name="recurring-facilities-empty")
    found += auditor.inspect(f"{BASE}/?facility={centre.pk}", name="recurring-list-empty")
    found += auditor.inspect(f"{BASE}/facilities/{centre.pk}/", name="recurring-facility-empty")
    found += auditor.inspect(f"{BASE}/facilities/{centre.pk}/day/", name="recurring-sheet-empty")
    found += fleet.inspect(f"{BASE}/", name="recurring-403", status=403)

    assert found == [], "\n".join(found)


def _name(day: dt.date) -> str:
    return long_day(day)


def _focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.querySelector('.visually-hidden')?.textContent"))


def test_calendar_is_walked_by_arrow_keys_and_has_one_stop(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    first = monday.replace(day=1)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/?day={first + 9 * DAY}")
        stops = page.locator('table[data-calendar] a[tabindex="0"]')
        expect(stops).to_have_count(1)

        stops.focus()
        seen = [_focused(page)]
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
            seen.append(_focused(page))
        page.keyboard.press("Home")
        sunday = _focused(page)
        page.keyboard.press("End")
        saturday = _focused(page)
        expect(stops).to_have_count(1)
        page.keyboard.press("PageDown")
        expect(page.get_by_role("heading", name=f"{(first + 35 * DAY):%B}")).to_be_visible()
        page.locator('table[data-calendar] a[tabindex="0"]').focus()
        page.keyboard.press("PageUp")
        expect(page.get_by_role("heading", name=f"{first:%B %Y}")).to_be_visible()

    days = [first + number * DAY for number in (9, 10, 17, 16, 9)]
    assert [name for name, day in zip(seen, days, strict=True) if not name.startswith(f"{_name(day)},")] == []
    assert sunday.startswith("Sunday")
    assert saturday.startswith("Saturday")


def test_calendar_stays_in_its_month_and_skips_hidden_cells(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    first = (_monday(centre.timezone).replace(day=1) + 40 * DAY).replace(day=1)  # the next month
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/?month={first:%Y-%m}")
        page.locator('table[data-calendar] a[tabindex="0"]').focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
        begin = _focused(page)
        page.keyboard.press("x")
        page.keyboard.press("Shift+ArrowRight")
        same = _focused(page)
        page.set_viewport_size({"width": 390, "height": 900})
        expect(page.locator('table[data-calendar] a[tabindex="0"]')).to_be_visible()
        page.locator('table[data-calendar] a[tabindex="0"]').focus()
        page.keyboard.press("ArrowDown")
        second = _focused(page)
        page.keyboard.press("ArrowUp")
        shown = _focused(page)

    assert begin.startswith(_name(first))
    assert same == begin
    assert "no ride" not in shown
    assert "no ride" not in second
    assert second != shown


def test_day_is_moved_by_keyboard_alone(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/?month={monday:%Y-%m}")
        day = page.get_by_role("link", name=re.compile(f"^{_name(monday)},"))
        day.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=_name(monday))).to_be_focused()
        page.keyboard.press("Tab")  # the outbound leg
        page.keyboard.press("Tab")  # the return leg
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_label("On", exact=True).fill(str(monday + DAY))
        page.get_by_label("Chair time").fill("08:00")
        found = faults(page)
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("The day is changed. 2 rides are changed")
        expect(page.get_by_role("heading", name=_name(monday + DAY))).to_be_focused()
        found += faults(page)

    assert found == [], "\n".join(found)


def test_invalid_hold_keeps_its_values_and_links_to_its_fields(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/")
        page.get_by_text("Hold…").click()
        page.get_by_label("First day without rides").fill(str(monday + 4 * DAY))
        page.get_by_label("Last day without rides").fill(str(monday))
        page.get_by_role("button", name="Hold", exact=True).click()
        expect(page.locator(".error-summary")).to_be_focused()
        found = faults(page)
        page.get_by_role("link", name="Last day without rides").click()
        expect(page.get_by_label("Last day without rides")).to_be_focused()
        page.get_by_label("Last day without rides").fill(str(monday + 7 * DAY))
        page.get_by_role("button", name="Hold", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("The hold is set. 4 rides are canceled")

    assert found == [], "\n".join(found)


def test_order_is_found_a_rider_made_and_changed(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    factories.RiderFactory.create(facility=centre, last_name="Quill", first_name="Quinn", home_address=HOME)
    monday = _monday(centre.timezone)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/add/?facility={centre.pk}")
        expect(page.locator("#id_q")).to_be_focused()
        page.keyboard.type("qui")
        expect(page.get_by_role("option", name="Quill, Quinn")).to_have_attribute("aria-selected", "true")
        found = faults(page)
        page.keyboard.press("Enter")
        page.wait_for_url("**/add/?facility=*&rider=*")
        assert "qui" not in page.url
        page.get_by_role("button", name="Create the standing order").click()
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        page.get_by_label("First day", exact=True).fill(str(monday))
        for day in ("Monday", "Friday"):
            page.get_by_role("checkbox", name=day).check()
        page.get_by_label("Chair time").fill("06:00")
        page.get_by_role("button", name="Create the standing order").click()
        expect(page.get_by_role("status")).to_contain_text("The standing order is created.")
        page.get_by_role("link", name="Edit series").click()
        page.get_by_label("From a day").check()
        page.get_by_label("From this day").fill(str(monday + 7 * DAY))
        page.get_by_label("Chair time").fill("07:30")
        page.get_by_role("button", name="Save the changes").click()
        expect(page.get_by_role("status")).to_contain_text("The standing order is changed.")
        begins = monday + 7 * DAY
        expect(page.get_by_role("heading", name=f"From Mon, {begins:%b} {begins.day}, {begins:%Y} on")).to_be_visible()

    assert found == [], "\n".join(found)


def test_rider_of_an_order_is_found_without_script(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    factories.RiderFactory.create(facility=centre, last_name="Quill", first_name="Quinn", home_address=HOME)
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/add/?facility={centre.pk}")
        page.locator("#id_q").fill("qui")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Quill, Quinn").click()
        expect(page.get_by_role("button", name="Create the standing order")).to_be_visible()
        assert "qui" not in page.url


def test_holiday_is_entered_looked_at_applied_and_undone(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/facilities/{centre.pk}/")
        page.get_by_label("The day").fill(str(monday))
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(".error-summary")).to_be_focused()
        found = faults(page)
        page.get_by_label("New date").fill(str(monday + DAY))
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("heading", name="It would move 1 rider")).to_be_visible()
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_role("status")).to_contain_text("The change is applied.")
        expect(page.get_by_role("heading", name="It moves 1 rider")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status")).to_contain_text("The change is undone.")
        found += faults(page)

    assert found == [], "\n".join(found)


def test_calendar_link_is_shown_once_and_revoked(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    found = desk.inspect(f"{BASE}/{order.pk}/links/", name="recurring-links-none")
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/links/")
        page.get_by_label("With rider names").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Create link").click()
        found += faults(page)
        address = page.locator("#secret-text").inner_text().strip()
        read = context.request.get(f"{desk.url}{urlsplit(address).path}").text()
        page.reload()
        listed = page.content()
        found += desk.inspect(f"{BASE}/facilities/{centre.pk}/links/", name="recurring-links")
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("status")).to_contain_text("is revoked")
        gone = context.request.get(f"{desk.url}{urlsplit(address).path}").status

    assert found == [], "\n".join(found)
    assert "BEGIN:VCALENDAR" in read
    assert order.rider.last_name in read
    assert address not in listed
    assert (gone, CalendarLink.objects.count()) == (404, 1)


def test_calendar_is_usable_without_script(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    with desk.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/?month={monday:%Y-%m}")
        page.get_by_role("link", name=re.compile(f"^{_name(monday)},")).click()
        page.get_by_role("button", name="Skip this day").click()

        expect(page.get_by_role("status")).to_contain_text("The day is skipped.")
        expect(page.get_by_role("link", name=f"{_name(monday)}, 2 rides, skipped")).to_be_visible()


def test_folded_parts_are_opened_filled_and_mended_by_keyboard(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    order = _order(centre, PEOPLE[0])
    factories.DriverFactory.create(first_name="Marek", last_name="Zelinski")
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/change/")
        needs, companions = (page.locator("details.fold", has_text=title) for title in ("Needs on", "Companions"))
        expect(companions.get_by_label("Number of companions")).to_be_hidden()
        for fold in page.locator("details.fold > summary").all():
            fold.focus()
            page.keyboard.press("Enter")
        found = faults(page)
        page.locator("#id_mobility").select_option("wheelchair")
        expect(needs.locator(".says")).to_have_text("changed, not saved yet")
        page.get_by_label("First choice").select_option(label="Zelinski, Marek")
        page.get_by_label("Number of companions").fill("12")
        page.keyboard.press("Enter")
        expect(page.locator(".error-summary")).to_be_focused()
        expect(page.locator("#id_mobility")).to_be_hidden()
        expect(needs.locator(".says")).to_have_text("Mobility")
        found += faults(page)
        page.get_by_role("link", name="Number of companions").press("Enter")
        expect(page.get_by_label("Number of companions")).to_be_focused()
        page.get_by_label("Number of companions").fill("1")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("The standing order is changed.")
        with page.expect_navigation():
            page.get_by_role("link", name="Edit series").click()
        says = page.locator("details.fold .says").all_inner_texts()

    assert found == [], "\n".join(found)
    assert says[-3:] == ["Mobility", "Number of companions: 1", "Zelinski, Marek"]


def test_address_of_another_place_is_requested_when_typed(desk: Inspector) -> None:
    order = _order(cast.dialysis_centre(), PEOPLE[0])
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/{order.pk}/change/")
        fold = page.locator("details.fold", has_text="Drop-off")
        fold.locator("summary").press("Enter")
        street = fold.get_by_label("Street and number")
        expect(street).to_be_hidden()
        fold.get_by_label("Brought to").select_option("typed")
        expect(street).to_be_visible()
        expect(page.locator("#id_address_line1")).to_be_hidden()
        found = faults(page)

    assert found == [], "\n".join(found)


def test_sheet_steps_through_days_and_is_printed_on_white(desk: Inspector) -> None:
    centre = cast.dialysis_centre()
    _order(centre, PEOPLE[0])
    monday = _monday(centre.timezone)
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}{BASE}/?facility={centre.pk}")
        page.get_by_role("link", name="Today's sheet").click()
        page.goto(f"{page.url}?date={monday - DAY}")
        page.get_by_role("link", name="next day").press("Enter")
        expect(page.get_by_role("row", name=re.compile("Abel, Ada"))).to_contain_text("by 10:15")
        expect(page.get_by_role("button", name="Print")).to_be_visible()
        page.emulate_media(media="print", color_scheme="dark")
        expect(page.get_by_role("button", name="Print")).to_be_hidden()
        expect(page.get_by_role("navigation", name="Days")).to_be_hidden()
        colour = page.locator("h1").evaluate("(one) => getComputedStyle(one).color")
        page.emulate_media(media="screen", color_scheme="light")
        page.get_by_role("link", name="Today", exact=True).click()
        expect(page.locator("h1 .badge")).to_have_text("Today")

    assert colour == "rgb(22, 32, 43)"
