"""Schedules as people and integrators keep them: made, changed, paused, resumed, run by hand, taken away."""

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
from apps.exports.models.schedules import Outcome, Pause, RunState
from apps.exports.rules.cadence import Covers, days_covered
from apps.exports.services import schedule_validation
from apps.exports.services.schedule_validation import ScheduleRequest
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound, StaleVersion
from lib.scopes import Scope

MAX_SCHEDULES: Final = 50  # of one owner
REQUEUE_WITHIN: Final = timedelta(days=31)
MIN_MAIL_INTERVAL: Final = timedelta(minutes=10)  # by hand
# What a schedule makes, and for whom: when one of these is another, "what changed" begins anew.
_MADE: Final = (
    "dataset", "format", "columns", "filters", "phi", "covers", "facility_ids", "provider_ids", "way", "destination_id",
)  # fmt: skip
_WHEN: Final = ("every", "weekdays", "month_day", "at_time", "zone")


class TooManySchedules(DomainError):
    """The owner has as many schedules as one may have."""

    code = Code.RULE_VIOLATION
    template = _("There are already %(most)s schedules. Delete one first.")

    def __init__(self) -> None:
        super().__init__(most=MAX_SCHEDULES)


class MailedRecently(DomainError):
    """People have had mail of a run by hand within the last ten minutes."""

    code = Code.RATE_LIMITED
    template = _("A manual run sent e-mail less than ten minutes ago.")

    def __init__(self, wait: timedelta) -> None:
        super().__init__()
        self.wait = wait.total_seconds()


class AlreadyInState(DomainError):
    """The schedule is in that state, or a run by hand is under way."""

    code = Code.INVALID_TRANSITION


@transaction.atomic
def create(*, request: ScheduleRequest, by: Principal, at: datetime) -> ReportSchedule:
    """Keep a schedule; it is due for the first time at the next moment of its cadence.

    Raises:
        ScopeMissing, InvalidInput, PhiNotPermitted: see `schedule_validation.check`.
        TooManySchedules: the caller has 50.
    """
    people = schedule_validation.check(request, by)
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
    schedule.recipients.set(people)
    _audit("report_schedules.create", schedule, by)
    return schedule


@transaction.atomic
def change(
    *, schedule_id: UUID, request: ScheduleRequest, expected_version: int | None, by: Principal, at: datetime
) -> ReportSchedule:
    """Make a schedule of the caller's another one, with the reach that the caller has now.

    Runs under way come to their end as they began.

    Raises:
        NotFound: the caller has no such schedule.
        StaleVersion: it is not at `expected_version`.
        InvalidInput: it would be of another kind.
        ScopeMissing, InvalidInput, PhiNotPermitted: see `schedule_validation.check`.
    """
    schedule = _own(schedule_id, by)
    if expected_version is not None and schedule.version != expected_version:
        raise StaleVersion(schedule.version)
    request = replace(request, kind=schedule.kind)
    people = schedule_validation.check(request, by)
    was_made, was_due = _columns(schedule, _MADE), _columns(schedule, _WHEN)
    schedule_validation.apply(schedule, request, by)
    schedule.created_by = by.actor  # of a client, the token that is in use
    if _columns(schedule, _MADE) != was_made:
        schedule.begun_at = at
    if _columns(schedule, _WHEN) != was_due:
        schedule.next_at = next(schedule.cadence.after(at))
    schedule.version += 1
    schedule.updated_at = at
    schedule.save()
    schedule.recipients.set(people)
    _audit("report_schedules.change", schedule, by)
    return schedule


@transaction.atomic
def pause(*, schedule_id: UUID, by: Principal, at: datetime) -> ReportSchedule:
    """Make nothing more until it is resumed.  Whoever manages accounts may pause the schedules of others.

    Raises:
        NotFound: there is no such schedule, or it is somebody else's.
        AlreadyInState: it rests.
    """
    schedule = _stoppable(schedule_id, by)
    if not schedule.active:
        raise AlreadyInState(_("The schedule is already paused."))
    pause_for(schedule, Pause.BY_PEOPLE, at=at)
    _audit("report_schedules.pause", schedule, by)
    return schedule


@transaction.atomic
def resume(*, schedule_id: UUID, by: Principal, at: datetime) -> ReportSchedule:
    """Go on with a clean slate.

    What was due meanwhile is made where the service had stopped by itself: days that failed or were refused within a
    month, and moments that nobody looked at.  Whoever paused it wanted nothing of that time.

    Raises:
        NotFound: the caller has no such schedule.
        AlreadyInState: it does not rest.
    """
    schedule = _own(schedule_id, by)
    if schedule.active:
        raise AlreadyInState(_("The schedule is not paused."))
    if schedule.paused_for == Pause.BY_PEOPLE:
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
    """Make it once now, as if it were due, whether it rests or not.

    Raises:
        NotFound: the caller has no such schedule.
        AlreadyInState: a run by hand is under way.
        MailedRecently: one has mailed people within the last ten minutes.
    """
    schedule = _own(schedule_id, by)
    under_way = [RunState.QUEUED, RunState.MAKING, RunState.SENDING]
    if schedule.runs.filter(manual=True, state__in=under_way).exists() or schedule.runs.filter(due_at=at).exists():
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
    """Take a schedule and its history away; the trail keeps what was sent.

    Raises:
        NotFound: there is no such schedule, or it is somebody else's.
    """
    schedule = _stoppable(schedule_id, by)
    alerts.resolve(alert_key(schedule), at=at)
    _audit("report_schedules.remove", schedule, by)
    schedule.delete()


@transaction.atomic
def unsubscribe(*, schedule_id: UUID, by: Principal) -> None:
    """Have the caller left out from now on, whatever they reach by now: nobody has to get mail.

    Raises:
        NotFound: the caller gets no such thing.
    """
    person = User.objects.filter(pk=cast(UUID, by.id)).first() if by.kind == "user" else None
    sent = ReportSchedule.objects.none() if person is None else ReportSchedule.objects.sent_to(person.pk)
    schedule = sent.select_for_update(of=("self",), no_key=True).filter(pk=schedule_id).first()
    if schedule is None or person is None:
        raise NotFound(_("schedule"))
    schedule.recipients.remove(person)
    _audit("report_schedules.leave", schedule, by)


def new_run(schedule: ReportSchedule, due_at: datetime, at: datetime) -> ScheduleRun:
    """Give the run of a moment, not saved yet, with the days that it covers."""
    covered = days_covered(Covers(schedule.covers), due_at, schedule.zone)
    first, last = covered or (None, None)
    return ScheduleRun(schedule=schedule, due_at=due_at, first_day=first, last_day=last, try_at=at, created_at=at)


def file_name(run: ScheduleRun) -> str:
    """Name the file of a run by what was made: the same for the same run, whenever it is, and nobody's name in it.

    No run writes over the changes that another one sent.
    """
    schedule, export = run.schedule, run.export
    assert export is not None  # noqa: S101  # there is a file
    if run.first_day is None:
        period = f"changes-{run.due_at:%Y-%m-%dT%H%M%SZ}-{run.pk.hex[-8:]}"
    elif run.first_day == run.last_day:
        period = f"{run.first_day}"
    else:
        period = f"{run.first_day}_{run.last_day}"
    return f"carelane_{export.dataset}_{period}_{schedule.short_id}.{export.format}"


def requeue_failed(schedule: ReportSchedule, *, at: datetime) -> None:
    """Have the days of an export made that came to nothing within the last month: what was in the way is gone.

    Of reports and of changes the next run makes up for it; what people cancelled stays so.
    """
    if schedule.kind != ReportSchedule.Kind.EXPORT or schedule.covers == Covers.CHANGES:
        return
    runs = schedule.runs.filter(state__in=[RunState.FAILED, RunState.REFUSED], due_at__gt=at - REQUEUE_WITHIN)
    runs.exclude(outcome=Outcome.EXPORT_CANCELLED).update(
        state=RunState.QUEUED, outcome="", export=None, attempts=0, try_at=at, ended_at=None
    )


def pause_for(schedule: ReportSchedule, why: Pause, *, at: datetime) -> None:
    """Let a locked schedule rest, and say why."""
    schedule.active, schedule.paused_for = False, why
    schedule.version += 1
    schedule.updated_at = at
    schedule.save(update_fields=["active", "paused_for", "version", "updated_at"])


def alert_key(schedule: ReportSchedule) -> str:
    return f"report_schedule_rests:{schedule.pk}"


def _own(schedule_id: UUID, by: Principal) -> ReportSchedule:
    """Lock a schedule of the caller's."""
    schedule = _stoppable(schedule_id, by)
    if not schedule.is_of(by):
        raise NotFound(_("schedule"))
    return schedule


def _stoppable(schedule_id: UUID, by: Principal) -> ReportSchedule:
    """Lock a schedule that the caller may stop: their own, or any where they manage accounts."""
    rows = ReportSchedule.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    schedule = rows.filter(pk=schedule_id).first()
    if schedule is None or not (schedule.is_of(by) or (by.kind == "user" and by.has_scope(Scope.USERS_MANAGE))):
        raise NotFound(_("schedule"))
    return schedule


def _columns(schedule: ReportSchedule, names: tuple[str, ...]) -> list[object]:
    return [getattr(schedule, name) for name in names]


def _audit(action: str, schedule: ReportSchedule, by: Principal) -> None:
    """Say what is made for how many, or where it goes."""
    details = {
        "kind": schedule.kind,
        "what": schedule.dataset or schedule.report,
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
