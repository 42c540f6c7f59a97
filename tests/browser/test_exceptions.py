"""Exceptions desk in a real browser: by keyboard, by pointer and without script; valid in every state."""

import datetime as dt
import time
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.organizations.rules import opening_hours
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import exception_monitor, exceptions, will_call
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
BASE = "/console/exceptions/"
MINUTE = dt.timedelta(minutes=1)
SCENE = (
    (ExceptionType.NO_DRIVER_AVAILABLE, ExceptionSeverity.CRITICAL, 61),
    (ExceptionType.LATE_PICKUP, ExceptionSeverity.WARNING, 12),
    (ExceptionType.ASSIGNMENT_DECLINED, ExceptionSeverity.WARNING, 20),
    (ExceptionType.RIDER_NOT_READY, ExceptionSeverity.INFO, 7),
)
# Milliseconds from a key press to the focused, laid-out row; the median of 40.
MOVE = """async () => {
  const taken = [];
  for (let turn = 0; turn < 40; turn += 1) {
    const began = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: turn % 4 ? "j" : "k", bubbles: true }));
    document.activeElement.getBoundingClientRect();
    taken.push(performance.now() - began);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return taken.sort((a, b) => a - b)[20];
}"""


SWAP = """async () => {
  const list = document.getElementById("exceptions");
  const answer = await fetch(list.dataset.liveUrl);
  list.replaceWith(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("exceptions"));
}"""


@pytest.fixture
def dana(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")


def _scene() -> list[RideException]:
    facility = factories.FacilityFactory.create(name="St. Brigid Hospital")
    rider = factories.RiderFactory.create(facility=facility, first_name="Orla", last_name="Abernathy")
    now = timezone.now()
    with transaction.atomic():
        return [
            exceptions.open_exception(
                locked(factories.RideFactory.create(facility=facility, rider=rider, pickup_at=now).pk, system()),
                type_,
                by=system(),
                at=now - minutes * MINUTE,
                detected_by="browser",
                severity=severity,
                due_at=now + 9 * MINUTE,
            )
            for type_, severity, minutes in SCENE
        ]


def _recover(one: RideException) -> None:
    """Remove the cause of an exception."""
    told: dict[str, Any] = {"by": system(), "at": timezone.now(), "code": ResolutionCode.RECOVERED_ON_TIME}
    assert one.ride_id is not None
    with transaction.atomic():
        exceptions.settle(locked(one.ride_id, system()), [ExceptionType(one.type)], **told)


def _many(count: int) -> None:
    """Open exceptions on this many rides, row by row."""
    facility, rider, now = factories.FacilityFactory.create(), factories.RiderFactory.create(), timezone.now()
    rides = [
        factories.RideFactory.build(facility=facility, rider=rider, pickup_facility=facility, pickup_at=now)
        for _ in range(count)
    ]
    Ride.objects.bulk_create(rides)
    told: dict[str, Any] = {"severity": "warning", "opened_by": "system", "detected_by": "browser", "summary": "Late"}
    RideException.objects.bulk_create(
        RideException(
            ride=ride, rider=rider, facility=facility, type="late_pickup", opened_at=now, updated_at=now, **told
        )
        for ride in rides
    )


def _current(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.closest('[data-exception]')?.dataset.exception ?? ''"))


@pytest.mark.nightly
def test_pages_of_the_desk_are_sound(inspector_of: InspectorOf, dana: User) -> None:
    desk, auditor = inspector_of(dana), inspector_of(factories.UserFactory.create(role=UserRole.AUDITOR))
    found = desk.inspect(BASE, name="exceptions-empty")
    rows = _scene()
    mine = factories.principal(id=dana.pk)
    exceptions.acknowledge(exception_id=rows[1].pk, by=mine, at=timezone.now())
    exceptions.resolve(exception_id=rows[3].pk, code=ResolutionCode.OTHER, note="Walked", by=mine, at=timezone.now())

    factories.ContactFactory.create(facility=rows[0].facility)
    said = {"told": ["dispatcher", "planner"], "answer": "split", "answeredAt": "2026-11-20T15:00:00Z"}
    RideException.objects.filter(pk=rows[0].pk).update(details=said)

    found += desk.inspect(BASE, name="exceptions")
    found += desk.inspect(f"{BASE}history/", name="exceptions-history")
    found += desk.inspect(f"{BASE}{rows[0].pk}/", name="exception")
    found += auditor.inspect(BASE, name="exceptions-auditor")

    assert found == [], "\n".join(found)


def test_e2_e3_e4_keys_take_snooze_open_and_close(inspector_of: InspectorOf, dana: User) -> None:
    first, second, third, fourth = _scene()
    inspector, found = inspector_of(dana), []
    cole = factories.UserFactory.create(role=UserRole.DISPATCHER, name="Cole League")
    colleague, beside = factories.principal(id=cole.pk), inspector_of(cole)
    with inspector.context() as context, beside.context() as elsewhere:
        page, other = context.new_page(), elsewhere.new_page()
        other.goto(inspector.url + BASE)
        expect(other.locator("#live")).to_have_attribute("data-state", "live", timeout=30_000)
        page.goto(inspector.url + BASE)
        page.keyboard.press("j")
        assert _current(page) == str(first.pk)
        found += faults(page)
        page.keyboard.press("e")  # E2: claimed
        expect(page.locator(f"#row-{first.pk}")).to_contain_text("You")
        expect(other.locator(f"#row-{first.pk}")).to_contain_text("Dana Desk", timeout=30_000)
        assert _current(page) == str(first.pk)
        found += faults(page)
        page.evaluate(SWAP)  # as the live module does
        assert _current(page) == str(first.pk)

        page.keyboard.press("j")
        exceptions.acknowledge(exception_id=second.pk, by=colleague, at=timezone.now())
        page.keyboard.press("e")  # E2: another user was faster
        expect(page.locator(".toast.error")).to_contain_text("Cole League has already claimed it.")
        expect(page.locator(f"#row-{second.pk}")).to_contain_text("Cole League")
        found += faults(page)

        page.keyboard.press("j")
        page.keyboard.press("s")
        expect(page.get_by_role("dialog", name="Snooze")).to_be_visible()
        page.keyboard.press("j")  # single keys are off in a dialog
        found += faults(page)
        page.get_by_role("dialog").get_by_role("button", name="1 hour").click()
        expect(page.locator(f"#row-{third.pk}")).to_have_count(0)
        assert _current(page) == str(fourth.pk)  # the row that took its place
        page.keyboard.press("k")
        page.keyboard.press("o")
        expect(page).to_have_url(f"{inspector.url}/console/rides/{second.ride_id}/")
        page.go_back()

        page.goto(f"{inspector.url}{BASE}{first.pk}/")
        page.get_by_role("button", name="Resolve").click()  # E3: without a code
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        page.get_by_label("Outcome").select_option("reassigned")
        page.get_by_role("button", name="Resolve").click()
        expect(page.get_by_text("The exception is closed.")).to_be_visible()
        expect(page.locator(f"#row-{first.pk}")).to_have_count(0)

        _recover(fourth)  # E4
        page.reload()
        expect(page.locator(f"#row-{fourth.pk}")).to_have_count(0)
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("row").filter(has_text="Rider not ready")).to_contain_text("Recovered, on time")

    third.refresh_from_db()
    assert third.snoozed_until is not None
    assert found == [], "\n".join(found)


def test_e2_desk_works_without_script_and_single_keys_can_be_off(inspector_of: InspectorOf, dana: User) -> None:
    first, *_others = _scene()
    inspector, found = inspector_of(dana), []
    with inspector.context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{inspector.url}{BASE}?severity=critical")
        page.get_by_role("button", name="Claim").click()
        expect(page.get_by_text("You are now the owner.")).to_be_visible()
        page.get_by_role("link", name="Snooze…").click()
        page.get_by_role("button", name="15 minutes").click()
        expect(page.get_by_text("No exceptions match this filter.")).to_have_count(0)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}{BASE}?snoozed=all")
        page.evaluate("() => { document.body.dataset.singleKeys = 'off'; }")
        page.keyboard.press("j")
        assert _current(page) == ""
        page.evaluate("() => { document.body.dataset.singleKeys = 'on'; }")
        page.get_by_text("Save this view…").click()
        page.get_by_label("Name").press_sequentially("jeso")  # letters in a field are letters
        found += faults(page)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("link", name="jeso", exact=True)).to_have_attribute("aria-current", "true")
        found += faults(page)

    first.refresh_from_db()
    assert (first.owner, first.snoozed_until is not None) == (dana, True)
    assert found == [], "\n".join(found)


def _silent(at: dt.datetime) -> Ride:
    """A ride in progress whose arrival report is fourteen minutes overdue."""
    due, left = at - 14 * MINUTE, at - 60 * MINUTE
    window = {"window_starts_at": left, "window_ends_at": due}
    ride: Ride = factories.RideFactory.create(pickup_at=due - 15 * MINUTE, **window)
    factories.put_driver_on(ride)
    under_way = {"status": "en_route", "departed_at": left, "eta_pickup_at": due, "status_changed_at": left}
    Ride.objects.filter(pk=ride.pk).update(**under_way)
    return ride


def _gap_of(ride: Ride, at: dt.datetime) -> RideException | None:
    """Run the exception monitor, and return the open milestone gap."""
    exception_monitor.watch(by=system(), at=at)
    return RideException.objects.filter(ride=ride, type=ExceptionType.MILESTONE_GAP).first()


@pytest.mark.nightly
def test_e1_driver_who_is_silent_appears_once_within_a_second(inspector_of: InspectorOf, dana: User) -> None:
    """Positions come only with milestones, so that a missing milestone identifies a silent driver."""
    desk, took, now = inspector_of(dana), [], timezone.now()
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BASE)
        expect(page.locator("#live")).to_have_text("Live", timeout=30_000)
        for turn in range(3):
            at = now + 5 * turn * MINUTE
            ride = _silent(at)
            before = _gap_of(ride, at)
            page.wait_for_timeout(
                4_500
            )  # parts are fetched at most every two seconds: earlier changes have arrived by now
            gap = _gap_of(ride, at + 2 * MINUTE)
            began = time.perf_counter()
            assert (before, gap is not None) == (None, True)
            page.locator(f'[data-exception="{gap and gap.pk}"]').wait_for()
            took.append(time.perf_counter() - began)
            assert _gap_of(ride, at + 2 * MINUTE) == gap, "another worker"
        expect(page.locator("[data-exception]")).to_have_count(RideException.objects.unsettled().count())

    assert sorted(took)[1] < 1, took
    assert RideException.objects.filter(type=ExceptionType.MILESTONE_GAP).count() == 3


@pytest.mark.nightly
def test_w3_e4_unreleased_will_call_alerts_hour_before_closing(inspector_of: InspectorOf, dana: User) -> None:
    """The facility closes an hour from now; the open page updates without a reload."""
    now = timezone.now().replace(second=0, microsecond=0)
    closes = now.astimezone(ZoneInfo("America/Chicago")) + 60 * MINUTE
    opens = closes - dt.timedelta(hours=10)
    hours = [{"days": list(opening_hours.DAYS), "opens": f"{opens:%H:%M}", "closes": f"{closes:%H:%M}"}]
    waiting = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": now + 300 * MINUTE}
    ride = factories.RideFactory.create(
        facility=factories.FacilityFactory.create(hours=hours), rider__last_name="Abernathy", pickup_at=now,
        service_date=opens.date(), next_check_at=now - 5 * MINUTE, **waiting,
    )  # fmt: skip
    desk = inspector_of(dana)
    with desk.context() as context:
        page = context.new_page()
        page.goto(desk.url + BASE)
        expect(page.locator("#live")).to_have_text("Live", timeout=30_000)
        exception_monitor.watch(by=system(), at=now - dt.timedelta(seconds=1))
        assert not RideException.objects.exists()

        exception_monitor.watch(by=system(), at=now)
        row = page.locator("[data-exception]")
        expect(row).to_contain_text("Will-call not activated", timeout=30_000)
        expect(row).to_contain_text("Abernathy")
        found = faults(page)

        will_call.mark_ready(ride_id=ride.pk, by=system(), at=now + MINUTE)
        exception_monitor.watch(by=system(), at=now + MINUTE)
        expect(row).to_have_count(0, timeout=30_000)
        expect(page.get_by_text("No open exceptions.")).to_be_visible()
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("row").nth(1)).to_contain_text("Carelane")
        found += faults(page)

    one = RideException.objects.get()
    logged = Event.objects.filter(subject_id=ride.pk, type__contains="exception").order_by("id")
    assert (one.type, one.status, one.closed_by_hand) == ("will_call_unactivated", "resolved", False)
    assert list(logged.values_list("type", flat=True)) == ["ride.exception", "ride.exception_resolved"]
    assert found == [], "\n".join(found)


@pytest.mark.nightly
def test_e5_moving_among_500_rows_takes_less_than_50_ms(inspector_of: InspectorOf, dana: User) -> None:
    _many(500)
    inspector = inspector_of(dana)
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}{BASE}?rows=500")
        expect(page.locator("[data-exception]")).to_have_count(500)
        page.keyboard.press("j")
        taken = page.evaluate(MOVE)

    assert taken < 50, f"{taken} ms"
