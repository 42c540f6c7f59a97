"""Recoveries: work on many deliveries in steps that survive a restart."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.webhooks.models.endpoint import Endpoint, EndpointQuerySet
from lib.access import Principal
from lib.choices import TextChoices
from lib.ids import uuid7


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, principal: Principal) -> "JobQuerySet":
        """Select the recoveries of endpoints within the caller's data scope."""
        return self.filter(endpoint__in=EndpointQuerySet(Endpoint).visible_to(principal))


class Job(models.Model):
    """One recovery.  `cursor` is the id of the last event that was processed; `done` of `total` events are due."""

    class State(TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Canceled")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="jobs")
    params = models.JSONField()
    cursor = models.UUIDField(null=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    created_by = models.CharField(max_length=60)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = JobQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="webhook_job_running", condition=Q(state="running"))]

    def __str__(self) -> str:
        return f"webhook job {self.pk}"
