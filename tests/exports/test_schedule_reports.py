"""Reports by mail: the figures of page and API, only to permitted recipients, each report once."""

import datetime as dt
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.models.schedules import PauseReason
from apps.exports.queries import schedule_reports
from apps.exports.services import schedule_mails, schedule_runs, schedules
from apps.reporting.kpi_labels import DASH, MAIN_KPIS
from apps.reporting.services import rollups
from lib.access import Phi, system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import api_with
from tests.exports.scheduled import Clock, by_of, ids, keep, only_run, person, reports_weekly, tick, told
from tests.factories import NOW
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture

pytestmark = pytest.mark.django_db
MONDAY = dt.datetime(2026, 11, 23, 13, tzinfo=dt.UTC)
DECEMBER = dt.datetime(2026, 12, 1, 13, tzinfo=dt.UTC)
MONTHLY: dict[str, Any] = {"every": "month", "month_day": 1, "covers": "previous_month", "weekdays": []}
NOVEMBER = {"from": "2026-11-01", "to": "2026-11-30"}


def html_of(message: EmailMessage) -> str:
    assert isinstance(message, EmailMultiAlternatives)
    ((content, kind),) = message.alternatives
    assert kind == "text/html"
    return str(content)


@pytest.mark.parametrize("report", ["overview", "pickupOnTimeRate"])
@pytest.mark.parametrize("narrowed", [{}, {"service_type": "dialysis"}])
def test_rows_of_the_mail_are_those_of_the_page_and_of_the_api(month: Any, report: str, narrowed: Any) -> None:
    rollups.refresh(by=system(), at=NOW)
    reader = person(UserRole.ANALYST)
    keep(reports_weekly(report=report, recipients=ids(reader), filters=narrowed, **MONTHLY), reader)
    tick(Clock(DECEMBER))
    (message,) = mail.outbox
    run = ScheduleRun.objects.select_related("schedule").get()
    rows = schedule_reports.report(run, by=by_of(reader))["rows"]

    client = Client()
    sign_in(client, reader)
    page = client.get(schedule_reports.report_url(run.schedule, run))
    keys = list(MAIN_KPIS) if report == "overview" else [report]
    api = api_with(TokenRole.ANALYTICS_READONLY)
    query = {**NOVEMBER, **({"type": narrowed["service_type"]} if narrowed else {})}
    answer = api.get("/api/reports/facility-kpis", {**query, "kpi": ",".join(keys)}).json()

    assert page.status_code == 200
    assert (run.first_day, run.last_day) == (dt.date(2026, 11, 1), dt.date(2026, 11, 30))
    shown = page.context["tiles"] if report == "overview" else [page.context["total"]]
    assert [(row["value"], row["of"]) for row in rows] == [(one["value"], one["of"]) for one in shown]
    assert len(rows) == len(keys)
    figures = {one["key"]: one for one in answer["total"]}
    for row, key in zip(rows, keys, strict=True):
        figure = figures[key]
        assert f"{row['title']}: {row['value']} ({row['of']})" in str(message.body)
        assert row["value"] in html_of(message)
        if figure["suppressed"]:
            assert (row["value"], row["of"]) == (DASH, "Too few rides to show")
        elif figure["numerator"] is not None and figure["denominator"]:
            assert row["of"] == f"{figure['numerator']} of {figure['denominator']}"
    assert ("By facility" in html_of(message)) == (report != "overview")


def test_mail_has_period_reader_link_age_and_neutral_subject(month: Any) -> None:
    rollups.refresh(by=system(), at=NOW)
    facility = factories.FacilityFactory.create(name="St. Brigid")
    reader = person(UserRole.DISPATCHER)
    schedule = keep(
        reports_weekly(name="Orla Canarywell", recipients=ids(reader), filters={"facility_id": facility.pk}), reader
    )

    tick(Clock(MONDAY))

    (message,) = mail.outbox
    assert message.subject == "[Carelane] Your report, Nov 16, 2026 to Nov 22, 2026"
    assert message.to == [reader.email]
    body = str(message.body)
    page = f"/console/reports/?period=own&from=2026-11-16&to=2026-11-22&facility={facility.pk}"
    for said in ("Only: St. Brigid", "Previous week: Nov 9, 2026 to Nov 15, 2026", page, f"/schedules/{schedule.pk}/"):
        assert said in body
    assert page.replace("&", "&amp;") in html_of(message)
    assert "Canarywell" not in body + html_of(message)
    assert "<style" not in html_of(message)
    assert message.extra_headers["Message-ID"] == f"<{only_run(schedule).pk}.{reader.pk}@localhost>"
    as_of = schedule_reports.report(only_run(schedule), by=by_of(reader))["as_of"]
    assert (as_of is None) == ("not complete yet" in body)


def test_small_cells_are_suppressed_for_readers_with_full_phi(month: Any) -> None:
    reader = person(UserRole.DISPATCHER)
    schedule = keep(reports_weekly(recipients=ids(reader)), reader)
    schedule_runs.plan(at=MONDAY)
    run = only_run(schedule)
    run.first_day = run.last_day = dt.date(2026, 11, 2)
    by = by_of(reader)

    mailed = schedule_reports.report(run, by=by)["rows"]

    assert by.phi == Phi.FULL
    assert "Too few rides to show" in {row["of"] for row in mailed}


def test_unauthorized_recipients_are_skipped_none_left_pauses() -> None:
    owner, leaver = person(UserRole.DISPATCHER), person(UserRole.ANALYST)
    schedule = keep(reports_weekly(recipients=ids(owner, leaver)), owner)
    User.objects.filter(pk=leaver.pk).update(is_active=False)
    tick(Clock(MONDAY))
    first = [message.to for message in mail.outbox]
    schedule.recipients.remove(owner)
    tick(Clock(MONDAY + dt.timedelta(days=7)))

    schedule.refresh_from_db()
    assert first == [[owner.email]]
    assert [state for _day, state, _outcome in told(schedule)] == ["done", "refused"]
    assert (schedule.active, schedule.paused_for, len(mail.outbox)) == (False, "nobody_left", 1)


def test_planner_gets_the_figures_of_their_own_facilities(month: Any) -> None:
    owner, planner = person(UserRole.DISPATCHER), person(UserRole.PLANNER)
    planner.facilities.set([factories.FacilityFactory.create()])
    schedule = keep(reports_weekly(recipients=ids(owner, planner), **MONTHLY), owner)
    schedule_runs.plan(at=DECEMBER)
    run = only_run(schedule)

    own = schedule_reports.report(run, by=by_of(planner))["rows"]

    assert {row["of"] for row in own} == {"Nothing to count"}
    assert {row["of"] for row in schedule_reports.report(run, by=by_of(owner))["rows"]} != {"Nothing to count"}


def test_each_recipient_gets_one_report_despite_mail_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, other = person(UserRole.DISPATCHER, name="A"), person(UserRole.ANALYST, name="B")
    schedule = keep(reports_weekly(recipients=ids(owner, other)), owner)
    send, refused = EmailMultiAlternatives.send, {other.email}

    def refuse(message: EmailMultiAlternatives, *given: Any) -> int:
        if message.to[0] in refused:
            raise OSError
        return send(message, *given)

    monkeypatch.setattr(EmailMultiAlternatives, "send", refuse)
    clock = Clock(MONDAY)
    tick(clock)
    waiting = only_run(schedule)
    refused.clear()
    clock.pass_(minutes=1)
    tick(clock)

    assert (waiting.state, waiting.outcome, waiting.mailed_to) == ("queued", "mail_failed", [owner.pk])
    assert [message.to for message in mail.outbox] == [[owner.email], [other.email]]
    assert told(schedule) == [("2026-11-22", "done", "")]


def test_unreachable_address_does_not_pause_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, other = person(UserRole.ANALYST), person(UserRole.ANALYST)
    schedule = keep(reports_weekly(recipients=ids(owner, other)), owner)
    send = EmailMultiAlternatives.send

    def refuse(message: EmailMultiAlternatives, *given: Any) -> int:
        if message.to[0] == other.email:
            raise OSError
        return send(message, *given)

    monkeypatch.setattr(EmailMultiAlternatives, "send", refuse)
    clock = Clock(MONDAY)
    for _again in range(schedule_runs.MAX_ATTEMPTS):
        tick(clock)
        clock.pass_(minutes=180)

    assert [message.to for message in mail.outbox] == [[owner.email]]
    assert told(schedule) == [("2026-11-22", "done", "")]
    schedule.refresh_from_db()
    assert (schedule.failures, schedule.active) == (0, True)


def test_missed_reports_are_not_sent_but_the_latest() -> None:
    owner = person(UserRole.DISPATCHER)
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)

    tick(Clock(MONDAY + dt.timedelta(days=15)))

    assert told(schedule) == [
        ("2026-11-22", "missed", "superseded"),
        ("2026-11-29", "missed", "superseded"),
        ("2026-12-06", "done", ""),
    ]


def test_mail_is_in_the_language_of_its_reader() -> None:
    reader = person(UserRole.ANALYST, language="es")
    schedule = keep(reports_weekly(recipients=ids(reader)), reader)
    schedules.set_paused(schedule, PauseReason.FAILING, at=NOW)
    ReportSchedule.objects.update(notice_due_at=NOW)
    schedule_mails.send_notices(at=NOW)
    schedules.resume(schedule_id=schedule.pk, by=by_of(reader), at=NOW)
    tick(Clock(MONDAY))

    notice, report = mail.outbox
    assert notice.subject != "[Carelane] A schedule of yours rests"
    assert report.subject.endswith("16 Nov 2026 a 22 Nov 2026")
