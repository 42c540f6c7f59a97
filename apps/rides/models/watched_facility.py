from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility


class WatchedFacility(models.Model):
    """The settings of a facility by which its rides were last looked at: when they differ, all are looked at anew."""

    facility = models.OneToOneField(
        Facility, models.CASCADE, primary_key=True, related_name="+", verbose_name=_("facility")
    )
    settings = models.CharField(_("settings"), max_length=32)  # a digest

    class Meta:
        verbose_name = _("watched facility")
        verbose_name_plural = _("watched facilities")

    def __str__(self) -> str:
        return f"watched facility {self.pk}"
