"""Schedules in a real browser: created from a report, run, and every page in both themes and at every width."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.exports.models import ReportSchedule, ScheduleRun
from tests import factories
from tests.browser.harness import Inspector
from tests.exports.scheduled import exports_daily, ids, keep, reports_weekly

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]
PAGE = "/console/reports/schedules/"


@pytest.fixture
def owner(db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR)


@pytest.fixture
def desk(inspector_of: InspectorOf, owner: User) -> Inspector:
    return inspector_of(owner)


def _kept(owner: User) -> ReportSchedule:
    """Create a paused schedule, with a run of each state that has a message."""
    at = timezone.now()
    schedule = keep(exports_daily(recipients=ids(owner)), owner, at)
    for number, (state, outcome) in enumerate([("done", ""), ("failed", "unreachable"), ("missed", "superseded")]):
        due_at = at - dt.timedelta(days=number)
        ScheduleRun.objects.create(
            schedule=schedule,
            due_at=due_at,
            first_day=due_at.date(),
            last_day=due_at.date(),
            state=state,
            outcome=outcome,
            try_at=due_at,
            created_at=due_at,
            ended_at=at,
        )
    ReportSchedule.objects.filter(pk=schedule.pk).update(active=False, paused_for="failing")
    return schedule


def test_pages_pass_in_both_themes_and_every_width(desk: Inspector, owner: User) -> None:
    schedule = _kept(owner)
    keep(reports_weekly(recipients=ids(owner)), owner, timezone.now())
    pages = {
        "list": PAGE,
        "one": f"{PAGE}{schedule.pk}/",
        "change": f"{PAGE}{schedule.pk}/change/",
        "report": f"{PAGE}new/report/",
        "export": f"{PAGE}new/export/",
    }

    found = {name: desk.inspect(path, name=f"schedules-{name}") for name, path in pages.items()}

    assert found == {name: [] for name in pages}


def test_report_is_scheduled_from_its_page_and_run(desk: Inspector) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/reports/pickupOnTimeRate/")
        with page.expect_navigation():
            page.get_by_role("link", name="Send by e-mail").click()
        page.get_by_label("Name").fill("Our week")
        with page.expect_navigation():
            page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", name="Our week")).to_be_visible()
        with page.expect_navigation():
            page.get_by_role("button", name="Run now").click()

        expect(page.get_by_role("cell", name="Waiting")).to_be_visible()

    schedule = ReportSchedule.objects.get()
    assert (schedule.report, schedule.weekdays, schedule.runs.count()) == ("pickupOnTimeRate", [0], 1)
