from django.db import models

from apps.riders.models import Rider
from lib.ids import uuid7


class Trip(models.Model):
    """A day plan for one rider: legs that belong together, so that a return is neither orphaned nor ghosted."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    rider = models.ForeignKey(Rider, models.PROTECT, related_name="trips")
    service_date = models.DateField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"trip {self.pk}"
