"""Management of schedules: create, change, pause, resume, run manually, delete."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, cast
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.services import alerts
from apps.audit.services import audit
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.models.schedules import PauseReason, RunOutcome, RunState
from apps.exports.rules.cadence import Covers, days_covered
from apps.exports.services import schedule_validation
from apps.exports.services.schedule_validation import ScheduleRequest
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound, StaleVersion
from lib.scopes import Scope

MAX_SCHEDULES: Final = 50  # per owner
REQUEUE_WITHIN: Final = timedelta(days=31)
MIN_MAIL_INTERVAL: Final = timedelta(minutes=10)  # between manual runs
# If one of these columns changes, runs that cover changes start over.
_CONTENT_COLUMNS: Final = (
    "dataset", "format", "columns", "filters", "phi", "covers", "facility_ids", "provider_ids", "way", "destination_id",
)  # fmt: skip
_CADENCE_COLUMNS: Final = ("every", "weekdays", "month_day", "at_time", "zone")


class TooManySchedules(DomainError):
    """The owner has reached the limit of schedules."""

    code = Code.RULE_VIOLATION
    template = _("There are already %(most)s schedules. Delete one first.")

    def __init__(self) -> None:
        super().__init__(most=MAX_SCHEDULES)


class MailedRecently(DomainError):
    """A manual run sent e-mail within the last ten minutes."""

    code = Code.RATE_LIMITED
    template = _("A manual run sent e-mail less than ten minutes ago.")

    def __init__(self, wait: timedelta) -> None:
        super().__init__()
        self.wait = wait.total_seconds()


class AlreadyInState(DomainError):
    """The schedule is in that state already, or a manual run is in progress."""

    code = Code.INVALID_TRANSITION


@transaction.atomic
def create(*, request: ScheduleRequest, by: Principal, at: datetime) -> ReportSchedule:
    """Create a schedule; it is first due at the next time of its cadence.

    Raises:
        ScopeMissing, InvalidInput, PhiNotPermitted: see `schedule_validation.check`.
        TooManySchedules: the caller has 50.
    """
    recipients = schedule_validation.check(request, by)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"schedules of {by.actor}"])
    if ReportSchedule.objects.owned_by(by).count() >= MAX_SCHEDULES:
        raise TooManySchedules
    schedule = ReportSchedule(
        user_id=by.id if by.kind == "user" else None,
        client_id=by.client_id,
        created_by=by.actor,
        created_at=at,
        updated_at=at,
        begun_at=at,
    )
    schedule_validation.apply(schedule, request, by)
    schedule.next_at = next(schedule.cadence.after(at))
    schedule.save(force_insert=True)
    schedule.recipients.set(recipients)
    _audit("report_schedules.create", schedule, by)
    return schedule


@transaction.atomic
def change(
    *, schedule_id: UUID, request: ScheduleRequest, expected_version: int | None, by: Principal, at: datetime
) -> ReportSchedule:
    """Change a schedule of the caller; it gets the data scope that the caller has now.

    Runs in progress finish unchanged.

    Raises:
        NotFound: the caller has no such schedule.
        StaleVersion: its version is not `expected_version`.
        ScopeMissing, InvalidInput, PhiNotPermitted: see `schedule_validation.check`.
    """
    schedule = _own(schedule_id, by)
    if expected_version is not None and schedule.version != expected_version:
        raise StaleVersion(schedule.version)
    request = replace(request, kind=schedule.kind)
    recipients = schedule_validation.check(request, by)
    content, cadence = _columns(schedule, _CONTENT_COLUMNS), _columns(schedule, _CADENCE_COLUMNS)
    schedule_validation.apply(schedule, request, by)
    schedule.created_by = by.actor  # a client may use another token now
    if _columns(schedule, _CONTENT_COLUMNS) != content:
        schedule.begun_at = at
    if _columns(schedule, _CADENCE_COLUMNS) != cadence:
        schedule.next_at = next(schedule.cadence.after(at))
    schedule.version += 1
    schedule.updated_at = at
    schedule.save()
    schedule.recipients.set(recipients)
    _audit("report_schedules.change", schedule, by)
    return schedule


@transaction.atomic
def pause(*, schedule_id: UUID, by: Principal, at: datetime) -> ReportSchedule:
    """Pause a schedule of the caller, or of anybody if the caller manages accounts.

    Raises:
        NotFound: there is no such schedule, or the caller may not pause it.
        AlreadyInState: it is already paused.
    """
    schedule = _pausable(schedule_id, by)
    if not schedule.active:
        raise AlreadyInState(_("The schedule is already paused."))
    set_paused(schedule, PauseReason.BY_PEOPLE, at=at)
    _audit("report_schedules.pause", schedule, by)
    return schedule


@transaction.atomic
def resume(*, schedule_id: UUID, by: Principal, at: datetime) -> ReportSchedule:
    """Resume a schedule and reset its count of failures.

    If the service had paused it, runs that failed or were refused within 31 days are made, and so are runs that were
    due meanwhile.  If a person had paused it, the next due time is in the future.

    Raises:
        NotFound: the caller has no such schedule.
        AlreadyInState: it is not paused.
    """
    schedule = _own(schedule_id, by)
    if schedule.active:
        raise AlreadyInState(_("The schedule is not paused."))
    if schedule.paused_for == PauseReason.BY_PEOPLE:
        schedule.next_at = next(schedule.cadence.after(at))
    else:
        requeue_failed(schedule, at=at)
    schedule.active, schedule.paused_for, schedule.failures, schedule.notice_due_at = True, "", 0, None
    schedule.version += 1
    schedule.updated_at = at
    schedule.save()
    alerts.resolve(alert_key(schedule), at=at)
    _audit("report_schedules.resume", schedule, by)
    return schedule


@transaction.atomic
def run_now(*, schedule_id: UUID, by: Principal, at: datetime) -> ScheduleRun:
    """Start a run now, as if it were due, also if the schedule is paused.

    Raises:
        NotFound: the caller has no such schedule.
        AlreadyInState: a manual run is in progress.
        MailedRecently: a manual run sent e-mail within the last ten minutes.
    """
    schedule = _own(schedule_id, by)
    in_progress = [RunState.QUEUED, RunState.MAKING, RunState.SENDING]
    if schedule.runs.filter(manual=True, state__in=in_progress).exists() or schedule.runs.filter(due_at=at).exists():
        raise AlreadyInState(_("A run is in progress."))
    mailed = schedule.runs.filter(manual=True, ended_at__gt=at - MIN_MAIL_INTERVAL).exclude(mailed_to=[])
    last = mailed.aggregate(last=Max("ended_at"))["last"]
    if last is not None:
        raise MailedRecently(last + MIN_MAIL_INTERVAL - at)
    run = new_run(schedule, at, at)
    run.manual = True
    run.save(force_insert=True)
    _audit("report_schedules.run", schedule, by)
    return run


@transaction.atomic
def remove(*, schedule_id: UUID, by: Principal, at: datetime) -> None:
    """Delete a schedule and its runs; what was sent stays in the audit trail.

    Raises:
        NotFound: there is no such schedule, or the caller may not delete it.
    """
    schedule = _pausable(schedule_id, by)
    alerts.resolve(alert_key(schedule), at=at)
    _audit("report_schedules.remove", schedule, by)
    schedule.delete()


@transaction.atomic
def unsubscribe(*, schedule_id: UUID, by: Principal) -> None:
    """Remove the caller from the recipients.  Needs no access to the content: everybody can stop mail to themselves.

    Raises:
        NotFound: the caller is not a recipient of such a schedule.
    """
    user = User.objects.filter(pk=cast(UUID, by.id)).first() if by.kind == "user" else None
    schedules = ReportSchedule.objects.none() if user is None else ReportSchedule.objects.sent_to(user.pk)
    schedule = schedules.select_for_update(of=("self",), no_key=True).filter(pk=schedule_id).first()
    if schedule is None or user is None:
        raise NotFound(_("schedule"))
    schedule.recipients.remove(user)
    _audit("report_schedules.unsubscribe", schedule, by)


def new_run(schedule: ReportSchedule, due_at: datetime, at: datetime) -> ScheduleRun:
    """Return the unsaved run of a due time, with the days that it covers."""
    first, last = days_covered(Covers(schedule.covers), due_at, schedule.zone) or (None, None)
    return ScheduleRun(schedule=schedule, due_at=due_at, first_day=first, last_day=last, try_at=at, created_at=at)


def file_name(run: ScheduleRun) -> str:
    """Return the name of the file of a run: the same for each attempt, without any personal data.

    Runs that cover changes never replace each other's files.
    """
    schedule, export = run.schedule, run.export
    assert export is not None  # noqa: S101  # only runs of exports have a file
    if run.first_day is None:
        period = f"changes-{run.due_at:%Y-%m-%dT%H%M%SZ}-{run.pk.hex[-8:]}"
    elif run.first_day == run.last_day:
        period = f"{run.first_day}"
    else:
        period = f"{run.first_day}_{run.last_day}"
    return f"carelane_{export.dataset}_{period}_{schedule.short_id}.{export.format}"


def requeue_failed(schedule: ReportSchedule, *, at: datetime) -> None:
    """Requeue failed and refused runs of the last 31 days, once a run has succeeded or the schedule is resumed.

    Only exports of days: the next run of a report, or of changes, makes up for failed ones.  Canceled exports stay so.
    """
    if schedule.kind != ReportSchedule.Kind.EXPORT or schedule.covers == Covers.CHANGES:
        return
    runs = schedule.runs.filter(state__in=[RunState.FAILED, RunState.REFUSED], due_at__gt=at - REQUEUE_WITHIN)
    runs.exclude(outcome=RunOutcome.EXPORT_CANCELLED).update(
        state=RunState.QUEUED, outcome="", export=None, attempts=0, try_at=at, ended_at=None
    )


def set_paused(schedule: ReportSchedule, reason: PauseReason, *, at: datetime) -> None:
    """Pause a schedule whose row is locked."""
    schedule.active, schedule.paused_for = False, reason
    schedule.version += 1
    schedule.updated_at = at
    schedule.save(update_fields=["active", "paused_for", "version", "updated_at"])


def alert_key(schedule: ReportSchedule) -> str:
    return f"report_schedule_paused:{schedule.pk}"


def _own(schedule_id: UUID, by: Principal) -> ReportSchedule:
    """Return a schedule of the caller, with its row locked."""
    schedule = _pausable(schedule_id, by)
    if not schedule.is_of(by):
        raise NotFound(_("schedule"))
    return schedule


def _pausable(schedule_id: UUID, by: Principal) -> ReportSchedule:
    """Return a schedule that the caller may pause or delete, with its row locked; user managers may all."""
    rows = ReportSchedule.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    schedule = rows.filter(pk=schedule_id).first()
    if schedule is None or not (schedule.is_of(by) or (by.kind == "user" and by.has_scope(Scope.USERS_MANAGE))):
        raise NotFound(_("schedule"))
    return schedule


def _columns(schedule: ReportSchedule, names: tuple[str, ...]) -> list[object]:
    return [getattr(schedule, name) for name in names]


def _audit(action: str, schedule: ReportSchedule, by: Principal) -> None:
    """Record the content, and the number of recipients or the destination."""
    details = {
        "kind": schedule.kind,
        "content": schedule.dataset or schedule.report,
        "filters": sorted(schedule.filters),
        "every": schedule.every,
        "recipients": schedule.recipients.count(),
        "destinationId": None if schedule.destination_id is None else str(schedule.destination_id),
    }
    audit.record(
        by=by,
        action=action,
        subject_type="report_schedule",
        subject_id=schedule.pk,
        phi=schedule.phi_name,
        details=details,
    )
