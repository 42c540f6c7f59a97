"""Concurrent workers, and workers that die between two steps of a schedule: no run is duplicated or lost."""

import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import OperationalError, connection, connections

from apps.accounts.rules.roles import UserRole
from apps.audit.services import audit
from apps.exports.models import Export, ExportDestination, ReportSchedule, ScheduleRun
from apps.exports.services import export_runs, exports, schedule_runs, schedules, uploads
from lib.db import leases
from tests.exports.scheduled import (
    Clock,
    Places,
    by_of,
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

pytestmark = pytest.mark.django_db(transaction=True)
DUE = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
MONDAY = dt.datetime(2026, 11, 23, 13, tzinfo=dt.UTC)


class Killed(BaseException):
    """The worker is dead: none of its own code runs after this."""


def die(*given: Any, **named: Any) -> None:
    raise Killed


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    return tmp_path / "exports"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    return stand_in(monkeypatch)


def at_once(work: Callable[[], Any], workers: int = 4) -> list[Any]:
    """Run the same step in several workers at once, each with its own connection."""
    ready = threading.Barrier(workers)

    def one(_number: int) -> Any:
        try:
            connection.ensure_connection()
            ready.wait(10)
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(workers)))


def test_workers_that_meet_plan_make_and_send_each_moment_once(places: Places) -> None:
    schedule = to_bucket(person())

    at_once(lambda: schedule_runs.plan(at=DUE))
    begun = at_once(lambda: schedule_runs.start_export(at=DUE))
    export_runs.work(clock=Clock(DUE))
    claimed = at_once(lambda: schedule_runs.claim(at=DUE))

    assert ScheduleRun.objects.filter(schedule=schedule).count() == 1
    assert (sorted(begun), Export.objects.count()) == ([False, False, False, True], 1)
    assert len([run for run in claimed if run is not None]) == 1


def test_no_more_than_two_runs_are_sent_at_a_time(places: Places) -> None:
    for _number in range(3):
        to_bucket(person())
    schedule_runs.plan(at=DUE)
    while schedule_runs.start_export(at=DUE):
        pass
    export_runs.work(clock=Clock(DUE), limit=3)

    claimed = [schedule_runs.claim(at=DUE) for _number in range(3)]

    assert [run is not None for run in claimed] == [True, True, False]


def test_worker_killed_while_creating_the_export_leaves_nothing(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    ask = exports.create

    def ask_and_die(**named: Any) -> None:
        ask(**named)
        raise Killed

    monkeypatch.setattr(exports, "create", ask_and_die)
    with pytest.raises(Killed):
        tick(clock)
    left = (Export.objects.count(), told(schedule))
    monkeypatch.setattr(exports, "create", ask)
    tick(clock)

    assert left == (0, [("2026-11-20", "queued", "")])
    assert (told(schedule), Export.objects.count()) == ([("2026-11-20", "done", "")], 1)


@pytest.mark.parametrize("where", ["before the file is put", "after the file is put"])
def test_worker_killed_around_upload_repeats_same_file_and_name(
    places: Places, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    step = "_upload" if where == "before the file is put" else "_settle_done"
    whole = getattr(schedule_runs, step)
    monkeypatch.setattr(schedule_runs, step, die)
    with pytest.raises(Killed):
        tick(clock)
    monkeypatch.setattr(schedule_runs, step, whole)
    held = only_run(schedule)
    clock.at = DUE + export_runs.LEASE - dt.timedelta(seconds=1)
    tick(clock)
    meanwhile = only_run(schedule).state

    clock.at = DUE + export_runs.LEASE
    tick(clock)

    assert (held.state, held.attempts, meanwhile) == ("sending", 1, "sending")
    run = only_run(schedule)
    assert (run.state, run.attempts, Export.objects.count()) == ("done", 2, 1)
    assert (len(places.files), len(set(places.puts))) == (1, 1)
    assert len(places.puts) == (1 if step == "_upload" else 2)


@pytest.mark.parametrize("away", [1, 2])
def test_file_is_put_once_though_the_database_was_away_meanwhile(
    monkeypatch: pytest.MonkeyPatch, away: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The database connection broke during the upload, and again when the result was to be recorded."""
    schedule, puts = to_bucket(person()), []

    def upload_file(destination: ExportDestination, path: Path, name: str) -> None:
        puts.append(name)
        _break(connection)

    def sleep(seconds: float) -> None:
        waits.append(seconds)

    waits: list[float] = []
    record, again = audit.record, iter(range(away - 1))

    def breaks(**named: Any) -> None:
        if named["action"] == "destinations.upload" and next(again, None) is not None:
            _break(connection)
        record(**named)

    monkeypatch.setattr(uploads, "upload_file", upload_file)
    monkeypatch.setattr("lib.db.leases.time.sleep", sleep)
    monkeypatch.setattr(audit, "record", breaks)

    tick(Clock(DUE))

    run = only_run(schedule)
    assert (run.state, run.attempts, len(puts)) == ("done", 1, 1)
    assert waits == [1.0][: away - 1]
    assert ExportDestination.objects.get().sent_at is not None


def test_export_that_failed_with_its_connection_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*given: Any, **named: Any) -> None:
        _break(connection)
        raise OSError

    to_bucket(person())
    schedule_runs.work(clock=Clock(DUE))
    monkeypatch.setattr("apps.exports.services.export_runs.files.write", breaks)

    export_runs.work(clock=Clock(DUE))

    export = Export.objects.get()
    assert (export.state, export.error_code, export.claim_id) == ("queued", "storage_unavailable", None)


def test_settle_retries_end_before_the_lease_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("lib.db.leases.time.sleep", waits.append)

    def away() -> None:
        raise OperationalError

    with pytest.raises(OperationalError):
        leases.settle_with_retries(away)

    assert 30 < sum(waits) < export_runs.LEASE.total_seconds()


def _break(broken: Any) -> None:
    """Make the server end a connection, as it does when it stops."""
    told = broken.connection.info
    with psycopg.connect(told.dsn, password=told.password) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [told.backend_pid])


def test_worker_killed_again_and_again_is_a_failure(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)
    monkeypatch.setattr(schedule_runs, "_upload", die)
    for _try in range(schedule_runs.MAX_ATTEMPTS):
        with pytest.raises(Killed):
            tick(clock)
        clock.at += export_runs.LEASE
    tick(clock)

    assert told(schedule) == [("2026-11-20", "failed", "worker_lost")]


def test_worker_that_was_slow_settles_nothing_of_another(places: Places) -> None:
    """Its lease expired during the upload, and another worker has completed the run since."""
    schedule, clock = to_bucket(person()), Clock(DUE)

    def another() -> None:
        places.then = lambda: None
        clock.at = DUE + export_runs.LEASE
        schedule_runs.work(clock=clock)

    places.then = another
    tick(clock)

    run = only_run(schedule)
    assert (run.state, run.attempts, len(places.puts), len(places.files)) == ("done", 2, 2, 1)


@pytest.mark.parametrize("failure", [schedule_runs._AttemptFailed("timed_out", retryable=True), Killed("as an error")])
def test_failure_of_a_run_that_is_another_s_changes_nothing(
    places: Places, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    schedule, clock = to_bucket(person()), Clock(DUE)

    def lose(run: ScheduleRun) -> None:
        ScheduleRun.objects.update(claim_id=schedule.pk)
        raise failure if isinstance(failure, Exception) else RuntimeError

    monkeypatch.setattr(schedule_runs, "_upload", lose)
    tick(clock)

    run = only_run(schedule)
    assert (run.state, run.claim_id, run.outcome) == ("sending", schedule.pk, "")


def test_worker_killed_between_two_mails_sends_only_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, other = person(UserRole.DISPATCHER, name="A"), person(UserRole.ANALYST, name="B")
    schedule, clock = keep(reports_weekly(recipients=ids(owner, other)), owner), Clock(MONDAY)
    send = EmailMultiAlternatives.send

    def once(message: EmailMultiAlternatives, *given: Any) -> int:
        if mail.outbox:
            raise Killed
        return send(message, *given)

    monkeypatch.setattr(EmailMultiAlternatives, "send", once)
    with pytest.raises(Killed):
        tick(clock)
    monkeypatch.setattr(EmailMultiAlternatives, "send", send)
    clock.at += export_runs.LEASE
    tick(clock)

    assert [message.to for message in mail.outbox] == [[owner.email], [other.email]]
    assert told(schedule) == [("2026-11-22", "done", "")]


@pytest.mark.parametrize("when", ["before", "after"])
def test_worker_that_lost_its_run_sends_no_further_mail(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    owner, other = person(UserRole.DISPATCHER, name="A"), person(UserRole.ANALYST, name="B")
    schedule = keep(reports_weekly(recipients=ids(owner, other)), owner)
    schedule_runs.plan(at=MONDAY)
    run = schedule_runs.claim(at=MONDAY)
    assert run is not None
    held = schedule_runs._ClaimedRun(run, Clock(MONDAY))
    ScheduleRun.objects.update(claim_id=schedule.pk)
    if when == "before":
        held.beat()

    schedule_runs._send(held)

    assert len(mail.outbox) == (0 if when == "before" else 1)
    assert (only_run(schedule).state, only_run(schedule).mailed_to) == ("sending", [])


def test_lease_is_renewed_while_a_file_is_put(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_runs, "BEAT_SECONDS", 0.001)
    schedule, clock, renewed = to_bucket(person()), Clock(DUE), threading.Event()
    beat = schedule_runs._ClaimedRun.beat

    def noticed(held: schedule_runs._ClaimedRun) -> None:
        beat(held)
        renewed.set()

    monkeypatch.setattr(schedule_runs._ClaimedRun, "beat", noticed)

    leases_until: list[Any] = []

    def wait() -> None:
        clock.at = DUE + dt.timedelta(seconds=30)
        for _again in range(2):  # the first one may have read the clock before
            renewed.clear()
            assert renewed.wait(10)
        leases_until.append(only_run(schedule).lease_until)

    places.then = wait
    tick(clock)

    assert leases_until == [DUE + dt.timedelta(seconds=30) + export_runs.LEASE]
    assert told(schedule) == [("2026-11-20", "done", "")]


def test_schedule_that_is_removed_while_it_is_sent_is_gone(places: Places) -> None:
    owner = person()
    schedule, clock = to_bucket(owner), Clock(DUE)
    places.then = lambda: schedules.remove(schedule_id=schedule.pk, by=by_of(owner), at=NOW)

    tick(clock)

    assert (ReportSchedule.objects.count(), ScheduleRun.objects.count(), len(places.files)) == (0, 0, 1)
