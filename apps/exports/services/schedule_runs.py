"""Runs of schedules: planned when they are due, made, and sent under a lease.

Each due time of a schedule has one run, a row with a unique constraint, whatever crashes.  A run of an export creates
an export job (export_runs.py); when its file is ready, a worker claims the run (lib/db/leases.py), sends the file and
settles the run.  If the worker dies in between, another one claims the run when the lease ends: it uploads the same
file under the same name again, and mails only the recipients who are not in `mailed_to` yet.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, takewhile
from typing import Any, Final

from django.db import DatabaseError, connection, transaction
from django.db.models import Max, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.exports.destinations.errors import UploadError
from apps.exports.models import Export, ReportSchedule, ScheduleRun
from apps.exports.models.schedules import PauseReason, RunOutcome, RunState
from apps.exports.rules.cadence import Covers
from apps.exports.services import export_files, exports, schedule_mails, schedule_recipients, uploads
from apps.exports.services.export_runs import NoLongerPermitted
from apps.exports.services.export_validation import ExportRequest, parse_stored_filters
from apps.exports.services.exports import TooManyExports
from apps.exports.services.schedules import alert_key, file_name, new_run, requeue_failed, set_paused
from lib.access import Phi, Principal
from lib.db import leases
from lib.db.leases import Claim
from lib.errors import DomainError
from lib.messages import Message
from lib.scopes import Scope

log = logging.getLogger(__name__)

MAX_CATCH_UP: Final = 31  # runs that are made after the service was down or the schedule paused
LEASE: Final = timedelta(seconds=60)
BEAT_SECONDS: Final = leases.HEARTBEAT_SECONDS
MAX_CONCURRENT: Final = 2  # runs being sent, by all workers: a server that hangs must not occupy them all
MAX_ATTEMPTS: Final = 6
RETRY_DELAYS: Final = tuple(timedelta(minutes=number) for number in (1, 5, 15, 60, 180))
MAX_FAILURES: Final = 3  # runs in a row, before the schedule is paused
_PLAN_BATCH: Final = 20
_CLAIM_SECONDS: Final = 300.0  # of a task, in which it claims runs
_IS_STARTABLE: Final = Q(schedule__active=True) | Q(manual=True)

Clock = Callable[[], datetime]


class ClaimLost(Exception):
    """This worker no longer holds the run."""


class _AttemptFailed(Exception):
    """An attempt failed; `remake`: the file is unusable and has to be made again."""

    def __init__(self, code: str, *, retryable: bool, remake: bool = False) -> None:
        super().__init__(code)
        self.code, self.retryable, self.remake = code, retryable, remake


class _RunRefused(Exception):
    """The run is not permitted, and the schedule is to be paused."""

    def __init__(self, code: RunOutcome, reason: PauseReason) -> None:
        super().__init__(code)
        self.code, self.reason = code, reason


@dataclass(slots=True)
class _ClaimedRun:
    """A run that this worker holds."""

    claim: Claim[ScheduleRun]
    clock: Clock
    claim_lost: threading.Event = field(default_factory=threading.Event)

    @property
    def run(self) -> ScheduleRun:
        return self.claim.rows[0]

    def beat(self) -> None:
        """Renew the lease; sets `claim_lost` if this worker no longer holds the run."""
        if not self.claim.renew(at=self.clock(), lease=LEASE):
            self.claim_lost.set()


def work(*, clock: Clock, limit: int = 20) -> int:
    """Plan due runs, start their exports, and send runs whose file is ready; return how many were claimed."""
    plan(at=clock())
    for _attempt in range(limit):
        if not start_export(at=clock()):
            break
    # An upload takes twenty minutes at most: a run that is claimed before then ends before the time limit of the task.
    until = time.monotonic() + _CLAIM_SECONDS
    for count in range(limit):
        new_claim = claim(at=clock()) if time.monotonic() < until else None
        if not new_claim:
            return count
        _send(_ClaimedRun(new_claim, clock))
    return limit


@transaction.atomic
def plan(*, at: datetime) -> int:
    """Create the runs of due schedules, and set their next due times; return the number of schedules.

    After a time without workers, exports of days are made for each of the last 31 due times; reports, and exports of
    changes, only for the latest.  Earlier runs get the state `missed`.
    """
    rows = ReportSchedule.objects.filter(active=True, next_at__lte=at).order_by("next_at", "pk")
    due = list(rows.select_for_update(skip_locked=True, no_key=True)[:_PLAN_BATCH])
    for schedule in due:
        due_times = chain([schedule.next_at], schedule.cadence.after(schedule.next_at))
        runs = [new_run(schedule, due_at, at) for due_at in takewhile(lambda due_at: due_at <= at, due_times)]
        covers_days = schedule.kind == ReportSchedule.Kind.EXPORT and schedule.covers != Covers.CHANGES
        for run in runs[: -MAX_CATCH_UP if covers_days else -1]:
            run.state, run.outcome, run.ended_at = RunState.MISSED, RunOutcome.SUPERSEDED, at
        ScheduleRun.objects.bulk_create(runs, ignore_conflicts=True)  # a manual run may have this due time
        schedule.next_at = next(schedule.cadence.after(at))
        schedule.save(update_fields=["next_at"])
    return len(due)


@transaction.atomic
def start_export(*, at: datetime) -> bool:
    """Create the export of a run that has none yet, in one transaction; return whether there was such a run."""
    is_waiting = Q(state=RunState.QUEUED, try_at__lte=at, schedule__kind=ReportSchedule.Kind.EXPORT, export=None)
    rows = _oldest_first(ScheduleRun.objects.filter(is_waiting & _IS_STARTABLE))
    run = rows.select_for_update(of=("self", "schedule"), skip_locked=True, no_key=True).first()
    if run is None:
        return False
    try:
        with transaction.atomic():
            export = _create_export(run, at)
    except TooManyExports as limit:
        run.try_at, run.outcome = at + timedelta(seconds=limit.wait), RunOutcome.TOO_MANY_EXPORTS
        run.save(update_fields=["try_at", "outcome"])
    except (NoLongerPermitted, DomainError):
        _refuse(_RunRefused(RunOutcome.NOT_PERMITTED, PauseReason.NOT_PERMITTED), run, at)
    else:
        run.export, run.state, run.outcome = export, RunState.MAKING, ""
        run.save(update_fields=["export", "state", "outcome", "changed_since"])
    return True


@transaction.atomic
def claim(*, at: datetime) -> Claim[ScheduleRun] | None:
    """Claim a run whose export has ended, a due report, or a run whose lease has ended; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('claims of schedule runs', 0))")
    if ScheduleRun.objects.filter(state=RunState.SENDING, lease_until__gt=at).count() >= MAX_CONCURRENT:
        return None
    is_made = Q(state=RunState.MAKING) & ~Q(export__state__in=[Export.State.QUEUED, Export.State.RUNNING])
    is_waiting = Q(state=RunState.QUEUED, try_at__lte=at) & _IS_STARTABLE
    is_ready = is_waiting & (Q(schedule__kind=ReportSchedule.Kind.REPORT) | Q(export__isnull=False))
    was_sending = Q(state=RunState.SENDING)
    rows = _oldest_first(ScheduleRun.objects.filter(is_made | is_ready | was_sending))
    new_claim = leases.claim(rows, at=at, lease=LEASE, limit=1, state=RunState.SENDING)
    if new_claim:
        run = new_claim.rows[0]
        run.attempts += 1
        run.save(update_fields=["attempts"])
    return new_claim or None


def _oldest_first(rows: QuerySet[ScheduleRun]) -> QuerySet[ScheduleRun]:
    return rows.select_related("schedule").order_by("try_at", "due_at", "pk")


def _create_export(run: ScheduleRun, at: datetime) -> Export:
    """Create the export of a run, as its owner.

    Raises:
        NoLongerPermitted, DomainError: the owner lacks access, or a record in the filters is gone.
    """
    schedule = run.schedule
    by = schedule_recipients.owner(schedule, at=at)
    filters: dict[str, Any] = dict(parse_stored_filters(schedule.filters))
    if run.first_day is not None:
        filters |= {"service_date_from": run.first_day, "service_date_to": run.last_day}
    else:
        run.changed_since = _data_as_of_last_run(schedule)
        filters |= {} if run.changed_since is None else {"changed_since": run.changed_since}
    columns = None if schedule.columns is None else tuple(schedule.columns)
    return exports.create(request=ExportRequest(schedule.dataset, schedule.format, filters, columns), by=by, at=at)


def _data_as_of_last_run(schedule: ReportSchedule) -> datetime | None:
    """Return the time up to which all changes have been sent; None before the first successful run."""
    runs = schedule.runs.filter(state=RunState.DONE, created_at__gte=schedule.begun_at)
    data_as_of: datetime | None = runs.aggregate(last=Max("export__data_as_of"))["last"]
    return data_as_of


def _send(claimed: _ClaimedRun) -> None:
    run = claimed.run
    if run.attempts > MAX_ATTEMPTS:
        _settle(claimed, partial(_fail, RunOutcome.WORKER_LOST))
        return
    try:
        with leases.heartbeat(claimed.beat, every=BEAT_SECONDS):
            by = _owner(claimed)
            if run.schedule.kind == ReportSchedule.Kind.EXPORT:
                _check_file(run)
            if run.schedule.way == ReportSchedule.DeliveryMethod.DESTINATION:
                _upload(run)
            else:
                _mail(claimed)
            leases.settle_with_retries(partial(_settle_done, claimed, by))
    except ClaimLost:
        log.info("schedule run claim lost", extra={"run_id": str(run.pk)})
    except _RunRefused as refusal:
        _settle(claimed, partial(_refuse, refusal))
    except _AttemptFailed as failure:
        _settle(claimed, partial(_fail_or_requeue, failure))
    except DatabaseError as trouble:
        log.warning("schedule run failed: %s", type(trouble).__name__, extra={"run_id": str(run.pk)})
        _settle(claimed, partial(_fail_or_requeue, _AttemptFailed(RunOutcome.DATABASE_UNAVAILABLE, retryable=True)))
    except Exception:
        log.exception("schedule run failed", extra={"run_id": str(run.pk)})
        _settle(claimed, partial(_fail, RunOutcome.INTERNAL_ERROR))


def _owner(claimed: _ClaimedRun) -> Principal:
    try:
        return schedule_recipients.owner(claimed.run.schedule, at=claimed.clock())
    except NoLongerPermitted:
        raise _RunRefused(RunOutcome.NOT_PERMITTED, PauseReason.NOT_PERMITTED) from None


def _check_file(run: ScheduleRun) -> None:
    """Check that the file of a run is ready.

    Raises:
        _AttemptFailed: it could not be made, was canceled or has been deleted.
        _RunRefused: the owner has lost access.
    """
    export = run.export
    assert export is not None  # noqa: S101  # a claimed run of an export has one
    if export.state == Export.State.READY and export_files.file_path(export).exists():
        return
    if export.state == Export.State.CANCELLED:
        raise _AttemptFailed(RunOutcome.EXPORT_CANCELLED, retryable=False)
    if export.state == Export.State.FAILED:
        if export.error_code == "no_longer_permitted":
            raise _RunRefused(RunOutcome.NOT_PERMITTED, PauseReason.NOT_PERMITTED)
        raise _AttemptFailed(RunOutcome.EXPORT_FAILED, retryable=True, remake=True)
    raise _AttemptFailed(RunOutcome.STORAGE_UNAVAILABLE, retryable=True, remake=True)


def _upload(run: ScheduleRun) -> None:
    schedule, export = run.schedule, run.export
    assert schedule.destination is not None  # noqa: S101  # ensured by a constraint
    assert export is not None  # noqa: S101  # `_check_file` checks it
    destination = schedule.destination
    # The PHI level of the file counts: the schedule may have changed since.
    if destination.deleted_at is not None or not destination.accepts(Phi(export.phi)):
        raise _AttemptFailed(RunOutcome.DESTINATION_GONE, retryable=False)
    try:
        uploads.upload(destination, export_files.file_path(export), file_name(run))
    except UploadError as refusal:
        raise _AttemptFailed(refusal.code.value, retryable=refusal.retryable) from None
    except OSError:
        raise _AttemptFailed(RunOutcome.STORAGE_UNAVAILABLE, retryable=True, remake=True) from None


def _mail(claimed: _ClaimedRun) -> None:
    """Mail each recipient who is not in `mailed_to` yet.

    Raises:
        ClaimLost: this worker no longer holds the run.
        _RunRefused: no recipient has access any more.
        _AttemptFailed: some mails were not accepted.
    """
    run = claimed.run
    recipients = schedule_recipients.recipients(run.schedule)
    if not recipients:
        raise _RunRefused(RunOutcome.NOBODY_LEFT, PauseReason.NOBODY_LEFT)
    if run.export_id is not None:  # before the mail, so that its link works
        Export.objects.filter(pk=run.export_id).update(sent_to=[recipient.user.pk for recipient in recipients])
    all_accepted = True
    for recipient in recipients:
        if claimed.claim_lost.is_set():
            raise ClaimLost
        if recipient.user.pk in run.mailed_to:
            continue
        if not schedule_mails.send(run, recipient):
            all_accepted = False
            continue
        run.mailed_to = [*run.mailed_to, recipient.user.pk]
        if not claimed.claim.held().update(mailed_to=run.mailed_to):
            raise ClaimLost
    # One address that accepts no mail must not pause the schedule for the other recipients.
    if not all_accepted and not (run.mailed_to and run.attempts >= MAX_ATTEMPTS):
        raise _AttemptFailed(RunOutcome.MAIL_FAILED, retryable=True)


@transaction.atomic
def _settle_done(claimed: _ClaimedRun, by: Principal) -> None:
    run, at = _locked_run(claimed)
    schedule = run.schedule
    run.state, run.outcome, run.ended_at, run.claim_id, run.lease_until = RunState.DONE, "", at, None, None
    run.save(update_fields=["state", "outcome", "ended_at", "claim_id", "lease_until"])
    schedule.failures = 0
    schedule.save(update_fields=["failures"])
    requeue_failed(schedule, at=at)
    audit.record(
        by=by,
        action="report_schedules.send",
        subject_type="report_schedule",
        subject_id=schedule.pk,
        phi=schedule.phi_name if run.export is None else Phi(run.export.phi).name.lower(),
        details={
            "runId": str(run.pk),
            "exportId": None if run.export_id is None else str(run.export_id),
            "destinationId": None if schedule.destination_id is None else str(schedule.destination_id),
            "userIds": [str(user_id) for user_id in run.mailed_to],
        },
    )


def _settle(claimed: _ClaimedRun, update: Callable[[ScheduleRun, datetime], None]) -> None:
    """Settle a run that did not succeed; no-op if this worker no longer holds it."""

    def settle() -> None:
        with transaction.atomic():
            update(*_locked_run(claimed))

    try:
        leases.settle_with_retries(settle)
    except ClaimLost:
        log.info("schedule run claim lost", extra={"run_id": str(claimed.run.pk)})


def _locked_run(claimed: _ClaimedRun) -> tuple[ScheduleRun, datetime]:
    """Lock a run and its schedule, the schedule first as everywhere.

    Raises:
        ClaimLost: this worker no longer holds the run.
    """
    ReportSchedule.objects.select_for_update(no_key=True).filter(pk=claimed.run.schedule_id).first()
    run = claimed.claim.held().select_related("schedule").select_for_update(of=("self",), no_key=True).first()
    if run is None:
        raise ClaimLost
    return run, claimed.clock()


def _fail_or_requeue(failure: _AttemptFailed, run: ScheduleRun, at: datetime) -> None:
    if not failure.retryable or run.attempts >= MAX_ATTEMPTS:
        _fail(failure.code, run, at)
        return
    run.state, run.outcome, run.try_at = RunState.QUEUED, failure.code, at + RETRY_DELAYS[run.attempts - 1]
    run.claim_id = run.lease_until = None
    if failure.remake:
        run.export = None
    run.save(update_fields=["state", "outcome", "try_at", "claim_id", "lease_until", "export"])


def _fail(code: str, run: ScheduleRun, at: datetime) -> None:
    """Set a run to failed; the third in a row pauses the schedule.  Runs older than a successful one do not count."""
    _end(run, RunState.FAILED, code, at)
    schedule = run.schedule
    schedule.failures += not schedule.runs.filter(state=RunState.DONE, due_at__gt=run.due_at).exists()
    schedule.save(update_fields=["failures"])
    if schedule.failures >= MAX_FAILURES and schedule.active:
        _pause(schedule, PauseReason.FAILING, at)


def _refuse(refusal: _RunRefused, run: ScheduleRun, at: datetime) -> None:
    _end(run, RunState.REFUSED, refusal.code, at)
    if run.schedule.active:
        _pause(run.schedule, refusal.reason, at)


def _end(run: ScheduleRun, state: RunState, code: str, at: datetime) -> None:
    run.state, run.outcome, run.ended_at = state, code, at
    run.claim_id = run.lease_until = None
    run.save(update_fields=["state", "outcome", "ended_at", "claim_id", "lease_until"])


def _pause(schedule: ReportSchedule, reason: PauseReason, at: datetime) -> None:
    """Pause a schedule, and notify its owner by mail and user managers in their inbox."""
    set_paused(schedule, reason, at=at)
    ReportSchedule.objects.filter(pk=schedule.pk).update(notice_due_at=at)
    alerts.raise_alert(
        kind="report_schedule_paused",
        severity="warning",
        scope=Scope.USERS_MANAGE,
        key=alert_key(schedule),
        title=_("A schedule of exports or reports was paused."),
        text=[Message(_("A schedule of exports or reports was paused: %(reason)s."), {"reason": reason.label})],
        path=reverse("report_schedule", args=[schedule.pk]),
        at=at,
    )
