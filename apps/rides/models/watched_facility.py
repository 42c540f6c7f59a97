from django.db import models

from apps.organizations.models import Facility


class WatchedFacility(models.Model):
    """The settings of a facility by which its rides were last looked at: when they differ, all are looked at anew."""

    facility = models.OneToOneField(Facility, models.CASCADE, primary_key=True, related_name="+")
    settings = models.CharField(max_length=32)  # a digest

    def __str__(self) -> str:
        return f"watched facility {self.pk}"
