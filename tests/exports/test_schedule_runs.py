"""Schedule runs: each due time once, covered days, retries, pauses, and notifications."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import DatabaseError

from apps.accounts.models import Alert, User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.exports import tasks
from apps.exports.destinations.errors import UploadError
from apps.exports.models import Export, ExportDestination, ReportSchedule, ScheduleRun
from apps.exports.models.destinations import UploadErrorCode
from apps.exports.models.schedules import PauseReason
from apps.exports.services import (
    export_files,
    export_runs,
    exports,
    schedule_mails,
    schedule_runs,
    schedules,
    uploads,
)
from apps.rides.rules.lifecycle import RideStatus
from tests.exports.scheduled import (
    DAY,
    Clock,
    Places,
    by_of,
    exports_daily,
    ids,
    keep,
    only_run,
    person,
    reports_weekly,
    stand_in,
    tick,
    to_bucket,
    told,
)
from tests.factories import NOW
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db
DUE = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)  # six in the morning in Chicago, the day after NOW


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    settings.EXPORTS_PER_HOUR = 1000
    return tmp_path / "exports"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    return stand_in(monkeypatch)


def test_export_is_put_under_its_name_when_it_is_due(places: Places) -> None:
    ride = ride_in(RideStatus.COMPLETED)
    schedule, clock = to_bucket(person()), Clock(DUE - dt.timedelta(seconds=1))
    tick(clock)
    before = told(schedule)

    clock.at = DUE
    tick(clock)

    schedule.refresh_from_db()
    assert before == []
    assert told(schedule) == [("2026-11-20", "done", "")]
    name = f"carelane_completions_2026-11-20_{schedule.pk.hex[-8:]}.csv"
    assert list(places.files) == [name]
    assert str(ride.pk) in places.files[name].decode()
    assert schedule.next_at == DUE + DAY
    export = Export.objects.get()
    assert export.filters == {"serviceDateFrom": "2026-11-20", "serviceDateTo": "2026-11-20"}
    assert (export.created_by, export.phi) == (f"user:{schedule.user_id}", 0)
    entry = AuditEntry.objects.get(action="report_schedules.send")
    assert (entry.actor, entry.subject_id) == (f"user:{schedule.user_id}", schedule.pk)
    assert entry.details["destinationId"] == str(schedule.destination_id)


def test_clock_tasks_make_and_send_due_files_and_notify_owners(places: Places) -> None:
    schedule, owner = to_bucket(person()), person()
    ReportSchedule.objects.filter(pk=schedule.pk).update(next_at=NOW)
    resting = to_bucket(owner, name="Resting")
    schedules.set_paused(resting, PauseReason.FAILING, at=NOW)
    ReportSchedule.objects.filter(pk=resting.pk).update(notice_due_at=NOW)

    tasks.run_schedules()
    tasks.make_exports()
    tasks.run_schedules()
    tasks.notify_schedule_owners()

    assert told(schedule) == [("2026-11-19", "done", "")]
    assert len(places.files) == 1
    (letter,) = mail.outbox
    assert letter.to == [owner.email]


@pytest.mark.parametrize(
    ("covers", "period"),
    [
        ("previous_day", ("2026-11-20", "2026-11-20")),
        ("last_7_days", ("2026-11-14", "2026-11-20")),
        ("previous_month", ("2026-10-01", "2026-10-31")),
    ],
)
def test_figures_are_exported_over_the_days_that_a_run_covers(
    places: Places, covers: str, period: tuple[str, str]
) -> None:
    schedule, clock = to_bucket(person(), dataset="kpis", covers=covers), Clock(DUE)

    tick(clock)
    tick(clock)

    assert told(schedule) == [(period[1], "done", "")]
    export = Export.objects.get()
    assert (export.filters["serviceDateFrom"], export.filters["serviceDateTo"]) == period
    (file,) = places.files.values()
    assert file.startswith(b"kpi,definitionVersion,")


def test_missed_days_are_all_run_late_with_their_own_periods(places: Places) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE + 4 * DAY + dt.timedelta(hours=3))

    tick(clock)
    tick(clock)

    assert told(schedule) == [(f"2026-11-{day}", "done", "") for day in range(20, 25)]
    assert sorted(name[21:31] for name in places.files) == [f"2026-11-{day}" for day in range(20, 25)]


def test_catch_up_covers_a_month_and_records_older_as_missed() -> None:
    schedule = to_bucket(person())

    schedule_runs.plan(at=DUE + 40 * DAY)

    states = [state for _day, state, _outcome in told(schedule)]
    assert states == ["missed"] * 10 + ["queued"] * 31
    assert told(schedule)[0] == ("2026-11-20", "missed", "superseded")


def test_day_that_failed_is_made_when_the_next_one_works(places: Places) -> None:
    owner = person()
    schedule, clock = to_bucket(owner), Clock(DUE)
    places.refusal = UploadError(UploadErrorCode.NO_SPACE, retryable=False)
    tick(clock)
    clock.at = DUE + DAY
    schedule_runs.work(clock=clock)
    exports.cancel(export_id=Export.objects.get(state="queued").pk, by=by_of(owner), at=clock.at)
    tick(clock)
    failed = told(schedule)
    places.refusal = None
    clock.at = DUE + 2 * DAY
    tick(clock)
    tick(clock)

    assert failed == [("2026-11-20", "failed", "no_space"), ("2026-11-21", "failed", "export_cancelled")]
    assert told(schedule) == [
        ("2026-11-20", "done", ""),
        ("2026-11-21", "failed", "export_cancelled"),  # a user canceled it
        ("2026-11-22", "done", ""),
    ]


def test_one_round_does_no_more_than_it_may(places: Places) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE + DAY)

    schedule_runs.work(clock=clock, limit=1)
    export_runs.work(clock=clock)
    sent = schedule_runs.work(clock=clock, limit=1)

    assert (sent, told(schedule)) == (1, [("2026-11-20", "done", ""), ("2026-11-21", "making", "")])


def test_export_of_several_days_is_named_by_first_and_last_day(places: Places) -> None:
    schedule = to_bucket(person(), covers="last_7_days")

    tick(Clock(DUE))

    assert list(places.files) == [f"carelane_completions_2026-11-14_2026-11-20_{schedule.short_id}.csv"]


@pytest.mark.parametrize("covers", ["changes"])
def test_of_changes_the_latest_run_alone_is_made(places: Places, covers: str) -> None:
    schedule, clock = to_bucket(person(), covers=covers), Clock(DUE + 3 * DAY)

    tick(clock)

    assert told(schedule) == [("None", "missed", "superseded")] * 3 + [("None", "done", "")]


def test_changes_are_counted_from_the_last_successful_run(places: Places) -> None:
    schedule, clock = to_bucket(person(), covers="changes"), Clock(DUE)
    tick(clock)
    first = only_run(schedule)
    known = first.export.data_as_of if first.export else None
    places.refusal = UploadError(UploadErrorCode.NOT_AUTHORIZED, retryable=False)
    clock.at = DUE + DAY
    tick(clock)
    places.refusal = None
    clock.at = DUE + 2 * DAY
    tick(clock)
    clock.at = DUE + 3 * DAY
    schedules.change(
        schedule_id=schedule.pk,
        request=exports_daily(covers="changes", destination_id=schedule.destination_id, format="ndjson"),
        expected_version=None,
        by=by_of(User.objects.get()),
        at=clock.at - dt.timedelta(hours=1),
    )
    tick(clock)

    found = list(ScheduleRun.objects.order_by("due_at").values_list("state", "changed_since"))
    assert found[:3] == [("done", None), ("failed", known), ("done", known)]  # a failed run leaves no gap
    assert found[3] == ("done", None)  # another file: from the beginning
    assert known is not None
    assert "_changes-2026-11-21T120000Z-" in next(iter(places.files))


def test_moment_is_one_run_however_often_it_is_planned(places: Places) -> None:
    schedule = to_bucket(person())
    schedule_runs.plan(at=DUE)
    ReportSchedule.objects.update(next_at=DUE)

    schedule_runs.plan(at=DUE)

    assert ScheduleRun.objects.filter(schedule=schedule).count() == 1


def test_retryable_failure_is_retried_with_the_same_file(places: Places) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    places.refusal = UploadError(UploadErrorCode.UNREACHABLE, retryable=True)

    tick(clock)
    waiting = only_run(schedule)
    clock.pass_(seconds=59)
    tick(clock)
    early = len(places.puts)
    clock.pass_(seconds=1)
    places.refusal = None
    tick(clock)

    assert (waiting.state, waiting.outcome, waiting.try_at) == ("queued", "unreachable", DUE + dt.timedelta(minutes=1))
    assert early == 1
    assert (told(schedule), Export.objects.count()) == ([("2026-11-20", "done", "")], 1)
    assert places.puts[0] == places.puts[1]


def test_six_tries_are_a_failure_and_three_failures_let_it_rest(places: Places) -> None:
    owner = person()
    admin = person(UserRole.ADMIN)
    schedule, clock = to_bucket(owner), Clock(DUE)
    places.refusal = UploadError(UploadErrorCode.TIMED_OUT, retryable=True)
    for _try in range(6):
        tick(clock)
        clock.pass_(minutes=180)
    after_one = (ReportSchedule.objects.get().failures, len(places.puts))
    places.refusal = UploadError(UploadErrorCode.HOST_KEY_CHANGED, retryable=False)
    for day in (1, 2):
        clock.at = DUE + day * DAY
        tick(clock)
    clock.at = DUE + 3 * DAY
    tick(clock)

    schedule.refresh_from_db()
    assert after_one == (1, 6)
    assert told(schedule) == [
        ("2026-11-20", "failed", "timed_out"),
        ("2026-11-21", "failed", "host_key_changed"),
        ("2026-11-22", "failed", "host_key_changed"),
    ]
    assert (schedule.active, schedule.paused_for, schedule.next_at) == (False, "failing", DUE + 3 * DAY)
    alert = Alert.objects.get()
    assert (alert.scope, alert.path) == ("users:manage", f"/console/reports/schedules/{schedule.pk}/")
    assert schedule.name not in alert.title + alert.text
    assert Alert.objects.visible_to(by_of(admin)).exists()
    assert not Alert.objects.visible_to(by_of(owner)).exists()

    schedule_mails.send_notices(at=DUE + 2 * DAY)
    schedule_mails.send_notices(at=DUE + 2 * DAY)

    (message,) = mail.outbox
    assert message.to == [owner.email]
    assert f"/console/reports/schedules/{schedule.pk}/" in message.body
    assert schedule.name not in message.subject + str(message.body)


def test_undeliverable_days_do_not_pause_a_working_schedule(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, clock, put = to_bucket(person()), Clock(DUE), places.put

    def refuse(destination: ExportDestination, path: Path, name: str) -> None:
        if any(f"_2026-11-{day}_" in name for day in (20, 21, 23)):
            raise UploadError(UploadErrorCode.REFUSED, retryable=False)
        put(destination, path, name)

    monkeypatch.setattr(uploads, "upload", refuse)
    for day in range(6):
        clock.at = DUE + day * DAY
        tick(clock)
        tick(clock)  # the repeated run

    assert [state for _day, state, _outcome in told(schedule)] == ["failed", "failed", "done", "failed", "done", "done"]
    schedule.refresh_from_db()
    assert (schedule.active, schedule.failures) == (True, 0)


def test_resuming_what_the_service_stopped_makes_what_was_missed(places: Places) -> None:
    owner = person()
    schedule, clock = to_bucket(owner), Clock(DUE)
    tick(clock)
    places.refusal = UploadError(UploadErrorCode.NO_SPACE, retryable=False)
    for day in (1, 2, 3):
        clock.at = DUE + day * DAY
        tick(clock)
    places.refusal = None
    clock.at = DUE + 5 * DAY

    schedules.resume(schedule_id=schedule.pk, by=by_of(owner), at=clock.at)
    tick(clock)
    tick(clock)

    assert told(schedule) == [(f"2026-11-{day}", "done", "") for day in range(20, 26)]
    assert Alert.objects.get().resolved_at == clock.at
    schedule.refresh_from_db()
    assert (schedule.failures, schedule.notice_due_at) == (0, None)


def test_resuming_what_people_paused_goes_on_from_now(places: Places) -> None:
    owner = person()
    schedule, clock = to_bucket(owner), Clock(DUE)
    schedules.pause(schedule_id=schedule.pk, by=by_of(owner), at=NOW)
    tick(clock)

    schedules.resume(schedule_id=schedule.pk, by=by_of(owner), at=DUE + 3 * DAY + dt.timedelta(hours=1))
    clock.at = DUE + 4 * DAY
    tick(clock)

    assert told(schedule) == [("2026-11-24", "done", "")]


def test_report_that_rested_for_a_failure_has_nothing_made_again() -> None:
    owner = person(UserRole.DISPATCHER)
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)
    ReportSchedule.objects.update(active=False, paused_for="failing")

    resumed = schedules.resume(schedule_id=schedule.pk, by=by_of(owner), at=NOW)

    assert (resumed.active, told(schedule)) == (True, [])


def test_failed_export_is_made_again_cancelled_export_is_not(places: Places) -> None:
    owner = person()
    schedule, clock = to_bucket(owner), Clock(DUE)
    schedule_runs.work(clock=clock)
    Export.objects.update(state="failed", error_code="database_unavailable")
    tick(clock)
    waiting = only_run(schedule)
    clock.pass_(minutes=1)
    schedule_runs.work(clock=clock)
    again = Export.objects.get(state="queued")
    exports.cancel(export_id=again.pk, by=by_of(owner), at=clock.at)
    tick(clock)

    assert (waiting.state, waiting.outcome, waiting.export) == ("queued", "export_failed", None)
    assert told(schedule) == [("2026-11-20", "failed", "export_cancelled")]


def test_file_that_was_taken_away_meanwhile_is_made_anew(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    schedule_runs.work(clock=clock)
    export_runs.work(clock=clock)
    export_files.file_path(Export.objects.get()).unlink()
    schedule_runs.work(clock=clock)
    waiting = only_run(schedule)
    clock.pass_(minutes=1)
    put = places.put
    monkeypatch.setattr(uploads, "upload", lambda *given: (_ for _ in ()).throw(FileNotFoundError()))
    tick(clock)
    twice = only_run(schedule)
    monkeypatch.setattr(uploads, "upload", put)
    clock.pass_(minutes=5)
    tick(clock)

    assert (waiting.state, waiting.outcome, waiting.export) == ("queued", "storage_unavailable", None)
    assert (twice.state, twice.outcome) == ("queued", "storage_unavailable")
    assert told(schedule) == [("2026-11-20", "done", "")]


def test_owner_who_made_many_exports_within_the_hour_waits(places: Places, settings: Any) -> None:
    settings.EXPORTS_PER_HOUR = 1
    schedule, clock = to_bucket(person()), Clock(DUE + DAY)

    tick(clock)
    found = told(schedule)
    clock.pass_(hours=1)
    tick(clock)

    assert found == [("2026-11-20", "done", ""), ("2026-11-21", "queued", "too_many_exports")]
    assert [state for _day, state, _outcome in told(schedule)] == ["done", "done"]


def test_run_by_hand_is_made_even_where_the_schedule_rests(places: Places) -> None:
    owner = person()
    schedule = to_bucket(owner)
    schedules.pause(schedule_id=schedule.pk, by=by_of(owner), at=NOW)

    schedules.run_now(schedule_id=schedule.pk, by=by_of(owner), at=NOW)
    with pytest.raises(schedules.AlreadyInState):
        schedules.run_now(schedule_id=schedule.pk, by=by_of(owner), at=NOW)
    tick(Clock(NOW))

    assert told(schedule) == [("2026-11-19", "done", "")]
    assert only_run(schedule).manual


def test_people_are_mailed_by_hand_every_ten_minutes_at_the_most() -> None:
    owner, clock = person(), Clock(NOW)
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)

    def by_hand() -> None:
        schedules.run_now(schedule_id=schedule.pk, by=by_of(owner), at=clock.at)
        tick(clock)

    by_hand()
    clock.pass_(minutes=9)
    with pytest.raises(schedules.MailedRecently) as refusal:
        by_hand()
    clock.pass_(minutes=1)
    by_hand()

    assert refusal.value.wait == 60
    assert len(mail.outbox) == 2


def test_manual_run_without_mail_can_be_repeated_at_once(places: Places) -> None:
    owner, clock = person(), Clock(NOW)
    schedule = to_bucket(owner)

    for _try in range(2):
        schedules.run_now(schedule_id=schedule.pk, by=by_of(owner), at=clock.at)
        tick(clock)
        clock.pass_(seconds=5)

    assert [state for _day, state, _outcome in told(schedule)] == ["done", "done"]


@pytest.mark.parametrize(
    ("trouble", "state", "code"),
    [(DatabaseError(), "queued", "database_unavailable"), (ZeroDivisionError(), "failed", "internal_error")],
)
def test_trouble_of_ours_is_told(
    places: Places, monkeypatch: pytest.MonkeyPatch, trouble: Exception, state: str, code: str
) -> None:
    schedule = to_bucket(person())

    def raise_(*given: Any) -> None:
        raise trouble

    monkeypatch.setattr(schedule_runs, "_upload", raise_)
    tick(Clock(DUE))

    assert told(schedule) == [("2026-11-20", state, code)]


def test_notices_that_cannot_be_mailed_are_tried_again(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(message: Any) -> None:
        raise OSError

    monkeypatch.setattr(EmailMultiAlternatives, "send", refuse)
    schedule = to_bucket(person())
    schedules.set_paused(schedule, PauseReason.FAILING, at=NOW)
    ReportSchedule.objects.update(notice_due_at=NOW)
    found = [schedule_mails.send_notices(at=NOW + dt.timedelta(minutes=minutes)) for minutes in (0, 1, 2)]
    late = schedule_mails.send_notices(at=NOW + 2 * DAY)

    assert (found, late) == ([0, 0, 0], 0)
    assert ReportSchedule.objects.get().notice_due_at is None  # given up after a day
