from django.db import models

from apps.rides.models.ride import Ride


class RideLock(models.Model):
    """A ride whose record was handed on for good: its ending is not corrected any more.

    `export_id` says in what; exports live in an app above this one.
    """

    ride = models.OneToOneField(Ride, models.PROTECT, primary_key=True, related_name="+")
    export_id = models.UUIDField(db_index=True)
    locked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"ride lock {self.pk}"
