"""The audit trail: who saw or changed what.  Its tables hold ids, no foreign keys, so every app may write them."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from lib.choices import TextChoices
from lib.ids import uuid7


class AuditEntry(models.Model):
    """Who did or saw what, to whom, when and from where.  Insert-only: triggers of migration 0002 refuse the rest."""

    class Outcome(TextChoices):
        DONE = "done", _("Done")
        DENIED = "denied", _("Denied")
        FAILED = "failed", _("Failed")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(_("at"), db_default=Now())  # the database's clock
    actor = models.CharField(_("actor"), max_length=60)
    role = models.CharField(_("role"), max_length=20, blank=True)
    action = models.CharField(
        _("action"), max_length=60
    )  # "rides.read", "rides.assign", "tokens.revoke", "sign_in", ...
    subject_type = models.CharField(_("subject type"), max_length=20, blank=True)
    subject_id = models.UUIDField(_("subject id"), null=True)
    # Every rider whose data the answer showed or the change touched.
    rider_ids = ArrayField(models.UUIDField(), default=list, verbose_name=_("rider ids"))
    facility_id = models.UUIDField(_("facility id"), null=True)
    phi = models.CharField(_("PHI level"), max_length=7, blank=True)  # the level of detail shown
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    outcome = models.CharField(_("outcome"), max_length=6, choices=Outcome, default=Outcome.DONE)
    details = models.JSONField(_("details"), default=dict)  # names of fields changed, never their values
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    ip = models.GenericIPAddressField(_("IP address"), null=True)

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        indexes = [
            models.Index(fields=["-at", "id"], name="audit_newest"),
            models.Index(fields=["subject_type", "subject_id", "-at"], name="audit_of_subject"),
            models.Index(fields=["actor", "-at"], name="audit_of_actor"),
            GinIndex(fields=["rider_ids"], name="audit_of_rider"),  # who saw me
        ]

    def __str__(self) -> str:
        return f"audit entry {self.pk}"


class AuditSeal(models.Model):
    """A link of the hash chain: SHA-256 of the previous link and of the canonical form of the entry."""

    number = models.BigIntegerField(_("number"), primary_key=True)  # gap-free from 1
    entry = models.OneToOneField(AuditEntry, models.PROTECT, related_name="seal", verbose_name=_("entry"))
    digest = models.BinaryField(_("digest"), max_length=32)
    sealed_at = models.DateTimeField(_("sealed at"), db_default=Now())

    class Meta:
        verbose_name = _("audit seal")
        verbose_name_plural = _("audit seals")

    def __str__(self) -> str:
        return f"audit seal {self.number}"
