"""Exports, their progress, and links to download their files."""

from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.accounts.models import ApiClient
from lib.access import Phi
from lib.choices import TextChoices
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


class ExportQuerySet(models.QuerySet["Export"]):
    def visible_to(self, principal: "Principal") -> "ExportQuerySet":
        """Select exports within the caller's current data scope and PHI level.

        Tokens see those of their client, users their own and those that were sent to them.
        """
        exports = self.filter(phi__lte=principal.phi)
        if principal.kind == "token":
            exports = exports.filter(client_id=principal.client_id)
        elif principal.kind == "user":
            exports = exports.filter(Q(created_by=principal.actor) | Q(sent_to__contains=[principal.id]))
        if principal.facility_ids is not None:
            exports = exports.filter(facility_ids__contained_by=sorted(principal.facility_ids))
        if principal.provider_ids is not None:
            exports = exports.filter(provider_ids__contained_by=sorted(principal.provider_ids))
        return exports


class Export(models.Model):
    """An export; its id is in every row of its file as `exportBatchId`.

    Data scope and PHI level are those of the creator at that time.  A worker holds it by `claim_id` until
    `lease_until`.
    """

    class State(TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        READY = "ready", pgettext_lazy("export state", "Ready")
        FAILED = "failed", pgettext_lazy("export state", "Failed")
        CANCELLED = "cancelled", pgettext_lazy("export state", "Canceled")
        EXPIRED = "expired", pgettext_lazy("export state", "Expired")
        STREAMED = "streamed", _("sent at once")

    class Format(TextChoices):
        NDJSON = "ndjson", _("NDJSON")
        CSV = "csv", _("CSV")
        XLSX = "xlsx", _("XLSX")
        PARQUET = "parquet", _("Parquet")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    dataset = models.CharField(_("dataset"), max_length=20)
    dataset_version = models.PositiveSmallIntegerField(_("dataset version"))
    format = models.CharField(_("format"), max_length=7, choices=Format)
    columns = ArrayField(models.CharField(max_length=40), verbose_name=_("columns"))
    filters = models.JSONField(_("filters"), default=dict)  # ids, days and statuses with the API's names; never a rider
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.QUEUED)
    # The creator.
    created_by = models.CharField(_("created by"), max_length=60)
    client = models.ForeignKey(
        ApiClient, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("client")
    )
    facility_ids = ArrayField(models.UUIDField(), null=True, verbose_name=_("facility ids"))  # null: every facility
    provider_ids = ArrayField(models.UUIDField(), null=True, verbose_name=_("provider ids"))  # null: every provider
    phi = models.PositiveSmallIntegerField(_("phi"), default=Phi.NONE.value)  # lib.access.Phi
    created_at = models.DateTimeField(_("created at"))
    # Users other than the creator who were notified that it is ready, and may download it.
    sent_to = ArrayField(models.UUIDField(), default=list, db_default=[], verbose_name=_("sent to"))

    total = models.PositiveIntegerField(_("total"), null=True)  # rows counted at the start
    rows = models.PositiveIntegerField(_("rows"), default=0)
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0)
    sha256 = models.CharField(_("sha256"), max_length=64, blank=True)
    data_as_of = models.DateTimeField(_("data as of"), null=True, blank=True)  # everything recorded before is included
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    due_at = models.DateTimeField(_("due at"), db_default=Now())
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    claim_id = models.UUIDField(_("claim id"), null=True, blank=True)
    lease_until = models.DateTimeField(_("lease until"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)  # when its file is deleted
    # Whether its rides are locked against correction, because another system relies on the file.
    locked = models.BooleanField(_("locked"), default=False)
    version = models.PositiveIntegerField(_("version"), default=1)

    objects = ExportQuerySet.as_manager()

    class Meta:
        verbose_name = _("export")
        verbose_name_plural = _("exports")
        constraints = [
            models.CheckConstraint(
                name="export_state_known",
                condition=Q(state__in=["queued", "running", "ready", "failed", "cancelled", "expired", "streamed"]),
            ),
            models.CheckConstraint(
                name="export_format_known", condition=Q(format__in=["ndjson", "csv", "xlsx", "parquet"])
            ),
            models.CheckConstraint(
                name="export_running_is_held",
                condition=Q(state="running", claim_id__isnull=False, lease_until__isnull=False)
                | (~Q(state="running") & Q(claim_id__isnull=True, lease_until__isnull=True)),
            ),
            models.CheckConstraint(
                name="export_ready_has_file",
                condition=~Q(state="ready") | (Q(expires_at__isnull=False) & ~Q(sha256="")),
            ),
            models.CheckConstraint(name="export_failed_says_why", condition=~Q(state="failed") | ~Q(error_code="")),
        ]
        indexes = [
            models.Index(fields=["created_at", "id"], name="export_list"),
            # For workers.
            models.Index(fields=["due_at"], name="export_due", condition=Q(state="queued")),
            models.Index(fields=["lease_until"], name="export_held", condition=Q(state="running")),
            models.Index(fields=["expires_at"], name="export_kept", condition=Q(state="ready")),
            # For the limit of exports per hour.
            models.Index(fields=["created_by", "created_at"], name="export_by_maker"),
        ]

    def __str__(self) -> str:
        return f"export {self.pk}"


class ExportLink(models.Model):
    """A link that downloads a file once, within minutes; stored as the digest of its secret."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    export = models.ForeignKey(Export, models.CASCADE, related_name="links", verbose_name=_("export"))
    digest = models.BinaryField(_("digest"), max_length=32, unique=True)
    made_for = models.CharField(_("made for"), max_length=60)
    role = models.CharField(_("role"), max_length=20)
    made_at = models.DateTimeField(_("made at"))
    expires_at = models.DateTimeField(_("expires at"))
    used_at = models.DateTimeField(_("used at"), null=True, blank=True)

    class Meta:
        verbose_name = _("export link")
        verbose_name_plural = _("export links")
        indexes = [models.Index(fields=["expires_at"], name="export_link_expiry")]

    def __str__(self) -> str:
        return f"export link {self.pk}"
