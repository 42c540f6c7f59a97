"""Runs of schedules: planned when they are due, made, and sent under a lease.

Each moment of a schedule is one row, whatever crashes.  An export is an export like any other (export_runs.py); when
its file is whole, a worker claims the run, sends it and settles.  A worker that dies in between leaves a lease that
lapses: the same file goes to the same name again, and people who have their mail are written down one by one.
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
from apps.exports.models.schedules import Outcome, Pause, RunState
from apps.exports.rules.cadence import Covers
from apps.exports.services import export_files, exports, schedule_mails, schedule_recipients, uploads
from apps.exports.services.export_runs import NoLongerPermitted
from apps.exports.services.export_validation import ExportRequest, parse_stored_filters
from apps.exports.services.exports import TooManyExports
from apps.exports.services.schedules import alert_key, file_name, new_run, pause_for, requeue_failed
from lib.access import Phi, Principal
from lib.db import leases
from lib.db.leases import Claim
from lib.errors import DomainError
from lib.messages import Message
from lib.scopes import Scope

log = logging.getLogger(__name__)

CATCHES_UP: Final = 31  # periods that are made after the service, or the schedule, was away
LEASE: Final = timedelta(seconds=60)
BEAT_SECONDS: Final = leases.HEARTBEAT_SECONDS
AT_ONCE: Final = 2  # runs being sent, by all workers: a server that hangs must not take them all
TRIES: Final = 6
TRY_AGAIN_AFTER: Final = tuple(timedelta(minutes=number) for number in (1, 5, 15, 60, 180))
FAILURES_TO_REST: Final = 3  # runs in a row
_PLANNED_AT_ONCE: Final = 20
_BEGINS_FOR: Final = 300.0  # seconds of a task
_MAY_START: Final = Q(schedule__active=True) | Q(manual=True)

Clock = Callable[[], datetime]


class Lost(Exception):  # as refusals are named
    """The run is no longer this worker's."""


class _Failed(Exception):
    """This try came to nothing; `anew`: what was made is of no use, and is made once more."""

    def __init__(self, code: str, *, retryable: bool, anew: bool = False) -> None:
        super().__init__(code)
        self.code, self.retryable, self.anew = code, retryable, anew


class _Refused(Exception):
    """The schedule may not go on."""

    def __init__(self, code: Outcome, why: Pause) -> None:
        super().__init__(code)
        self.code, self.why = code, why


@dataclass(slots=True)
class _Held:
    """A run in this worker's hands."""

    claim: Claim[ScheduleRun]
    clock: Clock
    lost: threading.Event = field(default_factory=threading.Event)

    @property
    def run(self) -> ScheduleRun:
        return self.claim.rows[0]

    def beat(self) -> None:
        """Renew the lease; notice that the run is another's."""
        if not self.claim.renew(at=self.clock(), lease=LEASE):
            self.lost.set()


def work(*, clock: Clock, most: int = 20) -> int:
    """Plan what is due, have exports begun, and send what is ready; say how many runs were sent, or tried."""
    plan(at=clock())
    for _attempt in range(most):
        if not begin(at=clock()):
            break
    # Putting a file takes twenty minutes at the most: a run that is begun in this time ends before the task is stopped.
    until = time.monotonic() + _BEGINS_FOR
    for sent in range(most):
        claimed = claim(at=clock()) if time.monotonic() < until else None
        if not claimed:
            return sent
        _send(_Held(claimed, clock))
    return most


@transaction.atomic
def plan(*, at: datetime) -> int:
    """Write the runs of schedules that are due, and when these are due next; say how many schedules that was.

    After time without a worker, exports of days are made for each of the last 31 moments; of reports and of changes
    the latest alone.  What is left out is written down.
    """
    rows = ReportSchedule.objects.filter(active=True, next_at__lte=at).order_by("next_at", "pk")
    due = list(rows.select_for_update(skip_locked=True, no_key=True)[:_PLANNED_AT_ONCE])
    for schedule in due:
        moments = chain([schedule.next_at], schedule.cadence.after(schedule.next_at))
        missed = list(takewhile(lambda moment: moment <= at, moments))
        each = schedule.kind == ReportSchedule.Kind.EXPORT and schedule.covers != Covers.CHANGES
        runs = [new_run(schedule, moment, at) for moment in missed]
        for run in runs[: -CATCHES_UP if each else -1]:
            run.state, run.outcome, run.ended_at = RunState.MISSED, Outcome.SUPERSEDED, at
        ScheduleRun.objects.bulk_create(runs, ignore_conflicts=True)  # a moment that was run by hand is there
        schedule.next_at = next(schedule.cadence.after(at))
        schedule.save(update_fields=["next_at"])
    return len(due)


@transaction.atomic
def begin(*, at: datetime) -> bool:
    """Ask for the export of a run that has none; say whether there was one.  All of it is there, or nothing."""
    waits = Q(state=RunState.QUEUED, try_at__lte=at, schedule__kind=ReportSchedule.Kind.EXPORT, export=None)
    rows = _longest_waiting(ScheduleRun.objects.filter(waits & _MAY_START))
    run = rows.select_for_update(of=("self", "schedule"), skip_locked=True, no_key=True).first()
    if run is None:
        return False
    try:
        with transaction.atomic():
            export = _asked(run, at)
    except TooManyExports as busy:
        run.try_at, run.outcome = at + timedelta(seconds=busy.wait), Outcome.TOO_MANY_EXPORTS
        run.save(update_fields=["try_at", "outcome"])
    except (NoLongerPermitted, DomainError):
        _refuse(_Refused(Outcome.NOT_PERMITTED, Pause.NOT_PERMITTED), run, at)
    else:
        run.export, run.state, run.outcome = export, RunState.MAKING, ""
        run.save(update_fields=["export", "state", "outcome", "changed_since"])
    return True


@transaction.atomic
def claim(*, at: datetime) -> Claim[ScheduleRun] | None:
    """Take a run whose file is made, a report that is due, or one whose worker went away; None: there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('claims of schedule runs', 0))")
    if ScheduleRun.objects.filter(state=RunState.SENDING, lease_until__gt=at).count() >= AT_ONCE:
        return None
    made = Q(state=RunState.MAKING) & ~Q(export__state__in=[Export.State.QUEUED, Export.State.RUNNING])
    waits = Q(state=RunState.QUEUED, try_at__lte=at) & _MAY_START
    ready = waits & (Q(schedule__kind=ReportSchedule.Kind.REPORT) | Q(export__isnull=False))
    sending = Q(state=RunState.SENDING)
    rows = _longest_waiting(ScheduleRun.objects.filter(made | ready | sending))
    claimed = leases.claim(rows, at=at, lease=LEASE, limit=1, state=RunState.SENDING)
    if claimed:
        run = claimed.rows[0]
        run.attempts += 1
        run.save(update_fields=["attempts"])
    return claimed or None


def _longest_waiting(rows: QuerySet[ScheduleRun]) -> QuerySet[ScheduleRun]:
    return rows.select_related("schedule").order_by("try_at", "due_at", "pk")


def _asked(run: ScheduleRun, at: datetime) -> Export:
    """Ask for the export of a run, in the owner's name.

    Raises:
        NoLongerPermitted, DomainError: the owner may not, or what is narrowed to is not there any more.
    """
    schedule = run.schedule
    by = schedule_recipients.owner(schedule, at=at)
    kept: dict[str, Any] = dict(parse_stored_filters(schedule.filters))
    if run.first_day is not None:
        kept |= {"service_date_from": run.first_day, "service_date_to": run.last_day}
    else:
        run.changed_since = _known_until(schedule)
        kept |= {} if run.changed_since is None else {"changed_since": run.changed_since}
    columns = None if schedule.columns is None else tuple(schedule.columns)
    return exports.create(request=ExportRequest(schedule.dataset, schedule.format, kept, columns), by=by, at=at)


def _known_until(schedule: ReportSchedule) -> datetime | None:
    """Say up to which moment everything has been sent: what the last run that worked knew.  None: nothing was."""
    done = schedule.runs.filter(state=RunState.DONE, created_at__gte=schedule.begun_at)
    found: datetime | None = done.aggregate(known=Max("export__data_as_of"))["known"]
    return found


def _send(held: _Held) -> None:
    run = held.run
    if run.attempts > TRIES:
        _settle(held, partial(_fail, Outcome.WORKER_LOST))
        return
    try:
        with leases.heartbeat(held.beat, every=BEAT_SECONDS):
            by = _owner(held)
            if run.schedule.kind == ReportSchedule.Kind.EXPORT:
                _check_made(run)
            if run.schedule.way == ReportSchedule.Way.DESTINATION:
                _upload(run)
            else:
                _mail(held)
            leases.settle_with_retries(partial(_settle_done, held, by))
    except Lost:
        log.info("schedule run is no longer ours", extra={"run_id": str(run.pk)})
    except _Refused as refusal:
        _settle(held, partial(_refuse, refusal))
    except _Failed as failure:
        _settle(held, partial(_fail_or_wait, failure))
    except DatabaseError as trouble:
        log.warning("schedule run failed: %s", type(trouble).__name__, extra={"run_id": str(run.pk)})
        _settle(held, partial(_fail_or_wait, _Failed(Outcome.DATABASE_UNAVAILABLE, retryable=True)))
    except Exception:
        log.exception("schedule run failed", extra={"run_id": str(run.pk)})
        _settle(held, partial(_fail, Outcome.INTERNAL_ERROR))


def _owner(held: _Held) -> Principal:
    try:
        return schedule_recipients.owner(held.run.schedule, at=held.clock())
    except NoLongerPermitted:
        raise _Refused(Outcome.NOT_PERMITTED, Pause.NOT_PERMITTED) from None


def _check_made(run: ScheduleRun) -> None:
    """See that the file of a run is there.

    Raises:
        _Failed: it could not be made, was cancelled, or has been taken away meanwhile.
        _Refused: whoever it was made for may not have it any more.
    """
    export = run.export
    assert export is not None  # noqa: S101  # what is claimed of exports has one
    if export.state == Export.State.READY and export_files.place_of(export).exists():
        return
    if export.state == Export.State.CANCELLED:
        raise _Failed(Outcome.EXPORT_CANCELLED, retryable=False)
    if export.state == Export.State.FAILED:
        if export.error_code == "no_longer_permitted":
            raise _Refused(Outcome.NOT_PERMITTED, Pause.NOT_PERMITTED)
        raise _Failed(Outcome.EXPORT_FAILED, retryable=True, anew=True)
    raise _Failed(Outcome.STORAGE_UNAVAILABLE, retryable=True, anew=True)


def _upload(run: ScheduleRun) -> None:
    schedule, export = run.schedule, run.export
    assert schedule.destination is not None  # noqa: S101  # a constraint says so
    assert export is not None  # noqa: S101  # `_check_made` was here
    destination = schedule.destination
    # The file goes by the level that it was made with: the schedule may be another one by now.
    if destination.deleted_at is not None or not destination.accepts(Phi(export.phi)):
        raise _Failed(Outcome.DESTINATION_GONE, retryable=False)
    try:
        uploads.upload(destination, export_files.place_of(export), file_name(run))
    except UploadError as refusal:
        raise _Failed(refusal.code.value, retryable=refusal.retryable) from None
    except OSError:
        raise _Failed(Outcome.STORAGE_UNAVAILABLE, retryable=True, anew=True) from None


def _mail(held: _Held) -> None:
    """Send each person their mail who has none of this run yet.

    Raises:
        Lost: the run is another's by now.
        _Refused: nobody is left who may get it.
        _Failed: some were not delivered.
    """
    run = held.run
    people = schedule_recipients.recipients(run.schedule)
    if not people:
        raise _Refused(Outcome.NOBODY_LEFT, Pause.NOBODY_LEFT)
    if run.export_id is not None:  # first: whoever has the mail may follow it
        Export.objects.filter(pk=run.export_id).update(sent_to=[one.user.pk for one in people])
    delivered = True
    for person in people:
        if held.lost.is_set():
            raise Lost
        if person.user.pk in run.mailed_to:
            continue
        if not schedule_mails.send(run, person):
            delivered = False
            continue
        run.mailed_to = [*run.mailed_to, person.user.pk]
        if not held.claim.held().update(mailed_to=run.mailed_to):
            raise Lost
    # An address that takes no mail at all must not let the schedule rest for those who have theirs.
    if not delivered and not (run.mailed_to and run.attempts >= TRIES):
        raise _Failed(Outcome.MAIL_FAILED, retryable=True)


@transaction.atomic
def _settle_done(held: _Held, by: Principal) -> None:
    run, at = _ours(held)
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
            "userIds": [str(one) for one in run.mailed_to],
        },
    )


def _settle(held: _Held, how: Callable[[ScheduleRun, datetime], None]) -> None:
    """Settle a run that came to nothing, unless it is another's by now."""

    def say() -> None:
        with transaction.atomic():
            how(*_ours(held))

    try:
        leases.settle_with_retries(say)
    except Lost:
        log.info("schedule run is no longer ours", extra={"run_id": str(held.run.pk)})


def _ours(held: _Held) -> tuple[ScheduleRun, datetime]:
    """Lock a run with its schedule, the schedule first, as whoever changes one does.

    Raises:
        Lost: it is not this worker's any more.
    """
    ReportSchedule.objects.select_for_update(no_key=True).filter(pk=held.run.schedule_id).first()
    run = held.claim.held().select_related("schedule").select_for_update(of=("self",), no_key=True).first()
    if run is None:
        raise Lost
    return run, held.clock()


def _fail_or_wait(failure: _Failed, run: ScheduleRun, at: datetime) -> None:
    if not failure.retryable or run.attempts >= TRIES:
        _fail(failure.code, run, at)
        return
    run.state, run.outcome, run.try_at = RunState.QUEUED, failure.code, at + TRY_AGAIN_AFTER[run.attempts - 1]
    run.claim_id = run.lease_until = None
    if failure.anew:
        run.export = None
    run.save(update_fields=["state", "outcome", "try_at", "claim_id", "lease_until", "export"])


def _fail(code: str, run: ScheduleRun, at: datetime) -> None:
    """Give a run up; the third in a row lets the schedule rest.  Those that a later one has passed by do not count."""
    _end(run, RunState.FAILED, code, at)
    schedule = run.schedule
    schedule.failures += not schedule.runs.filter(state=RunState.DONE, due_at__gt=run.due_at).exists()
    schedule.save(update_fields=["failures"])
    if schedule.failures >= FAILURES_TO_REST and schedule.active:
        _pause(schedule, Pause.FAILING, at)


def _refuse(refusal: _Refused, run: ScheduleRun, at: datetime) -> None:
    _end(run, RunState.REFUSED, refusal.code, at)
    if run.schedule.active:
        _pause(run.schedule, refusal.why, at)


def _end(run: ScheduleRun, state: RunState, code: str, at: datetime) -> None:
    run.state, run.outcome, run.ended_at = state, code, at
    run.claim_id = run.lease_until = None
    run.save(update_fields=["state", "outcome", "ended_at", "claim_id", "lease_until"])


def _pause(schedule: ReportSchedule, why: Pause, at: datetime) -> None:
    """Let a schedule rest, and tell its owner by mail and those who manage accounts in their inbox."""
    pause_for(schedule, why, at=at)
    ReportSchedule.objects.filter(pk=schedule.pk).update(notice_due_at=at)
    alerts.raise_alert(
        kind="report_schedule_rests",
        severity="warning",
        scope=Scope.USERS_MANAGE,
        key=alert_key(schedule),
        title=_("A schedule of exports or reports rests."),
        text=[Message(_("A schedule of exports or reports rests: %(why)s."), {"why": why.label})],
        path=reverse("report_schedule", args=[schedule.pk]),
        at=at,
    )
