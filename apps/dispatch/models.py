"""The state of the downtime pack."""

from django.db import models
from django.db.models import Q


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
