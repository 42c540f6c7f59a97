"""Schedules of exports and reports, and their runs."""

from typing import Final, cast
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient, User
from apps.exports.models.destinations import ExportDestination
from apps.exports.models.exports import Export
from apps.exports.rules.cadence import Cadence, Covers, Every
from lib.access import Phi, Principal
from lib.choices import TextChoices
from lib.ids import uuid7
from lib.scopes import Scope

OVERVIEW: Final = "overview"  # the report with the main KPIs; other reports have the key of a KPI


class PauseReason(TextChoices):
    """Why a schedule is paused."""

    BY_PEOPLE = "by_people", _("it was paused")
    FAILING = "failing", _("its last runs failed")
    NOT_PERMITTED = "not_permitted", _("its owner no longer has access")
    NOBODY_LEFT = "nobody_left", _("no recipient has access any more")


class RunState(TextChoices):
    """Progress of a run."""

    QUEUED = "queued", _("waiting")
    MAKING = "making", _("being made")
    SENDING = "sending", _("being sent")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    REFUSED = "refused", _("refused")
    MISSED = "missed", _("missed")


class RunOutcome(TextChoices):
    """Why a run failed, was refused, or is delayed; the other outcomes are values of `UploadErrorCode`."""

    NOT_PERMITTED = "not_permitted", _("its owner no longer has access")
    NOBODY_LEFT = "nobody_left", _("no recipient has access any more")
    DESTINATION_GONE = "destination_gone", _("its destination was removed or does not accept rider data")
    TOO_MANY_EXPORTS = "too_many_exports", _("its owner reached the limit of exports per hour")
    EXPORT_FAILED = "export_failed", _("the file could not be made")
    EXPORT_CANCELLED = "export_cancelled", _("the export was canceled")
    MAIL_FAILED = "mail_failed", _("the mail server rejected it")
    DATABASE_UNAVAILABLE = "database_unavailable", _("the database did not respond")
    STORAGE_UNAVAILABLE = "storage_unavailable", _("the file could not be read")
    WORKER_LOST = "worker_lost", _("the worker stopped repeatedly")
    INTERNAL_ERROR = "internal_error", _("an internal error occurred")
    SUPERSEDED = "superseded", _("a later run replaced it")


class ReportScheduleQuerySet(models.QuerySet["ReportSchedule"]):
    def owned_by(self, principal: Principal) -> "ReportScheduleQuerySet":
        """Select schedules of the client of a token, or of a user."""
        if principal.kind == "token":
            return self.filter(client_id=principal.client_id)
        return self.filter(user_id=cast(UUID, principal.id))

    def sent_to(self, user_id: UUID) -> "ReportScheduleQuerySet":
        """Select schedules with this recipient."""
        links = ReportSchedule.recipients.through.objects.filter(user_id=user_id)
        return self.filter(pk__in=links.values("reportschedule_id"))

    def visible_to(self, principal: Principal) -> "ReportScheduleQuerySet":
        """Select the caller's own schedules and those they receive; user managers see all.

        Only schedules within the caller's current data scope and PHI level, except reports that they receive: a report
        is limited to the data scope of each recipient.
        """
        if principal.kind == "user" and principal.has_scope(Scope.USERS_MANAGE):
            return self
        is_in_scope = Q(phi__lte=principal.phi)
        if principal.facility_ids is not None:
            is_in_scope &= Q(facility_ids__contained_by=sorted(principal.facility_ids))
        if principal.provider_ids is not None:
            is_in_scope &= Q(provider_ids__contained_by=sorted(principal.provider_ids))
        if principal.kind == "token":
            return self.owned_by(principal).filter(is_in_scope)
        user_id = cast(UUID, principal.id)
        is_sent = Q(pk__in=ReportSchedule.objects.sent_to(user_id).values("pk"))
        is_report = Q(kind=ReportSchedule.Kind.REPORT)
        return self.filter(Q(user_id=user_id) & is_in_scope | is_sent & (is_in_scope | is_report))


class ReportSchedule(models.Model):
    """A schedule of an export or a report, for users or for a destination.

    Data scope and PHI level are those of the owner when the schedule was saved; it runs as long as the owner still has
    them.  The owner is either `user`, or `client` by one of its tokens.
    """

    class Kind(TextChoices):
        EXPORT = "export", _("export")
        REPORT = "report", _("report")

    class DeliveryMethod(TextChoices):
        """How the output is delivered."""

        MAIL = "mail", _("by e-mail")
        DESTINATION = "destination", _("to a destination")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=6, choices=Kind)
    name = models.CharField(_("name"), max_length=60)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="report_schedules", verbose_name=_("user"))
    client = models.ForeignKey(ApiClient, models.PROTECT, null=True, related_name="+", verbose_name=_("client"))
    created_by = models.CharField(_("created by"), max_length=60)
    facility_ids = ArrayField(models.UUIDField(), null=True, verbose_name=_("facility ids"))  # null: every facility
    provider_ids = ArrayField(models.UUIDField(), null=True, verbose_name=_("provider ids"))  # null: every provider
    phi = models.PositiveSmallIntegerField(_("phi"), default=Phi.NONE.value)  # lib.access.Phi

    # Content: for an export dataset, format and columns (null: all of the PHI level); for a report `report`.
    dataset = models.CharField(_("dataset"), max_length=20, blank=True)
    format = models.CharField(_("format"), max_length=7, choices=Export.Format, blank=True)
    columns = ArrayField(models.CharField(max_length=40), null=True, verbose_name=_("columns"))
    report = models.CharField(_("report"), max_length=40, blank=True)  # OVERVIEW, or the key of a KPI
    filters = models.JSONField(_("filters"), default=dict)  # ids and codes with the API's names; never a rider or a day
    covers = models.CharField(_("covers"), max_length=14, choices=Covers)

    # Cadence.
    every = models.CharField(_("every"), max_length=8, choices=Every)
    weekdays = ArrayField(models.PositiveSmallIntegerField(), default=list, verbose_name=_("weekdays"))  # Monday 0
    month_day = models.PositiveSmallIntegerField(_("month day"), default=1)
    at_time = models.TimeField(_("at time"))
    zone = models.CharField(_("zone"), max_length=64)
    next_at = models.DateTimeField(_("next at"))

    # Delivery.
    way = models.CharField(_("delivery method"), max_length=11, choices=DeliveryMethod)
    recipients = models.ManyToManyField(User, related_name="+", verbose_name=_("recipients"))
    destination = models.ForeignKey(
        ExportDestination, models.PROTECT, null=True, related_name="+", verbose_name=_("destination")
    )

    active = models.BooleanField(_("active"), default=True)
    paused_for = models.CharField(_("paused for"), max_length=20, choices=PauseReason, blank=True)
    begun_at = models.DateTimeField(_("begun at"))  # when its content last changed: exports of changes start there
    failures = models.PositiveSmallIntegerField(_("failures"), default=0)  # failed runs in a row
    # When to mail the owner that it was paused; null: no mail is due.  The lease is for sending this mail.
    notice_due_at = models.DateTimeField(_("notice due at"), null=True)
    claim_id = models.UUIDField(_("claim id"), null=True)
    lease_until = models.DateTimeField(_("lease until"), null=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))

    objects = ReportScheduleQuerySet.as_manager()

    class Meta:
        verbose_name = _("report schedule")
        verbose_name_plural = _("report schedules")
        constraints = [
            models.CheckConstraint(
                name="report_schedule_has_one_owner",
                condition=Q(user__isnull=False, client__isnull=True) | Q(user__isnull=True, client__isnull=False),
            ),
            models.CheckConstraint(
                name="report_schedule_is_of_its_kind",
                condition=Q(kind="export", report="") & ~Q(dataset="") & ~Q(format="")
                | Q(kind="report", dataset="", format="", columns__isnull=True, phi=0, way="mail") & ~Q(report=""),
            ),
            models.CheckConstraint(
                name="report_schedule_goes_somewhere",
                condition=Q(way="mail", destination__isnull=True) | Q(way="destination", destination__isnull=False),
            ),
            models.CheckConstraint(
                name="report_schedule_paused_with_reason",
                condition=Q(active=True, paused_for="") | Q(active=False) & ~Q(paused_for=""),
            ),
            models.CheckConstraint(
                name="report_schedule_weekly_has_days",
                condition=Q(every="week", weekdays__len__gte=1) | ~Q(every="week"),
            ),
            models.CheckConstraint(
                name="report_schedule_day_of_month", condition=Q(month_day__gte=1, month_day__lte=31)
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at", "id"], name="report_schedule_newest"),
            # For workers.
            models.Index(fields=["next_at"], name="report_schedule_due", condition=Q(active=True)),
            models.Index(
                fields=["notice_due_at"], name="report_schedule_notice", condition=Q(notice_due_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"report schedule {self.pk}"

    @property
    def cadence(self) -> Cadence:
        return Cadence(Every(self.every), self.at_time, self.zone, frozenset(self.weekdays), self.month_day)

    def is_of(self, principal: Principal) -> bool:
        """Return whether the caller is the owner."""
        if principal.kind == "token":
            return self.client_id is not None and self.client_id == principal.client_id
        return self.user_id is not None and self.user_id == principal.id

    @property
    def level(self) -> Phi:
        return Phi(self.phi)

    @property
    def phi_name(self) -> str:
        return self.level.name.lower()

    @property
    def short_id(self) -> str:
        """The last eight characters of the id; the first ones encode the time."""
        return self.pk.hex[-8:]


class ScheduleRunQuerySet(models.QuerySet["ScheduleRun"]):
    def visible_to(self, principal: Principal) -> "ScheduleRunQuerySet":
        """Select runs of schedules that the caller sees."""
        return self.filter(schedule__in=ReportSchedule.objects.visible_to(principal))


class ScheduleRun(models.Model):
    """The run of a schedule at a due time.  A worker holds it by `claim_id` until `lease_until`.

    It covers `first_day` to `last_day`; without them what changed since `changed_since`, or everything.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    schedule = models.ForeignKey(ReportSchedule, models.CASCADE, related_name="runs", verbose_name=_("schedule"))
    due_at = models.DateTimeField(_("due at"))
    manual = models.BooleanField(_("manual"), default=False)
    first_day = models.DateField(_("first day"), null=True)
    last_day = models.DateField(_("last day"), null=True)
    changed_since = models.DateTimeField(_("changed since"), null=True)
    state = models.CharField(_("state"), max_length=7, choices=RunState, default=RunState.QUEUED)
    outcome = models.CharField(_("outcome"), max_length=40, blank=True)  # RunOutcome or UploadErrorCode
    export = models.ForeignKey(Export, models.PROTECT, null=True, related_name="+", verbose_name=_("export"))
    mailed_to = ArrayField(models.UUIDField(), default=list, verbose_name=_("mailed to"))  # ids of users
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)  # to send it
    try_at = models.DateTimeField(_("try at"))
    claim_id = models.UUIDField(_("claim id"), null=True)
    lease_until = models.DateTimeField(_("lease until"), null=True)
    created_at = models.DateTimeField(_("created at"))
    ended_at = models.DateTimeField(_("ended at"), null=True)

    objects = ScheduleRunQuerySet.as_manager()

    class Meta:
        verbose_name = _("schedule run")
        verbose_name_plural = _("schedule runs")
        constraints = [
            # One run for each due time, however many workers plan.
            models.UniqueConstraint(name="schedule_run_once", fields=["schedule", "due_at"]),
            models.CheckConstraint(
                name="schedule_run_sending_is_held",
                condition=Q(state="sending", claim_id__isnull=False, lease_until__isnull=False)
                | ~Q(state="sending") & Q(claim_id__isnull=True, lease_until__isnull=True),
            ),
            models.CheckConstraint(
                name="schedule_run_making_has_export", condition=~Q(state="making") | Q(export__isnull=False)
            ),
            models.CheckConstraint(
                name="schedule_run_ended_says_when",
                condition=Q(state__in=["done", "failed", "refused", "missed"], ended_at__isnull=False)
                | Q(state__in=["queued", "making", "sending"], ended_at__isnull=True),
            ),
            models.CheckConstraint(
                name="schedule_run_failed_says_why",
                condition=~Q(state__in=["failed", "refused"]) | ~Q(outcome=""),
            ),
        ]
        indexes = [
            # For workers.
            models.Index(fields=["try_at"], name="schedule_run_due", condition=Q(state="queued")),
            models.Index(fields=["export"], name="schedule_run_making", condition=Q(state="making")),
            models.Index(fields=["lease_until"], name="schedule_run_held", condition=Q(state="sending")),
        ]

    def __str__(self) -> str:
        return f"schedule run {self.pk}"
