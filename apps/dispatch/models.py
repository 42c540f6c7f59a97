"""The state of the downtime pack, and the handovers between dispatchers."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from lib.ids import uuid7


class DowntimePack(models.Model):
    """The newest downtime pack, and the lease of the worker that creates the next one.  At most one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    claim_id = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    made_at = models.DateTimeField(null=True)
    file = models.CharField(max_length=100, blank=True)
    size = models.PositiveIntegerField(default=0)  # bytes
    sheets = models.PositiveIntegerField(default=0)
    rides = models.PositiveIntegerField(default=0)
    without_sheets = models.BooleanField(default=False)  # the server has no Pango
    copied_at = models.DateTimeField(null=True)  # to the directory in DOWNTIME_COPY_DIR

    class Meta:
        constraints = [models.CheckConstraint(name="downtime_pack_is_one", condition=Q(pk=1))]

    def __str__(self) -> str:
        return f"downtime pack {self.pk}"


class Handover(models.Model):
    """A dispatcher has handed the desk over, with a note to the next.  The note may name riders."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    note = models.TextField(_("note"), max_length=2000, blank=True)
    signed_at = models.DateTimeField(_("signed at"))
    signed_by = models.CharField(_("signed by"), max_length=60)  # an actor: "user:<id>"

    class Meta:
        verbose_name = _("handover")
        verbose_name_plural = _("handovers")
        indexes = [models.Index(fields=["-signed_at"], name="handover_newest")]

    def __str__(self) -> str:
        return f"handover {self.pk}"
